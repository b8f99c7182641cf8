/* Putting documents and batches of a stream into rows; see read.h. */
#include "read.h"
#include "base_file.h"
#include "base_score.h"
#include "base_text.h"
#include "stream_base.h"
#include "vocab.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "shard/source.h"
#include "tok/tok.h"
#include "kern/attn.h"

#include <stdlib.h>
#include <string.h>

void
reader_start(struct reader *r, size_t T)
{
    if (!r->ready)
        pack_init(&r->pack, r->e, T);
    r->ready = 1;
}

/* Show progress; of the tokens read, `left` have not been scored yet. */
static void
show_tokens_read(struct reader *r, size_t left)
{
    r->e->ntokens = (size_t)r->tokens - left;
    progress_total(r->in != NULL ? msg_in_expect(r->in, (double)r->tokens)
                                 : (double)r->tokens);
    progress_at((double)r->tokens - (double)left, NULL);
}

void
reader_window(struct reader *r, const struct window *w)
{
    struct pack *p = &r->pack;
    const size_t n = w->n < p->T ? w->n : p->T;
    size_t row = 0, at;

    while (row < p->B && p->used[row] + n > p->T)
        row++;
    if (row == p->B) {
        pack_flush(p, r->e);
        row = 0;
    }
    at = row * p->T + p->used[row];
    memcpy(p->ids + at, w->ids, n * sizeof(*w->ids));
    for (size_t t = 0; t < n; t++)
        p->first[at + t] = (uint32_t)p->used[row];
    for (size_t t = w->from; t < w->n; t++) {
        if (w->mask != NULL && w->mask[t] == 0)
            continue;
        p->at[p->n] = at + t - 1;
        p->target[p->n] = w->ids[t];
        p->pos[p->n] = w->pos + t;
        p->weight[p->n] = w->weight;
        p->unit[p->n++] = w->unit;
    }
    p->used[row] += (n + ATTN_TILE - 1) / ATTN_TILE * ATTN_TILE;
    if (p->used[row] > p->T)
        p->used[row] = p->T;
    p->rows = row + 1 > p->rows ? row + 1 : p->rows;
}

/* Cut a document into windows.  A window scores the tokens that no earlier
 * window has scored, except its own first token.  Protocol hf: a window's mean
 * loss has the weight of its number of new tokens minus one, as in
 * transformers' example, although later windows score all their new tokens. */
static void
add_document(struct reader *r, const uint32_t *ids, size_t n,
    const unsigned char *mask, size_t unit)
{
    const size_t c = r->e->c;
    size_t done = 0;

    for (size_t at = 0;; at += r->e->stride) {
        const size_t end = n - at < c ? n : at + c;
        const size_t from = done > at + 1 ? done : at + 1;

        if (from < end)
            reader_window(r,
                &(struct window){ ids + at, end - at, from - at,
                    mask != NULL ? mask + at : NULL, unit, at,
                    r->e->protocol == PROTO_HF
                        ? (double)(end - done - 1) / (double)(end - from)
                        : 1.0 });
        show_tokens_read(r, (size_t)(r->ids + r->n - (ids + end)));
        if (end == n)
            break;
        done = end;
    }
}

/* ---- llama.cpp: everything joined, disjoint windows ---- */

static void
add_joined(struct reader *r)
{
    const size_t c = r->e->c;
    size_t at = 0;

    for (; r->n - at >= c; at += c) {
        if (r->e->info.bos >= 0)
            r->ids[at] = (uint32_t)r->e->info.bos;
        reader_window(r,
            &(struct window){ r->ids + at, c, c / 2 + 1, NULL,
                units_add(&r->e->units, 0, r->nwindow), c * r->nwindow, 1.0 });
        r->nwindow++;
        show_tokens_read(r, r->n - at - c);
    }
    memmove(r->ids, r->ids + at, (r->n - at) * sizeof(*r->ids));
    r->n -= at;
}

static void
append_ids(struct reader *r, const struct st_tensor *ids)
{
    if (r->n + ids->n > r->cap) {
        r->cap = r->n + ids->n;
        r->ids = xreallocarray(r->ids, r->cap, sizeof(*r->ids));
    }
    for (size_t i = 0; i < ids->n; i++)
        r->ids[r->n++] = (uint32_t)st_uint(ids, i);
    r->tokens += ids->n;
}

static void
add_docs_message(struct reader *r, const struct msg *m)
{
    const struct st_tensor *ids = st_find(&m->st, "ids");
    const struct st_tensor *len = st_find(&m->st, "doc_len");
    const struct st_tensor *source = st_find(&m->st, "doc_source");
    const struct st_tensor *key = st_find(&m->st, "doc_key");
    const struct st_tensor *mask = st_find(&m->st, "loss_mask");
    size_t at = 0;

    if (r->e->protocol == PROTO_STREAM)
        die(EX_INPUT, "%s: holds documents: --protocol stream needs batches",
            r->e->input);
    reader_start(r, r->e->c);
    if (r->e->protocol == PROTO_LLAMA) {
        if (mask != NULL)
            die(EX_INPUT,
                "%s: message %llu: has a loss mask, which the llama.cpp "
                "protocol does not know",
                r->e->input, (unsigned long long)m->seq);
        append_ids(r, ids);
        if (r->e->kld.out_path == NULL)
            add_joined(r);
        return;
    }
    r->n = 0;
    append_ids(r, ids);
    for (size_t d = 0; d < len->n; d++) {
        const size_t n = st_u32(len, d);

        add_document(r, r->ids + at, n,
            mask != NULL ? (const unsigned char *)mask->data + at : NULL,
            units_add(&r->e->units, st_u16(source, d), st_uint(key, d)));
        at += n;
    }
}

/* ---- batches: the stream's rows are scored unchanged ---- */

static void
add_batch_row(struct reader *r, size_t row, size_t *piece)
{
    const struct batch *b = &r->batch;
    struct pack *p = &r->pack;
    const size_t from = row * b->T, to = p->rows * p->T;
    size_t t = 0;

    memcpy(p->ids + to, b->ids + from, b->T * sizeof(*b->ids));
    memcpy(p->first + to, b->first + from, b->T * sizeof(*b->first));
    for (; *piece < b->P && b->piece_row[*piece] == row; ++*piece) {
        const size_t unit = units_add(&r->e->units, b->piece_source[*piece],
            b->piece_key[*piece]);
        const size_t begin = t;

        for (const size_t end = t + b->piece_len[*piece]; t < end; t++) {
            if (!b->scored[from + t])
                continue;
            p->at[p->n] = to + t;
            p->target[p->n] = b->ids[from + t + 1];
            p->pos[p->n] = b->piece_off[*piece] + t + 1 - begin;
            p->weight[p->n] = 1.0;
            if (r->e->stream_base != NULL)
                stream_base_state(r->e, from + t, p->n);
            p->unit[p->n++] = unit;
        }
    }
    p->used[p->rows++] = p->T;
}

static void
add_batch(struct reader *r, const struct msg *m)
{
    size_t piece = 0;

    if (r->e->protocol != PROTO_DOCS && r->e->protocol != PROTO_STREAM)
        die(EX_INPUT, "%s: holds batches: --protocol %s needs documents",
            r->e->input, protocol_name[r->e->protocol]);
    r->e->protocol = PROTO_STREAM;
    batch_unpack(&r->batch, m);
    if (r->e->stream_base != NULL)
        stream_base_batch(r->e, m);
    reader_start(r, r->batch.T);
    if (r->batch.T != r->pack.T)
        die(EX_INPUT, "%s: message %llu: rows of %zu tokens after rows of %zu",
            r->e->input, (unsigned long long)m->seq, r->batch.T, r->pack.T);
    r->tokens += r->batch.ntok;
    for (size_t i = 0; i < r->batch.B; i++) {
        if (r->pack.rows == r->pack.B)
            pack_flush(&r->pack, r->e);
        add_batch_row(r, i, &piece);
        show_tokens_read(r, r->batch.ntok / r->batch.B * (r->batch.B - 1 - i));
    }
    r->e->c = r->e->stride = r->batch.T;
}

void
reader_tokenizer(struct eval *e, struct eval_model *j)
{
    struct tokenizer *t;
    struct err err;
    const int r = tok_matches(j->path, e->info.tokenizer, &err);

    j->foreign = r == 0;
    if (r == 0)
        warn("%s: was made with another tokenizer than that of %s", e->input,
            j->path);
    if (r != 1 || e->vocab != NULL)
        return;
    if ((t = tok_open(j->path, &err)) == NULL)
        die_err(&err);
    e->vocab = vocab_new(t, j->m.c.V);
    tok_free(t);
}

static void
read_stream_head(struct eval *e, struct msg_in *in, const struct st *head)
{
    struct err err;

    if (stream_info_read(&e->info, head, &err) < 0)
        die(err.code, "%s: %s", e->input, err.msg);
    if (msg_in_fit(in, &e->info, eval_fewest_ids(e), &err) < 0)
        die_err(&err);
    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded)
            reader_tokenizer(e, &e->j[i]);
    for (size_t i = 0; i < e->nj; i++)
        for (size_t k = 0; k < i; k++)
            if (!e->j[i].recorded && !e->j[k].recorded)
                eval_check_sizes(e, &e->j[i], &e->j[k]);
}

void
reader_finish(struct reader *r)
{
    struct eval *e = r->e;
    size_t n = 0;

    if (e->protocol == PROTO_LLAMA && r->tokens < 2 * e->c)
        die(EX_INPUT, "%s: holds %llu tokens; windows of %zu need at least %zu",
            e->input, (unsigned long long)r->tokens, e->c, 2 * e->c);
    if (e->kld.out_path != NULL) { /* the file begins with all tokens */
        base_write_begin(e, r->ids, r->n);
        add_joined(r);
    }
    if (r->ready)
        pack_flush(&r->pack, e);
    if (e->kld.out_path != NULL)
        base_write_end(e);
    units_merge(&e->units);
    for (size_t i = 0; i < e->units.n; i++)
        n += e->units.unit[i].n;
    if (n == 0)
        die(EX_INPUT, "%s: there is nothing to score", e->input);
    e->ntokens = (size_t)r->tokens;
    prog_closing("%zu tokens scored", n);
    progress_end();
    pack_release(&r->pack);
    batch_release(&r->batch);
    free(r->ids);
}

void
eval_stream(struct eval *e, const char *addr)
{
    struct reader r = { .e = e };
    struct err err;
    struct msg_in *in = set_in_open(addr, 0, &err);
    struct msg m;
    int got;

    if (in == NULL)
        die_err(&err);
    e->input = msg_in_name(in);
    r.in = in;
    progress_begin("scoring", 0, "tokens");
    while ((got = msg_read(in, &m, &err)) > 0) {
        if (m.kind == MSG_STREAM)
            read_stream_head(e, in, &m.st);
        else if (m.kind == MSG_TEACHER && e->stream_base != NULL)
            stream_base_head(e, &m);
        else if (m.kind == MSG_DOCS && e->stream_base != NULL)
            die(EX_INPUT,
                "%s: holds documents: --recorded needs batches with a "
                "teacher's "
                "states",
                e->input);
        else if (m.kind == MSG_DOCS)
            add_docs_message(&r, &m);
        else if (m.kind == MSG_BATCH)
            add_batch(&r, &m);
    }
    if (got < 0)
        die_err(&err);
    reader_finish(&r);
    msg_in_close(in);
}

void
eval_base(struct eval *e)
{
    struct reader r = { .e = e };

    e->input = e->kld.in->path;
    e->c = e->stride = e->kld.in->c;
    base_text(e);
    r.tokens = r.n = e->kld.in->windows * e->kld.in->c;
    r.ids = e->kld.in->tokens;
    e->kld.in->tokens = NULL;
    progress_begin("scoring", (double)r.n, "tokens");
    reader_start(&r, e->c);
    add_joined(&r);
    reader_finish(&r);
}
