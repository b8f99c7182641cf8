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
    const char *model; /* name that clients use; not owned */
};

/* The part of a text ("choice" of an answer) that has been generated and not
 * yet been written to the client. */
struct reply_text {
    size_t index;
    struct buf text;
    /* log probabilities, as comma-separated values: in completions the lists
     * tokens, token_logprobs, top_logprobs, text_offset; in chats list 0 is
     * `content` */
    struct buf list[4];
    size_t offset;   /* whole characters before the next token (text_offset) */
    struct buf half; /* bytes before the next token: the incomplete character
                      * that the next token may complete */
    size_t lead;     /* bytes at the start of the first tokens that the text
                      * lacks: the space that some tokenizers put before a text
                      */
    size_t tokens;   /* number of tokens generated so far */
};
void reply_text_release(struct reply_text *t);
/* Bytes of text and lists in *t. */
size_t reply_text_bytes(const struct reply_text *t);

/* Add the log probabilities of a token to the lists. */
void reply_logprob(struct reply_text *t, const struct request *q,
    const struct tokenizer *tok, const struct gen_event *ev);

/* OpenAI's finish_reason for a reason. */
const char *reply_finish(enum gen_reason reason);

/*
 * Append an event of a stream: "data: {...}" and an empty line.  reply_role is
 * the first event of a text in a chat.  reply_event moves text and lists from
 * *t to the event; finish: NULL, or the finish_reason of a text that has ended.
 * reply_usage comes after all texts; reply_done ends the stream.
 */
void reply_role(struct buf *out, const struct reply_head *h,
    const struct request *q, size_t index);
void reply_event(struct buf *out, const struct reply_head *h,
    const struct request *q, struct reply_text *t, const char *finish);
void reply_usage(struct buf *out, const struct reply_head *h,
    const struct request *q, size_t tokens);
void reply_done(struct buf *out);

/* Append an answer that is not streamed: call begin, then text for each text in
 * order of index, then end. */
void reply_object_begin(struct buf *out, const struct reply_head *h);
void reply_object_text(struct buf *out, const struct request *q,
    struct reply_text *t, const char *finish);
void reply_object_end(struct buf *out, const struct request *q, size_t tokens);

/* Append an error object. */
void reply_error(struct buf *out, const struct refusal *r);

/* Append p[n] as a JSON string; ids as a JSON list. */
void reply_string(struct buf *out, const char *p, size_t n);
void reply_ids(struct buf *out, const struct tok_ids *ids);
/* Append the text of one token as a JSON string, decoded as inside a longer
 * text. */
void reply_token(struct buf *out, const struct tokenizer *tok, uint32_t id);

#endif
