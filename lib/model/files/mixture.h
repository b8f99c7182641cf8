/* Types of the matrices of a GGUF file, by the names that llama-quantize gives
 * to its files.  Tensors get the types that llama-quantize gives them, except
 * in q4_0, whose embedding and head are Q8_0, and in q4_k and q5_k, whose
 * blocks have no other type. */
#ifndef MODEL_MIXTURE_H
#define MODEL_MIXTURE_H

#include "format/safetensors.h"
#include "model/config/config.h"

struct mixture {
    const char *name;   /* "q4_k_m" */
    unsigned file_type; /* llama.cpp's number: general.file_type */
    enum dtype most;    /* type of most matrices */
    enum dtype more;    /* a more precise type, for the matrices that `where`
                         * names */
    enum {
        MORE_NOWHERE,
        MORE_EARLY,     /* down of the first eighth of the blocks, value of the
                         * first four */
        MORE_OFTEN,     /* down and value of the first and last eighth of the
                         * blocks, and of every third between */
        MORE_IMPORTANT, /* down of the first eighth of the blocks, if weights
                         * are rounded by importance */
    } where;
};

/* The mixture of that name; NULL: there is none. */
const struct mixture *mixture_of(const char *name);
/* Mixture i, in the order of precision; NULL: there are not so many. */
const struct mixture *mixture_at(size_t i);

/* Numbers of embedding and head, beside W_Q, ... of blocks. */
enum { MATRIX_EMBED = -1, MATRIX_HEAD = -2, MATRIX_POSITIONS = -3 };
/* The type that a file of mixture x gives a matrix with `cols` columns.  block:
 * the block that the matrix is in, if it is in one; important: 1 if weights are
 * rounded by importance.  If 256 does not divide `cols`, the type has smaller
 * blocks; if 32 does not divide `cols`, a quantised type gives way to F16. */
enum dtype mixture_type(const struct mixture *x, const struct config *c,
    int matrix, size_t block, size_t cols, int important);

#endif
