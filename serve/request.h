/* The body of a request for texts, as OpenAI's clients send it: a JSON object.
 * Each member is checked; serve(1) lists them. */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "gen/chat.h"
#include "gen/mask.h"
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

/* Model of the server, and limits of a request. */
struct request_bounds {
    const char *model; /* name that clients ask for */
    const struct tokenizer *tok;
    struct tok_scratch *scratch;
    const struct chat *chat;        /* NULL: the model has no template */
    const struct mask_vocab *vocab; /* NULL: response_format is refused,
                                     * because of `no_vocab` */
    const char *no_vocab;
    struct sampling how; /* values of members that are missing */
    size_t V;            /* number of the model's ids */
    size_t context;      /* limit of tokens of a prompt with its text */
    size_t texts;        /* limit of texts of a request */
};

struct request {
    int chat;               /* 1: it was sent to /v1/chat/completions */
    struct tok_ids *prompt; /* [prompts] */
    size_t prompts;
    struct gen_params params; /* params.n texts of each prompt */
    struct schema *schema;    /* of response_format; NULL: texts are free */
    int stream, usage;        /* usage: stream_options.include_usage */
    int echo;                 /* return the prompt before the text */
    int ids_as_names; /* 1: name tokens "token_id:N" in log probabilities */
    int has_seed;     /* 1: the request sets params.seed */
};

/* Read body[n] into *q, which the caller releases, also after an error.  chat:
 * 1: it was sent to /v1/chat/completions.  0, or -1 and *why. */
int request_read(struct request *q, int chat, const char *body, size_t n,
    const struct request_bounds *b, struct refusal *why);
void request_release(struct request *q);

/* Read the body[n] of a request for /tokenize, and encode its text to *ids;
 * *names: its member return_token_strs.  request_detokenize reads the member
 * `tokens` of a request for /detokenize.  0, or -1 and *why. */
int request_tokenize(const char *body, size_t n, const struct request_bounds *b,
    struct tok_ids *ids, int *names, struct refusal *why);
int request_detokenize(const char *body, size_t n,
    const struct request_bounds *b, struct tok_ids *ids, struct refusal *why);

/* Parse a body that must be a JSON object, which the caller frees; NULL and
 * *why. */
json_t *request_parse(const char *body, size_t n, struct refusal *why);
/* Check that a request of the kinds `at` (known.h) names this model, if any,
 * and has only members that this server takes.  0; -1 and *why. */
int request_check(const json_t *j, unsigned at, const struct request_bounds *b,
    struct refusal *why);
/* Read a member of a JSON object.  Returns 1: *r is set; 0: the member is
 * missing or null; -1 and *why. */
int member_real(const json_t *j, const char *name, double lo, double hi,
    double *r, struct refusal *why);
int member_size(const json_t *j, const char *name, size_t lo, size_t hi,
    size_t *r, struct refusal *why);
int member_bool(const json_t *j, const char *name, int *r, struct refusal *why);
int member_text(const json_t *j, const char *name, const char **r,
    struct refusal *why);
/* Read `list`, which must be a JSON list of ids below V; name: its name in
 * messages.  Returns 1, or -1 and *why. */
int member_ids(const json_t *list, const char *name, size_t V,
    struct tok_ids *ids, struct refusal *why);

#endif
