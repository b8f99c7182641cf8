/* The paths of the server, and the answer to a request for each.  HTTP itself
 * is in http.h.  The reader's thread (reader.h) answers requests with a body,
 * the HTTP thread all others. */
#ifndef SERVE_API_H
#define SERVE_API_H

#include "metrics.h"
#include "queue.h"
#include "request.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

/* Set before threads start, except `requests` and what bounds.scratch points
 * to, which only the reader's thread uses. */
struct api {
    struct request_bounds bounds;
    struct queue *queue;
    struct metrics *metrics;
    size_t target_tokens; /* largest number of tokens in a row of /v1/targets;
                           * 0: the server refuses requests for it */
    char taught[33];      /* hash of all that targets depend on; "": requests
                           * for them are refused */
    uint64_t seed;        /* a request without a seed gets one derived from
                           * this seed and the request's number */
    long long created;    /* start of the server, seconds since 1970 */
    uint64_t requests;    /* number of requests for texts so far */
};

struct api_answer {
    struct call *call;  /* the call that the engine's thread will answer; NULL:
                         * the answer is `out` or `why` */
    struct buf out;     /* body of the answer; the caller releases it */
    const char *type;   /* content type of `out` */
    struct refusal why; /* status 0: the request is not refused */
};

enum api_path {
    API_HEALTH,
    API_METRICS,
    API_MODELS,
    API_MODEL,
    API_COMPLETIONS,
    API_CHAT,
    API_TOKENIZE,
    API_DETOKENIZE,
    API_TOKENIZER,
    API_TARGETS,
    API_NOWHERE
};
/* Returns API_NOWHERE if the server has no such path. */
enum api_path api_find(const char *path);
/* 1: the path takes POST; 0: GET. */
int api_is_post(enum api_path p);
/* 1: clients need no key for the path. */
int api_is_open(enum api_path p);
/* Set *a to the answer to a request for `path`, with body[n] if it is a POST.
 * arrived: time of clock_now at which the whole request had been received. */
void api_answer(struct api *api, enum api_path p, const char *path,
    const char *body, size_t n, double arrived, struct api_answer *a);

#endif
