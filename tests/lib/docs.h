/*
 * Directories of documents for tests: lengths are lognormal, source i has a
 * share in proportion to 1/(i + 1), ids are a function of the arguments.
 */
#ifndef TESTS_LIB_DOCS_H
#define TESTS_LIB_DOCS_H

#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "shard/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HASH "0123456789abcdef0123456789abcdef"

struct made {
    uint64_t seed;
    size_t sources, docs, mean, vocab, frame;
    int separate, mask;
};

static inline void
fatal(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(e->code);
}

/* Open a stream; a failure ends the test. */
static inline struct msg_in *
must_open(const char *path)
{
    struct err e;
    struct msg_in *in = set_in_open(path, 0, &e);

    if (!in)
        fatal(&e);
    return in;
}

/* Read the next message; 0: the stream has ended well; damage ends the test. */
static inline int
must_read(struct msg_in *in, struct msg *m)
{
    struct err e;
    const int r = msg_read(in, m, &e);

    if (r < 0)
        fatal(&e);
    return r;
}

/* Length of document d in tokens, of a lognormal distribution. */
static inline size_t
length_of(const struct made *m, size_t d)
{
    const double n = exp(log((double)m->mean) - 0.5 + rng_normal(m->seed, d));

    return n < 1.0 ? 1 : n > 60000.0 ? 60000 : (size_t)n;
}

/* Source of document d.  Source i has a share in proportion to 1/(i + 1). */
static uint16_t
source_of(const struct made *m, size_t d)
{
    double all = 0.0, u, at = 0.0;

    if (m->sources > 64) /* many sources: all have the same share */
        return (uint16_t)(d % m->sources);
    for (size_t i = 0; i < m->sources; i++)
        all += 1.0 / (double)(i + 1);
    u = m->separate ? (double)d / (double)m->docs : rng_unit(m->seed + 1, d);
    for (size_t i = 0; i < m->sources; i++)
        if (u < (at += 1.0 / (double)(i + 1) / all))
            return (uint16_t)i;
    return (uint16_t)(m->sources - 1);
}

static inline void
make_preamble(struct msg_out *w, const struct made *m, struct err *e)
{
    char(*name)[24] = xcalloc(m->sources, sizeof *name);
    const char **names = xcalloc(m->sources, sizeof *names);
    struct stream_info i = { .content = "docs",
        .tokenizer = HASH,
        .vocab = m->vocab,
        .bos = -1,
        .eos = 2 };

    for (size_t k = 0; k < m->sources; k++) {
        snprintf(name[k], sizeof name[k], "s%zu", k);
        names[k] = name[k];
    }
    i.nsource = m->sources;
    i.source = names;
    stream_info_put(msg_begin(w, MSG_STREAM), &i);
    if (msg_send(w, e) != 0)
        fatal(e);
    free(name);
    free(names);
}

static inline void
make_stream(const char *path, const struct made *m)
{
    static uint32_t len[4096];
    static uint16_t source[4096];
    static uint64_t key[4096];
    struct err e;
    struct msg_out *w = msg_out_open(path, &e);
    struct buf ids = { 0 }, mask = { 0 };

    if (!w)
        fatal(&e);
    make_preamble(w, m, &e);
    for (size_t d = 0; d < m->docs;) {
        struct st_out *o = msg_begin(w, MSG_DOCS);
        size_t D = 0, n = 0;

        buf_clear(&ids);
        buf_clear(&mask);
        for (; d < m->docs && D < 20; D++, d++) {
            len[D] = (uint32_t)length_of(m, d);
            source[D] = source_of(m, d);
            key[D] = m->seed * 1000000 + d;
            for (size_t t = 0; t < len[D]; t++, n++) {
                const uint64_t u = rng_u64(key[D], t);
                const uint32_t v = (uint32_t)((u >> 8) % m->vocab >> (u & 7));
                const uint16_t half = (uint16_t)v;

                buf_add(&ids, m->vocab > 65536 ? (const void *)&v : &half,
                    m->vocab > 65536 ? 4 : 2);
                buf_addc(&mask, u >> 40 & 7 ? 1 : 0);
            }
        }
        st_out_tensor(o, "ids", m->vocab > 65536 ? DT_U32 : DT_U16, 1, &n,
            ids.p);
        st_out_tensor(o, "doc_len", DT_U32, 1, &D, len);
        st_out_tensor(o, "doc_source", DT_U16, 1, &D, source);
        st_out_tensor(o, "doc_key", DT_U64, 1, &D, key);
        if (m->mask)
            st_out_tensor(o, "loss_mask", DT_U8, 1, &n, mask.p);
        msg_out_tokens(w, n);
        if (msg_send(w, &e) != 0)
            fatal(&e);
    }
    if (msg_end(w, &e) != 0)
        fatal(&e);
    msg_out_close(w);
    buf_release(&ids);
    buf_release(&mask);
}

static inline void
make_dir(const char *dir, const struct made *m)
{
    const struct shard_opts so = { .codec = CODEC_ZSTD,
        .level = 1,
        .shard_size = m->frame * 10,
        .frame_size = m->frame,
        .force = 1 };
    char *path = xasprintf("%s.stream", dir);
    struct err e;
    struct msg_in *in;
    struct shard_writer *w;
    struct msg msg;
    int r;

    make_stream(path, m);
    in = must_open(path);
    if (!(w = shardw_open(dir, &so, &e)))
        fatal(&e);
    do {
        r = must_read(in, &msg);
        if (shardw_put(w, &msg, &e) < 0)
            fatal(&e);
    } while (r > 0);
    shardw_close(w);
    msg_in_close(in);
    remove(path);
    free(path);
}

#endif
