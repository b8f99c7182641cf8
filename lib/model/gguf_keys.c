/* Keys of a GGUF whose names begin with its architecture; see gguf_keys.h. */
#include "model/gguf_keys.h"

#include "model/family.h"

#include <stdio.h>

const char *
arch_key(const struct config *c, const char *name)
{
    static char text[80];

    snprintf(text, sizeof text, "%s.%s", family_of(c)->gguf, name);
    return text;
}

int
arch_size(const struct config *c, const struct gguf *g, const char *name,
    size_t lo, size_t hi, size_t *r, struct err *e)
{
    return gguf_size(g, arch_key(c, name), lo, hi, r, e);
}

int
arch_real(const struct config *c, const struct gguf *g, const char *name,
    double lo, double hi, double *r, struct err *e)
{
    return gguf_real(g, arch_key(c, name), lo, hi, r, e);
}

int
arch_must(const struct config *c, const struct gguf *g, const char *name,
    struct err *e)
{
    const char *key = arch_key(c, name);

    return gguf_kv(g, key) ? 0 : err_set(e, EX_INPUT, "%s: is missing", key);
}

int
arch_need(const struct config *c, const struct gguf *g, const char *name,
    size_t hi, size_t *r, struct err *e)
{
    return arch_must(c, g, name, e) < 0 ||
            arch_size(c, g, name, 1, hi, r, e) < 0
        ? -1
        : 0;
}
