/* Targets of distillation for given tokens; see teach.h. */
#include "teach.h"
#include "known.h"
#include "format/safetensors.h"
#include "model/pass/forward.h"
#include "model/pass/head_top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the request --- */

static int
read_target_rows(struct teach_request *q, const json_t *j, size_t longest,
    const struct request_bounds *b, struct refusal *why)
{
    json_t *ids = json_object_get(j, "ids"), *v;
    size_t i;

    if (!json_is_array(ids) || json_array_size(ids) == 0)
        return refuse(why, 400, "ids", NULL,
            "ids must be a list of lists of token ids, and not empty");
    if (json_array_size(ids) > b->texts)
        return refuse(why, 400, "ids", NULL,
            "ids has %zu lists, but a request may have %zu",
            json_array_size(ids), b->texts);
    q->row = xcalloc(json_array_size(ids), sizeof *q->row);
    json_array_foreach(ids, i, v)
    {
        struct tok_ids *row = &q->row[q->rows++];

        if (member_ids(v, "ids", b->V, row, why) < 0)
            return -1;
        if (row->n == 0 || row->n > longest)
            return refuse(why, 400, "ids", NULL,
                "ids has a list of %zu ids: send 1 to %zu", row->n, longest);
        q->T = row->n > q->T ? row->n : q->T;
    }
    return 0;
}

int
teach_read(struct teach_request *q, const char *body, size_t n, size_t longest,
    const struct request_bounds *b, struct refusal *why)
{
    const size_t most = b->V < TEACH_TOP ? b->V : TEACH_TOP;
    json_t *j;
    int r;

    *q = (struct teach_request){ .k = most < 64 ? most : 64,
        .temperature = 1.0 };
    if (longest == 0)
        return refuse(why, 404, NULL, NULL,
            "This server has no targets: start it with --targets.");
    if ((j = request_parse(body, n, why)) == NULL)
        return -1;
    r = request_check(j, KNOWN_TARGETS, b, why) < 0 ||
            member_size(j, "top", 1, most, &q->k, why) < 0 ||
            member_real(j, "temperature", 0.01, 1000, &q->temperature, why) < 0
        ? -1
        : read_target_rows(q, j, longest, b, why);
    json_decref(j);
    return r;
}

void
teach_release(struct teach_request *q)
{
    for (size_t i = 0; i < q->rows; i++)
        tok_ids_release(&q->row[i]);
    free(q->row);
    free(q->ids);
    free(q->logp);
    free(q->lse);
    *q = (struct teach_request){ 0 };
}

size_t
teach_request_bytes(const struct teach_request *q)
{
    /* the array of a row's ids may be twice as long as the row */
    return q->rows * (sizeof *q->row + q->T * (8 * q->k + 16));
}

/* --- computing --- */

struct teach {
    const struct model *m;
    struct pool *pool;
    struct fwd *fwd;
    float *x;        /* [longest,d] */
    uint32_t *first; /* [longest] zeros: a row is one piece */
    double *self;    /* [longest] result of head_top that is not sent */
    size_t longest;
};

struct teach *
teach_new(const struct model *m, struct pool *pool, size_t longest)
{
    struct teach *t = xcalloc(1, sizeof *t);

    t->m = m;
    t->pool = pool;
    t->longest = longest;
    t->fwd = fwd_new_blocks(m, pool, 1, longest);
    t->x = xreallocarray(NULL, longest * m->c.d, sizeof *t->x);
    t->first = xcalloc(longest, sizeof *t->first);
    t->self = xcalloc(longest, sizeof *t->self);
    return t;
}

void
teach_free(struct teach *t)
{
    if (t == NULL)
        return;
    fwd_free(t->fwd);
    free(t->x);
    free(t->first);
    free(t->self);
    free(t);
}

size_t
teach_bytes(const struct teach *t)
{
    struct head_top *h = head_top_new(t->m, t->pool,
        t->m->c.V < TEACH_TOP ? t->m->c.V : TEACH_TOP, 0);
    const size_t head = head_top_bytes(h);

    head_top_free(h);
    return fwd_bytes(t->fwd) + head +
        t->longest *
        (t->m->c.d * sizeof *t->x + sizeof *t->first + sizeof *t->self);
}

static void
reserve_results(struct teach_request *q)
{
    const size_t n = q->rows * q->T;

    if (q->ids != NULL)
        return;
    q->ids = xcalloc(n * q->k, sizeof *q->ids);
    q->logp = xcalloc(n * q->k, sizeof *q->logp);
    q->lse = xcalloc(n * 2, sizeof *q->lse);
    /* the k ids of padding must differ too, see msg/batch.h */
    for (size_t i = 0; i < n * q->k; i++)
        q->ids[i] = (uint32_t)(i % q->k);
}

int
teach_row(struct teach *t, struct teach_request *q, size_t i)
{
    const struct tok_ids *row = &q->row[i];
    const struct rows r = { 1, row->n, row->v, t->first };
    const size_t at = i * q->T;
    struct head_top *top = head_top_new(t->m, t->pool, q->k, 0);
    struct head_targets to;
    int finite = 1;

    reserve_results(q);
    to = (struct head_targets){ .lse = q->lse + 2 * at,
        .self = t->self,
        .ids = q->ids + at * q->k,
        .logp = q->logp + at * q->k };
    fwd_embed(t->fwd, &r, t->x);
    for (size_t k = 0; k < t->m->c.L; k++)
        fwd_block(t->fwd, k, &r, t->x, t->x);
    fwd_norm(t->fwd, &r, t->x, t->x);
    head_top_rows(top, t->fwd, t->x, row->n, q->temperature, &to);
    head_top_free(top);
    for (size_t k = 0; k < 2 * row->n; k++)
        finite &= isfinite(to.lse[k]) != 0;
    return finite ? 0 : -1;
}

/* --- the message --- */

/* Copy the ids of all rows, padded with zeros, to an array [rows,T] of uint32
 * (wide) or uint16.  The caller frees it. */
static void *
stream_ids(const struct teach_request *q, int wide)
{
    const size_t size = wide ? sizeof(uint32_t) : sizeof(uint16_t);
    unsigned char *to = xcalloc(q->rows * q->T, size);

    for (size_t i = 0; i < q->rows; i++)
        for (size_t k = 0; k < q->row[i].n; k++) {
            const uint16_t narrow = (uint16_t)q->row[i].v[k];
            const void *from = wide ? (const void *)&q->row[i].v[k] : &narrow;

            memcpy(to + (i * q->T + k) * size, from, size);
        }
    return to;
}

static void
put_tensors(struct st_out *o, const struct teach_request *q, int wide,
    const void *ids, const uint32_t *piece, const void *zeros)
{
    const size_t top[3] = { q->rows, q->T, q->k },
                 two[3] = { q->rows, q->T, 2 };

    st_out_tensor(o, "ids", wide ? DT_U32 : DT_U16, 2, top, ids);
    st_out_tensor(o, "piece_row", DT_U32, 1, top, piece);
    st_out_tensor(o, "piece_len", DT_U32, 1, top, piece + q->rows);
    st_out_tensor(o, "piece_source", DT_U16, 1, top, zeros);
    st_out_tensor(o, "piece_key", DT_U64, 1, top, zeros);
    st_out_tensor(o, "piece_off", DT_U32, 1, top, zeros);
    st_out_tensor(o, "teacher.top.ids", DT_U32, 3, top, q->ids);
    st_out_tensor(o, "teacher.top.logp", DT_F32, 3, top, q->logp);
    st_out_tensor(o, "teacher.lse", DT_F32, 3, two, q->lse);
}

void
teach_message(const struct teach_request *q, size_t V, struct buf *out)
{
    const int wide = V > UINT16_MAX + 1;
    void *ids = stream_ids(q, wide), *zeros = xcalloc(q->rows, 8);
    uint32_t *piece = xcalloc(2 * q->rows, sizeof *piece);
    struct st_out o = { 0 };
    char tau[40];

    for (size_t i = 0; i < q->rows; i++) {
        piece[i] = (uint32_t)i;
        piece[q->rows + i] = (uint32_t)q->row[i].n;
    }
    snprintf(tau, sizeof tau, "%.17g", q->temperature);
    st_out_begin(&o);
    st_out_meta(&o, "kind", "batch");
    st_out_number(&o, "seq", 0);
    st_out_number(&o, "vocab", V);
    st_out_meta(&o, "temperature", tau);
    put_tensors(&o, q, wide, ids, piece, zeros);
    st_out_end(&o);
    buf_add(out, o.head.p, o.head.n);
    for (size_t i = 0; i < o.npiece; i++)
        buf_add(out, o.piece[i].p, o.piece[i].n);
    st_out_release(&o);
    free(ids);
    free(zeros);
    free(piece);
}
