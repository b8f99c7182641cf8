/* Scales of matrices in F8_E4M3; see f8.h. */
#include "model/files/f8.h"

#include "base/mem.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MOST = 1 << 20 };

static size_t
blocks_of(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

int
f8_block(size_t block[2], const json_t *config, struct err *e)
{
    const json_t *q = js_get(config, "quantization_config");
    const json_t *size = json_object_get(q, "weight_block_size");

    /* transformers assumes 128 x 128 where the key is missing */
    block[0] = block[1] =
        size == NULL && strcmp(js_text_of(q, "quant_method"), "fp8") == 0 ? 128
                                                                          : 0;
    if (size == NULL || json_is_null(size))
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const json_int_t n = json_integer_value(json_array_get(size, i));

        if (json_array_size(size) != 2 || n < 1 || n > BLOCK_MOST)
            return err_set(e, EX_INPUT,
                "quantization_config.weight_block_size: is no pair of sizes");
        block[i] = (size_t)n;
    }
    return 0;
}

static struct f8_scales *
f8_alloc(size_t rows, size_t cols, size_t across, size_t part, size_t lines)
{
    struct f8_scales *s =
        xcalloc(1, sizeof *s + lines * across * sizeof s->x[0]);

    s->rows = rows;
    s->cols = cols;
    s->across = across;
    s->part = part;
    return s;
}

struct f8_scales *
f8_make(const struct weight *w, const struct st_tensor *t,
    const size_t block[2], struct err *e)
{
    const int one = t->n == 1;
    const size_t rows = one ? w->rows : block[0];
    const size_t cols = one ? w->cols : block[1];
    const size_t high = one ? 1 : rows > 0 ? blocks_of(w->rows, rows) : 0;
    const size_t across = one ? 1 : cols > 0 ? blocks_of(w->cols, cols) : 0;
    struct f8_scales *s;

    if (t->dtype != DT_F32 && t->dtype != DT_F16 && t->dtype != DT_BF16) {
        err_set(e, EX_INPUT,
            "tensor %.120s: scales of type %s are not supported", t->name,
            dtype_name(t->dtype));
        return NULL;
    }
    if (!one &&
        (t->ndim != 2 || t->shape[0] != high || t->shape[1] != across)) {
        err_set(e, EX_INPUT,
            "tensor %.120s: has %zu scales, neither one nor %zu x %zu, for "
            "blocks of %zu x %zu (weight_block_size)",
            t->name, t->n, high, across, rows, cols);
        return NULL;
    }
    s = f8_alloc(rows, cols, across, w->rows, high);
    weight_widen(s->x, t->dtype, t->data, t->n);
    for (size_t i = 0; i < t->n; i++)
        if (!isfinite(s->x[i])) {
            err_set(e, EX_NUM, "tensor %.120s is not finite", t->name);
            free(s);
            return NULL;
        }
    return s;
}

struct f8_scales *
f8_join(const struct f8_scales *const *of, size_t n, size_t rows)
{
    const struct f8_scales *f = of[0];
    const size_t high = blocks_of(rows, f->rows);
    struct f8_scales *s = f8_alloc(f->rows, f->cols, f->across, rows, n * high);

    for (size_t i = 0; i < n; i++) {
        if (of[i]->rows != f->rows || of[i]->cols != f->cols) {
            free(s);
            return NULL;
        }
        memcpy(s->x + i * high * f->across, of[i]->x,
            high * f->across * sizeof s->x[0]);
    }
    return s;
}

size_t
f8_bytes(const struct f8_scales *s, size_t rows)
{
    return blocks_of(rows, s->part) * blocks_of(s->part, s->rows) * s->across *
        sizeof s->x[0];
}
