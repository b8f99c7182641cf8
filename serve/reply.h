/* Answers as OpenAI's clients read them: objects, events of a stream, errors.
 * All functions append JSON to a buffer; bytes that are not UTF-8 become
 * U+FFFD. */
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include "request.h"
#include "base/mem.h"
#include "gen/engine.h"
#include "tok/tok.h"

#include <stddef.h>

/* Members that all parts of one answer have. */
struct reply_head {
    int chat;
    char id[48];
    long long created; /* seconds since 1970 */
    const char *model; /* as clients call it; outlives the head */
};

/* The part of an answer that is one text ("choice"): what has been generated
 * and not yet been written. */
struct reply_text {
    size_t index;
    struct buf text;
    /* log probabilities, as comma-separated values: in completions the lists
     * tokens, token_logprobs, top_logprobs, text_offset; in chats list 0 is
     * `content` */
    struct buf list[4];
    size_t offset; /* characters of all tokens so far */
    size_t tokens; /* generated */
};
void reply_text_release(struct reply_text *t);
/* Bytes that wait in *t. */
size_t reply_text_bytes(const struct reply_text *t);

/* Add the log probabilities of a token to the lists. */
void reply_logprob(struct reply_text *t, const struct request *q,
    const struct tokenizer *tok, const struct gen_event *ev);

/* OpenAI's word for a reason. */
const char *reply_finish(enum gen_reason reason);

/*
 * Events of a stream, "data: {...}" and an empty line.  reply_event takes what
 * waits in *t; finish: NULL, or why the text has ended.  reply_role is the
 * first event of a chat's text.  reply_usage comes after all texts, reply_done
 * after it.
 */
void reply_role(struct buf *out, const struct reply_head *h,
    const struct request *q, size_t index);
void reply_event(struct buf *out, const struct reply_head *h,
    const struct request *q, struct reply_text *t, const char *finish);
void reply_usage(struct buf *out, const struct reply_head *h,
    const struct request *q, size_t tokens);
void reply_done(struct buf *out);

/* A whole answer in pieces: begin, each text in order of index, end. */
void reply_object_begin(struct buf *out, const struct reply_head *h);
void reply_object_text(struct buf *out, const struct request *q,
    struct reply_text *t, const char *finish);
void reply_object_end(struct buf *out, const struct request *q, size_t tokens);

/* An error object. */
void reply_error(struct buf *out, const struct refusal *r);

/* p[n] as a JSON string; a list of ids. */
void reply_string(struct buf *out, const char *p, size_t n);
void reply_ids(struct buf *out, const struct tok_ids *ids);
/* The text of one token, decoded as part of a longer text, as a JSON string;
 * returns its number of characters. */
size_t reply_token(struct buf *out, const struct tokenizer *tok, uint32_t id);

#endif
