/*
 * 2:4 matrices as the format sparse-24-bitmask of compressed-tensors stores
 * them.  In each four neighbours of a row at most two are not zero (k is a
 * multiple of 4).  Three tensors replace NAME.weight [n,k]:
 *   NAME.shape       I64 [2,1]: n, k
 *   NAME.compressed  [n,k/2]: two numbers of each four, in order of columns;
 *                    all that are not zero are among them
 *   NAME.bitmask     U8 [n,ceil(k/8)]: the columns of these numbers; column c
 *                    is bit c % 8 of byte c / 8
 * and config.json has
 *   "quantization_config": {"quant_method": "compressed-tensors",
 *       "sparsity_config": {"format": "sparse-24-bitmask", "targets": [NAME]}}
 */
#ifndef MODEL_COMPRESSED_H
#define MODEL_COMPRESSED_H

#include "base/err.h"
#include "format/safetensors.h"
#include "model/files/model.h"

#include <jansson.h>

/* A tensor of a matrix in a file: the whole matrix (COMPRESSED_NOT), or one of
 * the three parts. */
enum compressed {
    COMPRESSED_NOT,
    COMPRESSED_SHAPE,
    COMPRESSED_VALUES,
    COMPRESSED_MASK,
    COMPRESSED_N
};

/* Write to out [size] the name of a part of the matrix `weight`, which is
 * NAME.weight. */
void compressed_name(char *out, size_t size, const char *weight,
    enum compressed part);
/* Set dims to the part's shape; on entry dims is the matrix's. */
void compressed_dims(size_t dims[2], enum compressed part);
/* Pack n rows in place.  y: in, the numbers of x [n,cols], `size` bytes each;
 * out, the rows' values or mask, *bytes long.  -1: x is not 2:4, as more than
 * two of the four numbers from x[*bytes] on are not zero. */
int compressed_pack(enum compressed part, const float *x, size_t n, size_t cols,
    unsigned char *y, size_t size, size_t *bytes);
/* Make w the matrix [rows,cols] whose parts are t [COMPRESSED_N] (t[0] is not
 * used).  w's data point to the packed numbers in the tensors.  -1: EX_INPUT,
 * "tensor ...: why". */
int compressed_set(struct weight *w, const struct st_tensor *const *t,
    size_t rows, size_t cols, struct err *e);
/* The number of matrices of m that retort.sparse says are 2:4. */
size_t compressed_count(const struct model *m);
/* Add quantization_config, which names the matrices that retort.sparse says are
 * 2:4, to the config.json j that config_to_json made. */
void compressed_write(const struct model *m, json_t *j);

#endif
