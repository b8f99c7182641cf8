/* The tensors of a model as a numbered list, in the order of a file: the
 * embedding, the tensors of block 0, ..., the final norm, the head if untied.
 * Private to lib/model. */
#ifndef MODEL_TENSOR_OUT_H
#define MODEL_TENSOR_OUT_H

#include "model/files/compressed.h"
#include "model/files/model.h"

struct tensor_out {
    char name[72];          /* name in the file */
    const struct weight *w; /* [parts] weights that are written in turn */
    size_t parts;           /* 1, unless the family is fused */
    size_t joined; /* a tensor of all experts holds this many tensors, from w
                    * on (experts_joined.h); 0: p is no such tensor */
    struct weight slice; /* what w points to if it is one expert's rows of a
                          * weight, or a vector written as a matrix */
    int arranged;        /* 1: written as arranged.h says */
    float less;          /* subtracted from the values when written */
    size_t perm; /* number of heads, each of whose rows are permuted when
                  * written; 0: none are */
    const struct config *order; /* the configuration whose order of value heads
                                 * the weight has, if they are written in the
                                 * other order (delta_config.h); NULL: they are
                                 * not */
    int minus_exp;              /* 1: -exp of the numbers is written */
    int ndim;
    size_t shape[3];         /* as written: padded to c.KV and c.mlp */
    size_t group;            /* fetch.h */
    int matrix;              /* W_... (a vector's, too), or as in mixture.h; the
                              * final norm has MATRIX_HEAD */
    int two_of_four;         /* 1: a block's matrix that retort.sparse says is
                              * 2:4 */
    enum compressed part;    /* the part to write; set by the writer */
    const float *importance; /* [shape[1]], or NULL; set by the writer */
};
size_t model_ntensors(const struct model *m);
/* Set *p, which must not be copied, to tensor i of a Hugging Face directory. */
void model_tensor(const struct model *m, size_t i, struct tensor_out *p);
/* The number of tensors of a GGUF, where one tensor has all experts. */
size_t model_ntensors_gguf(const struct model *m);
/* Set *p to tensor i as llama.cpp's converter writes it: its GGUF name, norms
 * with nothing subtracted, rows of Q and K permuted if the family's are. */
void model_tensor_gguf(const struct model *m, size_t i, struct tensor_out *p);

#endif
