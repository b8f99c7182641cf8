/* Reading weights in fp32, and what is computed from all of them; see
 * model.h.  Opening is in open.c. */
#include "model/model.h"

#include "base/mem.h"
#include "kern/kern.h"
#include "model/family.h"
#include "model/tensor_out.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TILE = 1 << 16 }; /* elements widened at a time */

void
weight_widen(float *out, enum dtype t, const unsigned char *p, size_t n)
{
    switch (t) {
    case DT_F32: memcpy(out, p, n * sizeof *out); return;
    case DT_BF16: kern.widen_bf16(out, p, n); return;
    case DT_F16: kern.widen_f16(out, p, n); return;
    case DT_Q8_0: kern.widen_q8_0(out, p, n); return;
    case DT_Q4_0: kern.widen_q4_0(out, p, n); return;
    case DT_Q4_1: kern.widen_q4_1(out, p, n); return;
    default:
        assert(t >= DT_Q5_0 && t <= DT_IQ4_XS); /* checked in weight_set */
        quant_widen(QUANT_Q5_0 + (t - DT_Q5_0), out, p, n);
    }
}

/*
 * Where logical row r is stored.  llama.cpp's converter reshapes the rows of
 * each head to [2, D/2] and swaps the two, so that rotary pairs (j, j + D/2)
 * become neighbours: row a*D/2 + b of a head is stored as row 2b + a.
 */
static size_t
stored_row(const struct weight *w, size_t r)
{
    const size_t D = w->rows / w->perm, j = r % D;

    return r - j + 2 * (j % (D / 2)) + j / (D / 2);
}

static size_t
bytes_of(const struct weight *w, size_t n)
{
    size_t bytes;
    const int r = dtype_bytes(w->dtype, n, &bytes);

    assert(r == 0);
    return bytes;
}

size_t
weight_bytes(const struct weight *w)
{
    return w->rows * (w->stride + w->mask_stride);
}

/* Columns c0..c0+k-1 of a row without its zeros; c0 is a multiple of 8. */
static void
widen_two_of_four(const struct weight *w, size_t row, size_t c0, size_t k,
    float *out)
{
    enum { PART = 512 };
    const unsigned char *mask = w->mask + row * w->mask_stride + c0 / 8;
    const unsigned char *p = w->data + row * w->stride + bytes_of(w, c0 / 2);
    float two[PART / 2];

    for (size_t c = 0; c < k; c += PART) {
        const size_t n = k - c < PART ? k - c : PART;

        weight_widen(two, w->dtype, p + bytes_of(w, c / 2), (n + 3) / 4 * 2);
        kern.spread(out + c, two, mask + c / 8, n);
    }
}

/* Columns c0..c0+k-1 of rows r0..r0+n-1; c0 where a block begins. */
static void
widen_part(const struct weight *w, size_t r0, size_t n, size_t c0, size_t k,
    float *out)
{
    const size_t skip = w->mask == NULL ? bytes_of(w, c0) : 0;

    assert(r0 <= w->rows && n <= w->rows - r0);
    for (size_t i = 0; i < n; i++, out += k) {
        const size_t at = w->perm ? stored_row(w, r0 + i) : r0 + i;

        if (w->mask != NULL)
            widen_two_of_four(w, at, c0, k, out);
        else
            weight_widen(out, w->dtype, w->data + at * w->stride + skip, k);
    }
}

void
weight_rows(const struct weight *w, size_t r0, size_t n, float *out)
{
    if (n == 0)
        return;
    if (!w->perm && w->mask == NULL && bytes_of(w, w->cols) == w->stride) {
        assert(r0 <= w->rows && n <= w->rows - r0);
        weight_widen(out, w->dtype, w->data + r0 * w->stride, n * w->cols);
    } else {
        widen_part(w, r0, n, 0, w->cols, out);
    }
}

const float *
weight_f32(const struct weight *w)
{
    if (w->dtype != DT_F32 || w->perm || w->mask != NULL ||
        w->stride != w->cols * 4 || (uintptr_t)w->data % sizeof(float) != 0)
        return NULL;
    return (const float *)(const void *)w->data;
}

void
weight_product(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *a, float *wide, float *c, size_t ldc)
{
    enum { ROWS = WEIGHT_PIECE / GEMM_DEEP };
    const float *p = weight_f32(w);
    const size_t K = w->cols;

    if (p != NULL) {
        kern.gemm_nt(m, n, K, a, K, p + r0 * K, K, GEMM_SET, c, ldc);
        return;
    }
    for (size_t l = 0; l < K; l += GEMM_DEEP) {
        const size_t k = K - l < GEMM_DEEP ? K - l : GEMM_DEEP;

        for (size_t i = 0; i < n; i += ROWS) {
            const size_t rows = n - i < ROWS ? n - i : ROWS;

            widen_part(w, r0 + i, rows, l, k, wide);
            kern.gemm_nt(m, rows, k, a + l, K, wide, k,
                l == 0 ? GEMM_SET : GEMM_ADD, c + i, ldc);
        }
    }
}

int
weight_dots(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *x, float *y, size_t ldy)
{
    struct kern_rows rows = { .stride = w->stride,
        .mask_stride = w->mask_stride,
        .half = w->dtype == DT_BF16 };

    if ((w->dtype != DT_F32 && w->dtype != DT_BF16) || w->perm)
        return -1;
    rows.data = w->data + r0 * w->stride;
    rows.mask = w->mask != NULL ? w->mask + r0 * w->mask_stride : NULL;
    kern.dots_stored(m, n, w->cols, x, &rows, y, ldy);
    return 0;
}

/* The tensors that blocks of this family have. */
static size_t
block_tensors(const struct config *c, int list[W_N])
{
    size_t n = 0;

    for (int t = 0; t < W_N; t++)
        if (block_tensor_name(c, t) != NULL)
            list[n++] = t;
    return n;
}

size_t
model_ntensors(const struct model *m)
{
    int list[W_N];

    return 2 + block_tensors(&m->c, list) * m->c.L + !m->c.tied;
}

/* What is taken from the values of a tensor whose readers add `add`; nothing
 * from the zeros that stand for one which the block has not. */
static float
part_less(const struct tensor_out *p, float add)
{
    return p->w->rows > 0 ? add - p->w->add : 0.0f;
}

void
model_tensor(const struct model *m, size_t i, struct tensor_out *p)
{
    int list[W_N];
    const size_t n = block_tensors(&m->c, list), nb = n * m->c.L;

    memset(p, 0, sizeof *p);
    if (i >= 1 && i <= nb) {
        const size_t k = (i - 1) / n;
        const int t = list[(i - 1) % n];

        p->w = &m->block[k].w[t];
        p->group = k;
        snprintf(p->name, sizeof p->name, "model.layers.%zu.%s", k,
            block_tensor_name(&m->c, t));
        block_dims(&m->c, t, NULL, &p->shape[0], &p->shape[1]);
        p->ndim = block_is_vector(t) ? 1 : 2;
        p->less = part_less(p, family_norm_add(&m->c, t));
        p->two_of_four =
            m->block[k].sparse >> t & 1 && strcmp(m->c.sparse, "2:4") == 0;
    } else {
        p->w = i == 0 ? &m->embed : i == nb + 1 ? &m->norm : &m->head;
        p->group = m->c.L + (i == 0 ? 0 : i - nb);
        snprintf(p->name, sizeof p->name, "%s",
            i == 0            ? "model.embed_tokens.weight"
                : i == nb + 1 ? "model.norm.weight"
                              : "lm_head.weight");
        p->shape[0] = p->w->rows;
        p->shape[1] = p->w->cols;
        p->ndim = i == nb + 1 ? 1 : 2;
        if (p->ndim == 1)
            p->less = part_less(p, family_norm_add(&m->c, -1));
    }
    if (p->ndim == 1)
        p->shape[0] = p->shape[1];
}

void
model_tensor_gguf(const struct model *m, size_t i, struct tensor_out *p)
{
    int list[W_N];
    const size_t n = block_tensors(&m->c, list), nb = n * m->c.L;
    const int permuted = family_of(&m->c)->permuted;

    model_tensor(m, i, p);
    p->less = part_less(p, 0.0f);
    if (i >= 1 && i <= nb) {
        const int t = list[(i - 1) % n];
        const size_t k = m->block[(i - 1) / n].groups;

        snprintf(p->name, sizeof p->name, "blk.%zu.%s", (i - 1) / n,
            block_gguf_name(t));
        p->perm = !permuted ? 0
            : t == W_Q      ? k * (m->c.H / m->c.KV)
            : t == W_K      ? k
                            : 0;
    } else {
        snprintf(p->name, sizeof p->name, "%s",
            i == 0            ? "token_embd.weight"
                : i == nb + 1 ? "output_norm.weight"
                              : "output.weight");
    }
}

/* Rows of w that are widened at a time. */
static size_t
tile_rows(const struct weight *w)
{
    const size_t n = TILE / w->cols;

    return n == 0 ? 1 : n < w->rows ? n : w->rows;
}

/* 0 times a number is 0, times NaN or infinity NaN: the sum shows it without
 * a branch. */
static int
all_finite(const float *x, size_t n)
{
    float s = 0;

    for (size_t i = 0; i < n; i++)
        s += x[i] * 0.0f;
    return isfinite(s);
}

/* With the tile before: the system maps pages around the one touched. */
void
model_forget_tile(const struct model *m, const struct weight *w, size_t row,
    size_t n)
{
    const size_t back = row < n ? row : n;
    struct weight part = *w;

    part.data += (row - back) * w->stride;
    if (w->mask != NULL)
        part.mask += (row - back) * w->mask_stride;
    part.rows = n + back;
    model_forget(m, &part);
}

int
model_check_finite(const struct model *m, struct err *e)
{
    struct tensor_out p;
    float *x = NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < model_ntensors(m); i++) {
        size_t tile;

        model_tensor(m, i, &p);
        if (p.w->rows == 0)
            continue;
        tile = tile_rows(p.w);
        x = xreallocarray(x, tile * p.w->cols, sizeof *x);
        for (size_t k = 0; r == 0 && k < p.w->rows; k += tile) {
            const size_t n = tile < p.w->rows - k ? tile : p.w->rows - k;

            weight_rows(p.w, k, n, x);
            model_forget_tile(m, p.w, k, n);
            if (!all_finite(x, n * p.w->cols))
                r = err_set(e, EX_NUM, "%s: tensor %s is not finite", m->path,
                    p.name);
        }
    }
    model_forget(m, NULL);
    free(x);
    return r;
}

static void
hash_weight(XXH3_state_t *h, const struct model *m, const struct weight *w)
{
    const size_t tile = tile_rows(w);
    float *x = xreallocarray(NULL, tile * w->cols, sizeof *x);

    for (size_t k = 0; k < w->rows; k += tile) {
        const size_t n = tile < w->rows - k ? tile : w->rows - k;

        weight_rows(w, k, n, x);
        model_forget_tile(m, w, k, n);
        XXH3_128bits_update(h, x, n * w->cols * sizeof *x);
    }
    free(x);
}

static XXH3_state_t *
begin_hash(void)
{
    XXH3_state_t *h = XXH3_createState();

    if (!h)
        mem_exhausted("state of a hash");
    XXH3_128bits_reset(h);
    return h;
}

static void
end_hash(XXH3_state_t *h, const struct model *m, char out[33])
{
    XXH128_canonical_t c;

    model_forget(m, NULL);
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(h));
    XXH3_freeState(h);
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", c.digest[i]);
}

void
model_head_hash(const struct model *m, char out[33])
{
    XXH3_state_t *h = begin_hash();

    hash_weight(h, m, &m->head);
    hash_weight(h, m, &m->norm);
    end_hash(h, m, out);
}

static void
hash_stored(XXH3_state_t *h, const struct model *m, const struct weight *w)
{
    XXH3_128bits_update(h, w->data, w->rows * w->stride);
    if (w->mask != NULL)
        XXH3_128bits_update(h, w->mask, w->rows * w->mask_stride);
    model_forget(m, w);
}

void
model_hash(const struct model *m, char out[33])
{
    json_t *j = config_to_json(&m->c, NULL);
    char *config = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
    XXH3_state_t *h = begin_hash();

    XXH3_128bits_update(h, config, strlen(config));
    hash_stored(h, m, &m->embed);
    hash_stored(h, m, &m->norm);
    if (!m->c.tied)
        hash_stored(h, m, &m->head);
    for (size_t i = 0; i < m->c.L * W_N; i++)
        hash_stored(h, m, &m->block[i / W_N].w[i % W_N]);
    end_hash(h, m, out);
    free(config);
    json_decref(j);
}

struct block_shape
block_shape(const struct block *b)
{
    return (struct block_shape){ b->groups, b->mlp, b->source };
}

void
model_shape(const struct model *m, struct block_shape *b)
{
    for (size_t i = 0; i < m->c.L; i++)
        b[i] = block_shape(&m->block[i]);
}

size_t
model_params(const struct model *m)
{
    size_t n = m->embed.rows * m->embed.cols + m->norm.cols;

    if (!m->c.tied)
        n += m->head.rows * m->head.cols;
    for (size_t i = 0; i < m->c.L; i++)
        for (size_t t = 0; t < W_N; t++)
            n += m->block[i].w[t].rows * m->block[i].w[t].cols;
    return n;
}

size_t
model_widest(const struct model *m)
{
    size_t n = 1;

    for (size_t i = 0; i < m->c.L; i++)
        n = m->block[i].mlp > n ? m->block[i].mlp : n;
    return n;
}
