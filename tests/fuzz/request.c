/*
 * Send any bytes to serve as the body of a request; the first byte chooses the
 * request's path.  serve must accept the request or refuse it with an HTTP
 * error status, and what it accepts must keep within request_bounds.
 */
#include "fuzz.h"
#include "serve/api.h"
#include "serve/reply.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 300, CONTEXT = 64, TEXTS = 8 };

static struct api api;
static size_t accepted; /* requests that the engine would be given */

static void
wake_nobody(struct call *c)
{
    (void)c;
}

static void
open_api(void)
{
    const struct queue_bounds b = { TEXTS, 1 << 20 };
    const char *top = getenv("RETORT_TOP");
    const struct config c = { .V = V };
    char path[500];
    struct err e;

    snprintf(path, sizeof path, "%s/tests/golden/gguf/chat.gguf",
        top ? top : ".");
    api.bounds = (struct request_bounds){ .model = "m",
        .how = SAMPLING_DEFAULTS,
        .tok = tok_open(path, &e),
        .chat = chat_open(path, NULL, &e),
        .V = V,
        .context = CONTEXT,
        .texts = TEXTS };
    if (!api.bounds.tok || !api.bounds.chat) {
        fprintf(stderr, "set RETORT_TOP to the source tree: %s\n", e.msg);
        exit(1);
    }
    api.bounds.scratch = tok_scratch_new(api.bounds.tok);
    api.bounds.vocab = mask_vocab_new(api.bounds.tok, &c, &e);
    api.bounds.no_vocab = "not now";
    api.queue = queue_new(&b, wake_nobody);
    api.metrics = metrics_new("m", CONTEXT);
    api.target_tokens = CONTEXT;
}

/* Check what was accepted, and let it go as the engine's thread does. */
static void
check_call(struct call *c)
{
    const struct request *q = &c->q;

    accepted++;
    if (c->texts == 0 || c->texts > TEXTS)
        abort();
    for (size_t i = 0; i < q->prompts; i++) {
        if (q->prompt[i].n + q->params.most > CONTEXT)
            abort();
        for (size_t k = 0; k < q->prompt[i].n; k++)
            if (q->prompt[i].v[k] >= V)
                abort();
    }
    for (size_t i = 0; i < c->targets.rows; i++)
        if (c->targets.row[i].n > CONTEXT)
            abort();
    if (queue_take(api.queue, 0) != c)
        abort();
    queue_text_ended(api.queue, c->texts);
    call_release(api.queue, c);
    call_release(api.queue, c);
}

/* Fail unless an answer to a client is JSON. */
static void
check_json(const struct buf *out)
{
    json_t *j = json_loadb(out->p, out->n, JSON_ALLOW_NUL, NULL);

    if (!j)
        abort();
    json_decref(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct api_answer a;
    struct buf error = { 0 };

    if (!api.queue)
        open_api();
    if (n == 0)
        return 0;
    api_answer(&api, API_COMPLETIONS + data[0] % (API_NOWHERE - 1), "/x",
        (const char *)data + 1, n - 1, 0, &a);
    if (a.call) {
        check_call(a.call);
    } else if (a.why.status) {
        if (a.why.status < 400 || a.why.status > 503)
            abort();
        reply_error(&error, &a.why);
        check_json(&error);
    } else if (strcmp(a.type, "application/json") == 0) {
        check_json(&a.out);
    }
    buf_release(&error);
    buf_release(&a.out);
    return 0;
}
