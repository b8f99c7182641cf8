/*
 * The tensors of a model as one numbered list, in the order in which they are
 * written: embed, the tensors of block 0, ..., the norm, the head if untied.
 * Private to lib/model.
 */
#ifndef MODEL_TENSOR_OUT_H
#define MODEL_TENSOR_OUT_H

#include "model/compressed.h"
#include "model/model.h"

struct tensor_out {
    char name[72]; /* Hugging Face name */
    const struct weight *w;
    float less;  /* number to subtract from the values in the file */
    size_t perm; /* heads whose rows are permuted when written; 0: none */
    int ndim;
    size_t shape[2];      /* as written: padded to c.KV and c.mlp */
    size_t group;         /* fetch.h */
    int two_of_four;      /* a block's matrix, 2:4 by retort.sparse */
    enum compressed part; /* the part to write; set by the writer */
};
size_t model_ntensors(const struct model *m);
void model_tensor(const struct model *m, size_t i, struct tensor_out *p);
/* Set *p to tensor i as llama.cpp's converter writes it: its GGUF name, norms
 * with nothing subtracted, rows of Q and K permuted if the family's are. */
void model_tensor_gguf(const struct model *m, size_t i, struct tensor_out *p);

#endif
