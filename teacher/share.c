/* A rank's heads and channels of a model; see share.h. */
#include "share.h"
#include "model/config/family.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 64 }; /* rows copied at a time */

/* A rank's part of a block. */
struct cutting {
    const struct model *m;
    struct arena *a; /* for the copies; while planning bytes are only counted */
    size_t rank, n;
    size_t split;  /* parts that a KV group's query heads are split into; below,
                    * each part counts as a group */
    size_t g0, g1; /* the rank's groups of a block: g0..g1-1 */
    size_t c0, c1; /* the rank's channels: c0..c1-1 */
};

/* The start of rank r's part if n ranks divide `total` evenly: rounded up to a
 * multiple of `align`. */
static size_t
begin_of(size_t total, size_t r, size_t n, size_t align)
{
    const size_t even = total / n * r + total % n * r / n;
    const size_t up = (even + align - 1) / align * align;

    return up < total ? up : total;
}

/* The number of parts to split a group's query heads into: the fewest that give
 * all ranks equally many groups, or, if there is no such number, the fewest
 * that give each rank one.  0: there are fewer query heads than ranks. */
static size_t
part_of_groups(const struct config *c, size_t n)
{
    const size_t queries = c->H / c->KV;

    for (size_t s = 1; s <= queries; s++)
        if (queries % s == 0 && c->KV * s % n == 0)
            return s;
    for (size_t s = 1; s <= queries; s++)
        if (queries % s == 0 && c->KV * s >= n)
            return s;
    return 0;
}

/* Copy n rows of w, from row r0 on, to *to, and move *to past them. */
static void
copy_rows(const struct model *m, unsigned char **to, const struct weight *w,
    size_t r0, size_t n)
{
    for (size_t i = 0; i < n; i += TILE) {
        const size_t k = n - i < TILE ? n - i : TILE;

        memcpy(*to, w->data + (r0 + i) * w->stride, k * w->stride);
        *to += k * w->stride;
        model_forget_tile(m, w, r0 + i, k);
    }
}

/* Copy `unit` rows for each of the groups g0..g1-1.  Group g's rows begin at g
 * / same * unit, so `same` successive groups have equal rows. */
static const unsigned char *
copy_groups(const struct cutting *k, const struct weight *w, size_t g0,
    size_t g1, size_t unit, size_t same)
{
    unsigned char *const p = arena_alloc(k->a, (g1 - g0) * unit, w->stride);
    unsigned char *to = p;

    if (to != NULL && same == 1)
        copy_rows(k->m, &to, w, g0 * unit, (g1 - g0) * unit);
    for (size_t g = g0; to != NULL && same > 1 && g < g1; g++)
        copy_rows(k->m, &to, w, g / same * unit, unit);
    return p;
}

/* Reduce w to a copy of the rows that copy_groups copies.  In a bias an element
 * counts as a row. */
static void
take_rows(const struct cutting *k, struct weight *w, size_t g0, size_t g1,
    size_t unit, size_t same)
{
    const int bias = w->rows == 1;
    const size_t n = (g1 - g0) * unit;
    struct weight from = *w, mask = *w;

    if (bias) {
        (void)dtype_bytes(w->dtype, 1, &from.stride);
        from.rows = w->cols;
    }
    w->data = copy_groups(k, &from, g0, g1, unit, same);
    mask.data = w->mask;
    mask.stride = w->mask_stride;
    if (w->mask != NULL)
        w->mask = copy_groups(k, &mask, g0, g1, unit, same);
    if (w->perm > 0)
        w->perm = w->perm * n / w->rows;
    w->rows = n == 0 ? 0 : bias ? 1 : n;
    w->cols = bias ? n : w->cols;
    w->stride = bias ? n * from.stride : from.stride;
}

/* Reduce w to columns c0..c1-1 of each row. */
static void
take_cols(const struct cutting *k, struct weight *w, size_t c0, size_t c1)
{
    const struct weight from = *w;
    size_t skip = 0, size = 0;
    const int whole = w->mask == NULL &&
        dtype_bytes(w->dtype, c0, &skip) == 0 &&
        dtype_bytes(w->dtype, c1 - c0, &size) == 0;
    unsigned char *to;
    float *wide;

    w->cols = c1 - c0;
    w->rows = w->cols > 0 ? w->rows : 0;
    w->dtype = whole ? w->dtype : DT_F32;
    w->stride = whole ? size : w->cols * sizeof *wide;
    w->mask = NULL;
    w->mask_stride = 0;
    w->data = to = arena_alloc(k->a, w->rows, w->stride);
    if (to == NULL)
        return;
    wide = xreallocarray(NULL, from.cols, sizeof *wide);
    for (size_t r = 0; r < w->rows; r++, to += w->stride) {
        if (whole) {
            memcpy(to, from.data + r * from.stride + skip, w->stride);
        } else {
            weight_rows(&from, r, 1, wide);
            memcpy(to, wide + c0, w->stride);
        }
        if (r % TILE == TILE - 1)
            model_forget_tile(k->m, &from, r + 1 - TILE, TILE);
    }
    model_forget(k->m, &from);
    free(wide);
}

/* A rank's first channel is a multiple of this number, so that no quantised
 * block in down's rows is cut, and kernels run fast. */
static size_t
alignment(enum dtype t)
{
    size_t align = 16, bytes;

    while (align < 256 && dtype_bytes(t, align, &bytes) != 0)
        align *= 2;
    return align;
}

static void
take_tensor(const struct cutting *k, int t, struct weight *w)
{
    const struct config *c = &k->m->c;
    const size_t queries = c->H / c->KV / k->split * c->D;

    switch (t) {
    case W_Q:
    case W_BQ: take_rows(k, w, k->g0, k->g1, queries, 1); break;
    case W_K:
    case W_V:
    case W_BK:
    case W_BV: take_rows(k, w, k->g0, k->g1, c->D, k->split); break;
    case W_O: take_cols(k, w, k->g0 * queries, k->g1 * queries); break;
    case W_GATE:
    case W_UP:
    case W_BUP: take_rows(k, w, k->c0, k->c1, 1, 1); break;
    case W_DOWN: take_cols(k, w, k->c0, k->c1); break;
    default: break; /* norms */
    }
}

static void
share_block(struct cutting *k, struct block *b)
{
    const size_t groups = b->groups * k->split;
    const size_t align = alignment(b->w[W_DOWN].dtype);

    k->g0 = begin_of(groups, k->rank, k->n, 1);
    k->g1 = begin_of(groups, k->rank + 1, k->n, 1);
    k->c0 = begin_of(b->mlp, k->rank, k->n, align);
    k->c1 = begin_of(b->mlp, k->rank + 1, k->n, align);
    for (int t = 0; t < W_N; t++)
        if (b->w[t].rows > 0)
            take_tensor(k, t, &b->w[t]);
    b->groups = k->g1 - k->g0;
    b->mlp = k->c1 - k->c0;
}

static void
take_blocks(struct cutting *k, struct block *b)
{
    memcpy(b, k->m->block, k->m->c.L * sizeof *b);
    for (size_t i = 0; i < k->m->c.L; i++) {
        share_block(k, &b[i]);
        model_forget(k->m, NULL);
    }
}

int
share_make(struct model_share *s, const struct model *m, size_t rank, size_t n,
    struct err *e)
{
    struct cutting k = { .m = m, .a = &s->mem, .rank = rank, .n = n };
    struct config *c = &s->m.c;
    size_t groups = 1;

    memset(s, 0, sizeof *s);
    if (config_linear_name(&m->c) != NULL)
        return err_set(e, EX_USAGE,
            "%s: heads of %s cannot be shared: blocks have %s", m->path,
            m->c.arch, config_linear_name(&m->c));
    if (family_of(&m->c)->whole_norms)
        return err_set(e, EX_USAGE,
            "%s: heads of %s cannot be shared: its norms of Q and K span all "
            "heads",
            m->path, m->c.arch);
    k.split = part_of_groups(&m->c, n);
    if (k.split == 0)
        return err_set(e, EX_USAGE,
            "%s: %zu query heads cannot be shared by %zu ranks", m->path,
            m->c.H, n);
    s->m = *m;
    s->m.block = xcalloc(c->L, sizeof *s->m.block);
    arena_plan(&s->mem);
    take_blocks(&k, s->m.block);
    arena_init(&s->mem, s->mem.used);
    take_blocks(&k, s->m.block);
    for (size_t i = 0; i < c->L; i++)
        groups = s->m.block[i].groups > groups ? s->m.block[i].groups : groups;
    c->H = groups * (c->H / c->KV / k.split);
    c->KV = groups;
    c->mlp = model_widest(&s->m);
    return 0;
}

void
share_release(struct model_share *s)
{
    arena_release(&s->mem);
    free(s->m.block);
    memset(s, 0, sizeof *s);
}
