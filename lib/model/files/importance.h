/*
 * How much the columns of a model's matrices matter: the mean squares of the
 * inputs that they are multiplied by, over the tokens of some text.  They come
 * from a profile (prune-profile(1)) or from a file of llama-imatrix.  That file
 * holds, for the tensor NAME of a GGUF, sums of squares in NAME.in_sum2 and
 * numbers of tokens in NAME.counts.
 */
#ifndef MODEL_IMPORTANCE_H
#define MODEL_IMPORTANCE_H

#include "base/err.h"
#include "model/files/model.h"

struct importance;

/* Read path: a folder is a profile, a file one of llama-imatrix.  NULL and *e
 * "path: why" (EX_INPUT): it is damaged, lacks a matrix of the blocks, or was
 * made for another model than m (its shapes differ or, in a profile, its hash).
 * The caller frees it. */
struct importance *importance_open(const char *path, const struct model *m,
    struct err *e);
void importance_free(struct importance *p);
/* The importance of each column of a matrix (number as in mixture.h), in the
 * order of a GGUF, padding included; NULL: it is not known, as often for
 * embedding and head. */
const float *importance_of(const struct importance *p, int matrix,
    size_t block);

#endif
