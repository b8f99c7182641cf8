/*
 * Measures lost probability: see vocab_mass.h.  The final states go through the
 * whole head and the cut one; with z the logits and K the kept ids, the lost
 * mass is 1 - sum_K exp(z) / sum exp(z).
 */
#include "vocab_mass.h"
#include "model/pass/head.h"
#include "input.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "model/pass/forward.h"
#include "msg/msg.h"
#include "shard/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 512, B = 4 }; /* tokens of a window; windows computed at a time */

struct lost {
    uint64_t n, gone; /* predictions; predictions whose next token is dropped */
    double mass;      /* sum of lost probability over predictions */
};

struct mass {
    const struct vocab *v;
    const struct model *m;
    struct fwd *whole, *cut;
    struct stream_info info;
    struct lost *lost;      /* [info.nsource] counts of each source */
    uint32_t *ids, *first;  /* [B,T] the windows, as in struct rows */
    size_t source[B], used; /* source of each row; number of rows in use */
    float *x;               /* [B,T,d] final states */
    double *lse;            /* [T] log-sum-exp over all ids */
    double *kept;           /* [T] log-sum-exp over the kept ids */
    uint64_t tokens;
};

/* Add the predictions of row r, whose final states are in g->x. */
static void
add_window(struct mass *g, size_t r)
{
    const float *const h = g->x + r * T * g->m->c.d;
    struct lost *const l = &g->lost[g->source[r]];
    size_t n = 0;

    while (n + 1 < T && g->first[r * T + n + 1] == 0)
        n++;
    head_score(g->whole, h, NULL, n, NULL, g->lse, NULL);
    head_score(g->cut, h, NULL, n, NULL, g->kept, NULL);
    for (size_t t = 0; t < n; t++) {
        const double mass = -expm1(g->kept[t] - g->lse[t]);

        if (!isfinite(mass))
            die(EX_NUM, "%s: a probability is not finite", g->m->path);
        l->n++;
        l->gone += g->v->to[g->ids[r * T + t + 1]] == VOCAB_GONE;
        l->mass += mass;
    }
}

static void
score_windows(struct mass *g)
{
    const struct rows r = { g->used, T, g->ids, g->first };

    if (g->used == 0)
        return;
    fwd_states(g->whole, &r, g->x);
    for (size_t i = 0; i < g->used; i++)
        add_window(g, i);
    memset(g->ids, 0, B * T * sizeof *g->ids);
    memset(g->first, 0xff, B * T * sizeof *g->first);
    g->used = 0;
}

static void
add_documents(struct mass *g, const struct msg *m)
{
    const struct st_tensor *ids = st_find(&m->st, "ids");
    const struct st_tensor *len = st_find(&m->st, "doc_len");
    const struct st_tensor *source = st_find(&m->st, "doc_source");
    size_t at = 0;

    for (size_t d = 0; d < len->n; d++) {
        const size_t end = at + st_u32(len, d);

        for (size_t n; at < end; at += n) {
            n = end - at < T ? end - at : T;
            g->source[g->used] = st_u16(source, d);
            for (size_t t = 0; t < n; t++) {
                g->ids[g->used * T + t] = (uint32_t)st_uint(ids, at + t);
                g->first[g->used * T + t] = 0;
            }
            g->tokens += n;
            if (++g->used == B)
                score_windows(g);
        }
    }
}

static void
read_docs_head(struct mass *g, struct msg_in *in, const struct st *head,
    const char *tokenizer)
{
    struct err e;

    input_head(&g->info, in, head, "docs", tokenizer);
    if (g->info.vocab > g->v->n)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            msg_in_name(in), tokenizer);
    if (msg_in_fit(in, &g->info, g->m->c.V, &e) < 0)
        die_err(&e);
    g->lost = xcalloc(g->info.nsource, sizeof *g->lost);
}

static void
put_source(struct buf *b, const char *name, const struct lost *l)
{
    const double n = (double)l->n;

    buf_addf(b, "%s\t%llu\t%.6f\t%.6f\n", name, (unsigned long long)l->n,
        l->n > 0 ? (double)l->gone / n : 0.0, l->n > 0 ? l->mass / n : 0.0);
}

static void
put_sources(const struct mass *g, struct buf *b)
{
    struct lost all = { 0 };

    buf_adds(b, "source\tpredictions\tgone\tlost\n");
    for (size_t i = 0; i < g->info.nsource; i++) {
        put_source(b, g->info.source[i], &g->lost[i]);
        all.n += g->lost[i].n;
        all.gone += g->lost[i].gone;
        all.mass += g->lost[i].mass;
    }
    put_source(b, "all", &all);
}

static void
mass_init(struct mass *g, const struct vocab *v, const struct model *m,
    const struct model *small, struct pool *pool)
{
    memset(g, 0, sizeof *g);
    g->v = v;
    g->m = m;
    g->whole = fwd_new(m, pool, B, T);
    g->cut = fwd_new(small, pool, 1, 1);
    g->ids = xcalloc(B * T, sizeof *g->ids);
    g->first = xreallocarray(NULL, B * T, sizeof *g->first);
    memset(g->first, 0xff, B * T * sizeof *g->first);
    g->x = xreallocarray(NULL, B * T, m->c.d * sizeof *g->x);
    g->lse = xcalloc(T, sizeof *g->lse);
    g->kept = xcalloc(T, sizeof *g->kept);
}

static void
mass_release(struct mass *g)
{
    fwd_free(g->whole);
    fwd_free(g->cut);
    stream_info_release(&g->info);
    free(g->lost);
    free(g->ids);
    free(g->first);
    free(g->x);
    free(g->lse);
    free(g->kept);
}

void
vocab_mass(const struct vocab *v, const struct model *m,
    const struct model *small, const char *addr, const char *tokenizer,
    struct pool *pool, struct buf *b)
{
    struct mass g;
    struct err e;
    struct msg_in *in = set_in_open(addr, 0, &e);
    struct msg msg;
    int r;

    if (in == NULL || config_check_positions(&m->c, T, m->path, &e) < 0)
        die_err(&e);
    mass_init(&g, v, m, small, pool);
    progress_begin("measuring", 0, "tokens");
    while ((r = msg_read(in, &msg, &e)) > 0) {
        if (msg.kind == MSG_STREAM)
            read_docs_head(&g, in, &msg.st, tokenizer);
        if (msg.kind != MSG_DOCS)
            continue;
        add_documents(&g, &msg);
        progress_total(msg_in_expect(in, (double)g.tokens));
        progress_at((double)g.tokens, NULL);
    }
    if (r < 0)
        die_err(&e);
    score_windows(&g);
    progress_end();
    put_sources(&g, b);
    msg_in_close(in);
    mass_release(&g);
}
