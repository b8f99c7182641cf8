/* Unpacking batches: see batch.h */
#include "msg/batch.h"
#include "msg/rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ANY SIZE_MAX

/* The tensors of a batch and their common sizes; mask may be NULL. */
struct parts {
    const struct st_tensor *ids, *row, *len, *source, *key, *off, *mask;
    size_t B, T, P;
};

static int
find_parts(struct parts *p, const struct st *s, struct err *e)
{
    size_t bt[2] = { ANY, ANY }, n[1] = { ANY };
    const struct st_tensor *ids = st_find(s, "ids");
    const enum dtype t = ids && ids->dtype == DT_U16 ? DT_U16 : DT_U32;

    memset(p, 0, sizeof *p);
    if (!(p->ids = st_need(s, "ids", t, 2, bt, e)) ||
        !(p->row = st_need(s, "piece_row", DT_U32, 1, n, e)))
        return -1;
    p->B = bt[0] = p->ids->shape[0];
    p->T = bt[1] = p->ids->shape[1];
    p->P = n[0] = p->row->shape[0];
    if (!(p->len = st_need(s, "piece_len", DT_U32, 1, n, e)) ||
        !(p->source = st_need(s, "piece_source", DT_U16, 1, n, e)) ||
        !(p->key = st_need(s, "piece_key", DT_U64, 1, n, e)) ||
        !(p->off = st_need(s, "piece_off", DT_U32, 1, n, e)))
        return -1;
    if (st_find(s, "loss_mask") &&
        !(p->mask = st_need(s, "loss_mask", DT_U8, 2, bt, e)))
        return -1;
    return 0;
}

/* Check that the pieces are in order of row and fit into their rows; *tokens
 * gets the number of their tokens. */
static int
check_pieces(const struct parts *p, size_t nsource, uint64_t *tokens,
    struct err *e)
{
    size_t row = 0, used = 0;

    *tokens = 0;
    for (size_t i = 0; i < p->P; i++) {
        const size_t r = st_u32(p->row, i), n = st_u32(p->len, i);

        if (r < row || r >= p->B)
            return err_set(e, EX_INPUT,
                "piece_row[%zu] is %zu after %zu in a batch of %zu rows", i, r,
                row, p->B);
        if (r > row)
            used = 0;
        row = r;
        if (n == 0 || n > p->T - used)
            return err_set(e, EX_INPUT,
                "piece_len[%zu] is %zu where %zu tokens of the row are left", i,
                n, p->T - used);
        used += n;
        *tokens += n;
        if (nsource && st_u16(p->source, i) >= nsource)
            return err_set(e, EX_INPUT,
                "piece_source[%zu] is %u, but there are %zu sources", i,
                st_u16(p->source, i), nsource);
    }
    return 0;
}

int
batch_check(const struct st *s, size_t vocab, size_t nsource, uint64_t *tokens,
    struct err *e)
{
    struct parts p;
    uint64_t n = 0;

    if (find_parts(&p, s, e) < 0)
        return -1;
    if (p.B == 0 || p.T == 0 || p.B > UINT32_MAX || p.T >= UINT32_MAX)
        return err_set(e, EX_INPUT, "batch of %zu rows of %zu tokens", p.B,
            p.T);
    if (msg_check_ids(p.ids, vocab, e) < 0 ||
        check_pieces(&p, nsource, &n, e) < 0)
        return -1;
    if (tokens)
        *tokens = n;
    return 0;
}

static void
reserve_batch(struct batch *b, const struct parts *p)
{
    const size_t bt = p->B * p->T;

    if (bt > b->cap_bt) {
        b->ids = xreallocarray(b->ids, bt, sizeof *b->ids);
        b->first = xreallocarray(b->first, bt, sizeof *b->first);
        b->scored = xrealloc(b->scored, bt);
        /* B <= bt: cap_bt serves for row_scored too. */
        b->row_scored = xreallocarray(b->row_scored, bt, sizeof *b->row_scored);
        b->cap_bt = bt;
    }
    if (p->P > b->cap_p) {
        b->piece_row = xreallocarray(b->piece_row, p->P, 4);
        b->piece_len = xreallocarray(b->piece_len, p->P, 4);
        b->piece_off = xreallocarray(b->piece_off, p->P, 4);
        b->piece_source = xreallocarray(b->piece_source, p->P, 2);
        b->piece_key = xreallocarray(b->piece_key, p->P, 8);
        b->cap_p = p->P;
    }
}

static void
copy_tensor(void *dst, const struct st_tensor *t)
{
    if (t->nbytes)
        memcpy(dst, t->data, t->nbytes);
}

/* Set ids, first and scored for piece i, which begins at column `at` of its
 * row. */
static void
unpack_piece(struct batch *b, const struct parts *p, size_t i, size_t at)
{
    const size_t n = b->piece_len[i], begin = b->piece_row[i] * b->T + at;
    const unsigned char *mask = p->mask ? p->mask->data : NULL;

    for (size_t t = begin; t < begin + n; t++) {
        b->ids[t] =
            p->ids->dtype == DT_U16 ? st_u16(p->ids, t) : st_u32(p->ids, t);
        b->first[t] = (uint32_t)at;
        b->scored[t] = t + 1 < begin + n && (!mask || mask[t + 1] != 0);
        b->row_scored[b->piece_row[i]] += b->scored[t];
        b->nscored += b->scored[t];
    }
}

void
batch_unpack(struct batch *b, const struct msg *m)
{
    struct parts p;
    struct err e;
    size_t at = 0;
    const int found = find_parts(&p, &m->st, &e);

    assert(m->kind == MSG_BATCH && found == 0);
    (void)found;
    reserve_batch(b, &p);
    b->B = p.B;
    b->T = p.T;
    b->P = p.P;
    b->ntok = b->nscored = 0;
    b->masked = p.mask != NULL;
    copy_tensor(b->piece_row, p.row);
    copy_tensor(b->piece_len, p.len);
    copy_tensor(b->piece_off, p.off);
    copy_tensor(b->piece_source, p.source);
    copy_tensor(b->piece_key, p.key);
    memset(b->ids, 0, b->B * b->T * sizeof *b->ids);
    memset(b->first, 0xff, b->B * b->T * sizeof *b->first); /* BATCH_PAD */
    memset(b->scored, 0, b->B * b->T);
    memset(b->row_scored, 0, b->B * sizeof *b->row_scored);
    for (size_t i = 0; i < b->P; i++) {
        at = i && b->piece_row[i - 1] == b->piece_row[i] ? at : 0;
        unpack_piece(b, &p, i, at);
        at += b->piece_len[i];
        b->ntok += b->piece_len[i];
    }
}

void
batch_release(struct batch *b)
{
    free(b->ids);
    free(b->first);
    free(b->scored);
    free(b->row_scored);
    free(b->piece_row);
    free(b->piece_len);
    free(b->piece_off);
    free(b->piece_source);
    free(b->piece_key);
    memset(b, 0, sizeof *b);
}
