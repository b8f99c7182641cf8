/* generate chat: lines are questions that a model, or two, answer. */
#include "chat.h"
#include "common.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "gen/chat.h"
#include "gen/defaults.h"
#include "model/forward_kv.h"
#include "text/unicode.h"
#include "train/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct chat_args {
    struct common how;
    struct sampling given; /* options; else a model's own, see defaults.h */
    const char *model, *against, *template, *system;
    size_t length, cache;
};

enum { LONGEST = 4096 }; /* tokens, if the model does not tell its positions */

/* A model that answers. */
struct speaker {
    const char *path;
    struct model m;
    struct packed *packed; /* NULL: the model is used as it is */
    struct tokenizer *tok;
    struct tok_scratch *scratch;
    struct chat *template;
    struct gen_engine *engine;
    struct gen_params params;
    size_t longest; /* most tokens of a conversation */
    json_t *messages;
    size_t answers;
};

/* An answer that is being written. */
struct answer {
    struct gen_text *text;
    struct buf bytes; /* text of the answer */
    size_t tokens;
    enum gen_reason end;
};

/* ---- opening ---- */

static struct gen_engine *
speaker_engine(struct speaker *s, const struct chat_args *a, struct pool *pool)
{
    const size_t page = gen_page_bytes(&s->m);
    const size_t most = (a->cache > 0 ? a->cache : plan_limit() / 4) / page;
    const size_t known = config_positions(&s->m.c);
    const size_t positions = known > 0 ? known : LONGEST;
    struct gen_limits l = { .texts = 1,
        .pages = kv_pages(positions),
        .slice = GEN_SLICE };
    struct gen_engine *g;

    if (l.pages > most)
        l.pages = most > 0 ? most : 1;
    l.longest = l.pages * KV_PAGE < positions ? l.pages * KV_PAGE : positions;
    s->longest = l.longest;
    if (s->path == a->model) {
        l.draft = common_draft(&a->how, &s->m, s->tok, pool);
        l.guesses = a->how.guesses;
    }
    s->packed = common_pack(&a->how, &s->m, pool);
    g = gen_new(s->packed != NULL ? packed_model(s->packed) : &s->m, pool,
        s->tok, &l);
    common_memory(&s->m, pool, 1, l.longest, gen_cache_bytes(g), gen_bytes(g));
    return g;
}

/* Set *how by the options and, where they are silent, by the model's file. */
static void
read_sampling(struct sampling *how, const char *path, const struct chat_args *a)
{
    struct sampling usual;
    struct err e;

    *how = a->given;
    if (defaults_read(&usual, DEFAULTS_CHAT, path, &e) < 0)
        die_err(&e);
    defaults_fill(how, &usual);
    if (sampling_check(how, SIZE_MAX, &e) < 0)
        die(EX_USAGE, "--%s", e.msg);
}

static void
open_speaker(struct speaker *s, const char *path, const struct chat_args *a)
{
    struct err e;

    /* The template and tokenizer come first: if one is refused, the user
     * need not wait for the model. */
    s->path = path;
    if ((s->template = chat_open(path, a->template, &e)) == NULL ||
        (s->tok = tok_open(path, &e)) == NULL)
        die_err(&e);
    if (tok_warning(s->tok))
        warn("%s: %s", path, tok_warning(s->tok));
    read_sampling(&s->params.how, path, a);
    common_open(&s->m, path, path == a->model ? a->how.adapter : NULL);
    if (tok_fit(s->tok, path, s->m.c.V, NULL, &e) < 0)
        die_err(&e);
    s->scratch = tok_scratch_new(s->tok);
    s->params.n = 1;
    s->params.seed = a->how.seed;
    s->params.hide_special = 1;
}

/* Begin a new conversation. */
static void
forget_messages(struct speaker *s, const char *system)
{
    json_decref(s->messages);
    s->messages = json_array();
    if (system != NULL)
        json_array_append_new(s->messages,
            json_pack("{s:s, s:s}", "role", "system", "content", system));
}

static void
close_speaker(struct speaker *s)
{
    gen_free(s->engine);
    packed_free(s->packed);
    chat_free(s->template);
    tok_scratch_free(s->scratch);
    tok_free(s->tok);
    model_close(&s->m);
    json_decref(s->messages);
}

/* ---- an answer ---- */

/* Print an answer's bytes; on a terminal, without control sequences. */
static void
print_answer(const char *s, size_t n)
{
    char shown[TEXT_CHAR];

    if (!isatty(STDOUT_FILENO)) {
        out_put(s, n);
        return;
    }
    while (n > 0) {
        size_t k = 1;

        if (*s == '\n' || *s == '\t') {
            out_put(s, 1);
        } else {
            k = text_char(shown, s, n);
            out_put(shown, strlen(shown));
        }
        s += k;
        n -= k;
    }
}

static void
answer_event(void *ctx, const struct gen_event *ev)
{
    struct answer *a = ctx;

    if (ev->reason == GEN_NAN)
        die(EX_NUM, "a logit is not finite");
    buf_add(&a->bytes, ev->n > 0 ? ev->bytes : "", ev->n);
    print_answer(ev->bytes, ev->n);
    a->tokens += ev->kind == GEN_TOKEN;
    if (ev->kind == GEN_END)
        a->end = ev->reason;
}

/* Encode the conversation with the beginning of an answer. */
static int
conversation_ids(const struct speaker *s, struct tok_ids *ids, struct err *e)
{
    const time_t now = time(NULL);
    struct tm local;
    const struct chat_options o = { .prompt = 1, .now = &local };
    struct jinja_out out;
    int r;

    localtime_r(&now, &local);
    r = chat_render(s->template, s->messages, &o, &out, e);
    if (r == 0) {
        tok_encode(s->tok, s->scratch, out.text.p, out.text.n, TOK_SPECIAL,
            ids);
        r = tok_fits(ids, s->m.c.V, e);
    }
    jinja_out_release(&out);
    if (r == 0 && (ids->n == 0 || ids->n >= s->longest))
        return err_set(e, EX_INPUT,
            "the conversation has %zu tokens, of %zu at most with its answer: "
            "begin a new one by a line /new",
            ids->n, s->longest);
    return r;
}

/* Write the answer to an encoded conversation, of at most `length` tokens.
 * Ctrl-C ends the answer. */
static void
write_answer(struct speaker *s, const struct tok_ids *ids, size_t length,
    struct answer *a)
{
    const struct gen_request r = { .prompt = ids->v,
        .n = ids->n,
        .params = &s->params,
        .number = s->answers++,
        .on_event = answer_event,
        .ctx = a };
    struct err e;

    s->params.most =
        length < s->longest - ids->n ? length : s->longest - ids->n;
    if ((a->text = gen_add(s->engine, &r, &e)) == NULL)
        die_err(&e);
    while (gen_step(s->engine) > 0)
        if (stop_asked && a->text != NULL) {
            gen_cancel(s->engine, a->text);
            a->text = NULL;
        }
    if (stop_asked == SIGINT)
        stop_asked = 0;
    out_put("\n", 1);
    if (a->end == GEN_LENGTH && s->params.most < length)
        note("%s: no room for more of the answer: a conversation has %zu "
             "positions: begin a new one by a line /new",
            s->path, s->longest);
    else if (a->end == GEN_LENGTH)
        vnote("%s: the answer was ended after %zu tokens", s->path, a->tokens);
}

/* Add a message with the text p[n], which need not be UTF-8. */
static void
add_message(struct speaker *s, const char *role, const char *p, size_t n)
{
    struct buf text = { 0 };

    uni_repair(n > 0 ? p : "", n, &text);
    json_array_append_new(s->messages,
        json_pack("{s:s, s:s%}", "role", role, "content",
            text.p != NULL ? text.p : "", text.n));
    buf_release(&text);
}

/* Answer the question line[n].  Returns the answer's number of tokens. */
static size_t
answer_question(struct speaker *s, const char *line, size_t n, size_t length)
{
    struct tok_ids ids = { 0 };
    struct answer a = { 0 };
    struct err e;

    add_message(s, "user", line, n);
    if (conversation_ids(s, &ids, &e) < 0) {
        if (!isatty(STDIN_FILENO))
            die_err(&e);
        warn("%s", e.msg);
        json_array_remove(s->messages, json_array_size(s->messages) - 1);
    } else {
        write_answer(s, &ids, length, &a);
        add_message(s, "assistant", a.bytes.p, a.bytes.n);
    }
    tok_ids_release(&ids);
    buf_release(&a.bytes);
    return a.tokens;
}

/* ---- the conversation ---- */

/* Read a line that is not blank, without its end.  1; 0: the input has ended.
 */
static int
read_question(char **line, size_t *cap, size_t *n)
{
    const int asks = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    for (;;) {
        ssize_t k;

        if (asks)
            out_put("> ", 2);
        errno = 0;
        k = getline(line, cap, stdin);
        if (k < 0 && errno == EINTR && stop_asked == SIGINT && asks) {
            stop_asked = 0;
            clearerr(stdin);
            out_put("\n", 1);
            note("Ctrl-D ends the chat");
            continue;
        }
        if (k < 0 && errno != 0 && errno != EINTR)
            die(EX_SYS, "<stdin>:");
        if (k < 0 && asks)
            out_put("\n", 1);
        if (k < 0)
            return 0;
        *n = (size_t)k;
        while (*n > 0 && strchr("\r\n", (*line)[*n - 1]) != NULL)
            (*n)--;
        (*line)[*n] = '\0';
        if (strspn(*line, " \t") < *n)
            return 1;
    }
}

/* Talk until the input ends. */
static void
talk(struct speaker *s, size_t speakers, const struct chat_args *a)
{
    const double start = clock_now();
    size_t cap = 0, n, tokens = 0, questions = 0;
    struct gen_stats stats = { 0 };
    char *line = NULL;

    while (!stop_asked && read_question(&line, &cap, &n)) {
        const int again = strcmp(line, "/new") == 0;

        questions += !again;
        for (size_t i = 0; i < speakers && !(stop_asked && !again); i++) {
            if (again) {
                forget_messages(&s[i], a->system);
                continue;
            }
            if (speakers > 1) {
                char *label = xasprintf("[%s] ", s[i].path);

                print_answer(label, strlen(label));
                free(label);
            }
            tokens += answer_question(&s[i], line, n, a->length);
        }
    }
    free(line);
    gen_statistics(s->engine, &stats);
    prog_closing("%zu questions, %zu tokens, %.1f tokens/s", questions, tokens,
        (double)tokens / (clock_now() - start + 1e-9));
    common_guessed(&stats);
    prog_detail("%llu of %llu tokens of prompts were in the cache",
        (unsigned long long)stats.shared, (unsigned long long)stats.prompt);
}

int
chat_main(int argc, char **argv)
{
    static struct chat_args a = { .how = COMMON_DEFAULTS,
        .given = SAMPLING_OPEN,
        .length = 512 };
    const struct opt options[] = { OPT_STR('m', "model", &a.model, "model",
                                       "continue prompts with this model"),
        OPT_STR(0, "against", &a.against, "model",
            "let this model answer too, after the other"),
        OPT_STR(0, "system", &a.system, "text",
            "text of the system's message, before all others"),
        OPT_STR(0, "template", &a.template, "file",
            "chat template (default: the model's)"),
        OPT_SIZE('n', "max-new-tokens", &a.length, 1, 1e6, "tokens",
            "end a text after this many tokens"),
        MODEL_OPTIONS(&a.how),
        COMMON_OPTIONS_OF(&a.how, &a.given, " (default: the model's, else 0.7)",
            " (default: the model's, else 0.95)"),
        SAMPLING_OPTIONS_OF(&a.given, " (default: the model's)"),
        OPT_SIZE(0, "cache", &a.cache, 0, 1e15, "bytes",
            "memory for keys and values (0: as much as the texts need)"),
        OPT_END };
    struct speaker s[2] = { 0 };
    struct pool *pool;
    size_t n = 1;

    opt_parse(argc, argv, options, "chat with a model", "", 0, 0, NULL);
    if (a.model == NULL)
        die(EX_USAGE, "give a model by -m; see generate chat -h");
    common_begin(&a.how);
    open_speaker(&s[0], a.model, &a);
    if (a.against != NULL)
        open_speaker(&s[n++], a.against, &a);
    pool = common_pool(&a.how);
    for (size_t i = 0; i < n; i++) {
        s[i].engine = speaker_engine(&s[i], &a, pool);
        forget_messages(&s[i], a.system);
    }
    prog_catch_stop();
    prog_saving(1); /* a second Ctrl-C does not kill the program */
    talk(s, n, &a);
    out_done();
    for (size_t i = 0; i < n; i++)
        close_speaker(&s[i]);
    pool_free(pool);
    return stop_asked ? EX_STOP : EX_OK;
}
