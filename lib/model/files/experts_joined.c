/* Experts' matrices in one stored tensor; see experts_joined.h. */
#include "model/files/experts_joined.h"
#include "base/mem.h"
#include "model/config/family.h"

#include <stdio.h>
#include <string.h>

int
joined_is(const struct config *c, int t)
{
    return family_of(c)->joined &&
        ((t >= W_EXPERT_GATE && t <= W_EXPERT_DOWN) ||
            (t >= W_BIAS_GATE && t <= W_BIAS_DOWN));
}

/* How many tensors, t among them, alternate in the stored tensor. */
static size_t
joined_ways(int t)
{
    return t == W_EXPERT_DOWN || t == W_BIAS_DOWN ? 1 : 2;
}

size_t
joined_count(const struct config *c, int t)
{
    return !joined_is(c, t) || t == W_EXPERT_UP || t == W_BIAS_UP
        ? 0
        : joined_ways(t);
}

const char *
joined_name(int t)
{
    return t == W_EXPERT_DOWN ? "mlp.experts.down_proj"
        : t == W_BIAS_DOWN    ? "mlp.experts.down_proj_bias"
        : block_is_bias(t)    ? "mlp.experts.gate_up_proj_bias"
                              : "mlp.experts.gate_up_proj";
}

int
joined_shape(int t, size_t E, size_t in, size_t out, size_t shape[3])
{
    const int bias = block_is_bias(t);

    shape[0] = E;
    shape[1] = bias ? joined_ways(t) * out : in;
    shape[2] = joined_ways(t) * out;
    return bias ? 2 : 3;
}

static int
check_shape(const struct st_tensor *s, const size_t *want, int ndim,
    struct err *e)
{
    int same = s->ndim == ndim;

    for (int i = 0; i < ndim; i++)
        same = same && s->shape[i] == want[i];
    return same
        ? 0
        : err_set(e, EX_INPUT,
              "tensor %s has %zu elements in %d dimensions, but config.json "
              "means %zu in rows of %zu",
              s->name, s->n, s->ndim, want[0], want[ndim - 1]);
}

/* Copy every ways-th column of `from` [in,ways*out], beginning with the first,
 * to a row of `to` [out,in].  Numbers have `size` bytes; they are copied in
 * squares that fit the cache. */
static void
turn_columns(const unsigned char *from, size_t in, size_t out, size_t ways,
    size_t size, unsigned char *to)
{
    enum { SIDE = 32 };

    for (size_t r0 = 0; r0 < out; r0 += SIDE)
        for (size_t c0 = 0; c0 < in; c0 += SIDE)
            for (size_t r = r0; r < out && r < r0 + SIDE; r++)
                for (size_t c = c0; c < in && c < c0 + SIDE; c++)
                    memcpy(to + (r * in + c) * size,
                        from + (c * out + r) * ways * size, size);
}

static size_t
which_way(int t)
{
    return t == W_EXPERT_UP || t == W_BIAS_UP;
}

static void
set_split(struct weight *w, void *p, enum dtype type, int t, size_t E,
    size_t in, size_t out)
{
    const int bias = block_is_bias(t);

    memset(w, 0, sizeof *w);
    w->data = p;
    w->dtype = type;
    w->rows = bias ? E : E * out;
    w->cols = bias ? out : in;
    (void)dtype_bytes(type, w->cols, &w->stride);
}

void *
joined_split(const struct st_tensor *from, int t, size_t E, size_t in,
    size_t out, struct weight *w, struct err *e)
{
    const size_t ways = joined_ways(t);
    const unsigned char *p = from->data;
    size_t shape[3], size;
    unsigned char *made;

    if (check_shape(from, shape, joined_shape(t, E, in, out, shape), e) < 0)
        return NULL;
    if (from->dtype != DT_F32 && from->dtype != DT_F16 &&
        from->dtype != DT_BF16) {
        err_set(e, EX_INPUT, "tensor %s: dtype %s is not supported for weights",
            from->name, dtype_name(from->dtype));
        return NULL;
    }
    (void)dtype_bytes(from->dtype, 1, &size);
    made = xcalloc(E * in * out, size);
    for (size_t k = 0; k < E; k++)
        turn_columns(p + k * in * ways * out * size + which_way(t) * size, in,
            out, ways, size, made + k * in * out * size);
    set_split(w, made, from->dtype, t, E, in, out);
    return made;
}

/* Repack 32 numbers as a block of a GGUF: the scale, then bytes whose low
 * halves are the first 16 numbers. */
static void
repack_block(const unsigned char *from, unsigned char scale, unsigned char *to)
{
    *to++ = scale;
    for (size_t i = 0; i < 16; i++) {
        const unsigned shift = i % 2 * 4;

        to[i] = (unsigned char)((from[i / 2] >> shift & 15) |
            (from[8 + i / 2] >> shift & 15) << 4);
    }
}

void *
joined_split_mxfp4(const struct st_tensor *blocks,
    const struct st_tensor *scales, int t, size_t E, size_t in, size_t out,
    struct weight *w, struct err *e)
{
    const size_t ways = joined_ways(t), G = in / 32;
    const size_t shape[] = { E, ways * out, G, 16 };
    const unsigned char *b = blocks->data, *s = scales->data;
    unsigned char *made, *to;

    if (in % 32 != 0 || check_shape(blocks, shape, 4, e) < 0 ||
        check_shape(scales, shape, 3, e) < 0) {
        if (in % 32 != 0)
            err_set(e, EX_INPUT, "tensor %s: rows of %zu are no whole blocks",
                blocks->name, in);
        return NULL;
    }
    if (blocks->dtype != DT_U8 || scales->dtype != DT_U8) {
        err_set(e, EX_INPUT, "tensor %s: is not U8, as its scales must be too",
            blocks->name);
        return NULL;
    }
    made = to = xcalloc(E * out * G, 17);
    for (size_t k = 0; k < E * out; k++)
        for (size_t g = 0; g < G; g++, to += 17) {
            const size_t at = (k * ways + which_way(t)) * G + g;

            repack_block(b + 16 * at, s[at], to);
        }
    set_split(w, made, DT_MXFP4, t, E, in, out);
    return made;
}

void
joined_fill(const struct weight *w, int t, size_t ways, size_t k, size_t in,
    size_t out, float *room, float *x)
{
    for (size_t way = 0; way < ways; way++) {
        if (block_is_bias(t))
            weight_rows(w + way, k, 1, room);
        else
            weight_rows(w + way, k * out, out, room);
        for (size_t c = 0; c < in; c++)
            for (size_t r = 0; r < out; r++)
                x[(c * out + r) * ways + way] = room[r * in + c];
    }
}
