/*
 * 2:4 matrices as the format sparse-24-bitmask of compressed-tensors stores
 * them.  Instead of NAME.weight [n,k], where two of each four neighbours in a
 * row may be other than zero (k is a multiple of 4), there are
 *   NAME.shape       I64 [2,1]: n, k
 *   NAME.compressed  [n,k/2]: two of each four, those that are not zero among
 *                    them, in their order
 *   NAME.bitmask     U8 [n,ceil(k/8)]: which; column c is bit c % 8 of byte
 *                    c / 8
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

/* The tensors of a matrix in a file: all of it as one, or its three parts. */
enum compressed {
    COMPRESSED_NOT,
    COMPRESSED_SHAPE,
    COMPRESSED_VALUES,
    COMPRESSED_MASK,
    COMPRESSED_N
};

/* The name of that tensor of the matrix NAME.weight, into out [size]. */
void compressed_name(char *out, size_t size, const char *weight,
    enum compressed part);
/* Set dims to the part's shape; on entry dims is the matrix's. */
void compressed_dims(size_t dims[2], enum compressed part);
/* Values or mask of rows x [n,cols], which stand in y as numbers of `size`
 * bytes: in place of these, *bytes long.  -1: more than two of the four from
 * x[*bytes] on are not zero. */
int compressed_pack(enum compressed part, const float *x, size_t n, size_t cols,
    unsigned char *y, size_t size, size_t *bytes);
/* w is the matrix [rows,cols] of these tensors t [COMPRESSED_N], the first not
 * used, and stays as they have it.  -1: EX_INPUT, "tensor ...: why". */
int compressed_set(struct weight *w, const struct st_tensor *const *t,
    size_t rows, size_t cols, struct err *e);
/* How many 2:4 matrices of m there are by retort.sparse. */
size_t compressed_count(const struct model *m);
/* Names them in that of config_to_json. */
void compressed_write(const struct model *m, json_t *j);

#endif
