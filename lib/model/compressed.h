/*
 * 2:4 matrices as the format sparse-24-bitmask of compressed-tensors stores
 * them.  Instead of NAME.weight [n,k], where two of each four neighbours in a
 * row may be other than zero (k is a multiple of 4), there are
 *   NAME.shape       I64 [2,1]: n, k
 *   NAME.compressed  [n,k/2]: two of each four, among them all that are not
 *                    zero, in order of columns
 *   NAME.bitmask     U8 [n,ceil(k/8)]: the columns of these numbers; column c
 *                    is bit c % 8 of byte c / 8
 * and in config.json
 *   "quantization_config": {"quant_method": "compressed-tensors",
 *       "sparsity_config": {"format": "sparse-24-bitmask", "targets": [NAME]}}
 */
#ifndef MODEL_COMPRESSED_H
#define MODEL_COMPRESSED_H

#include "base/err.h"
#include "format/safetensors.h"
#include "model/model.h"

#include <jansson.h>

/* How a file has a matrix: as one tensor (COMPRESSED_NOT), or as three
 * parts. */
enum compressed {
    COMPRESSED_NOT,
    COMPRESSED_SHAPE,
    COMPRESSED_VALUES,
    COMPRESSED_MASK,
    COMPRESSED_N
};

/* Write to out [size] the name of that part of the matrix `weight`,
 * NAME.weight. */
void compressed_name(char *out, size_t size, const char *weight,
    enum compressed part);
/* Set dims to the part's shape; on entry dims is the matrix's. */
void compressed_dims(size_t dims[2], enum compressed part);
/* Pack n rows in place: on entry y has the numbers of x [n,cols] in `size`
 * bytes each, on return the rows' values or mask, *bytes long. -1: of the four
 * numbers from x[*bytes] on, more than two are not zero. */
int compressed_pack(enum compressed part, const float *x, size_t n, size_t cols,
    unsigned char *y, size_t size, size_t *bytes);
/* Make w the matrix [rows,cols] of the parts t [COMPRESSED_N], t[0] unused; its
 * data stay packed, where they are. -1: EX_INPUT, "tensor ...: why". */
int compressed_set(struct weight *w, const struct st_tensor *const *t,
    size_t rows, size_t cols, struct err *e);
/* The number of matrices of m that retort.sparse says are 2:4. */
size_t compressed_count(const struct model *m);
/* Add quantization_config, which names these matrices, to j of
 * config_to_json. */
void compressed_write(const struct model *m, json_t *j);

#endif
