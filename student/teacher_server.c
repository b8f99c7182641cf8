/* A teacher that a server has; see teacher_server.h. */
#include "teacher_server.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "format/json.h"
#include "msg/batch.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ROWS = 16,       /* rows of a request */
    TRIES = 4,       /* attempts, with pauses of 1, 2 and 4 s between them */
    SECONDS = 300,   /* longest wait for the next byte of an answer */
    TOTAL = 900,     /* seconds until an attempt fails */
    ANSWER = 1 << 20 /* most bytes of an answer, not counting its targets */
};

int
teacher_server_is(const char *model)
{
    return strstr(model, "://") != NULL;
}

/* ---- requests ---- */

/* Set *e to the error message of an answer; returns -1. */
static int
refusal_error(const struct http_answer *a, struct err *e)
{
    json_t *j = json_loadb(a->body.n > 0 ? a->body.p : "", a->body.n, 0, NULL);
    const char *why = json_string_value(
        json_object_get(json_object_get(j, "error"), "message"));
    const int r = err_set(e, EX_INPUT, "status %d: %.300s", a->status,
        why != NULL ? why : "an answer without a reason");

    json_decref(j);
    return r;
}

/* Returns 1: status 200; 0 and *e: another try may help; -1 and *e: none
 * will.  most: bytes of a right answer at most. */
static int
ask_once(const struct teacher_server *t, const char *path,
    const struct buf *body, size_t most, struct http_answer *a, struct err *e)
{
    *a = (struct http_answer){ .most = most };
    if (http_ask(&t->http, body->n > 0 ? "POST" : "GET", path, body, a, e) < 0)
        return a->over ? -1 : 0;
    if (a->status == 200)
        return 1;
    refusal_error(a, e);
    return a->status == 429 || a->status >= 500 ? 0 : -1;
}

/* Ask, at most TRIES times, for an answer with status 200, which the caller
 * releases. */
static int
ask_server(const struct teacher_server *t, const char *path,
    const struct buf *body, size_t most, struct http_answer *a, struct err *e)
{
    struct timespec pause = { 1, 0 };
    int r = 0;

    for (int i = 0; i < TRIES && r == 0; i++) {
        if (i > 0) {
            note("%s: %s; asking again in %d s", t->url, e->msg,
                (int)pause.tv_sec);
            nanosleep(&pause, NULL);
            pause.tv_sec *= 2;
        }
        r = ask_once(t, path, body, most, a, e);
        if (r <= 0)
            http_answer_release(a);
    }
    return r > 0 ? 0 : err_prefix(e, "--score-with %s", t->url);
}

/* ---- opening ---- */

static void
check_server_model(struct teacher_server *t, const char *tokenizer,
    const struct buf *body)
{
    json_t *j = json_loadb(body->n > 0 ? body->p : "", body->n, 0, NULL);
    const json_t *meta =
        json_object_get(json_array_get(json_object_get(j, "data"), 0), "meta");
    const json_int_t V = json_integer_value(json_object_get(meta, "n_vocab"));
    const char *hash = json_string_value(json_object_get(meta, "tokenizer"));

    if (V <= 0 || hash == NULL)
        die(EX_INPUT,
            "--score-with %s: tells no model with its tokenizer: give the "
            "address of retort's serve --targets",
            t->url);
    if (strcmp(hash, tokenizer) != 0)
        die(EX_INPUT,
            "--score-with %s: has another tokenizer than the student: take a "
            "teacher with the same",
            t->url);
    t->V = (size_t)V;
    snprintf(t->hash, sizeof t->hash, "%s", js_text_of(meta, "targets"));
    json_decref(j);
}

void
teacher_server_open(struct teacher_server *t, const char *url,
    const char *tokenizer, size_t k, double tau, size_t most, size_t longest)
{
    const struct buf none = { 0 };
    struct http_answer a;
    struct err e;

    *t = (struct teacher_server){ .url = url,
        .k = k,
        .tau = tau,
        .most = most,
        .cap = longest };
    if (http_open(&t->http, "--score-with", url, &e) < 0)
        die_err(&e);
    t->http.seconds = SECONDS;
    t->http.total = TOTAL;
    if (ask_server(t, "/v1/models", &none, ANSWER, &a, &e) < 0)
        die_err(&e);
    check_server_model(t, tokenizer, &a.body);
    http_answer_release(&a);
    t->ids = xcalloc(most * longest, k * sizeof *t->ids);
    t->logp = xcalloc(most * longest, k * sizeof *t->logp);
    t->lse = xcalloc(most * longest, 2 * sizeof *t->lse);
}

void
teacher_server_close(struct teacher_server *t)
{
    http_close(&t->http);
    free(t->ids);
    free(t->logp);
    free(t->lse);
}

size_t
teacher_server_bytes(const struct teacher_server *t)
{
    const size_t rows = t->most < ROWS ? t->most : ROWS;

    /* an answer's buffer may have twice the bytes of the answer */
    return (t->most + 2 * rows) * t->cap * (t->k + 1) * 8;
}

/* ---- targets ---- */

/* Number of tokens of a row before its padding. */
static size_t
row_length(const struct rows *r, size_t row)
{
    size_t n = 0;

    while (n < r->T && r->first[row * r->T + n] == 0)
        n++;
    return n;
}

static void
put_target_request(const struct teacher_server *t, const struct rows *r,
    struct buf *b)
{
    buf_addf(b, "{\"top\": %zu, \"temperature\": %.17g, \"ids\": [", t->k,
        t->tau);
    for (size_t i = 0; i < r->B; i++) {
        const size_t n = row_length(r, i);

        buf_adds(b, i > 0 ? "],[" : "[");
        for (size_t k = 0; k < n; k++)
            buf_addf(b, "%s%u", k > 0 ? "," : "",
                (unsigned)r->ids[i * r->T + k]);
    }
    buf_adds(b, "]]}");
}

/* Bytes of the tensors that answer a request, at most: for each token its id,
 * two log-sum-exps, and k ids and log probabilities. */
static size_t
answer_bytes(const struct teacher_server *t, const struct rows *r)
{
    return r->B * r->T * (4 + 8 + t->k * 8) + r->B * 32;
}

/* Check the message s against the request. */
static int
check_told_targets(const struct teacher_server *t, const struct rows *r,
    const struct st *s, struct err *e)
{
    const struct st_tensor *ids = st_find(s, "ids");
    const size_t T = ids != NULL && ids->ndim == 2 ? ids->shape[1] : 0;

    if (T == 0 || T > r->T || ids->shape[0] != r->B ||
        (ids->dtype != DT_U16 && ids->dtype != DT_U32))
        return err_set(e, EX_INPUT, "the ids are not those that were sent");
    for (size_t i = 0; i < r->B; i++)
        for (size_t k = 0; k < row_length(r, i); k++)
            if (k >= T || st_uint(ids, i * T + k) != r->ids[i * r->T + k])
                return err_set(e, EX_INPUT,
                    "the ids are not those that were sent");
    if (targets_width(s, TARGETS_TOP) != t->k)
        return err_set(e, EX_INPUT, "the answer has no %zu tokens a prediction",
            t->k);
    return batch_check_top(s, t->V, e) < 0 ? -1 : 0;
}

/* Copy an answer's targets to the rows from `to` on. */
static int
read_targets(struct teacher_server *t, const struct rows *r, size_t to,
    const struct buf *body, struct err *e)
{
    struct targets y = { .kind = TARGETS_TOP, .width = t->k };
    struct st s;

    if (st_parse(&s, body->p, body->n, e) < 0)
        return -1;
    if (check_told_targets(t, r, &s, e) < 0 || targets_read(&y, &s, e) < 0) {
        st_release(&s);
        return -1;
    }
    for (size_t i = 0; i < r->B; i++) {
        const size_t at = (to + i) * r->T, n = row_length(r, i);
        const size_t from = i * y.T;

        memcpy(t->ids + at * t->k, targets_at(&y, &y.part[TARGETS_IDS], from),
            n * t->k * 4);
        memcpy(t->logp + at * t->k, targets_at(&y, &y.part[TARGETS_LOGP], from),
            n * t->k * 4);
        memcpy(t->lse + at * 2, targets_at(&y, &y.part[TARGETS_LSE], from),
            n * 2 * 4);
    }
    targets_release(&y);
    st_release(&s);
    return 0;
}

int
teacher_server_score(struct teacher_server *t, const struct rows *r,
    struct targets *y, struct err *e)
{
    int result = 0;

    for (size_t b = 0; b < r->B && result == 0; b += ROWS) {
        const struct rows some = { r->B - b < ROWS ? r->B - b : ROWS, r->T,
            r->ids + b * r->T, r->first + b * r->T };
        struct buf body = { 0 };
        struct http_answer a;

        put_target_request(t, &some, &body);
        result = ask_server(t, "/v1/targets", &body,
            ANSWER + answer_bytes(t, &some), &a, e);
        buf_release(&body);
        if (result < 0)
            break;
        result = read_targets(t, &some, b, &a.body, e);
        http_answer_release(&a);
        if (result < 0)
            err_prefix(e, "--score-with %s", t->url);
    }
    y->T = r->T;
    return result;
}
