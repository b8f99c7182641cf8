/* The body of a request for texts, as OpenAI's clients send it: JSON, checked
 * member by member.  The members are those of serve(1). */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "gen/chat.h"
#include "gen/params.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Why a request is refused: an HTTP status, and the members of OpenAI's error
 * object. */
struct refusal {
    int status;        /* 400 if the request is wrong */
    const char *code;  /* or NULL */
    char param[64];    /* the member that is wrong; "" if none */
    char message[300]; /* UTF-8 */
};
/* Fill *r; returns -1.  param: NULL or a name, which is cut at 63 bytes. */
int refuse(struct refusal *r, int status, const char *param, const char *code,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The model and the bounds that a request must keep to. */
struct request_bounds {
    const char *model; /* name that clients ask for */
    const struct tokenizer *tok;
    struct tok_scratch *scratch;
    const struct chat *chat; /* NULL: the model has no template */
    size_t V;                /* number of the model's ids */
    size_t context; /* tokens of a prompt and its text together, at most */
    size_t texts;   /* texts of one request, at most */
};

struct request {
    int chat;               /* it was sent to /v1/chat/completions */
    struct tok_ids *prompt; /* [prompts] */
    size_t prompts;
    struct gen_params params; /* params.n texts of each prompt */
    int stream, usage;        /* usage: stream_options.include_usage */
    int echo;                 /* return the prompt before the text */
    int ids_as_names; /* call tokens "token_id:N" in log probabilities */
    int has_seed;
};

/* Read body[n] into *q, which the caller releases, also after an error.  chat:
 * it was sent to /v1/chat/completions.  0; -1 and *why. */
int request_read(struct request *q, int chat, const char *body, size_t n,
    const struct request_bounds *b, struct refusal *why);
void request_release(struct request *q);

/* /tokenize: read body[n] into *ids; *names: return_token_strs is true.
 * /detokenize: read the member `tokens`.  0; -1 and *why. */
int request_tokenize(const char *body, size_t n, const struct request_bounds *b,
    struct tok_ids *ids, int *names, struct refusal *why);
int request_detokenize(const char *body, size_t n,
    const struct request_bounds *b, struct tok_ids *ids, struct refusal *why);

/* Checked members of a JSON object, for readers of other bodies.  They return
 * 1: *r is set; 0: the member is missing or null; -1 and *why. */
json_t *request_parse(const char *body, size_t n, struct refusal *why);
int member_real(const json_t *j, const char *name, double lo, double hi,
    double *r, struct refusal *why);
int member_size(const json_t *j, const char *name, size_t lo, size_t hi,
    size_t *r, struct refusal *why);
int member_bool(const json_t *j, const char *name, int *r, struct refusal *why);
int member_text(const json_t *j, const char *name, const char **r,
    struct refusal *why);
/* A list of ids below V. */
int member_ids(const json_t *list, const char *name, size_t V,
    struct tok_ids *ids, struct refusal *why);

#endif
