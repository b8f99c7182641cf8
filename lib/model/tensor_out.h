/*
 * The tensors of a model as one numbered list, in the order in which they are
 * written: embed, those of block 0, ..., the norm, the head if untied.
 * Private to lib/model.
 */
#ifndef MODEL_TENSOR_OUT_H
#define MODEL_TENSOR_OUT_H

#include "model/compressed.h"
#include "model/model.h"

struct tensor_out {
    char name[72]; /* Hugging Face name */
    const struct weight *w;
    float less;  /* to be taken from the values when written */
    size_t perm; /* heads whose rows are permuted when written; 0: none */
    int ndim;
    size_t shape[2]; /* as written: padded to c.KV and c.mlp */
    size_t group;    /* fetch.h */
    int two_of_four; /* a matrix of a block that retort.sparse says is 2:4 */
    enum compressed part; /* what of it is written; set by the writer */
};
size_t model_ntensors(const struct model *m);
void model_tensor(const struct model *m, size_t i, struct tensor_out *p);
/* The tensor as llama.cpp's converter writes it: its name, norms whole, rows of
 * Q and K in llama.cpp's order where the family has that. */
void model_tensor_gguf(const struct model *m, size_t i, struct tensor_out *p);

#endif
