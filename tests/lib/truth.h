/*
 * Comparing every piece of a stream of batches with the documents that it was
 * made of, and counting each token.
 */
#ifndef TESTS_LIB_TRUTH_H
#define TESTS_LIB_TRUTH_H

#include "docs.h"
#include "msg/batch.h"

#include <string.h>

/* A document as stored; seen: how often each token has come. */
struct truth {
    uint64_t key;
    size_t source, len;
    const struct msg *m;
    uint32_t *ids;
    uint8_t *mask, *seen;
};

struct truths {
    struct truth *t;
    size_t n, nsource;
    char **name;
    uint64_t *tokens;
};

static inline int
by_key(const void *a, const void *b)
{
    const struct truth *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

static inline size_t
name_of(struct truths *a, const char *name)
{
    for (size_t i = 0; i < a->nsource; i++)
        if (strcmp(a->name[i], name) == 0)
            return i;
    a->name = xreallocarray(a->name, a->nsource + 1, sizeof *a->name);
    a->tokens = xreallocarray(a->tokens, a->nsource + 1, sizeof *a->tokens);
    a->name[a->nsource] = xstrdup(name);
    a->tokens[a->nsource] = 0;
    return a->nsource++;
}

static uint64_t
at(const struct st_tensor *t, size_t i)
{
    const size_t size = t->nbytes / t->n;
    uint64_t v = 0;

    memcpy(&v, (const char *)t->data + i * size, size);
    return v;
}

static inline void
learn(struct truths *a, const char *dir)
{
    struct err e;
    struct msg_in *in = must_open(dir);
    struct stream_info info = { 0 };
    struct msg m;

    while (must_read(in, &m) > 0) {
        const struct st_tensor *ids = st_find(&m.st, "ids");
        const struct st_tensor *mask = st_find(&m.st, "loss_mask");
        size_t n = 0;

        if (m.kind == MSG_STREAM && stream_info_read(&info, &m.st, &e) < 0)
            fatal(&e);
        if (m.kind != MSG_DOCS)
            continue;
        for (size_t d = 0; d < st_find(&m.st, "doc_len")->n; d++) {
            struct truth *t;

            a->t = xreallocarray(a->t, a->n + 1, sizeof *a->t);
            t = &a->t[a->n++];
            t->key = at(st_find(&m.st, "doc_key"), d);
            t->len = at(st_find(&m.st, "doc_len"), d);
            t->source =
                name_of(a, info.source[at(st_find(&m.st, "doc_source"), d)]);
            t->ids = xreallocarray(NULL, t->len, 4);
            t->mask = xmalloc(t->len);
            t->seen = xcalloc(t->len, 1);
            a->tokens[t->source] += t->len;
            for (size_t i = 0; i < t->len; i++, n++) {
                t->ids[i] = (uint32_t)at(ids, n);
                t->mask[i] = mask ? (uint8_t)at(mask, n) : 1;
            }
        }
    }
    msg_in_close(in);
    stream_info_release(&info);
    qsort(a->t, a->n, sizeof *a->t, by_key);
}

static inline void
forget(struct truths *a)
{
    for (size_t i = 0; i < a->n; i++) {
        free(a->t[i].ids);
        free(a->t[i].mask);
        free(a->t[i].seen);
    }
    for (size_t i = 0; i < a->nsource; i++)
        free(a->name[i]);
    free(a->t);
    free(a->name);
    free(a->tokens);
}

/* Does a piece equal its part of the document?  Counts its tokens. */
static inline int
check_piece(struct truths *a, const char *source, const uint32_t *ids,
    const uint8_t *mask, uint64_t key, size_t off, size_t len, size_t *which)
{
    const struct truth want = { .key = key };
    struct truth *t = bsearch(&want, a->t, a->n, sizeof *t, by_key);

    if (!t || strcmp(a->name[t->source], source) != 0 || off > t->len ||
        len > t->len - off || len == 0 ||
        memcmp(ids, t->ids + off, 4 * len) != 0)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if ((mask ? mask[i] : 1) != t->mask[off + i])
            return 0;
        t->seen[off + i]++;
    }
    *which = t->source;
    return 1;
}

/* The largest distance, in tokens, of a source's tokens from its share. */
static inline double
off_share(const struct truths *a, const uint64_t *had, const double *share)
{
    double worst = 0.0, all = 0.0;

    for (size_t i = 0; i < a->nsource; i++)
        all += (double)had[i];
    for (size_t i = 0; i < a->nsource; i++)
        worst = fmax(worst, fabs((double)had[i] - share[i] * all));
    return worst;
}

struct seen {
    size_t batches, rows, pieces, bad, cursor, T;
    uint64_t tokens, wrong;
    double off;     /* largest result of off_share, in tokens */
    uint64_t apart; /* sum of distances of consecutive keys */
};

/* Check a stream of batches.  Each token must come `epochs` times; 0: any
 * number of times. */
static inline struct seen
check_stream(const char *path, struct truths *a, size_t epochs,
    const double *share)
{
    struct seen s = { 0 };
    struct batch b = { 0 };
    struct stream_info info = { 0 };
    uint64_t *had = xcalloc(a->nsource, sizeof *had), last = 0;
    struct err e;
    struct msg_in *in = must_open(path);
    struct msg m;

    while (must_read(in, &m) > 0) {
        const struct st_tensor *t = st_find(&m.st, "loss_mask");
        const uint8_t *mask = t ? t->data : NULL;
        size_t row = SIZE_MAX, place = 0;

        if (m.kind == MSG_STREAM && stream_info_read(&info, &m.st, &e) < 0)
            fatal(&e);
        if (m.kind != MSG_BATCH)
            continue;
        batch_unpack(&b, &m);
        for (size_t p = 0; p < b.P; p++) {
            size_t n, which = 0;

            place = b.piece_row[p] == row ? place : 0;
            row = b.piece_row[p];
            n = row * b.T + place;
            if (!check_piece(a, info.source[b.piece_source[p]], b.ids + n,
                    mask ? mask + n : NULL, b.piece_key[p], b.piece_off[p],
                    b.piece_len[p], &which))
                s.bad++;
            had[which] += b.piece_len[p];
            place += b.piece_len[p];
            s.apart += last < b.piece_key[p] ? b.piece_key[p] - last
                                             : last - b.piece_key[p];
            last = b.piece_key[p];
        }
        s.off = fmax(s.off, off_share(a, had, share));
        s.batches++;
        s.rows += b.B;
        s.pieces += b.P;
        s.tokens += b.ntok;
        s.T = b.T;
        if (st_meta(&m.st, "cursor") &&
            strlen(st_meta(&m.st, "cursor")) > s.cursor)
            s.cursor = strlen(st_meta(&m.st, "cursor"));
    }
    for (size_t i = 0; epochs && i < a->n; i++)
        for (size_t k = 0; k < a->t[i].len; k++)
            s.wrong += a->t[i].seen[k] != epochs;
    msg_in_close(in);
    stream_info_release(&info);
    batch_release(&b);
    free(had);
    return s;
}

#endif
