/* A model that takes part in a chat; see speaker.h. */
#include "speaker.h"
#include "engine.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/out.h"
#include "gen/defaults.h"
#include "model/decode/forward_kv.h"
#include "text/unicode.h"
#include "train/plan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 4096 }; /* tokens, if the model does not tell its positions */

/* An answer that is being written. */
struct answer {
    struct gen_text *text;
    struct buf bytes; /* text of the answer */
    size_t tokens;
    enum gen_reason end;
};

/* ---- opening ---- */

void
speaker_start(struct speaker *s, const struct chat_args *a, struct pool *pool)
{
    const size_t page = gen_page_bytes(&s->m);
    const size_t most = (a->cache > 0 ? a->cache : plan_limit() / 4) / page;
    const size_t known = config_positions(&s->m.c);
    const size_t positions = known > 0 ? known : LONGEST;
    struct gen_limits l = { .texts = 1,
        .pages = kv_pages(positions),
        .slice = GEN_SLICE };

    if (l.pages > most)
        l.pages = most > 0 ? most : 1;
    l.longest = l.pages * KV_PAGE < positions ? l.pages * KV_PAGE : positions;
    s->longest = l.longest;
    if (s->path == a->model) {
        l.draft = how_draft(&a->how, &s->m, s->tok, pool);
        l.guesses = a->how.guesses;
    }
    s->packed = how_pack(&a->how, &s->m, pool);
    s->engine = gen_new(s->packed != NULL ? packed_model(s->packed) : &s->m,
        pool, s->tok, &l);
    engine_memory(s->engine, &s->m, pool, &l);
}

/* Set *how to the options, and values that were not given to the model's. */
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

void
speaker_open(struct speaker *s, const char *path, const struct chat_args *a)
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
    setup_model(&s->m, path, path == a->model ? a->how.adapter : NULL);
    if (tok_fit(s->tok, path, s->m.c.V, NULL, &e) < 0)
        die_err(&e);
    s->scratch = tok_scratch_new(s->tok);
    s->params.n = 1;
    s->params.seed = a->how.seed;
    s->params.hide_special = 1;
}

void
speaker_close(struct speaker *s)
{
    gen_free(s->engine);
    packed_free(s->packed);
    chat_free(s->template);
    tok_scratch_free(s->scratch);
    tok_free(s->tok);
    model_close(&s->m);
    json_decref(s->messages);
}

/* ---- the conversation ---- */

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

static const char *
role_at(const struct speaker *s, size_t i)
{
    return json_string_value(
        json_object_get(json_array_get(s->messages, i), "role"));
}

void
speaker_system(struct speaker *s, const char *system)
{
    const char *first = role_at(s, 0);

    if (first != NULL && strcmp(first, "system") == 0)
        json_array_remove(s->messages, 0);
    if (system != NULL)
        json_array_insert_new(s->messages, 0,
            json_pack("{s:s, s:s}", "role", "system", "content", system));
}

void
speaker_forget(struct speaker *s, const char *system)
{
    json_decref(s->messages);
    s->messages = json_array();
    speaker_system(s, system);
}

int
speaker_take_back(struct speaker *s, const char *role)
{
    const size_t n = json_array_size(s->messages);
    const char *last = n > 0 ? role_at(s, n - 1) : NULL;

    return last != NULL && strcmp(last, role) == 0 &&
        json_array_remove(s->messages, n - 1) == 0;
}

void
speaker_hear(struct speaker *s, const char *p, size_t n)
{
    add_message(s, "user", p, n);
}

/* ---- an answer ---- */

void
speaker_print(const char *s, size_t n)
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

    engine_check(ev);
    buf_add(&a->bytes, ev->n > 0 ? ev->bytes : "", ev->n);
    speaker_print(ev->bytes, ev->n);
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

size_t
speaker_answer(struct speaker *s, size_t length)
{
    struct tok_ids ids = { 0 };
    struct answer a = { 0 };
    struct err e;

    if (conversation_ids(s, &ids, &e) < 0) {
        if (!isatty(STDIN_FILENO))
            die_err(&e);
        warn("%s", e.msg);
        speaker_take_back(s, "user");
    } else {
        write_answer(s, &ids, length, &a);
        add_message(s, "assistant", a.bytes.p, a.bytes.n);
    }
    tok_ids_release(&ids);
    buf_release(&a.bytes);
    return a.tokens;
}
