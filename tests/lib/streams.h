/*
 * Small streams for tests: their content is a function of the arguments, so
 * two writers make the same bytes.
 */
#ifndef TESTS_LIB_STREAMS_H
#define TESTS_LIB_STREAMS_H

#include "base/err.h"
#include "base/mem.h"
#include "msg/msg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH "0123456789abcdef0123456789abcdef"

struct sample {
    int batch;       /* messages are batches, else docs */
    size_t messages; /* number of docs or batch messages */
    size_t docs;     /* documents in a docs message; rows of a batch */
    size_t T;        /* tokens of a row; length of the longest document */
    size_t vocab;
    int teacher; /* add a head and final states of width 4 */
    int mask;
    size_t from;               /* resume: first docs/batch message written */
    const struct chain *chain; /* chain before message `from`, if from > 0 */
    uint64_t tokens;           /* tokens before message `from` */
    size_t stop;               /* break off before message `stop`; 0: never */
    int abort;                 /* 1: break off by msg_abort; 0: without an
                                * end */
};

static inline uint32_t
sample_rnd(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;

    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return (uint32_t)(x >> 33);
}

static inline void
sample_docs(struct msg_out *w, const struct sample *s, size_t k)
{
    static uint32_t ids32[1 << 16], len[1 << 12];
    static uint16_t ids16[1 << 16], source[1 << 12];
    static uint64_t key[1 << 12];
    static uint8_t mask[1 << 16];
    struct st_out *o = msg_begin(w, MSG_DOCS);
    size_t n = 0;
    char cursor[30];

    for (size_t d = 0; d < s->docs; d++) {
        len[d] = 1 + sample_rnd(k, d) % (uint32_t)s->T;
        source[d] = (uint16_t)(sample_rnd(d, k) % 3);
        key[d] = k * 1000 + d;
        for (size_t t = 0; t < len[d]; t++, n++) {
            ids32[n] = sample_rnd(k * 77 + d, t) % (uint32_t)s->vocab;
            ids16[n] = (uint16_t)ids32[n];
            mask[n] = sample_rnd(n, k) % 2;
        }
    }
    snprintf(cursor, sizeof cursor, "in=%zu", k);
    st_out_meta(o, "cursor", cursor);
    if (s->vocab <= 65536)
        st_out_tensor(o, "ids", DT_U16, 1, &n, ids16);
    else
        st_out_tensor(o, "ids", DT_U32, 1, &n, ids32);
    st_out_tensor(o, "doc_len", DT_U32, 1, &s->docs, len);
    st_out_tensor(o, "doc_source", DT_U16, 1, &s->docs, source);
    st_out_tensor(o, "doc_key", DT_U64, 1, &s->docs, key);
    if (s->mask)
        st_out_tensor(o, "loss_mask", DT_U8, 1, &n, mask);
    msg_out_tokens(w, n);
}

static inline void
sample_batch(struct msg_out *w, const struct sample *s, size_t k)
{
    static uint16_t ids[1 << 16], source[1 << 12];
    static uint32_t row[1 << 12], len[1 << 12], off[1 << 12];
    static uint64_t key[1 << 12];
    static uint8_t mask[1 << 16];
    static float final[1 << 16];
    struct st_out *o = msg_begin(w, MSG_BATCH);
    const size_t bt[2] = { s->docs, s->T }, f[3] = { s->docs, s->T, 4 };
    size_t P = 0, n = 0;
    char cursor[30];

    memset(ids, 0, sizeof ids);
    for (size_t r = 0; r < s->docs; r++)
        for (size_t at = 0; at < s->T; P++) {
            uint32_t m = 1 + sample_rnd(k * 31 + r, at) % (uint32_t)s->T;

            if (m > s->T - at) { /* the last row is not full */
                if (r + 1 == s->docs)
                    break;
                m = (uint32_t)(s->T - at);
            }
            row[P] = (uint32_t)r;
            len[P] = m;
            off[P] = sample_rnd(P, k) % 5;
            source[P] = (uint16_t)(sample_rnd(r, P) % 3);
            key[P] = k * 100 + P;
            for (size_t t = at; t < at + m; t++)
                ids[r * s->T + t] =
                    (uint16_t)(sample_rnd(k, t * 9 + r) % (uint32_t)s->vocab);
            at += m;
            n += m;
        }
    for (size_t i = 0; i < s->docs * s->T * 4; i++)
        final[i] = (float)(sample_rnd(i, k) % 1000) / 100.0f - 5.0f;
    for (size_t i = 0; i < s->docs * s->T; i++)
        mask[i] = sample_rnd(i, k + 5) % 3 != 0;
    snprintf(cursor, sizeof cursor, "b=%zu", k);
    st_out_meta(o, "cursor", cursor);
    st_out_tensor(o, "ids", DT_U16, 2, bt, ids);
    st_out_tensor(o, "piece_row", DT_U32, 1, &P, row);
    st_out_tensor(o, "piece_len", DT_U32, 1, &P, len);
    st_out_tensor(o, "piece_source", DT_U16, 1, &P, source);
    st_out_tensor(o, "piece_key", DT_U64, 1, &P, key);
    st_out_tensor(o, "piece_off", DT_U32, 1, &P, off);
    if (s->mask)
        st_out_tensor(o, "loss_mask", DT_U8, 2, bt, mask);
    if (s->teacher)
        st_out_tensor(o, "teacher.final", DT_F32, 3, f, final);
    msg_out_tokens(w, n);
}

static inline int
sample_preamble(struct msg_out *w, const struct sample *s, struct err *e)
{
    static const char *const names[] = { "bg", "cs\"\\", "m\xc3\xa1ty" };
    static float head[1 << 16];
    struct stream_info i = { 0 };
    const size_t hd[2] = { s->vocab, 4 }, d[1] = { 4 };
    struct st_out *o;
    int r;

    i.content = s->batch ? "batch" : "docs";
    i.tokenizer = HASH;
    i.vocab = s->vocab;
    i.bos = -1;
    i.eos = 2;
    i.nsource = 3;
    i.source = (const char **)(uintptr_t)names;
    i.T = s->batch ? s->T : 0;
    i.algorithm = s->batch ? "sample-1" : NULL;
    if (s->from) {
        msg_out_resume(w, 1 + (uint64_t)s->teacher + s->from, s->chain);
        msg_out_tokens(w, s->tokens);
    }
    stream_info_put(msg_begin(w, MSG_STREAM), &i);
    if ((r = msg_send(w, e)) != 0 || !s->teacher)
        return r;
    for (size_t k = 0; k < s->vocab * 4; k++)
        head[k] = (float)(sample_rnd(k, 3) % 1000) / 100.0f;
    o = msg_begin(w, MSG_TEACHER);
    st_out_meta(o, "temperature", "3");
    st_out_tensor(o, "head", DT_F32, 2, hd, head);
    st_out_tensor(o, "norm", DT_F32, 1, d, head);
    return msg_send(w, e);
}

/* Write the sample, up to message s->stop.  Returns the first result of a msg_
 * function that is not 0, or 0. */
static inline int
sample_write(struct msg_out *w, const struct sample *s, struct err *e)
{
    int r = sample_preamble(w, s, e);

    for (size_t k = s->from; r == 0 && k < s->messages; k++) {
        if (s->stop && k == s->stop)
            return s->abort ? msg_abort(w, "no more\n\"text\"", e) : 0;
        if (s->batch)
            sample_batch(w, s, k);
        else
            sample_docs(w, s, k);
        r = msg_send(w, e);
    }
    return r == 0 ? msg_end(w, e) : r;
}

/* Write the sample to a file or fifo; a file appears only if the stream is
 * complete. */
static inline int
sample_file(const char *path, const struct sample *s, struct err *e)
{
    struct msg_out *w = msg_out_open(path, e);
    int r;

    if (!w)
        return -1;
    r = sample_write(w, s, e);
    msg_out_close(w);
    return r;
}

#endif
