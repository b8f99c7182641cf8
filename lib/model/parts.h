/*
 * The tensors of a model as one numbered list, in the order in which they are
 * written: embed, those of block 0, ..., the norm, the head if untied.
 * Private to lib/model.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "model/model.h"

struct tensor_out {
    char name[72]; /* Hugging Face name */
    const struct weight *w;
    float less; /* to be taken from the values when written */
    int ndim;
    size_t shape[2]; /* as written: padded to c.mlp */
};
size_t model_nparts(const struct model *m);
void model_part(const struct model *m, size_t i, struct tensor_out *p);

#endif
