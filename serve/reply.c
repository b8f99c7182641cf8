/* Answers as OpenAI's clients read them; see reply.h. */
#include "reply.h"
#include "format/json_text.h"
#include "gen/shown.h"
#include "text/unicode.h"

#include <math.h>
#include <string.h>

void
reply_text_release(struct reply_text *t)
{
    buf_release(&t->text);
    buf_release(&t->half);
    for (size_t i = 0; i < 4; i++)
        buf_release(&t->list[i]);
}

size_t
reply_text_bytes(const struct reply_text *t)
{
    size_t n = t->text.cap;

    for (size_t i = 0; i < 4; i++)
        n += t->list[i].cap;
    return n;
}

/* --- values --- */

void
reply_string(struct buf *out, const char *p, size_t n)
{
    struct buf text = { 0 };

    uni_repair(p, n, &text);
    buf_addc(out, '"');
    for (p = text.p, n = text.n; n > 0;) {
        const size_t plain = js_plain(p, n);

        buf_add(out, p, plain);
        p += plain;
        n -= plain;
        if (n == 0)
            break;
        buf_addf(out, "\\u%04x", (unsigned)(unsigned char)*p);
        p++;
        n--;
    }
    buf_addc(out, '"');
    buf_release(&text);
}

void
reply_ids(struct buf *out, const struct tok_ids *ids)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < ids->n; i++)
        buf_addf(out, "%s%u", i > 0 ? "," : "", (unsigned)ids->v[i]);
    buf_addc(out, ']');
}

/* Append the bytes that a token has inside a text.  flags: TOK_SKIP or 0. */
static void
append_token_bytes(struct buf *to, const struct tokenizer *tok, uint32_t id,
    int flags)
{
    if (id < tok_vocab(tok))
        tok_decode(tok, &id, 1, TOK_MIDDLE | flags, to, NULL);
    buf_reserve(to, 1);
}

/* Number of characters of p[n] after uni_repair, as answers have it. */
static size_t
count_characters(const char *p, size_t n)
{
    struct buf text = { 0 };
    size_t count = 0;

    uni_repair(p, n, &text);
    for (size_t i = 0; i < text.n; i++)
        count += (text.p[i] & 0xc0) != 0x80;
    buf_release(&text);
    return count;
}

void
reply_token(struct buf *out, const struct tokenizer *tok, uint32_t id)
{
    struct buf bytes = { 0 };

    append_token_bytes(&bytes, tok, id, 0);
    reply_string(out, bytes.p, bytes.n);
    buf_release(&bytes);
}

static void
put_logp(struct buf *out, float logp)
{
    if (isfinite(logp))
        buf_addf(out, "%.9g", (double)logp);
    else
        buf_adds(out, "null");
}

/* Append a token's name as lists of log probabilities have it: its text, or
 * "token_id:N". */
static void
put_name(struct buf *out, const struct request *q, const struct tokenizer *tok,
    uint32_t id)
{
    if (q->ids_as_names)
        buf_addf(out, "\"token_id:%u\"", (unsigned)id);
    else
        reply_token(out, tok, id);
}

/* --- log probabilities of completions --- */

/* Append a member of top_logprobs, unless an earlier, more probable token has
 * the same name.  seen: the names so far, each with a NUL. */
static void
put_top_member(struct buf *out, struct buf *seen, const struct request *q,
    const struct tokenizer *tok, uint32_t id, float logp)
{
    const size_t from = seen->n;
    const char *name;

    put_name(seen, q, tok, id);
    buf_addc(seen, '\0');
    name = seen->p + from;
    for (const char *s = seen->p; s < name; s += strlen(s) + 1)
        if (strcmp(s, name) == 0)
            return;
    buf_addf(out, "%c%s:", from > 0 ? ',' : '{', name);
    put_logp(out, logp);
}

static void
put_top(struct buf *out, const struct request *q, const struct tokenizer *tok,
    const struct gen_event *ev)
{
    struct buf seen = { 0 };
    int own = 0;

    for (size_t i = 0; i < ev->ntop; i++) {
        put_top_member(out, &seen, q, tok, ev->top[i], ev->top_logp[i]);
        own |= ev->top[i] == ev->id;
    }
    if (!own)
        put_top_member(out, &seen, q, tok, ev->id, ev->logp);
    buf_addc(out, '}');
    buf_release(&seen);
}

/* Add a token's bytes to the text before the next token.  Returns the index in
 * characters, from 0, of the character that has the token's first byte. */
static size_t
pass_token(struct reply_text *t, const struct request *q,
    const struct tokenizer *tok, uint32_t id)
{
    const size_t had = t->half.n;
    struct buf *b = &t->half;
    size_t begin = t->offset, whole, cut;

    append_token_bytes(b, tok, id, q->params.hide_special ? TOK_SKIP : 0);
    cut = b->n - had < t->lead ? b->n - had : t->lead;
    t->lead -= cut;
    buf_drop(b, cut);
    /* if the first byte does not continue the character in `half`, it begins
     * the next character */
    if (had > 0 && b->n > had && shown_length(b->p, had + 1, NULL, 0) > 0 &&
        uni_valid(b->p, had + 1) <= had)
        begin += count_characters(b->p, had);
    whole = shown_length(b->p, b->n, NULL, 0);
    t->offset += count_characters(b->p, whole);
    buf_drop(b, whole);
    return begin;
}

static void
add_completion_logprob(struct reply_text *t, const struct request *q,
    const struct tokenizer *tok, const struct gen_event *ev)
{
    const char *gap = t->list[0].n > 0 ? "," : "";

    for (size_t i = 0; i < 4; i++)
        buf_adds(&t->list[i], gap);
    buf_addf(&t->list[3], "%zu", pass_token(t, q, tok, ev->id));
    put_name(&t->list[0], q, tok, ev->id);
    put_logp(&t->list[1], ev->logp);
    if (isfinite(ev->logp))
        put_top(&t->list[2], q, tok, ev);
    else
        buf_adds(&t->list[2], "null");
}

/* --- log probabilities of chats --- */

static void
put_chat_token(struct buf *out, const struct request *q,
    const struct tokenizer *tok, uint32_t id, float logp)
{
    struct buf bytes = { 0 };

    buf_adds(out, "{\"token\":");
    put_name(out, q, tok, id);
    buf_adds(out, ",\"logprob\":");
    put_logp(out, logp);
    buf_adds(out, ",\"bytes\":[");
    append_token_bytes(&bytes, tok, id, 0);
    for (size_t i = 0; i < bytes.n; i++)
        buf_addf(out, "%s%u", i > 0 ? "," : "", (unsigned char)bytes.p[i]);
    buf_addc(out, ']');
    buf_release(&bytes);
}

static void
add_chat_logprob(struct reply_text *t, const struct request *q,
    const struct tokenizer *tok, const struct gen_event *ev)
{
    struct buf *out = &t->list[0];

    buf_adds(out, out->n > 0 ? "," : "");
    put_chat_token(out, q, tok, ev->id, ev->logp);
    buf_adds(out, ",\"top_logprobs\":[");
    for (size_t i = 0; i < ev->ntop; i++) {
        buf_adds(out, i > 0 ? "," : "");
        put_chat_token(out, q, tok, ev->top[i], ev->top_logp[i]);
        buf_addc(out, '}');
    }
    buf_adds(out, "]}");
}

void
reply_logprob(struct reply_text *t, const struct request *q,
    const struct tokenizer *tok, const struct gen_event *ev)
{
    (q->chat ? add_chat_logprob : add_completion_logprob)(t, q, tok, ev);
}

/* Move the lists of *t to `out`. */
static void
put_logprobs(struct buf *out, const struct request *q, struct reply_text *t)
{
    static const char *const names[] = { "tokens", "token_logprobs",
        "top_logprobs", "text_offset" };
    const size_t lists = q->chat ? 1 : 4;

    buf_adds(out, ",\"logprobs\":");
    if (!q->params.logprobs) {
        buf_adds(out, "null");
        return;
    }
    for (size_t i = 0; i < lists; i++) {
        buf_addf(out, "%c\"%s\":[", i > 0 ? ',' : '{',
            q->chat ? "content" : names[i]);
        if (t->list[i].n > 0)
            buf_add(out, t->list[i].p, t->list[i].n);
        buf_addc(out, ']');
        buf_clear(&t->list[i]);
    }
    buf_addc(out, '}');
}

/* --- objects and events --- */

const char *
reply_finish(enum gen_reason reason)
{
    switch (reason) {
    case GEN_EOS:
    case GEN_STOP: return "stop";
    case GEN_LENGTH: return "length";
    default: return "abort";
    }
}

static void
put_finish(struct buf *out, const char *finish)
{
    buf_adds(out, ",\"finish_reason\":");
    if (finish != NULL)
        buf_addf(out, "\"%s\"", finish);
    else
        buf_adds(out, "null");
}

static void
put_usage(struct buf *out, const struct request *q, size_t tokens)
{
    size_t prompt = 0;

    for (size_t i = 0; i < q->prompts; i++)
        prompt += q->prompt[i].n;
    buf_addf(out,
        "\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":%zu,"
        "\"total_tokens\":%zu}",
        prompt, tokens, prompt + tokens);
}

static void
put_head(struct buf *out, const struct reply_head *h, const char *object)
{
    buf_addf(out,
        "{\"id\":\"%s\",\"object\":\"%s\",\"created\":%lld,"
        "\"model\":",
        h->id, object, h->created);
    reply_string(out, h->model, strlen(h->model));
    buf_adds(out, ",\"choices\":[");
}

static void
begin_event(struct buf *out, const struct reply_head *h)
{
    buf_adds(out, "data: ");
    put_head(out, h, h->chat ? "chat.completion.chunk" : "text_completion");
}

/* End an event.  With include_usage the usage is null in each event but the
 * last. */
static void
end_event(struct buf *out, const struct request *q)
{
    buf_adds(out, q->usage ? "],\"usage\":null}\n\n" : "]}\n\n");
}

void
reply_role(struct buf *out, const struct reply_head *h, const struct request *q,
    size_t index)
{
    begin_event(out, h);
    buf_addf(out,
        "{\"index\":%zu,\"delta\":{\"role\":\"assistant\","
        "\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}",
        index);
    end_event(out, q);
}

/* Move the text of *t to `out`; unless the text ends here, the first bytes of
 * an incomplete last character stay in *t. */
static void
put_text(struct buf *out, struct reply_text *t, int ends)
{
    const char *p = t->text.p != NULL ? t->text.p : "";
    const size_t n = ends ? t->text.n : shown_length(p, t->text.n, NULL, 0);

    reply_string(out, p, n);
    buf_drop(&t->text, n);
}

void
reply_event(struct buf *out, const struct reply_head *h,
    const struct request *q, struct reply_text *t, const char *finish)
{
    begin_event(out, h);
    buf_addf(out, "{\"index\":%zu,%s", t->index,
        h->chat ? "\"delta\":{" : "\"text\":");
    if (!h->chat) {
        put_text(out, t, finish != NULL);
    } else {
        if (t->text.n > 0 || finish == NULL) {
            buf_adds(out, "\"content\":");
            put_text(out, t, finish != NULL);
        }
        buf_addc(out, '}');
    }
    put_logprobs(out, q, t);
    put_finish(out, finish);
    buf_addc(out, '}');
    end_event(out, q);
}

void
reply_usage(struct buf *out, const struct reply_head *h,
    const struct request *q, size_t tokens)
{
    begin_event(out, h);
    buf_adds(out, "],");
    put_usage(out, q, tokens);
    buf_adds(out, "}\n\n");
}

void
reply_done(struct buf *out)
{
    buf_adds(out, "data: [DONE]\n\n");
}

void
reply_object_begin(struct buf *out, const struct reply_head *h)
{
    put_head(out, h, h->chat ? "chat.completion" : "text_completion");
}

void
reply_object_text(struct buf *out, const struct request *q,
    struct reply_text *t, const char *finish)
{
    buf_addf(out, "%s{\"index\":%zu,", t->index > 0 ? "," : "", t->index);
    buf_adds(out,
        q->chat ? "\"message\":{\"role\":\"assistant\",\"content\":"
                : "\"text\":");
    put_text(out, t, 1);
    buf_adds(out, q->chat ? "}" : "");
    put_logprobs(out, q, t);
    put_finish(out, finish);
    buf_addc(out, '}');
}

void
reply_object_end(struct buf *out, const struct request *q, size_t tokens)
{
    buf_adds(out, "],");
    put_usage(out, q, tokens);
    buf_adds(out, "}\n");
}

void
reply_error(struct buf *out, const struct refusal *r)
{
    buf_adds(out, "{\"error\":{\"message\":");
    reply_string(out, r->message, strlen(r->message));
    buf_addf(out, ",\"type\":\"%s\",\"param\":",
        r->status >= 500 ? "server_error" : "invalid_request_error");
    if (r->param[0] != '\0')
        reply_string(out, r->param, strlen(r->param));
    else
        buf_adds(out, "null");
    buf_adds(out, ",\"code\":");
    if (r->code != NULL)
        reply_string(out, r->code, strlen(r->code));
    else
        buf_adds(out, "null");
    buf_adds(out, "}}\n");
}
