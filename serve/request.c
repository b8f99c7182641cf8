/* The body of a request for texts; see request.h. */
#include "request.h"
#include "format.h"
#include "known.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- prompts --- */

static struct tok_ids *
next_prompt(struct request *q)
{
    struct tok_ids *p;

    q->prompt = xgrow_pow2(q->prompt, q->prompts, sizeof *q->prompt);
    p = &q->prompt[q->prompts++];
    *p = (struct tok_ids){ 0 };
    return p;
}

static void
add_text_prompt(struct request *q, const char *text, int flags,
    const struct request_bounds *b)
{
    tok_encode(b->tok, b->scratch, text, strlen(text), flags, next_prompt(q));
}

/* Read the member `prompt`: a string, or a list of strings, of ids, or of lists
 * of ids. */
static int
read_prompts(struct request *q, const json_t *body,
    const struct request_bounds *b, struct refusal *why)
{
    const json_t *p = json_object_get(body, "prompt");
    const json_t *first = json_array_get(p, 0), *v;
    int special = 1, flags;
    size_t i;

    if (member_bool(body, "add_special_tokens", &special, why) < 0)
        return -1;
    flags = TOK_SPECIAL | (special ? TOK_BOS : 0);
    if (p == NULL || json_is_null(p))
        return refuse(why, 400, "prompt", NULL, "prompt is missing");
    if (json_is_string(p)) {
        add_text_prompt(q, json_string_value(p), flags, b);
        return 0;
    }
    if (first == NULL)
        return refuse(why, 400, "prompt", NULL,
            "prompt must be a string, a list of strings, of token ids, or of "
            "lists of token ids, and not empty");
    if (json_is_integer(first))
        return member_ids(p, "prompt", b->V, next_prompt(q), why) < 0 ? -1 : 0;
    if (json_array_size(p) > b->texts)
        return refuse(why, 400, "prompt", NULL,
            "prompt has %zu texts, but a request may have %zu",
            json_array_size(p), b->texts);
    json_array_foreach((json_t *)p, i, v)
    {
        if (json_typeof(v) != json_typeof(first))
            return refuse(why, 400, "prompt", NULL,
                "prompt mixes strings and lists");
        if (json_is_string(v))
            add_text_prompt(q, json_string_value(v), flags, b);
        else if (member_ids(v, "prompt", b->V, next_prompt(q), why) < 0)
            return -1;
    }
    return 0;
}

/* Add the members reasoning_effort and documents to *more, the template's
 * variables, as vLLM does.  A member that the template does not read is
 * refused, as it would have no effect. */
static int
read_variables(const json_t *body, const struct chat *chat, json_t *more,
    struct refusal *why)
{
    static const char *const names[] = { "reasoning_effort", "documents" };

    for (size_t i = 0; i < 2; i++) {
        json_t *v = json_object_get(body, names[i]);

        if (v == NULL || json_is_null(v) ||
            (json_is_array(v) && json_array_size(v) == 0))
            continue;
        if (i == 0 ? !json_is_string(v) : !json_is_array(v))
            return refuse(why, 400, names[i], NULL, "%s must be %s", names[i],
                i == 0 ? "a string" : "a list");
        if (json_object_get(more, names[i]) != NULL)
            return refuse(why, 400, names[i], NULL,
                "%s is also in chat_template_kwargs: send it once", names[i]);
        if (!chat_reads(chat, names[i]))
            return refuse(why, 400, names[i], NULL,
                "the chat template does not read %s: leave it out", names[i]);
        json_object_set(more, names[i], v);
    }
    return 0;
}

/* Read the options of chat_render.  The caller releases o->more, a copy, even
 * after an error. */
static int
read_chat_options(const json_t *body, const struct chat *chat,
    struct chat_options *o, struct refusal *why)
{
    json_t *more = json_object_get(body, "chat_template_kwargs");
    struct err e;

    o->more = NULL;
    if (chat_check_variables(more, &e) < 0)
        return refuse(why, 400, "chat_template_kwargs", NULL, "%s", e.msg);
    o->more = more = json_is_object(more) ? json_copy(more) : json_object();
    if (member_bool(body, "add_generation_prompt", &o->prompt, why) < 0 ||
        member_bool(body, "continue_final_message", &o->unfinished, why) < 0 ||
        read_variables(body, chat, more, why) < 0)
        return -1;
    if (o->unfinished && o->prompt)
        return refuse(why, 400, "continue_final_message", NULL,
            "continue_final_message needs \"add_generation_prompt\": false");
    return 0;
}

static int
render_messages(struct request *q, const json_t *body,
    const struct request_bounds *b, struct refusal *why)
{
    const json_t *messages = json_object_get(body, "messages");
    const time_t now = time(NULL);
    struct tm local;
    struct chat_options o = { .prompt = 1, .now = localtime_r(&now, &local) };
    struct jinja_out out = { 0 };
    struct err e;
    int r;

    if (!json_is_array(messages) || json_array_size(messages) == 0)
        return refuse(why, 400, "messages", NULL,
            "messages must be a list with at least one message");
    if (b->chat == NULL)
        return refuse(why, 400, "messages", NULL,
            "the model has no chat template: send a prompt to /v1/completions");
    r = read_chat_options(body, b->chat, &o, why);
    if (r == 0 && chat_render(b->chat, messages, &o, &out, &e) < 0)
        r = refuse(why, 400, "messages", NULL, "%s", e.msg);
    if (r == 0)
        tok_encode(b->tok, b->scratch, out.text.p != NULL ? out.text.p : "",
            out.text.n, TOK_SPECIAL, next_prompt(q));
    json_decref((json_t *)(uintptr_t)o.more);
    jinja_out_release(&out);
    return r;
}

/* --- parameters of texts --- */

/* Read return_tokens_as_token_ids, and check top_logprobs. */
static int
read_names(struct request *q, const json_t *j, struct refusal *why)
{
    size_t top = 0;

    if (member_size(j, "top_logprobs", 0, PARAMS_TOP, &top, why) < 0 ||
        member_bool(j, "return_tokens_as_token_ids", &q->ids_as_names, why) < 0)
        return -1;
    if (top > 0 && !json_is_true(json_object_get(j, "logprobs")))
        return refuse(why, 400, "top_logprobs", NULL,
            "top_logprobs needs \"logprobs\": true");
    return 0;
}

/* Read the members that generate(1) takes too.  Each error of params_read
 * begins with the member's name. */
static int
read_params(struct request *q, const json_t *j, const struct request_bounds *b,
    struct refusal *why)
{
    static const struct gen_params defaults = { .most = 16,
        .n = 1,
        .hide_special = 1 };
    const json_t *seed = json_object_get(j, "seed");
    struct err e;

    params_copy(&q->params, &defaults);
    q->params.how = b->how;
    if (q->chat)
        q->params.most = SIZE_MAX; /* as many as fit into the context */
    q->has_seed = seed != NULL && !json_is_null(seed);
    if (params_read(&q->params, j, b->V, &e) == 0)
        return read_names(q, j, why);
    refuse(why, 400, NULL, NULL, "%s", e.msg);
    snprintf(why->param, sizeof why->param, "%.*s",
        (int)strcspn(why->message, ": "), why->message);
    return -1;
}

static int
read_streaming(struct request *q, const json_t *j, struct refusal *why)
{
    const json_t *o = json_object_get(j, "stream_options");

    if (member_bool(j, "stream", &q->stream, why) < 0)
        return -1;
    if (o == NULL || json_is_null(o))
        return 0;
    if (!json_is_object(o))
        return refuse(why, 400, "stream_options", NULL,
            "stream_options must be an object");
    if (!q->stream)
        return refuse(why, 400, "stream_options", NULL,
            "stream_options needs \"stream\": true");
    if (known_check(o, KNOWN_STREAM, why) < 0)
        return -1;
    return member_bool(o, "include_usage", &q->usage, why) < 0 ? -1 : 0;
}

static int
check_counts(const struct request *q, const json_t *j,
    const struct request_bounds *b, struct refusal *why)
{
    const size_t n = q->params.n;
    size_t best = n;

    if (member_size(j, "best_of", 1, b->texts, &best, why) < 0)
        return -1;
    if (best != n)
        return refuse(why, 400, "best_of", NULL,
            "best_of is not supported, unless it equals n");
    if (q->prompts * n > b->texts)
        return refuse(why, 400, "n", NULL,
            "%zu prompts with n = %zu are %zu texts, but a request may have "
            "%zu",
            q->prompts, n, q->prompts * n, b->texts);
    if (q->params.most == 0 && !q->echo)
        return refuse(why, 400, "max_tokens", NULL,
            "max_tokens is 0, which needs \"echo\": true");
    return 0;
}

/* Check that prompts and texts fit into the context. */
static int
check_lengths(struct request *q, const struct request_bounds *b,
    struct refusal *why)
{
    const char *where = q->chat ? "messages" : "prompt";
    size_t *most = &q->params.most, longest = 0;

    for (size_t i = 0; i < q->prompts; i++) {
        struct err e;

        if (q->prompt[i].n == 0)
            return refuse(why, 400, where, NULL,
                "%s has no tokens, and the tokenizer puts none before it",
                where);
        if (tok_fits(&q->prompt[i], b->V, &e) < 0)
            return refuse(why, 400, where, NULL, "%s: %s", where, e.msg);
        longest = q->prompt[i].n > longest ? q->prompt[i].n : longest;
    }
    if (*most == SIZE_MAX)
        *most = longest < b->context ? b->context - longest : 1;
    if (longest > b->context || *most > b->context - longest)
        return refuse(why, 400, where, "context_length_exceeded",
            "This model's maximum context length is %zu tokens. However, you "
            "requested %zu tokens in the %s and %zu in the completion: shorten "
            "one of them.",
            b->context, longest, where, *most);
    return 0;
}

int
request_check(const json_t *j, unsigned at, const struct request_bounds *b,
    struct refusal *why)
{
    const char *model;
    const int r = member_text(j, "model", &model, why);

    if (r == 1 && strcmp(model, b->model) != 0)
        return refuse(why, 404, "model", "model_not_found",
            "The model `%s` does not exist: this server has `%s`.", model,
            b->model);
    return r < 0 ? -1 : known_check(j, at, why);
}

static int
read_all(struct request *q, const json_t *j, const struct request_bounds *b,
    struct refusal *why)
{
    const unsigned at = q->chat ? KNOWN_CHAT : KNOWN_COMPLETION;

    if (request_check(j, at, b, why) < 0 ||
        (!q->chat && member_bool(j, "echo", &q->echo, why) < 0) ||
        read_streaming(q, j, why) < 0 || read_params(q, j, b, why) < 0 ||
        format_read(q, j, b, why) < 0 ||
        (q->chat ? render_messages : read_prompts)(q, j, b, why) < 0 ||
        check_counts(q, j, b, why) < 0)
        return -1;
    return check_lengths(q, b, why);
}

int
request_read(struct request *q, int chat, const char *body, size_t n,
    const struct request_bounds *b, struct refusal *why)
{
    json_t *j;
    int r;

    *q = (struct request){ .chat = chat };
    if ((j = request_parse(body, n, why)) == NULL)
        return -1;
    r = read_all(q, j, b, why);
    json_decref(j);
    return r;
}

void
request_release(struct request *q)
{
    for (size_t i = 0; i < q->prompts; i++)
        tok_ids_release(&q->prompt[i]);
    free(q->prompt);
    params_release(&q->params);
    schema_free(q->schema);
    *q = (struct request){ 0 };
}

/* --- tokens alone --- */

int
request_tokenize(const char *body, size_t n, const struct request_bounds *b,
    struct tok_ids *ids, int *names, struct refusal *why)
{
    json_t *j = request_parse(body, n, why), *messages;
    struct request q = { 0 };
    unsigned at;
    int r = -1;

    if (j == NULL)
        return -1;
    messages = json_object_get(j, "messages");
    q.chat = messages != NULL && !json_is_null(messages);
    at = KNOWN_TOKENIZE | (q.chat ? KNOWN_CHAT : KNOWN_COMPLETION);
    if (request_check(j, at, b, why) == 0 &&
        member_bool(j, "return_token_strs", names, why) >= 0)
        r = (q.chat ? render_messages : read_prompts)(&q, j, b, why);
    if (r == 0 && q.prompts != 1)
        r = refuse(why, 400, "prompt", NULL, "prompt must be one text");
    if (r == 0) {
        *ids = q.prompt[0];
        q.prompt[0] = (struct tok_ids){ 0 };
    }
    request_release(&q);
    json_decref(j);
    return r;
}

int
request_detokenize(const char *body, size_t n, const struct request_bounds *b,
    struct tok_ids *ids, struct refusal *why)
{
    json_t *j = request_parse(body, n, why);
    int r;

    if (j == NULL)
        return -1;
    r = request_check(j, KNOWN_DETOKENIZE, b, why);
    if (r == 0 && json_object_get(j, "tokens") == NULL)
        r = refuse(why, 400, "tokens", NULL, "tokens is missing");
    if (r == 0)
        r = member_ids(json_object_get(j, "tokens"), "tokens", b->V, ids, why) <
                0
            ? -1
            : 0;
    json_decref(j);
    return r;
}
