/* Sizes, hashes and checks of all weights of a model; see model.h. */
#include "model/files/model.h"

#include "base/mem.h"
#include "model/files/adapter.h"
#include "model/files/adapter_file.h"
#include "model/files/f8.h"
#include "model/files/tensor_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TILE = 1 << 16 }; /* elements widened at a time */

/* Rows of w that are widened at a time. */
static size_t
widened_rows(const struct weight *w)
{
    const size_t n = TILE / w->cols;

    return n == 0 ? 1 : n < w->rows ? n : w->rows;
}

/* Sum 0 times each number, which is NaN if the number is not finite; so the sum
 * tells, without a branch for each number. */
static int
all_finite(const float *x, size_t n)
{
    float s = 0;

    for (size_t i = 0; i < n; i++)
        s += x[i] * 0.0f;
    return isfinite(s);
}

/* Drop the tile before this one, too: the system also maps the pages around one
 * that is read. */
void
model_forget_tile(const struct model *m, const struct weight *w, size_t row,
    size_t n)
{
    const size_t back = row < n ? row : n;
    struct weight part = *w;

    if (w->part != NULL) {
        model_forget(m, w);
        return;
    }
    part.data += (row - back) * w->stride;
    if (w->mask != NULL)
        part.mask += (row - back) * w->mask_stride;
    part.rows = n + back;
    model_forget(m, &part);
}

static int
check_weight(const struct model *m, const struct weight *w, const char *name,
    float **x, struct err *e)
{
    const size_t tile = w->rows > 0 ? widened_rows(w) : 0;

    *x = xreallocarray(*x, tile * w->cols + 1, sizeof **x);
    for (size_t k = 0; k < w->rows; k += tile) {
        const size_t n = tile < w->rows - k ? tile : w->rows - k;

        weight_rows(w, k, n, *x);
        model_forget_tile(m, w, k, n);
        if (!all_finite(*x, n * w->cols))
            return err_set(e, EX_NUM, "%s: tensor %s is not finite", m->path,
                name);
    }
    return 0;
}

int
model_check_finite(const struct model *m, struct err *e)
{
    struct tensor_out p;
    float *x = NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < model_ntensors(m); i++) {
        model_tensor(m, i, &p);
        for (size_t k = 0; r == 0 && k < p.parts; k++)
            r = check_weight(m, p.w + k, p.name, &x, e);
    }
    model_forget(m, NULL);
    free(x);
    return r;
}

int
model_open_checked(struct model *m, const char *path, const char *adapter,
    struct err *e)
{
    if (model_open(m, path, e) < 0 || model_check_finite(m, e) < 0)
        return -1;
    return adapter != NULL ? model_adapt(m, adapter, e) : 0;
}

static void
hash_weight(XXH3_state_t *h, const struct model *m, const struct weight *w)
{
    const size_t tile = widened_rows(w);
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
    if (m->norm_bias.rows > 0)
        hash_weight(h, m, &m->norm_bias);
    if (m->head_bias.rows > 0)
        hash_weight(h, m, &m->head_bias);
    end_hash(h, m, out);
}

/* Hash the adapter's change of a matrix. */
static void
hash_low(XXH3_state_t *h, const struct weight *w)
{
    const struct low_rank *l = w->low;

    XXH3_128bits_update(h, &l->scale, sizeof l->scale);
    XXH3_128bits_update(h, l->a, l->rank * w->cols * sizeof *l->a);
    XXH3_128bits_update(h, l->b, l->rank * w->rows * sizeof *l->b);
    if (l->m != NULL)
        XXH3_128bits_update(h, l->m, w->rows * sizeof *l->m);
}

int
model_is_f8(const struct model *m)
{
    int is = m->embed.scales != NULL || m->head.scales != NULL;

    for (size_t i = 0; i < m->c.L * W_N; i++)
        is |= m->block[i / W_N].w[i % W_N].scales != NULL;
    return is;
}

static void
hash_stored(XXH3_state_t *h, const struct model *m, const struct weight *w)
{
    const size_t each = w->part != NULL ? w->part_rows : w->rows;

    for (size_t r = 0; r < w->rows; r += each)
        XXH3_128bits_update(h, w->part != NULL ? weight_row(w, r) : w->data,
            each * w->stride);
    if (w->mask != NULL)
        XXH3_128bits_update(h, w->mask, w->rows * w->mask_stride);
    if (w->scales != NULL)
        XXH3_128bits_update(h, w->scales->x, f8_bytes(w->scales, w->rows));
    if (w->low != NULL)
        hash_low(h, w);
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
    for (enum outer_tensor k = OUTER_HEAD; k < OUTER_N; k++)
        if (family_has_outer(&m->c, k))
            hash_stored(h, m, model_outer(m, k));
    for (size_t i = 0; i < m->c.L * W_N; i++)
        hash_stored(h, m, &m->block[i / W_N].w[i % W_N]);
    end_hash(h, m, out);
    free(config);
    json_decref(j);
}

void
model_set_bias(struct model *m)
{
    m->head.bias = m->head_bias.rows > 0 ? m->head_bias.data : NULL;
    m->head.bias_dtype = m->head_bias.dtype;
}

const struct weight *
model_outer(const struct model *m, enum outer_tensor k)
{
    const struct weight *const outer[OUTER_N] = { [OUTER_EMBED] = &m->embed,
        [OUTER_NORM] = &m->norm,
        [OUTER_HEAD] = &m->head,
        [OUTER_NORM_BIAS] = &m->norm_bias,
        [OUTER_POSITIONS] = &m->positions,
        [OUTER_HEAD_BIAS] = &m->head_bias };

    return outer[k];
}

struct block_shape
block_shape(const struct block *b)
{
    return (struct block_shape){ b->groups, b->mlp, b->source, b->experts,
        b->linear };
}

void
block_set_shape(struct block *b, const struct block_shape *shape)
{
    b->groups = shape->groups;
    b->mlp = shape->mlp;
    b->source = shape->source;
    b->experts = shape->experts;
    b->linear = shape->linear;
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
    size_t n = 0;

    for (enum outer_tensor k = OUTER_EMBED; k < OUTER_N; k++)
        if (family_has_outer(&m->c, k))
            n += model_outer(m, k)->rows * model_outer(m, k)->cols;
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
