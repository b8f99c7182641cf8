/* A text that generate run writes; see written.h. */
#include "written.h"
#include "format/json.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct written *
written_new(struct prompt *q, size_t choice)
{
    struct written *t = xcalloc(1, sizeof *t);

    t->prompt = q;
    t->choice = choice;
    return t;
}

void
written_free(struct written *t)
{
    if (--t->prompt->texts == 0)
        prompt_free(t->prompt);
    tok_ids_release(&t->ids);
    buf_release(&t->bytes);
    free(t->logp);
    free(t->top);
    free(t->top_logp);
    free(t);
}

/* Append a token's log probabilities; n tokens have them already. */
static void
keep_logprobs(struct written *t, size_t n, const struct gen_event *ev)
{
    const size_t k = t->prompt->params.top;

    t->logp = xgrow_pow2(t->logp, n, sizeof *t->logp);
    t->logp[n] = ev->logp;
    if (k == 0)
        return;
    t->top = xgrow_pow2(t->top, n, k * sizeof *t->top);
    t->top_logp = xgrow_pow2(t->top_logp, n, k * sizeof *t->top_logp);
    for (size_t i = 0; i < k; i++) {
        t->top[n * k + i] = i < ev->ntop ? ev->top[i] : UINT32_MAX;
        t->top_logp[n * k + i] = i < ev->ntop ? ev->top_logp[i] : NAN;
    }
}

void
written_event(struct written *t, const struct gen_event *ev)
{
    if (ev->kind == GEN_TOKEN) {
        if (t->prompt->params.logprobs)
            keep_logprobs(t, t->ids.n, ev);
        tok_ids_push(&t->ids, ev->id);
    }
    if (ev->kind == GEN_END)
        t->end = ev->reason;
    buf_add(&t->bytes, ev->bytes, ev->n);
}

static json_t *
repaired(const char *p, size_t n)
{
    struct buf text = { 0 };
    json_t *s;

    uni_repair(p != NULL ? p : "", n, &text);
    s = json_stringn(text.p != NULL ? text.p : "", text.n);
    buf_release(&text);
    return s;
}

static json_t *
token_text(const struct tokenizer *tok, uint32_t id)
{
    struct buf b = { 0 };
    struct err e;
    json_t *s;

    (void)tok_decode(tok, &id, 1, TOK_MIDDLE, &b, &e);
    s = repaired(b.p, b.n);
    buf_release(&b);
    return s;
}

/* The object top_logprobs of token i: the most probable tokens at its place,
 * and token i. */
static json_t *
top_object(const struct written *t, const struct tokenizer *tok, size_t i)
{
    const size_t k = t->prompt->params.top;
    json_t *o = json_object();

    for (size_t j = 0; j <= k; j++) {
        const uint32_t id = j < k ? t->top[i * k + j] : t->ids.v[i];
        const float logp = j < k ? t->top_logp[i * k + j] : t->logp[i];
        json_t *text = id != UINT32_MAX ? token_text(tok, id) : NULL;

        /* If tokens have the same text, the most probable one, which comes
         * first, is kept. */
        if (text != NULL && json_object_get(o, json_string_value(text)) == NULL)
            json_object_set_new(o, json_string_value(text), json_real(logp));
        json_decref(text);
    }
    return o;
}

/* The logprobs object of OpenAI's completions, with ids and without
 * text_offset. */
static json_t *
logprobs_object(const struct written *t, const struct tokenizer *tok)
{
    json_t *ids = json_array(), *tokens = json_array(), *logp = json_array();
    json_t *top = t->prompt->params.top > 0 ? json_array() : json_null();

    for (size_t i = 0; i < t->ids.n; i++) {
        json_array_append_new(ids, json_integer(t->ids.v[i]));
        json_array_append_new(tokens, token_text(tok, t->ids.v[i]));
        json_array_append_new(logp, json_real(t->logp[i]));
        if (json_is_array(top))
            json_array_append_new(top, top_object(t, tok, i));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "ids", ids, "tokens", tokens,
        "token_logprobs", logp, "top_logprobs", top);
}

/* Members that are set when the text is made.  sometimes 1: only in some
 * lines. */
static const struct {
    const char *name;
    int sometimes;
} made_later[] = { { "model", 0 }, { "adapter", 1 }, { "template", 1 },
    { "text", 0 }, { "finish_reason", 0 }, { "tokens", 0 }, { "reward", 1 },
    { "logprobs", 0 } };

static const size_t nlater = sizeof made_later / sizeof *made_later;

/* Begin the JSON object of a text's line: the members of the prompt's record,
 * then seed and, if the prompt has several texts, choice.  If the record is a
 * line that generate run has written, its text has members such as reward that
 * a new text may lack; these are removed. */
static json_t *
begin_line(const struct written *t)
{
    const struct prompt *q = t->prompt;
    json_t *j = json_copy(q->record);

    if (json_object_get(j, "finish_reason") != NULL) {
        json_object_del(j, "choice");
        for (size_t i = 0; i < nlater; i++)
            if (made_later[i].sometimes)
                json_object_del(j, made_later[i].name);
    }
    json_object_set_new(j, "seed", json_integer((json_int_t)q->params.seed));
    if (q->params.n > 1)
        json_object_set_new(j, "choice", json_integer((json_int_t)t->choice));
    return j;
}

json_t *
written_known(const struct written *t)
{
    json_t *j = begin_line(t);

    for (size_t i = 0; i < nlater; i++)
        json_object_del(j, made_later[i].name);
    return j;
}

/* Set the members that say what makes the text. */
static void
set_maker(json_t *j, const struct written *t, const json_t *made)
{
    const char *template = js_text_of(made, "template");

    if (js_get(j, "temperature") == NULL)
        json_object_set_new(j, "temperature",
            json_real(t->prompt->params.how.temperature));
    json_object_set(j, "model", json_object_get(made, "model"));
    if (js_get(made, "adapter") != NULL)
        json_object_set(j, "adapter", json_object_get(made, "adapter"));
    if (js_get(j, "messages") != NULL && *template != '\0')
        json_object_set_new(j, "template", json_string(template));
}

void
written_line(const struct written *t, const json_t *made,
    const struct tokenizer *tok, struct buf *out)
{
    static const char *const ends[] = { [GEN_EOS] = "eos",
        [GEN_STOP] = "stop",
        [GEN_LENGTH] = "length" };
    json_t *j = begin_line(t);
    char *line;

    set_maker(j, t, made);
    json_object_set_new(j, "text", repaired(t->bytes.p, t->bytes.n));
    json_object_set_new(j, "finish_reason", json_string(ends[t->end]));
    json_object_set_new(j, "tokens", json_integer((json_int_t)t->ids.n));
    if (t->reward > 0.0)
        json_object_set_new(j, "reward", json_real(t->reward));
    if (t->prompt->params.logprobs)
        json_object_set_new(j, "logprobs", logprobs_object(t, tok));
    /* js_dumps would try to shorten each of many log probabilities */
    line = t->prompt->params.logprobs ? json_dumps(j, 0) : js_dumps(j, 0);
    buf_adds(out, line);
    free(line);
    json_decref(j);
}
