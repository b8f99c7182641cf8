/*
 * Messages: reading and writing a stream (retort-stream(5)).  A stream is
 * stream, [teacher,] docs* | batch*, end.  Every message is one safetensors
 * buffer whose __metadata__ holds kind and seq.
 *
 * Chain: H(0) = XXH3-128 of message 0 with seed 0; H(k) = XXH3-128 of the 16
 * bytes of H(k-1) (canonical, big-endian) followed by message k.  batch and end
 * messages carry chain = H(k-1) as 32 hex digits, so each vouches for all that
 * came before it.
 *
 * Resumed streams: the `stream` message (seq 0) of a resumed stream has
 * next_seq, chain and next_tokens in its metadata: next_seq is the seq of the
 * first message after the preamble, and chain is H(next_seq - 1).  A filter
 * that puts a `teacher` message into the preamble numbers its batches one
 * higher (msg_out_resume after msg_copy).  If the key chain_down is there, the
 * filter's chain starts from it: the chain of the consumer that is continued.
 *
 * In memory the data part of a message begins at a multiple of 64 bytes.  A
 * tensor inside it begins where the one before it ended: at any address, so
 * elements are read with memcpy.
 *
 * in.c reads, out.c writes, msg.c has what both need; info.h has the `stream`
 * message, backend.h the transports below.
 */
#ifndef MSG_MSG_H
#define MSG_MSG_H

#include "base/err.h"
#include "format/safetensors.h"
#include "msg/info.h"

#include <stddef.h>
#include <stdint.h>

enum msg_kind {
    MSG_STREAM,
    MSG_TEACHER,
    MSG_DOCS,
    MSG_BATCH,
    MSG_END,
    MSG_ABORT,
    MSG_OTHER /* a kind that we do not know: filters copy it */
};
const char *msg_kind_name(enum msg_kind k);

struct msg {
    enum msg_kind kind;
    uint64_t seq;
    struct st st;             /* tensors point into raw */
    const unsigned char *raw; /* the whole message */
    size_t nraw;
    uint64_t at; /* offset of the message in the stream, bytes */
};

struct msg_in;
/* Open a stream.  addr: "-" or NULL for stdin, a path (file or fifo), or
 * shm:NAME, unix:PATH, tcp:HOST:PORT (addr.h); for these three msg_in_open
 * waits for the writer.  For a shard directory use set_in_open
 * (shard/source.h). */
struct msg_in *msg_in_open(const char *addr, struct err *e);
/* Read the next message, which the reader owns until the next call.  From a
 * pipe, a thread reads one message ahead.
 * 1: *m is set.
 * 0: the stream is at its end: *m is the checked `end` message (an unfinished
 * directory has none: m->raw is NULL).
 * -1 and EX_INPUT: the input ends without `end` or goes on after it; seq has a
 * gap; the chain is broken; an `abort` came, whose reason is in *e; an id is
 * not below the vocabulary; the documents' lengths do not add up to the number
 * of ids.
 * -1 and EX_STOP: stop_asked was set while a pipe was waited for. */
int msg_read(struct msg_in *r, struct msg *m, struct err *e);
/* Say that a model of V ids will read the stream whose `stream` message is i.
 * -1 and EX_INPUT: BOS or EOS is V or more.  From now on msg_read fails at a
 * message with an id of V or more. */
int msg_in_fit(struct msg_in *r, const struct stream_info *i, size_t V,
    struct err *e);
const char *msg_in_name(const struct msg_in *r);
/* H(k) of the last message read. */
const struct chain *msg_in_chain(const struct msg_in *r);
/* The `stream` message, which lives as long as r; empty before the first
 * msg_read. */
const struct st *msg_in_head(const struct msg_in *r);
uint64_t msg_in_bytes(const struct msg_in *r);
/* For progress: an estimate of how many units (tokens, say) the whole stream
 * has, if the messages read so far have `seen` units.  It follows from the
 * number of batches that the stream announces, or else from the stream's bytes.
 * 0: not known. */
double msg_in_expect(struct msg_in *r, double seen);
double msg_in_wait(const struct msg_in *r); /* seconds spent waiting */
/* While the caller holds a message, read at most n bytes (at least 64 KiB) of
 * the next one, instead of all of it. */
void msg_in_ahead(struct msg_in *r, size_t n);
/* Bytes of memory that r takes if messages have n bytes. */
size_t msg_in_memory(const struct msg_in *r, size_t n);
void msg_in_close(struct msg_in *r);

struct msg_out;
/* addr: "-" or NULL for stdout, a path, or shm:, unix:, tcp:.  A fifo or device
 * is written directly.  A file gets its name when msg_end has succeeded, so
 * that a file of that name is always whole.  A terminal and a directory are
 * refused (EX_USAGE).  With unix: and tcp: msg_out_open waits for the reader;
 * with shm: sending waits while the ring is full, and msg_end until a reader
 * has come.  From this call on SIGPIPE is ignored. */
struct msg_out *msg_out_open(const char *addr, struct err *e);
/* msg_begin begins a message and sets its kind, seq and chain; add metadata and
 * tensors to the st_out that it returns.  msg_send sends the message and
 * returns 0; -1 and *e; 1: the reader has left: end quietly with status 0. */
struct st_out *msg_begin(struct msg_out *w, enum msg_kind k);
int msg_send(struct msg_out *w, struct err *e);
/*
 * Send a message whose last tensors, added with data NULL, are computed one
 * after another, so that they are never all in memory.  msg_send_begin sends
 * everything before them.  Then for each of them in turn: write its bytes to
 * the place that msg_room returns (the reader's shared memory, if the
 * tensor's place in it is a multiple of `align`, else a buffer of w), and call
 * msg_send_next; the last call ends the message.  Both functions return as
 * msg_send.  No other message may be sent in between.
 */
int msg_send_begin(struct msg_out *w, struct err *e);
void *msg_room(struct msg_out *w, size_t align);
int msg_send_next(struct msg_out *w, struct err *e);
/* Instead of msg_room and msg_send_next: send the next n bytes of the tensors
 * that were added with data NULL.  Parts may have any size; the part that
 * completes the tensors ends the message. */
int msg_send_part(struct msg_out *w, const void *p, size_t n, struct err *e);
/* Bytes of memory that w takes if the message begun is sent in parts of at most
 * `part` bytes. */
size_t msg_out_memory(const struct msg_out *w, size_t part);
/* Begin a copy of m: all its tensors and its metadata, except kind, seq and
 * chain, are added already; more may be added before msg_send.  If m is the
 * `stream` message of a resumed stream, msg_copy also calls msg_out_resume,
 * with chain_down or else chain. */
struct st_out *msg_copy(struct msg_out *w, const struct msg *m);
/* Resume a stream: the first message after the preamble gets the number seq,
 * and c is the chain before it.  The `stream` message tells both to readers:
 * call this before sending it. */
void msg_out_resume(struct msg_out *w, uint64_t seq, const struct chain *c);
/* Add `tokens` to the count in the `end` message, which readers compare with
 * their own count: ids of docs, piece_len of batches.  msg_copy adds the tokens
 * of the message that it copies.  A writer of new messages calls this for each
 * message.  A writer that resumes a stream first adds the tokens of the
 * messages before next_seq, before it sends its `stream` message. */
void msg_out_tokens(struct msg_out *w, uint64_t tokens);
const struct chain *msg_out_chain(const struct msg_out *w);
uint64_t msg_out_seq(const struct msg_out *w);
int msg_end(struct msg_out *w, struct err *e);
int msg_abort(struct msg_out *w, const char *why, struct err *e);
void msg_out_close(struct msg_out *w);

#endif
