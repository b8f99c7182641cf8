/* The prompts of draws; see asker.h. */
#include "asker.h"
#include "wording.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Sixteen prompts in a row have the same examples, so that the model reads
 * these only once: texts share the pages of equal beginnings. */
enum { SHOWN_EXAMPLES = 4, DRAWS_ALIKE = 16 };
#define SYSTEM_MAX ((size_t)1 << 20) /* most bytes of --system */

/* Labels of keys of random numbers. */
enum { KEY_EXAMPLES = 0x65786d70, KEY_WAYS = 0x77617973 };

/* Read the text of the system's message, without white space at its end. */
static char *
read_system(const char *file)
{
    char *text;
    size_t n;
    struct err e;

    if (io_slurp(file, SYSTEM_MAX, &text, &n, &e) < 0)
        die_err(&e);
    if (uni_valid(text, n) != n || strlen(text) != n)
        die(EX_INPUT, "%s: is no text in UTF-8", file);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        text[--n] = '\0';
    if (n == 0)
        die(EX_INPUT, "%s: is empty: leave --system out", file);
    return text;
}

/* Open the chat template; a model without one needs --like. */
static void
open_template(struct asker *a)
{
    struct err e;

    a->chat = chat_open(a->from->model, a->from->template, &e);
    if (a->chat != NULL || (e.code == EX_USAGE && a->from->like != NULL))
        return;
    if (e.code == EX_USAGE && a->from->harder == NULL)
        die(EX_USAGE,
            "%s: has no chat template, so that it cannot be asked for a "
            "user's words: give examples of them by --like, or a template by "
            "--template",
            a->from->model);
    die_err(&e);
}

/* Let questions end where the template ends a user's turn. */
static void
end_with_turn(struct asker *a)
{
    const struct ask_from *f = a->from;
    struct turn_end end;
    struct err e;

    if (turn_find(&a->turn, a->chat, a->system, f->date, &e) < 0) {
        if (a->system != NULL)
            err_prefix(&e, "--system %s", f->system);
        die_err(&e);
    }
    end = turn_end(&a->turn, f->tok, a->scratch);
    if (end.text != NULL) {
        a->stop[0] = end.text;
        a->params.nstop = 1;
    }
}

/* Let questions end at any special token.  Models are seldom trained to end the
 * words of a user: some go on with the mark that begins the next turn. */
static void
end_at_special(struct asker *a)
{
    const struct tokenizer *tok = a->from->tok;
    const size_t n = tok_vocab(tok) < a->from->V ? tok_vocab(tok) : a->from->V;

    for (size_t id = 0; id < n; id++)
        if (tok_is_special(tok, (uint32_t)id))
            tok_ids_push(&a->end, (uint32_t)id);
    a->params.end = a->end.v;
    a->params.nend = a->end.n;
}

void
asker_open(struct asker *a, const struct ask_from *from)
{
    *a = (struct asker){ .from = from, .params = from->params };
    a->params.stop = a->stop;
    end_at_special(a);
    a->scratch = tok_scratch_new(from->tok);
    a->system = from->system != NULL ? read_system(from->system) : NULL;
    open_template(a);
    if (from->like != NULL)
        a->like = examples_open(from->like, WORDING_CLOSE);
    if (from->like != NULL || from->harder != NULL) {
        a->stop[0] = xstrdup(WORDING_CLOSE);
        a->params.nstop = 1;
    } else {
        end_with_turn(a);
    }
}

void
asker_release(struct asker *a)
{
    free(a->stop[0]);
    tok_ids_release(&a->end);
    free(a->system);
    turn_release(&a->turn);
    examples_close(a->like);
    chat_free(a->chat);
    tok_scratch_free(a->scratch);
}

/* ---- a prompt ---- */

/* Choose examples for draw `index`.  Returns how many. */
static size_t
choose_examples(const struct asker *a, uint64_t index,
    const char *shown[SHOWN_EXAMPLES])
{
    const size_t n = examples_count(a->like);
    const size_t k = n < SHOWN_EXAMPLES ? n : SHOWN_EXAMPLES;
    const uint64_t key =
        rng_key(rng_key(a->params.seed, KEY_EXAMPLES), index / DRAWS_ALIKE);

    for (size_t i = 0; i < k; i++)
        shown[i] = examples_text(a->like, (size_t)rng_perm(key, n, i));
    return k;
}

size_t
asker_way(const struct asker *a, uint64_t index)
{
    return (size_t)(rng_u64(rng_key(a->params.seed, KEY_WAYS), index) %
        WORDING_WAYS);
}

/* Append the template's text for a message of the user, up to where the answer
 * begins.  -1 and *e. */
static int
add_turn(const struct asker *a, const char *said, struct buf *text,
    struct err *e)
{
    const struct chat_options o = { .prompt = 1, .now = a->from->date };
    json_t *messages = question_messages(a->system, said, strlen(said));
    struct jinja_out out;
    const int r = chat_render(a->chat, messages, &o, &out, e);

    if (r == 0)
        buf_add(text, out.text.p, out.text.n);
    jinja_out_release(&out);
    json_decref(messages);
    return r;
}

/* Append the text that the model continues; question: that of `harder`. */
static int
draw_text(const struct asker *a, uint64_t index, const char *question,
    struct buf *text, struct err *e)
{
    const char *shown[SHOWN_EXAMPLES];
    struct buf said = { 0 };
    int r = 0;

    if (a->like == NULL && question == NULL) {
        size_t n = a->turn.before.n;

        /* Most tokenizers join a space to the word that follows. */
        while (n > 0 && a->turn.before.p[n - 1] == ' ')
            n--;
        buf_add(text, a->turn.before.p, n);
        return 0;
    }
    if (a->like != NULL) {
        const size_t k = choose_examples(a, index, shown);

        if (a->chat == NULL && a->system != NULL)
            buf_addf(text, "%s\n\n", a->system);
        if (a->chat == NULL)
            wording_plain(text, shown, k);
        else
            wording_like(&said, shown, k);
    } else {
        wording_harder(&said, question, asker_way(a, index));
    }
    if (said.n > 0)
        r = add_turn(a, said.p, text, e);
    buf_adds(text, WORDING_OPEN "\n");
    buf_release(&said);
    return r;
}

/* Check that the prompt and its text fit into the model. */
static int
check_length(const struct asker *a, const struct tok_ids *ids, struct err *e)
{
    const size_t positions = a->from->positions, most = a->params.most;

    if (positions > 0 && ids->n + most > positions)
        return err_set(e, EX_INPUT,
            "asking for a question takes %zu tokens, and with %zu for the "
            "question they exceed the model's %zu positions: shorten the "
            "texts that the model is shown, or give a smaller -n",
            ids->n, most, positions);
    return tok_fits(ids, a->from->V, e);
}

/* Set the ids of the prompt of draw `index`, whose other members are set. */
static int
encode_draw(const struct asker *a, uint64_t index, struct prompt *q,
    struct err *e)
{
    const char *question = NULL;
    struct buf text = { 0 };
    int r;

    if (a->from->harder != NULL &&
        (question = question_text(q->record, e)) == NULL)
        return -1;
    if ((r = draw_text(a, index, question, &text, e)) == 0) {
        tok_encode(a->from->tok, a->scratch, text.n > 0 ? text.p : "", text.n,
            TOK_SPECIAL | (a->chat == NULL ? TOK_BOS : 0), &q->ids);
        if (q->ids.n == 0 && tok_prefix(a->from->tok) >= 0)
            tok_ids_push(&q->ids, (uint32_t)tok_prefix(a->from->tok));
        r = check_length(a, &q->ids, e);
    }
    buf_release(&text);
    return r;
}

struct prompt *
asker_prompt(const struct asker *a, uint64_t index, json_t *record,
    struct err *e)
{
    struct prompt *q = xcalloc(1, sizeof *q);

    params_copy(&q->params, &a->params);
    q->record = record != NULL ? json_incref(record) : json_object();
    q->number = index;
    q->texts = 1;
    if (encode_draw(a, index, q, e) == 0)
        return q;
    prompt_free(q);
    return NULL;
}
