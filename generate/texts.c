/* Generating several texts at a time; see texts.h. */
#include "texts.h"
#include "base/clock.h"
#include "base/note.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "train/plan.h"
#include "model/forward_kv.h"
#include "model/sample.h"

#include <stdlib.h>
#include <string.h>

struct texts {
    const struct model *m;
    struct pool *pool;
    struct texts_opt o;
    size_t V;            /* ids below V may be chosen */
    size_t longest_stop; /* bytes */
    struct kvcache *kv;
    float *logits;            /* [at_once,m.V] */
    struct sample_room *room; /* [threads]; NULL: no sampling */
    void (*on_token)(void *ctx, struct text *t);
    void *ctx;
    /* the texts that are being generated: */
    size_t n;
    struct text **text;   /* [at_once] */
    struct kv_more *more; /* [at_once] a text's number in the cache, and the
                           * tokens to compute next: first its prompt, later its
                           * newest token */
};

void
text_release(struct text *t)
{
    tok_ids_release(&t->next);
    buf_release(&t->bytes);
}

static struct sample_room *
new_rooms(size_t threads, size_t V)
{
    struct sample_room *r = xreallocarray(NULL, threads, sizeof *r);

    for (size_t i = 0; i < threads; i++) {
        r[i].term = xreallocarray(NULL, V, sizeof *r->term);
        r[i].key = xreallocarray(NULL, V, sizeof *r->key);
        r[i].ids = xreallocarray(NULL, V, sizeof *r->ids);
    }
    return r;
}

struct texts *
texts_new(const struct model *m, struct pool *pool, const struct texts_opt *o)
{
    struct texts *w = xcalloc(1, sizeof *w);

    w->m = m;
    w->pool = pool;
    w->o = *o;
    w->V = m->c.V;
    if (o->tok != NULL && tok_vocab(o->tok) < w->V)
        w->V = tok_vocab(o->tok);
    for (size_t i = 0; i < o->nstop; i++)
        if (strlen(o->stop[i]) > w->longest_stop)
            w->longest_stop = strlen(o->stop[i]);
    w->kv = kv_new(m, pool, o->at_once,
        o->at_once * kv_pages(o->longest + o->most), o->longest + o->most);
    w->logits = xreallocarray(NULL, o->at_once * m->c.V, sizeof *w->logits);
    if (o->tau > 0.0)
        w->room = new_rooms(pool_size(pool), w->V);
    w->text = xcalloc(o->at_once, sizeof *w->text);
    w->more = xcalloc(o->at_once, sizeof *w->more);
    for (size_t i = 0; i < o->at_once; i++)
        w->more[i] = (struct kv_more){ .text = i, .logits = 1 };
    return w;
}

void
texts_free(struct texts *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; w->room != NULL && i < pool_size(w->pool); i++) {
        free(w->room[i].term);
        free(w->room[i].key);
        free(w->room[i].ids);
    }
    free(w->room);
    kv_free(w->kv);
    free(w->logits);
    free(w->text);
    free(w->more);
    free(w);
}

size_t
texts_cache_bytes(const struct texts *w)
{
    return kv_cache_bytes(w->kv);
}

size_t
texts_bytes(const struct texts *w)
{
    size_t n = w->o.at_once * w->m->c.V * sizeof *w->logits;

    if (w->room != NULL)
        n += pool_size(w->pool) * w->V *
            (sizeof *w->room->term + sizeof *w->room->key +
                sizeof *w->room->ids);
    return kv_bytes(w->kv) + n;
}

/* Choose the next token of text i from its row of logits. */
static void
choose_token(void *ctx, size_t i, size_t worker)
{
    const struct texts *w = ctx;
    struct text *t = w->text[i];
    const float *z = w->logits + i * w->m->c.V;

    t->newest = sample_best(z, w->V);
    if (w->o.tau > 0.0 && t->newest != UINT32_MAX)
        t->newest = sample_draw(z, w->V, w->o.tau, w->o.top_p,
            rng_unit(rng_key(w->o.seed, t->draw_key), t->next.n),
            &w->room[worker]);
}

/* Offset of the first stop string in the text from `from` on; the text's
 * length: there is none. */
static size_t
find_stop(const struct texts *w, const struct buf *text, size_t from)
{
    for (size_t at = from; at < text->n; at++) {
        for (size_t i = 0; i < w->o.nstop; i++) {
            const size_t n = strlen(w->o.stop[i]);

            if (n <= text->n - at && memcmp(text->p + at, w->o.stop[i], n) == 0)
                return at;
        }
    }
    return text->n;
}

/* Append the token's bytes to the text; 1: the text now has a stop string. */
static int
append_text(const struct texts *w, struct text *t, uint32_t id)
{
    const size_t was = t->bytes.n, back = w->longest_stop;
    struct err e;
    size_t at;

    if (w->o.tok == NULL)
        return 0;
    if (tok_decode(w->o.tok, &id, 1, TOK_MIDDLE, &t->bytes, &e) < 0)
        die_err(&e);
    at = find_stop(w, &t->bytes, was > back ? was - back : 0);
    if (at == t->bytes.n)
        return 0;
    t->bytes.n = at;
    t->bytes.p[at] = '\0';
    return 1;
}

/* Add a text's newest token to it, but not an EOS that ends it; set `end`. */
static void
add_newest(const struct texts *w, struct text *t)
{
    const uint32_t id = t->newest;
    const int eos = config_is_eos(&w->m->c, id) ||
        (w->o.tok != NULL && tok_is_end(w->o.tok, id));

    if (id == UINT32_MAX)
        die(EX_NUM, "a logit is not finite");
    t->done = clock_now();
    if (t->next.n == 0)
        t->first = t->done;
    if (eos && !w->o.no_eos) {
        t->end = TEXT_EOS;
    } else {
        tok_ids_push(&t->next, id);
        if (append_text(w, t, id))
            t->end = TEXT_STOP;
        else if (t->next.n == w->o.most)
            t->end = TEXT_LENGTH;
    }
    if (w->on_token != NULL)
        w->on_token(w->ctx, t);
}

static void
start_text(struct texts *w, struct text *t)
{
    struct kv_more *more = &w->more[w->n];

    w->text[w->n++] = t;
    kv_drop(w->kv, more->text);
    more->ids = t->ids;
    more->n = t->n;
}

/* Add one more token to every text. */
static void
step_texts(struct texts *w)
{
    if (kv_feed(w->kv, w->more, w->n, w->logits) < 0)
        die(EX_SYS, "a cache of keys and values is full");
    pool_run(w->pool, w->n, choose_token, w);
    for (size_t i = 0; i < w->n; i++) {
        add_newest(w, w->text[i]);
        w->more[i].ids = &w->text[i]->newest;
        w->more[i].n = 1;
    }
}

/* Remove the texts that have ended, so that the next ones can have their
 * numbers. */
static void
drop_ended(struct texts *w)
{
    for (size_t i = w->n; i-- > 0;) {
        const struct kv_more more = w->more[i];

        if (w->text[i]->end == TEXT_GOES_ON)
            continue;
        w->n--;
        w->text[i] = w->text[w->n];
        w->more[i] = w->more[w->n];
        w->more[w->n] = more;
    }
}

void
texts_run(struct texts *w, struct text *t, size_t n,
    void (*on_token)(void *ctx, struct text *t), void *ctx)
{
    size_t next = 0;

    w->on_token = on_token;
    w->ctx = ctx;
    while (w->n > 0 || next < n) {
        while (w->n < w->o.at_once && next < n)
            start_text(w, &t[next++]);
        step_texts(w);
        drop_ended(w);
    }
}

void
tell_texts(const struct model *m, const struct pool *pool, size_t at_once,
    size_t longest, size_t cache, size_t bytes)
{
    const size_t all = bytes + plan_window(m, 1, 1) +
        plan_program(prog_resident(), pool_size(pool));
    struct err e;

    note("%zu texts at a time, of %zu tokens at most: %.1f MB of keys and "
         "values, %.1f MB in all",
        at_once, longest, (double)cache * 1e-6, (double)all * 1e-6);
    if (plan_fits(all, "fewer texts (--at-once) or tokens (-n)", &e) < 0)
        die_err(&e);
}
