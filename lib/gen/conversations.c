/* Conversations as ids; see conversations.h. */
#include "gen/conversations.h"

#include "format/json.h"
#include "gen/dialogue.h"
#include "text/unicode_nfc.h"

#include <string.h>

int
conversations_open(struct conversations *c, const struct tokenizer *t,
    const char *path, const char *file, const struct tm *date, struct err *e)
{
    *c = (struct conversations){ .t = t, .date = date };
    if ((c->own = chat_open(path, file, e)) == NULL ||
        (c->training = chat_open(path, file, e)) == NULL) {
        c->no_training = *e;
        return -1;
    }
    if (chat_for_training(c->training, &c->no_training) < 0) {
        chat_free(c->training);
        c->training = NULL;
    }
    return 0;
}

void
conversations_close(struct conversations *c)
{
    chat_free(c->own);
    chat_free(c->training);
}

/* ---- tokens in the text ---- */

static int
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Number of bytes that the token p[n] covers at the beginning of text[left].
 * The token may begin with an added space, which some tokenizers put before a
 * text.  SIZE_MAX: the token is not there. */
static size_t
token_at(const char *p, size_t n, const char *text, size_t left)
{
    if (n <= left && memcmp(p, text, n) == 0)
        return n;
    if (n > 0 && *p == ' ' && n - 1 <= left && memcmp(p + 1, text, n - 1) == 0)
        return n - 1;
    return SIZE_MAX;
}

/* Does a span overlap the bytes [from,to) of a token?  Spans before number *at
 * end at `from` or earlier. */
static int
is_learnt(const struct jinja_out *text, size_t *at, size_t from, size_t to)
{
    while (*at < text->nspan && text->span[*at].to <= from)
        ++*at;
    return *at < text->nspan && to > text->span[*at].from;
}

/* Find the tokens in the text one after the other.  Added tokens may take the
 * white space before or behind them; here that space counts to the token before
 * the space.  Returns the number of tokens found; 0: they do not cover the
 * text. */
static size_t
walk_tokens(const struct tokenizer *t, const struct jinja_out *text,
    const uint32_t *ids, size_t n, char *mask)
{
    const char *p = text->text.p;
    const size_t size = text->text.n;
    size_t at = 0, span = 0, begin = 0, i;
    struct buf b = { 0 };
    struct err e;

    for (i = 0; i < n; i++) {
        size_t from = at, len;

        buf_clear(&b);
        if (tok_decode(t, &ids[i], 1, TOK_MIDDLE, &b, &e) < 0)
            break;
        len = token_at(b.p, b.n, p + at, size - at);
        if (len == SIZE_MAX || len == 0) {
            while (from < size && is_blank(p[from]))
                from++;
            len = token_at(b.p, b.n, p + from, size - from);
        }
        if (len == SIZE_MAX)
            break;
        if (from > at && i > 0)
            mask[i - 1] = (char)is_learnt(text, &(size_t){ 0 }, begin, from);
        begin = from;
        at = from + len;
        /* a space that is not in the text counts to the byte after it */
        mask[i] = (char)is_learnt(text, &span, begin, at + (len == 0));
    }
    while (at < size && is_blank(p[at]))
        at++;
    buf_release(&b);
    return at == size ? i : 0;
}

/* Set *out to the text in NFC, as some tokenizers change it, with its spans. */
static void
compose_text(const struct jinja_out *text, struct jinja_out *out)
{
    size_t at = 0;

    *out = (struct jinja_out){ .nspan = text->nspan,
        .span = xcalloc(text->nspan + 1, sizeof *out->span) };
    for (size_t i = 0; i < text->nspan; i++) {
        const struct jinja_span s = text->span[i];

        nfc_append(text->text.p + at, s.from - at, &out->text);
        out->span[i].from = out->text.n;
        nfc_append(text->text.p + s.from, s.to - s.from, &out->text);
        out->span[i].to = out->text.n;
        at = s.to;
    }
    nfc_append(text->text.p + at, text->text.n - at, &out->text);
}

int
conversations_mask(const struct tokenizer *t, const struct jinja_out *text,
    const uint32_t *ids, size_t n, char *mask, struct err *e)
{
    struct jinja_out composed;
    size_t found = walk_tokens(t, text, ids, n, mask);

    if (found < n) {
        compose_text(text, &composed);
        found = walk_tokens(t, &composed, ids, n, mask);
        jinja_out_release(&composed);
    }
    return found == n ? 0
                      : err_set(e, EX_INPUT,
                            "the tokenizer changes the text, so that what the "
                            "assistant says cannot be found in the tokens");
}

/* ---- records ---- */

static void
mask_room(struct buf *mask, size_t n)
{
    buf_reserve(mask, n);
    mask->n = n;
    mask->p[n] = '\0';
}

static int
training_ids(const struct conversations *c, struct tok_scratch *s,
    const json_t *messages, const struct chat_options *o, struct tok_ids *ids,
    struct buf *mask, struct err *e)
{
    struct jinja_out text;
    int r;

    if (c->training == NULL) {
        *e = c->no_training;
        return -1;
    }
    if ((r = chat_render(c->training, messages, o, &text, e)) == 0) {
        tok_encode(c->t, s, text.text.p, text.text.n, TOK_SPECIAL, ids);
        mask_room(mask, ids->n);
        r = conversations_mask(c->t, &text, ids->v, ids->n, mask->p, e);
    }
    jinja_out_release(&text);
    return r;
}

/* Append the ids of messages, by the model's own template. */
static int
encode_plainly(const struct conversations *c, struct tok_scratch *s,
    const json_t *messages, const struct chat_options *o, struct tok_ids *ids,
    struct err *e)
{
    struct jinja_out text;
    int r;

    if (c->own == NULL) {
        *e = c->no_training;
        return -1;
    }
    if ((r = chat_render(c->own, messages, o, &text, e)) == 0)
        tok_encode(c->t, s, text.text.p, text.text.n, TOK_SPECIAL, ids);
    jinja_out_release(&text);
    return r;
}

/* Append the ids of a prompt to *alone, and those of the prompt with its
 * completion to *ids. */
static int
encode_lists(const struct conversations *c, struct tok_scratch *s,
    const json_t *prompt, const json_t *completion, struct chat_options *o,
    struct tok_ids *alone, struct tok_ids *ids, struct err *e)
{
    json_t *both = json_copy((json_t *)(uintptr_t)prompt);
    int r;

    json_array_extend(both, (json_t *)(uintptr_t)completion);
    o->prompt = 1;
    r = encode_plainly(c, s, prompt, o, alone, e);
    o->prompt = 0;
    if (r == 0)
        r = encode_plainly(c, s, both, o, ids, e);
    json_decref(both);
    return r;
}

static void
encode_texts(const struct conversations *c, struct tok_scratch *s,
    const json_t *prompt, const json_t *completion, struct tok_ids *alone,
    struct tok_ids *ids)
{
    const int64_t eos = tok_eos(c->t);
    struct buf both = { 0 };

    buf_add(&both, json_string_value(prompt), json_string_length(prompt));
    tok_encode(c->t, s, both.p, both.n, TOK_SPECIAL | TOK_BOS, alone);
    buf_add(&both, json_string_value(completion),
        json_string_length(completion));
    tok_encode(c->t, s, both.p, both.n, TOK_SPECIAL | TOK_BOS, ids);
    if (eos >= 0 && (ids->n == 0 || ids->v[ids->n - 1] != (uint32_t)eos))
        tok_ids_push(ids, (uint32_t)eos);
    buf_release(&both);
}

/* Encode a prompt with its completion.  *same: how many of the first ids equal
 * those of the prompt alone. */
static int
encode_completion(const struct conversations *c, struct tok_scratch *s,
    const json_t *prompt, const json_t *completion, struct chat_options *o,
    struct tok_ids *ids, size_t *same, struct err *e)
{
    struct tok_ids alone = { 0 };
    int r = 0;

    if (json_is_array(prompt) && json_is_array(completion))
        r = encode_lists(c, s, prompt, completion, o, &alone, ids, e);
    else if (json_is_string(prompt) && json_is_string(completion))
        encode_texts(c, s, prompt, completion, &alone, ids);
    else
        r = err_set(e, EX_INPUT,
            "prompt and completion are neither two texts nor two lists of "
            "messages");
    *same = 0;
    while (r == 0 && *same < alone.n && *same < ids->n &&
        alone.v[*same] == ids->v[*same])
        ++*same;
    tok_ids_release(&alone);
    return r;
}

/* Encode a prompt with its completion, and mark the completion's ids. */
static int
learn_completion(const struct conversations *c, struct tok_scratch *s,
    const json_t *prompt, const json_t *completion, struct chat_options *o,
    struct tok_ids *ids, struct buf *mask, struct err *e)
{
    size_t same;

    if (encode_completion(c, s, prompt, completion, o, ids, &same, e) < 0)
        return -1;
    mask_room(mask, ids->n);
    memset(mask->p, 0, same);
    memset(mask->p + same, 1, ids->n - same);
    return 0;
}

/* Encode a conversation whose last message is an answer by generate run, and
 * train on this answer.  If the template has no {% generation %} marks, the
 * tokens to train on are those after the tokens of the prompt. */
static int
learn_answer(const struct conversations *c, struct tok_scratch *s,
    json_t *messages, struct chat_options *o, struct tok_ids *ids,
    struct buf *mask, struct err *e)
{
    const size_t last = json_array_size(messages) - 1;
    json_t *answer;
    int r;

    if (c->training != NULL || c->own == NULL)
        return training_ids(c, s, messages, o, ids, mask, e);
    answer = json_pack("[O]", json_array_get(messages, last));
    json_array_remove(messages, last);
    r = learn_completion(c, s, messages, answer, o, ids, mask, e);
    json_decref(answer);
    return r;
}

int
conversations_encode(const struct conversations *c, struct tok_scratch *s,
    const char *record, size_t n, struct tok_ids *ids, struct buf *mask,
    struct err *e)
{
    json_t *j = js_parse(record, n, e), *parsed = NULL;
    const int answer = j != NULL && dialogue_answer(j);
    json_t *messages = json_object_get(j, "messages");
    const json_t *prompt = json_object_get(j, "prompt");
    const json_t *completion = json_object_get(j, "completion");
    struct chat_options o = { .now = c->date };
    int r = j == NULL ? -1 : chat_record_options(j, &o, &parsed, e);

    ids->n = 0;
    buf_clear(mask);
    if (r < 0)
        ;
    else if (messages != NULL && answer)
        r = learn_answer(c, s, messages, &o, ids, mask, e);
    else if (messages != NULL)
        r = training_ids(c, s, messages, &o, ids, mask, e);
    else if (prompt != NULL && completion != NULL)
        r = learn_completion(c, s, prompt, completion, &o, ids, mask, e);
    else
        r = err_set(e, EX_INPUT,
            "the record has no messages, and no prompt with a completion");
    if (r == 0 && memchr(mask->p, 1, mask->n) == NULL)
        r = err_set(e, EX_INPUT,
            "the conversation has nothing to learn: the assistant says "
            "nothing");
    if (r == 0 && answer)
        r = strcmp(js_text_of(j, "finish_reason"), "length") == 0;
    json_decref(parsed);
    json_decref(j);
    return r;
}

/* ---- pairs of completions ---- */

/* Remove the messages with which both lists begin, and return them; the caller
 * releases them. */
static json_t *
common_messages(json_t *a, json_t *b)
{
    json_t *both = json_array();

    while (json_array_size(a) > 0 && json_array_size(b) > 0 &&
        json_equal(json_array_get(a, 0), json_array_get(b, 0))) {
        json_array_append(both, json_array_get(a, 0));
        json_array_remove(a, 0);
        json_array_remove(b, 0);
    }
    return both;
}

/* Encode both completions of a prompt. */
static int
encode_pair(const struct conversations *c, struct tok_scratch *s,
    const json_t *prompt, json_t *const completion[2], struct chat_options *o,
    struct tok_ids ids[2], size_t *prompt_ids, struct err *e)
{
    static const char *const name[] = { "chosen", "rejected" };
    size_t same[2];

    for (int k = 0; k < 2; k++) {
        ids[k].n = 0;
        if (encode_completion(c, s, prompt, completion[k], o, &ids[k], &same[k],
                e) < 0)
            return err_prefix(e, "%s", name[k]);
    }
    *prompt_ids = same[0] < same[1] ? same[0] : same[1];
    if (*prompt_ids == 0)
        *prompt_ids = 1;
    for (int k = 0; k < 2; k++)
        if (ids[k].n <= *prompt_ids)
            return err_set(e, EX_INPUT, "%s is empty", name[k]);
    return 0;
}

int
conversations_pair(const struct conversations *c, struct tok_scratch *s,
    const char *record, size_t n, struct tok_ids ids[2], size_t *prompt,
    struct err *e)
{
    json_t *j = js_parse(record, n, e), *parsed = NULL, *common = NULL;
    json_t *completion[] = { json_object_get(j, "chosen"),
        json_object_get(j, "rejected") };
    const json_t *given = json_object_get(j, "prompt");
    struct chat_options o = { .now = c->date };
    int r = j == NULL ? -1 : chat_record_options(j, &o, &parsed, e);

    if (r == 0 && (completion[0] == NULL || completion[1] == NULL))
        r = err_set(e, EX_INPUT, "the record has no chosen and rejected");
    if (r == 0 && given == NULL && json_is_array(completion[0]) &&
        json_is_array(completion[1]))
        given = common = common_messages(completion[0], completion[1]);
    if (r == 0 && given == NULL)
        r = err_set(e, EX_INPUT, "the record has no prompt");
    if (r == 0)
        r = encode_pair(c, s, given, completion, &o, ids, prompt, e);
    json_decref(common);
    json_decref(parsed);
    json_decref(j);
    return r;
}
