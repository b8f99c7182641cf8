/* Writing a model as llama.cpp loads it. */
#ifndef MODEL_EXPORT_GGUF_H
#define MODEL_EXPORT_GGUF_H

#include "base/err.h"
#include "model/model.h"

/*
 * Write a GGUF as llama.cpp's converter would.
 *   matrices: F32, F16, BF16, Q8_0 or Q4_0; see matrix_type
 *   vectors: F32
 * Blocks are padded and tok_from is used as in model_export.  The file is
 * replaced once the new one is whole.  Settings that a GGUF cannot hold, other
 * than padding, are refused or warned of.
 */
int model_export_gguf(const struct model *m, const char *file, enum dtype as,
    const char *tok_from, struct err *e);
/* Type of a matrix with `cols` columns in a GGUF of type `as`; of_block: is it
 * a block's matrix, not embedding or head? */
enum dtype matrix_type(enum dtype as, size_t cols, int of_block);

#endif
