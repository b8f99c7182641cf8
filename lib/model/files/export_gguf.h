/* Writing a model as llama.cpp loads it. */
#ifndef MODEL_EXPORT_GGUF_H
#define MODEL_EXPORT_GGUF_H

#include "base/err.h"
#include "base/pool.h"
#include "model/files/importance.h"
#include "model/files/mixture.h"
#include "model/files/model.h"

struct gguf_how {
    const struct mixture *mixture;       /* types of the matrices; NULL: as they
                                          * are stored */
    const struct importance *importance; /* or NULL */
    struct pool *pool;                   /* NULL: this thread alone */
};

/*
 * Write a GGUF as llama.cpp's converter and llama-quantize would; vectors are
 * F32.
 * Matrices that are stored in the quantised type of the file are copied.
 * Blocks are padded and tok_from is used as in model_export.  The file is
 * replaced once the new one is whole.  Settings that a GGUF cannot hold, other
 * than padding, are refused or warned of.
 */
int model_export_gguf(const struct model *m, const char *file,
    const struct gguf_how *how, const char *tok_from, struct err *e);

#endif
