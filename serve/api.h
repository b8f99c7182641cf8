/* The paths of the server, and what a request to each is answered, without
 * regard to HTTP.  One thread makes all calls. */
#ifndef SERVE_API_H
#define SERVE_API_H

#include "metrics.h"
#include "queue.h"
#include "request.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct api {
    struct request_bounds bounds;
    struct queue *queue;
    struct metrics *metrics;
    size_t target_tokens; /* of a row of /v1/targets, at most; 0: there are
                           * none */
    uint64_t seed;        /* of requests without one, with their number */
    long long created;    /* seconds since 1970: the server's start */
    uint64_t requests;    /* so far */
};

struct api_answer {
    struct call *call;  /* the engine's thread answers; else NULL */
    struct buf out;     /* the body of the answer; released by the caller */
    const char *type;   /* content type of `out` */
    struct refusal why; /* status 0: none */
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
enum api_path api_find(const char *path);
/* Is it asked by POST, else by GET?  Does it need no key? */
int api_is_post(enum api_path p);
int api_is_open(enum api_path p);
/* Answer a request for `path`, with a body[n] if it is a POST.  *a is
 * overwritten. */
void api_answer(struct api *api, enum api_path p, const char *path,
    const char *body, size_t n, struct api_answer *a);

#endif
