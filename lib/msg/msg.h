/*
 * Messages: reading and writing a stream (retort-stream(5)).  A stream is
 * stream, [teacher,] docs* | batch*, end.  Every message is one safetensors
 * buffer whose __metadata__ holds kind and seq.
 *
 * Chain: H(0) = XXH3-128 of message 0 with seed 0; H(k) = XXH3-128 of the
 * 16 bytes of H(k-1) (canonical, big-endian) followed by message k.  batch
 * and end messages carry chain = H(k-1) as 32 hex digits, so each vouches for
 * all that came before it.
 *
 * Resumed streams: the `stream` message (seq 0) of a resumed stream has
 * next_seq, chain and next_tokens in its metadata: the first message after the
 * preamble has that seq and that chain.  A filter that puts a `teacher`
 * message into the preamble numbers its batches one higher (msg_out_resume
 * after msg_copy), and starts from `chain_down` where that is given (the chain
 * of the consumer that is being continued).
 *
 * In memory the data part of a message begins at a multiple of 64 bytes.  A
 * tensor inside it begins where the one before it ended: at any address, so
 * elements are read with memcpy.
 *
 * Reading is in in.c, writing in out.c, the `stream` message in info.c, and
 * what both need in msg.c; backend.h has the transports below.
 */
#ifndef MSG_MSG_H
#define MSG_MSG_H

#include "base/err.h"
#include "format/safetensors.h"

#include <stddef.h>
#include <stdint.h>

enum msg_kind {
    MSG_STREAM,
    MSG_TEACHER,
    MSG_DOCS,
    MSG_BATCH,
    MSG_END,
    MSG_ABORT,
    MSG_OTHER /* a kind we do not know: filters copy it through */
};
const char *msg_kind_name(enum msg_kind k);

struct msg {
    enum msg_kind kind;
    uint64_t seq;
    struct st st;             /* tensors point into raw */
    const unsigned char *raw; /* the whole message */
    size_t nraw;
    uint64_t at; /* offset in the stream, bytes */
};

struct chain {
    unsigned char h[16];
};
void chain_hex(const struct chain *c, char out[33]);
int chain_parse(struct chain *c, const char *hex); /* 0, or -1 */

/*
 * What the `stream` message says.  Strings are owned by the struct after
 * stream_info_read, borrowed for stream_info_put.
 */
struct stream_info {
    const char *content;   /* "docs" or "batch" */
    const char *tokenizer; /* hash of the tokenizer, 32 hex digits */
    size_t vocab;          /* ids are < vocab */
    int64_t bos, eos;      /* id put before, after each document; -1 none */
    size_t nsource;        /* 1..65536 */
    const char **source;   /* names, without bytes < 0x20, each once */
    size_t T;              /* batches: tokens a row; docs: 0 */
    const char *algorithm; /* batches: the cursor's algorithm, else NULL */
    int resumed;           /* next_seq and chain are given */
    uint64_t next_seq;
    struct chain chain;   /* H(next_seq - 1) */
    struct chain down;    /* the consumer's; = chain if not given */
    uint64_t next_tokens; /* tokens before next_seq */
    struct buf mem;
};
/* 0, or -1 and EX_INPUT: a key is missing, malformed or of an unknown
 * version.  stream_info_release frees what read has put there. */
int stream_info_read(struct stream_info *i, const struct st *head,
    struct err *e);
void stream_info_release(struct stream_info *i);
/* Do the streams x and y (names for the error) go together in one: the same
 * content, tokenizer, BOS, EOS and T?  0, or -1 and EX_INPUT. */
int stream_info_fits(const struct stream_info *a, const char *x,
    const struct stream_info *b, const char *y, struct err *e);
/* Add the sources of i that all does not have; map[i->nsource] gets the number
 * of each there.  Names stay those of i; all->source is grown and the
 * caller's to free. */
int stream_info_merge(struct stream_info *all, const struct stream_info *i,
    uint16_t *map, struct err *e);
/* Add version and the fields above (not those of resuming: see
 * msg_out_resume) to a message begun with msg_begin(w, MSG_STREAM). */
void stream_info_put(struct st_out *o, const struct stream_info *i);

struct msg_in;
/* addr: "-" or NULL for stdin, a path (file or fifo), or shm:NAME, unix:PATH,
 * tcp:HOST:PORT (addr.h): waits there for the writer.  A shard directory too:
 * set_in_open (shard/source.h). */
struct msg_in *msg_in_open(const char *addr, struct err *e);
/* Next message, owned by the reader, valid until the next call.  1: *m is
 * set; 0: the `end` message has been seen and checked, *m is it (a
 * directory read unfinished ends with 0 and m->raw NULL); -1: damage
 * (EX_INPUT): end of file without `end`, bytes after it, a gap in seq, a broken
 * chain, an `abort` (its reason is in e), ids out of range of the declared
 * vocabulary, documents that do not fill `ids`; or, with EX_STOP, stop_asked
 * was set while it waited for a pipe.  A pipe is read ahead by one message in a
 * thread. */
int msg_read(struct msg_in *r, struct msg *m, struct err *e);
/* The ids of the stream, whose `stream` message is i, are for a model of V ids.
 * -1 and EX_INPUT: its BOS or EOS is none of them.  From now on msg_read fails
 * at a message that holds an id of V or more. */
int msg_in_fit(struct msg_in *r, const struct stream_info *i, size_t V,
    struct err *e);
const char *msg_in_name(const struct msg_in *r);
/* H(k) of the last message read. */
const struct chain *msg_in_chain(const struct msg_in *r);
/* The message `stream`, kept for the life of the reader (after first read). */
const struct st *msg_in_head(const struct msg_in *r);
uint64_t msg_in_bytes(const struct msg_in *r);
/* For progress: the messages read so far had `seen` units (tokens); how many
 * will the whole stream have?  In proportion to the batches it announces, or
 * to its bytes; 0: not known. */
double msg_in_expect(struct msg_in *r, double seen);
double msg_in_wait(const struct msg_in *r); /* seconds spent waiting */
/* Read ahead no more than n bytes (and 64 KB) of the next message while the
 * caller has one, instead of all of it. */
void msg_in_ahead(struct msg_in *r, size_t n);
/* Bytes of memory it takes when messages have n bytes. */
size_t msg_in_memory(const struct msg_in *r, size_t n);
void msg_in_close(struct msg_in *r);

struct msg_out;
/* addr: "-"/NULL or a path to be written: a fifo or device as it is; a file
 * gets its name when msg_end has succeeded, so it is always whole.  Refuses a
 * terminal and a directory (EX_USAGE).  unix: and tcp: wait here for the
 * reader, shm: when the ring is full and at the end.  Ignores SIGPIPE from
 * here on. */
struct msg_out *msg_out_open(const char *addr, struct err *e);
/* One more destination for the same messages, at most MSG_OUTS together;
 * before the first message.  The slowest reader sets the pace; one that leaves
 * is left out, and the run ends when all have left. */
#define MSG_OUTS 16
int msg_out_tee(struct msg_out *w, const char *addr, struct err *e);
/* Start a message; the writer sets kind, seq and chain. Then add metadata and
 * tensors to the st_out it returns, and call msg_send.  0; -1 error;
 * 1 the reader has left (EPIPE): stop quietly with status 0. */
struct st_out *msg_begin(struct msg_out *w, enum msg_kind k);
int msg_send(struct msg_out *w, struct err *e);
/*
 * The same for a message whose last tensors are made one after another, so
 * that they are never all in memory: they were added with data NULL.
 * msg_send_begin sends what comes before them.  Then for each of them in turn
 * msg_room is where its bytes are to be put (the memory shared with the reader
 * where that is aligned so), until msg_send_next has sent them, the last one
 * with the end.  Returns as msg_send; nothing else may be sent in between.
 */
int msg_send_begin(struct msg_out *w, struct err *e);
void *msg_room(struct msg_out *w, size_t align);
int msg_send_next(struct msg_out *w, struct err *e);
/* The same where the bytes of those tensors come in parts of any size: the next
 * n of them, and the end of the message with the last. */
int msg_send_part(struct msg_out *w, const void *p, size_t n, struct err *e);
/* Bytes of memory that it takes when the message that has been begun is sent in
 * parts, of which the largest has `part` bytes. */
size_t msg_out_memory(const struct msg_out *w, size_t part);
/* Start a copy of m: its metadata (without kind, seq, chain) and all its
 * tensors are added already; more may be added before msg_send.  The copy of
 * a resumed `stream` message calls msg_out_resume(next_seq, chain_down or
 * chain) by itself. */
struct st_out *msg_copy(struct msg_out *w, const struct msg *m);
/* A resumed stream: the first message after the preamble gets this seq and
 * chain.  Call before the `stream` message is sent: it then holds them. */
void msg_out_resume(struct msg_out *w, uint64_t seq, const struct chain *c);
/* Count tokens for `end` (readers compare): ids of docs, piece_len of batches.
 * msg_copy counts by itself; the first writer of a stream calls this for every
 * message.  A resumed stream calls it with the tokens of its beginning before
 * the `stream` message is sent. */
void msg_out_tokens(struct msg_out *w, uint64_t tokens);
const struct chain *msg_out_chain(const struct msg_out *w);
uint64_t msg_out_seq(const struct msg_out *w);
int msg_end(struct msg_out *w, struct err *e);
int msg_abort(struct msg_out *w, const char *why, struct err *e);
void msg_out_close(struct msg_out *w);

#endif
