/* Prompts that are operands; see operands.h. */
#include "operands.h"
#include "engine.h"
#include "how.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "model/decode/forward_kv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A prompt given as an operand, and the part of its text not yet printed. */
struct operand {
    struct operands *all;
    struct prompt *prompt;
    const char *given;
    struct buf bytes; /* new text that is not printed yet */
    size_t tokens;
    int ended;
};

struct operands {
    struct operand *v; /* [n] */
    size_t n;
    size_t current;    /* the one that is being printed */
    size_t most, done; /* tokens that are still expected or made; made */
};

static void
print_bytes(struct operand *o)
{
    out_put(o->bytes.p != NULL ? o->bytes.p : "", o->bytes.n);
    buf_clear(&o->bytes);
}

/* Print the new text of the current operand; at its end, go to the next one. */
static void
print_current(struct operands *all)
{
    struct operand *o = &all->v[all->current];

    print_bytes(o);
    while (o->ended) {
        out_put("\n", 1);
        if (++all->current == all->n)
            return;
        out_put("\n", 1);
        o = &all->v[all->current];
        out_put(o->given, strlen(o->given));
        print_bytes(o);
    }
}

static void
operand_event(void *ctx, const struct gen_event *ev)
{
    struct operand *o = ctx;
    struct operands *all = o->all;

    engine_check(ev);
    buf_add(&o->bytes, ev->n > 0 ? ev->bytes : "", ev->n);
    o->tokens += ev->kind == GEN_TOKEN;
    all->done += ev->kind == GEN_TOKEN;
    if (ev->kind == GEN_END) {
        o->ended = 1;
        all->most -= o->prompt->params.most - o->tokens;
        progress_total((double)all->most);
    }
    if (o == &all->v[all->current])
        print_current(all);
    progress_at((double)all->done, NULL);
}

/* Read the prompts.  Returns the largest sum of tokens of a prompt and its
 * text. */
static size_t
read_operands(struct operands *all, struct prompts *prompts, char *const *given)
{
    size_t longest = 1;

    for (size_t i = 0; i < all->n; i++) {
        struct prompt *q = prompts_next(prompts);
        const size_t length = q->ids.n + q->params.most;

        all->v[i] = (struct operand){ all, q, given[i], { 0 }, 0, 0 };
        all->most += q->params.most;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void
add_operand(struct gen_engine *g, struct operand *o,
    const struct schema *schema)
{
    const struct gen_request r = { .prompt = o->prompt->ids.v,
        .n = o->prompt->ids.n,
        .params = &o->prompt->params,
        .number = prompt_number(o->prompt, 0),
        .schema = schema,
        .on_event = operand_event,
        .ctx = o };
    struct err e;

    if (gen_add(g, &r, &e) == NULL)
        die_err(&e);
}

void
operands_run(struct many *r, char *const *given, size_t n)
{
    struct operands all = { .v = xcalloc(n, sizeof *all.v), .n = n };
    const size_t longest = read_operands(&all, r->prompts, given);
    const size_t texts = n < r->at_once ? n : r->at_once;
    const struct gen_limits l = { .texts = texts,
        .pages = texts * kv_pages(longest),
        .longest = longest,
        .slice = r->slice,
        .draft = r->draft,
        .guesses = r->guesses,
        .vocab = r->bound != NULL ? r->bound->vocab : NULL };
    struct gen_engine *g = engine_new(r->m, r->pool, r->tok, &l);
    /* a text on a terminal shows progress itself */
    const int shows = !isatty(STDOUT_FILENO);
    const struct prompt *first = all.v[0].prompt;

    how_compare(r->packed, r->pool, first->ids.v, first->ids.n);
    if (shows)
        progress_begin("generating", (double)all.most, "tokens");
    out_put(given[0], strlen(given[0]));
    for (size_t i = 0; i < n; i++)
        add_operand(g, &all.v[i], r->bound != NULL ? r->bound->schema : NULL);
    while (gen_step(g) > 0)
        ;
    if (shows)
        progress_end();
    gen_statistics(g, &r->stats);
    gen_free(g);
    r->texts = (double)n;
    r->tokens = (double)all.done;
    for (size_t i = 0; i < n; i++) {
        buf_release(&all.v[i].bytes);
        prompt_free(all.v[i].prompt);
    }
    free(all.v);
}
