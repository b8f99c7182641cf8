/* The paths of the server; see api.h. */
#include "api.h"
#include "reply.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *path; /* for API_MODEL a prefix: the model's name follows */
    int post, open;   /* api_is_post, api_is_open */
} paths[API_NOWHERE] = {
    [API_HEALTH] = { "/health", 0, 1 },
    [API_METRICS] = { "/metrics", 0, 1 },
    [API_MODELS] = { "/v1/models", 0, 0 },
    [API_MODEL] = { "/v1/models/", 0, 0 },
    [API_COMPLETIONS] = { "/v1/completions", 1, 0 },
    [API_CHAT] = { "/v1/chat/completions", 1, 0 },
    [API_TOKENIZE] = { "/tokenize", 1, 0 },
    [API_DETOKENIZE] = { "/detokenize", 1, 0 },
    [API_TOKENIZER] = { "/tokenizer_info", 0, 0 },
    [API_TARGETS] = { "/v1/targets", 1, 0 },
};

enum api_path
api_find(const char *path)
{
    const char *models = paths[API_MODEL].path;

    for (enum api_path p = 0; p < API_NOWHERE; p++)
        if (p != API_MODEL && strcmp(paths[p].path, path) == 0)
            return p;
    return strncmp(path, models, strlen(models)) == 0 ? API_MODEL : API_NOWHERE;
}

int
api_is_post(enum api_path p)
{
    return paths[p].post;
}

int
api_is_open(enum api_path p)
{
    return paths[p].open;
}

static void
answer_health(struct api *api, struct api_answer *a)
{
    if (queue_drains(api->queue))
        refuse(&a->why, 503, NULL, "shutting_down", "The server is stopping.");
    else
        buf_adds(&a->out, "{\"status\":\"ok\"}\n");
}

static void
put_model_object(struct buf *out, const struct api *api)
{
    char tokenizer[33];

    tok_hash(api->bounds.tok, tokenizer);
    buf_adds(out, "{\"id\":");
    reply_string(out, api->bounds.model, strlen(api->bounds.model));
    buf_addf(out,
        ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"retort\","
        "\"max_model_len\":%zu,\"meta\":{\"n_vocab\":%zu,"
        "\"tokenizer\":\"%s\"",
        api->created, api->bounds.context, api->bounds.V, tokenizer);
    if (*api->taught != '\0')
        buf_addf(out, ",\"targets\":\"%s\"", api->taught);
    buf_adds(out, "}}");
}

static void
answer_models(const struct api *api, struct api_answer *a)
{
    buf_adds(&a->out, "{\"object\":\"list\",\"data\":[");
    put_model_object(&a->out, api);
    buf_adds(&a->out, "]}\n");
}

static void
answer_model(const struct api *api, const char *path, struct api_answer *a)
{
    const char *name = path + strlen(paths[API_MODEL].path);

    if (strcmp(name, api->bounds.model) == 0)
        put_model_object(&a->out, api);
    else
        refuse(&a->why, 404, "model", "model_not_found",
            "The model `%s` does not exist: this server has `%s`.", name,
            api->bounds.model);
}

static void
answer_tokenize(const struct api *api, const char *body, size_t n,
    struct api_answer *a)
{
    struct tok_ids ids = { 0 };
    int names = 0;

    if (request_tokenize(body, n, &api->bounds, &ids, &names, &a->why) == 0) {
        buf_addf(&a->out,
            "{\"count\":%zu,\"max_model_len\":%zu,\"tokens\":", ids.n,
            api->bounds.context);
        reply_ids(&a->out, &ids);
        buf_adds(&a->out, ",\"token_strs\":");
        buf_adds(&a->out, names ? "[" : "null");
        for (size_t i = 0; names && i < ids.n; i++) {
            buf_adds(&a->out, i > 0 ? "," : "");
            reply_token(&a->out, api->bounds.tok, ids.v[i]);
        }
        buf_adds(&a->out, names ? "]}\n" : "}\n");
    }
    tok_ids_release(&ids);
}

static void
put_special(struct buf *out, const struct tokenizer *tok, int64_t id)
{
    if (id < 0)
        buf_adds(out, "null");
    else
        reply_token(out, tok, (uint32_t)id);
}

/* lm-evaluation-harness asks for this before it uses /tokenize. */
static void
answer_tokenizer(const struct api *api, struct api_answer *a)
{
    const struct tokenizer *tok = api->bounds.tok;

    buf_adds(&a->out, "{\"bos_token\":");
    put_special(&a->out, tok, tok_bos(tok));
    buf_adds(&a->out, ",\"eos_token\":");
    put_special(&a->out, tok, tok_eos(tok));
    buf_adds(&a->out, "}\n");
}

static void
answer_detokenize(const struct api *api, const char *body, size_t n,
    struct api_answer *a)
{
    struct tok_ids ids = { 0 };
    struct buf text = { 0 };
    struct err e;

    if (request_detokenize(body, n, &api->bounds, &ids, &a->why) == 0) {
        if (tok_decode(api->bounds.tok, ids.v, ids.n, 0, &text, &e) < 0) {
            refuse(&a->why, 400, "tokens", NULL, "tokens: %s", e.msg);
        } else {
            buf_adds(&a->out, "{\"prompt\":");
            reply_string(&a->out, text.p != NULL ? text.p : "", text.n);
            buf_adds(&a->out, "}\n");
        }
    }
    tok_ids_release(&ids);
    buf_release(&text);
}

/* Estimate the bytes of the request that its call keeps. */
static size_t
request_bytes(const struct request *q)
{
    size_t n = sizeof(struct call) + 512 * q->prompts * q->params.n;

    for (size_t i = 0; i < q->prompts; i++)
        n += q->prompt[i].cap * sizeof *q->prompt[i].v;
    if (q->schema != NULL)
        n += schema_bytes(q->schema);
    return n;
}

/* Hand a call to the engine's thread, which answers it.  r < 0: the request has
 * been refused already.  bytes: memory of the request that the call keeps. */
static void
put_call(struct api *api, struct call *c, int r, size_t bytes,
    struct api_answer *a)
{
    if (r == 0 && queue_hold(api->queue, &c->held, bytes) < 0)
        r = refuse(&a->why, 429, NULL, "no_memory",
            "The server holds too many bytes of requests: try again later.");
    if (r == 0)
        r = queue_put(api->queue, c, &a->why);
    if (r == 0)
        a->call = c;
    else
        call_release(api->queue, c);
}

static void
answer_texts(struct api *api, int chat, const char *body, size_t n,
    double arrived, struct api_answer *a)
{
    struct call *c = call_new();
    struct request *q = &c->q;
    const uint64_t number = api->requests++;
    const int r = request_read(q, chat, body, n, &api->bounds, &a->why);

    c->arrived = arrived;
    c->head = (struct reply_head){ .chat = chat,
        .created = (long long)time(NULL),
        .model = api->bounds.model };
    snprintf(c->head.id, sizeof c->head.id, "%s-%016llx",
        chat ? "chatcmpl" : "cmpl",
        (unsigned long long)rng_u64((uint64_t)api->created, number));
    if (!q->has_seed)
        q->params.seed = rng_u64(api->seed, number);
    /* clients that score a prompt expect an entry for each of its tokens and
     * one more, which EOS must not prevent */
    if (q->echo && q->params.logprobs && q->params.most == 1)
        q->params.past_eos = 1;
    c->texts = q->prompts * q->params.n;
    put_call(api, c, r, request_bytes(q), a);
}

static void
answer_targets(struct api *api, const char *body, size_t n, double arrived,
    struct api_answer *a)
{
    struct call *c = call_new();
    struct teach_request *q = &c->targets;
    const int r =
        teach_read(q, body, n, api->target_tokens, &api->bounds, &a->why);

    c->arrived = arrived;
    c->is_targets = 1;
    c->texts = q->rows;
    put_call(api, c, r, teach_request_bytes(q), a);
}

void
api_answer(struct api *api, enum api_path p, const char *path, const char *body,
    size_t n, double arrived, struct api_answer *a)
{
    *a = (struct api_answer){ .type = "application/json" };
    switch (p) {
    case API_HEALTH: answer_health(api, a); break;
    case API_METRICS:
        a->type = "text/plain; version=0.0.4; charset=utf-8";
        metrics_write(api->metrics, &a->out);
        break;
    case API_MODELS: answer_models(api, a); break;
    case API_MODEL: answer_model(api, path, a); break;
    case API_COMPLETIONS:
    case API_CHAT: answer_texts(api, p == API_CHAT, body, n, arrived, a); break;
    case API_TOKENIZE: answer_tokenize(api, body, n, a); break;
    case API_TOKENIZER: answer_tokenizer(api, a); break;
    case API_DETOKENIZE: answer_detokenize(api, body, n, a); break;
    case API_TARGETS: answer_targets(api, body, n, arrived, a); break;
    default: refuse(&a->why, 404, NULL, NULL, "There is nothing at %s.", path);
    }
}
