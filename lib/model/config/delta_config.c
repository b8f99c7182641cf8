/* The gated delta rule in configurations and files; see delta_config.h. */
#include "model/config/delta_config.h"

#include "base/mem.h"
#include "model/config/config_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
config_has_delta(const struct config *c)
{
    return c->delta.keys > 0;
}

size_t
conv_channels(const struct config *c)
{
    const struct delta_shape *s = &c->delta;

    return config_has_delta(c) ? 2 * s->keys * s->dk + s->values * s->dv : c->d;
}

int
delta_check(const struct config *c, struct err *e)
{
    if (!config_has_delta(c))
        return 0;
    if (c->delta.values % c->delta.keys != 0)
        return err_set(e, EX_INPUT,
            "linear_num_value_heads: %zu is no multiple of %zu key heads",
            c->delta.values, c->delta.keys);
    if (conv_channels(c) > (size_t)1 << 20)
        return err_set(e, EX_INPUT,
            "linear_num_value_heads: %zu heads of keys and values have %zu "
            "numbers, more than %d",
            c->delta.values, conv_channels(c), 1 << 20);
    return 0;
}

static int
read_gguf_layers(struct config_file *f, const struct gguf *g, struct err *e)
{
    struct config *c = &f->c;
    const char *name = arch_key(c, "attention.recurrent_layers");
    const struct gguf_kv *v = gguf_kv(g, name);

    if (v &&
        (v->type != GGUF_ARRAY || gguf_type_size(v->elem) == 0 || v->n < c->L))
        return err_set(e, EX_INPUT, "%s: is no list of %zu", name, c->L);
    for (size_t i = 0; i < c->L; i++)
        config_bit_set(c->linear, i,
            v ? gguf_int(v, i) != 0 : (i + 1) % f->interval != 0);
    return 0;
}

int
delta_from_gguf(struct config_file *f, const struct gguf *g, struct err *e)
{
    struct config *c = &f->c;
    struct delta_shape *s = &c->delta;

    if (!config_has_delta(c))
        return 0;
    if (f->next >= c->L)
        return err_set(e, EX_INPUT, "%s: %zu is outside 0 to %zu",
            arch_key(c, "nextn_predict_layers"), f->next, c->L - 1);
    s->dv = f->inner / s->values;
    if (s->dv == 0 || f->inner % s->values != 0)
        return err_set(e, EX_INPUT, "%s: %zu is no multiple of %zu value heads",
            arch_key(c, "ssm.inner_size"), f->inner, s->values);
    s->tiled = delta_is_tiled(c);
    c->L -= f->next;
    return read_gguf_layers(f, g, e) < 0 ? -1 : delta_check(c, e);
}

void
delta_to_gguf(const struct config *c, struct gguf_out *o)
{
    const size_t half = config_rotary(c) / 2;
    /* how many angles follow each of three positions, which in text are
     * equal */
    const size_t section[] = { (half + 2) / 3, (half + 1) / 3, half / 3, 0 };

    if (!config_has_delta(c))
        return;
    gguf_out_array(o, arch_key(c, "attention.recurrent_layers"), GGUF_BOOL,
        c->L);
    for (size_t i = 0; i < c->L; i++)
        gguf_out_num(o, config_linear(c, i), 1);
    if (family_of(c)->bit == FAMILY_QWEN3_NEXT)
        return;
    gguf_out_array(o, arch_key(c, "rope.dimension_sections"), GGUF_I32, 4);
    for (size_t i = 0; i < 4; i++)
        gguf_out_num(o, section[i], 4);
}

int
delta_check_gguf(const struct config *c, struct err *e)
{
    if (config_has_delta(c) && c->delta.dk != c->delta.dv)
        return err_set(e, EX_INPUT,
            "linear_value_head_dim: %zu: readers of a GGUF take it to be "
            "linear_key_head_dim, %zu: write a folder instead",
            c->delta.dv, c->delta.dk);
    return 0;
}

/* ---- the order of value heads ---- */

int
delta_is_tiled(const struct config *c)
{
    return c->delta.keys < c->delta.values && c->delta.keys > 1 &&
        family_of(c)->bit != FAMILY_QWEN3_NEXT;
}

size_t
delta_fused_row(const struct config *c, int t, size_t r)
{
    const struct delta_shape *s = &c->delta;
    const size_t keys = s->keys * s->dk, each = s->values / s->keys;
    const size_t wide = t <= W_DELTA_Z ? each * s->dv : each;
    const size_t begin = t <= W_DELTA_Z ? 2 * s->dk : 0;
    const size_t head = begin + 2 * wide; /* rows of a key head */

    if (t == W_DELTA_MIX && r < 2 * keys)
        return r % keys / s->dk * head + r / keys * s->dk + r % s->dk;
    if (t == W_DELTA_MIX)
        r -= 2 * keys;
    return r / wide * head + begin + r % wide +
        (t == W_DELTA_Z || t == W_DELTA_RATE ? wide : 0);
}

/* Where value heads lie along a tensor's rows or columns: from element `from`
 * on, `size` elements each; size 0: there are no value heads along them. */
struct axis {
    size_t from, size;
};

static struct axis
rows_of(const struct config *c, int t)
{
    const struct delta_shape *s = &c->delta;

    return t == W_DELTA_MIX || t == W_CONV
        ? (struct axis){ 2 * s->keys * s->dk, s->dv }
        : (struct axis){ 0,
              t == W_DELTA_Z                               ? s->dv
                  : t == W_DELTA_BETA || t == W_DELTA_RATE ? 1
                                                           : 0 };
}

static struct axis
columns_of(const struct config *c, int t)
{
    const struct delta_shape *s = &c->delta;

    return (struct axis){ 0,
        t == W_DELTA_OUT                          ? s->dv
            : t == W_DELTA_DT || t == W_DELTA_LOG ? 1
                                                  : 0 };
}

/* The head, in the order of s, that is head h of the other order. */
static size_t
head_from(const struct delta_shape *s, size_t h)
{
    const size_t each = s->values / s->keys;

    return s->tiled ? h % each * s->keys + h / each
                    : h % s->keys * each + h / s->keys;
}

static size_t
element_from(const struct delta_shape *s, struct axis a, size_t k)
{
    if (a.size == 0 || k < a.from)
        return k;
    k -= a.from;
    return a.from + head_from(s, k / a.size) * a.size + k % a.size;
}

size_t
delta_row(const struct config *c, int t, size_t k)
{
    return element_from(&c->delta, rows_of(c, t), k);
}

void
delta_order(const struct config *c, int t, float *x, size_t n, size_t cols)
{
    const struct axis a = columns_of(c, t);
    float *was;

    if (a.size == 0)
        return;
    was = xreallocarray(NULL, cols, sizeof *was);
    for (size_t r = 0; r < n; r++, x += cols) {
        memcpy(was, x, cols * sizeof *x);
        for (size_t k = 0; k < cols; k++)
            x[k] = was[element_from(&c->delta, a, k)];
    }
    free(was);
}

void
delta_untile(const struct config *c, int t, float *x, size_t rows, size_t cols)
{
    float *was;

    if (!block_is_delta(t) || rows == 0)
        return;
    if (t == W_CONV) {
        cols = rows * cols / conv_channels(c);
        rows = conv_channels(c);
    }
    delta_order(c, t, x, rows, cols);
    was = xreallocarray(NULL, rows * cols, sizeof *was);
    memcpy(was, x, rows * cols * sizeof *x);
    for (size_t k = 0; k < rows; k++)
        memcpy(x + k * cols, was + delta_row(c, t, k) * cols, cols * sizeof *x);
    free(was);
}
