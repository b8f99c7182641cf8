/* A model as a GGUF file of a type by name, without a tokenizer. */
#ifndef TESTS_LIB_EXPORT_AS_H
#define TESTS_LIB_EXPORT_AS_H

#include "model/files/export_gguf.h"

static inline int
export_as(const struct model *m, const char *file, const char *type,
    struct err *e)
{
    const struct gguf_how how = { .mixture = mixture_of(type) };

    return model_export_gguf(m, file, &how, NULL, e);
}

#endif
