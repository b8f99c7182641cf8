/* Scales of matrices stored in F8_E4M3, as published: one number for each block
 * of rows and columns (tensor NAME_scale_inv), or one for the whole matrix
 * (that, or NAME_scale).  Private to lib/model. */
#ifndef MODEL_F8_H
#define MODEL_F8_H

#include "base/err.h"
#include "format/safetensors.h"
#include "model/files/weights.h"

#include <jansson.h>

/* Rows and columns of a block by quantization_config in a parsed config.json;
 * 0, 0: a matrix has one scale.  -1 and *e: weight_block_size is no pair of
 * sizes. */
int f8_block(size_t block[2], const json_t *config, struct err *e);
/* Make the scales of w from the tensor t; the caller frees them.  NULL and *e:
 * t has another shape than w's blocks, another type than F32, F16 or BF16, or a
 * number that is not finite. */
struct f8_scales *f8_make(const struct weight *w, const struct st_tensor *t,
    const size_t block[2], struct err *e);
/* Make the scales of a matrix of n parts of `rows` rows, which have the scales
 * of[n]; the caller frees them.  NULL: their blocks differ. */
struct f8_scales *f8_join(const struct f8_scales *const *of, size_t n,
    size_t rows);
/* Bytes of the scales of a matrix of that many rows. */
size_t f8_bytes(const struct f8_scales *s, size_t rows);

#endif
