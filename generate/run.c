/* generate run: continue a prompt, the prompts of a file, or none. */
#include "run.h"
#include "common.h"
#include "output.h"
#include "prompts.h"
#include "written.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "model/forward_kv.h"
#include "train/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_args {
    struct common how;
    const char *model, *tokenizer, *prompt, *prompts, *field, *resume;
    struct opt_list stop;
    size_t length, at_once, count, logprobs, cache, slice;
};

/* Prompts are read while fewer texts than so many times --at-once have been
 * read and not written. */
enum { WINDOW = 8 };

/* A run over many prompts. */
struct run {
    const struct tokenizer *tok;
    const char *file; /* of the prompts, for messages; NULL: none */
    struct prompts *prompts;
    struct prompt *next;          /* the next prompt; NULL: no more */
    size_t choice;                /* its next text */
    struct written *first, *last; /* texts that are not written, in order */
    struct output *output;
    size_t pending;       /* their number */
    double texts, tokens; /* so far */
    double done;          /* prompts */
};

/* ---- limits ---- */

static int
by_lines(const struct run_args *a)
{
    return a->prompt == NULL;
}

/* Limits for texts of at most `longest` tokens, as far as prompts are known. */
static struct gen_limits
run_limits(const struct run_args *a, const struct model *m, size_t texts,
    size_t longest)
{
    const size_t page = gen_page_bytes(m);
    const size_t most = (a->cache > 0 ? a->cache : plan_limit() / 2) / page;
    struct gen_limits l = { .texts = texts, .slice = a->slice };
    struct err e;

    l.longest = by_lines(a) && m->c.max_pos > longest ? m->c.max_pos : longest;
    l.pages = texts * kv_pages(longest);
    if (l.pages < kv_pages(l.longest))
        l.pages = kv_pages(l.longest);
    if (a->cache > 0 || l.pages > most)
        l.pages = most > 0 ? most : 1;
    if (l.longest > l.pages * KV_PAGE)
        l.longest = l.pages * KV_PAGE;
    /* Before anything is allocated; common_memory checks the rest. */
    if (plan_fits(l.pages * page, common_less, &e) < 0)
        die_err(&e);
    return l;
}

static struct gen_engine *
run_engine(const struct run_args *a, const struct model *m, struct pool *pool,
    const struct tokenizer *tok, size_t texts, size_t longest)
{
    const struct gen_limits l = run_limits(a, m, texts, longest);
    struct gen_engine *g = gen_new(m, pool, tok, &l);

    common_memory(m, pool, texts, l.longest, gen_cache_bytes(g), gen_bytes(g));
    return g;
}

static void
check_end(enum gen_reason why)
{
    if (why == GEN_NAN)
        die(EX_NUM, "a logit is not finite");
}

/* ---- one prompt ---- */

static void
print_new_bytes(void *ctx, const struct gen_event *ev)
{
    double *tokens = ctx;

    check_end(ev->reason);
    out_put(ev->bytes, ev->n);
    *tokens += ev->kind == GEN_TOKEN;
    progress_at(*tokens, NULL);
}

/* Continue one prompt, and print its text while it is made. */
static double
run_one(const struct run_args *a, const struct model *m, struct pool *pool,
    const struct tokenizer *tok, struct prompts *prompts)
{
    struct prompt *q = prompts_next(prompts);
    struct gen_engine *g = run_engine(a, m, pool, tok, 1, q->ids.n + a->length);
    /* a text on a terminal shows progress itself */
    const int shows = !isatty(STDOUT_FILENO);
    double tokens = 0.0;
    const struct gen_request r = { .prompt = q->ids.v,
        .n = q->ids.n,
        .params = &q->params,
        .on_event = print_new_bytes,
        .ctx = &tokens };
    struct err e;

    if (shows)
        progress_begin("generating", (double)a->length, "tokens");
    out_put(a->prompt, strlen(a->prompt));
    if (gen_add(g, &r, &e) == NULL)
        die_err(&e);
    while (gen_step(g) > 0)
        ;
    out_put("\n", 1);
    if (shows)
        progress_end();
    gen_free(g);
    prompt_free(q);
    return tokens;
}

/* ---- many prompts ---- */

/* The next text, or NULL.  Texts that the output has already are passed over.
 */
static struct written *
next_text(struct run *r)
{
    while (r->next != NULL) {
        struct written *t = written_new(r->next, r->choice++);
        json_t *known = written_begin(t);
        const int has = output_has(r->output, known);

        json_decref(known);
        if (r->choice == r->next->params.n) {
            r->next = prompts_next(r->prompts);
            r->choice = 0;
        }
        if (!has)
            return t;
        r->texts++;
        r->done += 1.0 / (double)t->prompt->params.n;
        progress_from(r->done);
        written_free(t);
    }
    return NULL;
}

static void
take_event(void *ctx, const struct gen_event *ev)
{
    check_end(ev->reason);
    written_event(ctx, ev);
}

static void
queue_text(struct run *r, struct written *t)
{
    *(r->last != NULL ? &r->last->next : &r->first) = t;
    r->last = t;
    r->pending++;
}

static void
start_text(const struct run *r, struct gen_engine *g, struct written *t)
{
    const struct prompt *q = t->prompt;
    const struct gen_request request = { .prompt = q->ids.v,
        .n = q->ids.n,
        .params = &q->params,
        .number = prompt_number(q, t->choice),
        .on_event = take_event,
        .ctx = t };
    struct err e;

    if (gen_add(g, &request, &e) == NULL) {
        if (q->line > 0)
            die(e.code, "%s: line %zu: %s", io_in_name(r->file), q->line,
                e.msg);
        die_err(&e);
    }
}

/* Write the texts that have ended, up to the first that has not. */
static void
write_ended(struct run *r)
{
    struct buf line = { 0 };

    while (r->first != NULL && r->first->end != GEN_GOES_ON) {
        struct written *t = r->first;
        char extra[40];

        buf_clear(&line);
        written_line(t, r->tok, &line);
        buf_addc(&line, '\n');
        output_line(r->output, line.p, line.n);
        r->texts++;
        r->tokens += (double)t->ids.n;
        r->done += 1.0 / (double)t->prompt->params.n;
        snprintf(extra, sizeof extra, "%.0f tokens", r->tokens);
        progress_at(r->done, extra);
        r->first = t->next;
        r->last = r->first == NULL ? NULL : r->last;
        r->pending--;
        written_free(t);
    }
    buf_release(&line);
}

static void
run_many(const struct run_args *a, const struct model *m, struct pool *pool,
    struct run *r)
{
    const size_t window = WINDOW * a->at_once;
    struct gen_engine *g;
    struct written *t;
    size_t longest = 1;

    progress_begin("generating", (double)prompts_total(r->prompts), "prompts");
    r->next = prompts_next(r->prompts);
    /* The first prompts say how much memory texts need. */
    while (r->pending < window && (t = next_text(r)) != NULL) {
        const size_t n = t->prompt->ids.n + t->prompt->params.most;

        longest = n > longest ? n : longest;
        queue_text(r, t);
    }
    g = run_engine(a, m, pool, r->tok,
        r->pending < a->at_once && r->pending > 0 ? r->pending : a->at_once,
        longest);
    for (t = r->first; t != NULL; t = t->next)
        start_text(r, g, t);
    while (r->pending > 0) {
        gen_step(g);
        write_ended(r);
        while (r->pending < window && (t = next_text(r)) != NULL) {
            queue_text(r, t);
            start_text(r, g, t);
        }
    }
    progress_end();
    gen_free(g);
}

/* ---- options ---- */

/* Unescape the values of --stop in place. */
static void
read_stop_options(struct opt_list *stop)
{
    for (size_t i = 0; i < stop->n; i++) {
        char *to = stop->v[i];

        for (const char *s = to; *s != '\0'; s++) {
            *to = *s;
            if (*s == '\\' && s[1] != '\0' && strchr("nt\\", s[1]) != NULL)
                *to = *++s == 'n' ? '\n' : *s == 't' ? '\t' : '\\';
            to++;
        }
        *to = '\0';
        if (to == stop->v[i])
            die(EX_USAGE, "--stop needs a text: an empty one is everywhere");
    }
}

static struct tokenizer *
open_run_tokenizer(const struct run_args *a, const struct model *m)
{
    const char *path = a->tokenizer != NULL ? a->tokenizer : a->model;
    struct tokenizer *tok;
    struct err e;

    if ((tok = tok_open(path, &e)) == NULL)
        die_err(&e);
    if (tok_warning(tok))
        warn("%s: %s", path, tok_warning(tok));
    if (tok_fit(tok, path, m->c.V, NULL, &e) < 0)
        die_err(&e);
    return tok;
}

static void
run_prompts(const struct run_args *a, const struct model *m, struct pool *pool)
{
    struct tokenizer *tok = open_run_tokenizer(a, m);
    const struct prompts_from from = { .text = a->prompt,
        .file = a->prompts,
        .field = a->field,
        .count = a->count,
        .params = { .most = a->length,
            .n = 1,
            .seed = a->how.seed,
            .how = a->how.how,
            .logprobs = a->logprobs != OPT_NONE,
            .top = a->logprobs != OPT_NONE ? a->logprobs : 0,
            .stop = a->stop.v,
            .nstop = a->stop.n },
        .tok = tok,
        .V = m->c.V,
        .positions = m->c.max_pos };
    struct run r = { .tok = tok,
        .file = a->prompts,
        .prompts = prompts_open(&from) };
    const double start = clock_now();

    if (by_lines(a)) {
        r.output = output_open(a->resume);
        run_many(a, m, pool, &r);
        output_close(r.output);
    } else {
        r.texts = 1;
        r.tokens = run_one(a, m, pool, tok, r.prompts);
    }
    prog_closing("%.0f texts, %.0f tokens, %.1f tokens/s", r.texts, r.tokens,
        r.tokens / (clock_now() - start + 1e-9));
    prompts_close(r.prompts);
    tok_free(tok);
}

static void
check_args(const struct run_args *a)
{
    if (a->model == NULL)
        die(EX_USAGE, "give a model by -m; see generate run -h");
    if (a->prompt != NULL && a->prompts != NULL)
        die(EX_USAGE, "give a prompt or --prompts, not both");
    if (a->prompt == NULL && a->prompts == NULL && a->count == OPT_NONE)
        die(EX_USAGE,
            "give a prompt, such as 'Once upon a time', a file of prompts by "
            "--prompts, or --count for texts without a prompt");
    if (a->prompt != NULL &&
        (a->resume != NULL || a->count != OPT_NONE || a->logprobs != OPT_NONE))
        die(EX_USAGE,
            "--resume, --count and --logprobs need a file: give the prompt by "
            "--prompts");
}

int
run_main(int argc, char **argv)
{
    static struct run_args a = { .how = COMMON_DEFAULTS,
        .field = "prompt",
        .length = 64,
        .at_once = 16,
        .count = OPT_NONE,
        .logprobs = OPT_NONE,
        .slice = GEN_SLICE };
    const struct opt options[] = { OPT_STR('m', "model", &a.model, "model",
                                       "continue prompts with this model"),
        OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
            "tokenizer.json, model directory or .gguf (default: the model's)"),
        OPT_SIZE('n', "max-new-tokens", &a.length, 1, 1e6, "tokens",
            "number of tokens to add to a prompt"),
        OPT_LIST(0, "stop", &a.stop, "string",
            "end a text where this begins (\\n: newline); may be repeated"),
        OPT_STR(0, "prompts", &a.prompts, "file",
            "continue the prompts of a file of lines, plain or JSON (-: "
            "standard input)"),
        OPT_STR(0, "field", &a.field, "field",
            "JSON field that holds the text"),
        OPT_SIZE(0, "count", &a.count, 1, 1e9, "prompts", "number of prompts"),
        OPT_STR(0, "resume", &a.resume, "path",
            "continue from what this path holds"),
        OPT_SIZE(0, "logprobs", &a.logprobs, 0, PARAMS_TOP, "tokens",
            "write log probabilities, also of so many most probable tokens"),
        COMMON_OPTIONS(&a.how), SAMPLING_OPTIONS(&a.how.how),
        OPT_SIZE(0, "at-once", &a.at_once, 1, 4096, "texts",
            "number of texts computed together"),
        OPT_SIZE(0, "cache", &a.cache, 0, 1e15, "bytes",
            "memory for keys and values (0: as much as the texts need)"),
        OPT_SIZE(0, "slice", &a.slice, 1, 1e6, "tokens",
            "tokens of prompts that are read between two steps"),
        OPT_END };
    struct model m;
    struct pool *pool;

    a.prompt = opt_parse(argc, argv, options, "continue prompts with a model",
        "[prompt]", 0, 1, NULL)[0];
    check_args(&a);
    read_stop_options(&a.stop);
    common_begin(&a.how);
    common_open(&m, a.model);
    pool = common_pool(&a.how);
    run_prompts(&a, &m, pool);
    out_done();
    model_close(&m);
    pool_free(pool);
    return 0;
}
