/* generate run: continue a prompt, or all prompts in a file of JSON lines. */
#include "run.h"
#include "common.h"
#include "texts.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "format/json.h"
#include "text/unicode.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_args {
    struct common how;
    const char *model, *tokenizer, *prompt, *prompts, *field;
    struct opt_list stop;
    size_t length, at_once;
};

struct prompts {
    const struct run_args *a;
    struct tokenizer *tok;
    struct tok_scratch *scratch;
    size_t V;               /* number of the model's ids */
    size_t most;            /* positions that the model has; 0: not known */
    size_t n, cap, longest; /* n: prompts; longest: tokens of the longest */
    struct text *text;      /* [n] */
    struct tok_ids *ids;    /* [n] ids of the prompts */
    json_t **record;        /* [n] the parsed lines of the prompts */
    struct opt_list stop;   /* --stop, unescaped */
    size_t back;            /* bytes of the longest --stop */
    size_t printed;       /* number of texts printed; if one text: its bytes */
    double ended, tokens; /* texts that have ended; tokens of all so far */
};

/* Add a prompt.  -1 and *e: it has no tokens, too many, or an id that the model
 * does not have. */
static int
add_prompt(struct prompts *p, const char *s, size_t n, json_t *record,
    uint64_t draw_key, struct err *e)
{
    struct tok_ids *ids;

    if (p->n == p->cap) {
        p->cap = 2 * p->cap + 16;
        p->text = xreallocarray(p->text, p->cap, sizeof *p->text);
        p->ids = xreallocarray(p->ids, p->cap, sizeof *p->ids);
        p->record = xreallocarray(p->record, p->cap, sizeof(json_t *));
    }
    ids = &p->ids[p->n];
    *ids = (struct tok_ids){ 0 };
    tok_encode(p->tok, p->scratch, s, n, TOK_SPECIAL | TOK_BOS, ids);
    if (ids->n == 0)
        return err_set(e, EX_USAGE, "the prompt has no tokens");
    if (tok_fits(ids, p->V, e) < 0)
        return err_prefix(e, "the prompt");
    if (p->most > 0 && ids->n + p->a->length > p->most)
        return err_set(e, EX_INPUT,
            "the prompt has %zu tokens, and with %zu more they exceed the "
            "model's %zu positions: shorten it, or ask for fewer by -n",
            ids->n, p->a->length, p->most);
    p->longest = ids->n > p->longest ? ids->n : p->longest;
    p->text[p->n] =
        (struct text){ .ids = ids->v, .n = ids->n, .draw_key = draw_key };
    p->record[p->n++] = record;
    return 0;
}

/* Add the prompt of a line; at: its number from 0. */
static int
add_prompt_line(struct prompts *p, const char *line, size_t n, size_t at,
    struct err *e)
{
    json_t *j = js_parse(line, n, e);
    const json_t *index;
    const char *prompt;
    int r;

    if (j == NULL)
        return -1;
    if (!json_is_object(j))
        return err_set(e, EX_INPUT, "is no object");
    if ((r = js_str(j, p->a->field, &prompt, e)) < 0)
        return -1;
    if (r == 0)
        return err_set(e, EX_INPUT, "has no member %s", p->a->field);
    if ((index = json_object_get(j, "index")) == NULL)
        json_object_set_new(j, "index", json_integer((json_int_t)at));
    else if (json_is_integer(index) && json_integer_value(index) >= 0)
        at = (size_t)json_integer_value(index);
    if (add_prompt(p, prompt, strlen(prompt), j, at, e) < 0) {
        e->code = EX_INPUT;
        return -1;
    }
    return 0;
}

static void
read_lines(struct prompts *p)
{
    const char *path = p->a->prompts;
    size_t n, at = 0;
    struct err e;
    char *all;

    if (io_slurp(path, JS_MAX, &all, &n, &e) < 0)
        die_err(&e);
    for (char *line = all, *end = all + n; line < end; at++) {
        char *nl = memchr(line, '\n', (size_t)(end - line));
        const size_t len = (size_t)((nl != NULL ? nl : end) - line);

        if (strspn(line, " \t\r") < len &&
            add_prompt_line(p, line, len, at, &e) < 0)
            die(e.code, "%s: line %zu: %s", io_in_name(path), at + 1, e.msg);
        line += len + 1;
    }
    free(all);
    if (p->n == 0)
        die(EX_INPUT, "%s: holds no prompts", io_in_name(path));
}

/* Unescape the values of --stop in place. */
static void
read_stops(struct prompts *p)
{
    p->stop = p->a->stop;
    for (size_t i = 0; i < p->stop.n; i++) {
        char *to = p->stop.v[i];
        size_t n;

        for (const char *s = to; *s != '\0'; s++) {
            *to = *s;
            if (*s == '\\' && s[1] != '\0' && strchr("nt\\", s[1]) != NULL)
                *to = *++s == 'n' ? '\n' : *s == 't' ? '\t' : '\\';
            to++;
        }
        *to = '\0';
        n = (size_t)(to - p->stop.v[i]);
        if (n == 0)
            die(EX_USAGE, "--stop needs a text: an empty one is everywhere");
        p->back = n > p->back ? n : p->back;
    }
}

static void
open_prompt_tokenizer(struct prompts *p, const struct model *m)
{
    const char *path = p->a->tokenizer != NULL ? p->a->tokenizer : p->a->model;
    struct err e;

    if ((p->tok = tok_open(path, &e)) == NULL)
        die_err(&e);
    if (tok_warning(p->tok))
        warn("%s: %s", path, tok_warning(p->tok));
    if (tok_fit(p->tok, path, m->c.V, NULL, &e) < 0)
        die_err(&e);
    p->V = m->c.V;
    p->scratch = tok_scratch_new(p->tok);
}

/* Print the line of a prompt with its text. */
static void
put_text_line(const struct text *t, json_t *j)
{
    static const char *const ends[] = { "", "eos", "stop", "length" };
    struct buf text = { 0 };
    char *line;

    uni_repair(t->bytes.p != NULL ? t->bytes.p : "", t->bytes.n, &text);
    json_object_set_new(j, "completion",
        json_stringn(text.p != NULL ? text.p : "", text.n));
    json_object_set_new(j, "finish_reason", json_string(ends[t->end]));
    json_object_set_new(j, "tokens", json_integer((json_int_t)t->next.n));
    line = json_dumps(j, 0);
    out_put(line, strlen(line));
    out_put("\n", 1);
    free(line);
    buf_release(&text);
}

/* Print texts in the order of their lines, each as soon as it and all before it
 * have ended. */
static void
print_ended(void *ctx, struct text *t)
{
    struct prompts *p = ctx;
    char extra[40];

    p->tokens += t->end != TEXT_EOS;
    if (t->end == TEXT_GOES_ON)
        return;
    p->ended++;
    snprintf(extra, sizeof extra, "%.0f tokens", p->tokens);
    progress_at(p->ended, extra);
    while (p->printed < p->n && p->text[p->printed].end != TEXT_GOES_ON) {
        const size_t i = p->printed++;

        put_text_line(&p->text[i], p->record[i]);
        json_decref(p->record[i]);
        text_release(&p->text[i]);
        tok_ids_release(&p->ids[i]);
    }
}

/* Print the new bytes of a single text, except those that may begin a stop
 * string. */
static void
print_new_bytes(void *ctx, struct text *t)
{
    struct prompts *p = ctx;
    const size_t back = t->end == TEXT_GOES_ON && p->back > 0 ? p->back - 1 : 0;

    if (t->bytes.n > p->printed + back) {
        out_put(t->bytes.p + p->printed, t->bytes.n - back - p->printed);
        p->printed = t->bytes.n - back;
    }
    p->tokens += t->end != TEXT_EOS;
    progress_at(p->tokens, NULL);
}

static void
run_prompts(struct prompts *p, const struct model *m, struct pool *pool)
{
    const struct run_args *a = p->a;
    const struct texts_opt o = { p->n < a->at_once ? p->n : a->at_once,
        p->longest, a->length, a->how.tau, a->how.top_p, a->how.seed, p->stop.v,
        p->stop.n, p->tok, 0 };
    struct texts *w = texts_new(m, pool, &o);
    const double start = clock_now();
    const int one = a->prompts == NULL;
    /* a single text on a terminal shows progress itself */
    const int shows = !one || !isatty(STDOUT_FILENO);

    tell_texts(m, pool, o.at_once, o.longest + o.most, texts_cache_bytes(w),
        texts_bytes(w));
    if (shows)
        progress_begin("generating", one ? (double)a->length : (double)p->n,
            one ? "tokens" : "texts");
    if (one)
        out_put(a->prompt, strlen(a->prompt));
    texts_run(w, p->text, p->n, one ? print_new_bytes : print_ended, p);
    if (one)
        out_put("\n", 1);
    if (shows)
        progress_end();
    prog_closing("%zu texts, %.0f tokens, %.1f tokens/s", p->n, p->tokens,
        p->tokens / (clock_now() - start + 1e-9));
    texts_free(w);
}

static void
generate_all(const struct model *m, struct pool *pool, const struct run_args *a)
{
    struct prompts p = { .a = a, .most = m->c.max_pos };
    struct err e;

    open_prompt_tokenizer(&p, m);
    read_stops(&p);
    if (a->prompts != NULL)
        read_lines(&p);
    else if (add_prompt(&p, a->prompt, strlen(a->prompt), NULL, 0, &e) < 0)
        die_err(&e);
    run_prompts(&p, m, pool);
    if (a->prompts == NULL) {
        text_release(p.text);
        tok_ids_release(p.ids);
    }
    free(p.text);
    free(p.ids);
    free(p.record);
    tok_scratch_free(p.scratch);
    tok_free(p.tok);
}

static void
check_args(const struct run_args *a)
{
    if (a->model == NULL)
        die(EX_USAGE, "give a model by -m; see generate run -h");
    if (a->prompt != NULL && a->prompts != NULL)
        die(EX_USAGE, "give a prompt or --prompts, not both");
    if (a->prompt == NULL && a->prompts == NULL)
        die(EX_USAGE,
            "give a prompt, such as 'Once upon a time', or a file of "
            "prompts by --prompts");
}

int
run_main(int argc, char **argv)
{
    static struct run_args a = { .how = COMMON_DEFAULTS,
        .field = "prompt",
        .length = 64,
        .at_once = 16 };
    const struct opt options[] = { OPT_STR('m', "model", &a.model, "model",
                                       "continue prompts with this model"),
        OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
            "tokenizer.json, model directory or .gguf (default: the model's)"),
        OPT_SIZE('n', "max-new-tokens", &a.length, 1, 1e6, "tokens",
            "number of tokens to add to a prompt"),
        OPT_LIST(0, "stop", &a.stop, "string",
            "end a text where this begins (\\n: newline); may be repeated"),
        OPT_STR(0, "prompts", &a.prompts, "file",
            "continue the prompts of a file of JSON lines (-: standard "
            "input)"),
        OPT_STR(0, "field", &a.field, "field",
            "JSON field that holds the text"),
        OPT_SIZE(0, "at-once", &a.at_once, 1, 4096, "texts",
            "number of texts computed together"),
        COMMON_OPTIONS(&a.how), OPT_END };
    struct model m;
    struct pool *pool;

    a.prompt = opt_parse(argc, argv, options, "continue prompts with a model",
        "[prompt]", 0, 1, NULL)[0];
    check_args(&a);
    common_begin(&a.how);
    common_open(&m, a.model);
    pool = common_pool(&a.how);
    generate_all(&m, pool, &a);
    out_done();
    model_close(&m);
    pool_free(pool);
    return 0;
}
