/* Texts that the student writes; see texts.h. */
#include "texts.h"
#include "base/mem.h"
#include "model/decode/forward_kv.h"

#include <stdlib.h>
#include <string.h>

void
text_begin(struct text *t, const struct prompt *prompt, uint64_t number)
{
    *t = (struct text){ .prompt = prompt, .number = number };
    for (size_t i = 0; i < prompt->ids.n; i++)
        tok_ids_push(&t->ids, prompt->ids.v[i]);
    t->start = t->ids.n;
}

void
text_answer(struct text *t)
{
    const struct tok_ids *answer = &t->prompt->answer;

    for (size_t i = 0; i < answer->n; i++)
        tok_ids_push(&t->ids, answer->v[i]);
    t->ended = 1;
}

void
text_release(struct text *t)
{
    tok_ids_release(&t->ids);
    buf_release(&t->logp);
    buf_release(&t->bytes);
}

/* ---- writing ---- */

static void
hear_token(void *ctx, const struct gen_event *ev)
{
    struct text *t = ctx;

    buf_add(&t->bytes, ev->bytes, ev->n);
    if (ev->kind == GEN_TOKEN || ev->reason == GEN_EOS) {
        tok_ids_push(&t->ids, ev->id);
        buf_add(&t->logp, &ev->logp, sizeof ev->logp);
    }
    t->ended |= ev->reason == GEN_EOS;
    t->broken |= ev->reason == GEN_NAN;
}

static struct gen_limits
writer_limits(const struct writer *w)
{
    return (struct gen_limits){ .texts = w->at_once,
        .pages = w->at_once * kv_pages(w->longest),
        .longest = w->longest,
        .slice = GEN_SLICE };
}

int
writer_run(const struct writer *w, struct text *const *text, size_t n,
    struct err *e)
{
    const struct gen_limits limits = writer_limits(w);
    const struct gen_params params = { .most = w->most,
        .n = 1,
        .seed = w->seed,
        .how = { .temperature = w->temperature,
            .top_p = 1.0,
            .typical = 1.0,
            .repetition = 1.0 },
        .logprobs = 1,
        .hide_special = 1 };
    struct gen_engine *g;
    int r = 0;

    if (n == 0)
        return 0;
    /* an engine for each batch: pages of older weights must not be shared */
    g = gen_new(w->m, w->pool, w->tok, &limits);
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct gen_request q = { .prompt = text[i]->prompt->ids.v,
            .n = text[i]->prompt->ids.n,
            .params = &params,
            .number = text[i]->number,
            .on_event = hear_token,
            .ctx = text[i] };

        r = gen_add(g, &q, e) != NULL ? 0 : -1;
    }
    while (r == 0 && gen_step(g) > 0)
        ;
    gen_free(g);
    for (size_t i = 0; i < n && r == 0; i++)
        if (text[i]->broken)
            r = err_set(e, EX_NUM, "a logit of a text is not finite");
    return r;
}

size_t
writer_bytes(const struct writer *w)
{
    const struct gen_limits limits = writer_limits(w);

    return limits.pages * gen_page_bytes(w->m) +
        limits.texts * w->m->c.V * sizeof(float);
}

/* ---- rows ---- */

void
text_rows_init(struct text_rows *r, size_t most, size_t longest)
{
    r->most = most;
    r->longest = longest;
    r->ids = xcalloc(most * longest, sizeof *r->ids);
    r->first = xcalloc(most * longest, sizeof *r->first);
    r->scored = xcalloc(most * longest, sizeof *r->scored);
}

void
text_rows_release(struct text_rows *r)
{
    free(r->ids);
    free(r->first);
    free(r->scored);
}

void
text_rows_fill(struct text_rows *r, struct text *const *text, size_t n)
{
    size_t T = 1;

    for (size_t i = 0; i < n; i++)
        T = text[i]->ids.n > T ? text[i]->ids.n : T;
    memset(r->ids, 0, n * T * sizeof *r->ids);
    memset(r->first, 0xff, n * T * sizeof *r->first); /* padding */
    memset(r->scored, 0, n * T);
    for (size_t i = 0; i < n; i++) {
        const struct text *t = text[i];

        memcpy(r->ids + i * T, t->ids.v, t->ids.n * sizeof *r->ids);
        memset(r->first + i * T, 0, t->ids.n * sizeof *r->first);
        memset(r->scored + i * T + t->start - 1, 1, t->ids.n - t->start);
    }
    r->rows = (struct rows){ n, T, r->ids, r->first };
}
