/*
 * lib/data: the order of documents; without arguments a test, otherwise the
 * helper of tests/t3-*.sh:
 *   sampler make DIR seed sources documents mean-length vocabulary frame-bytes
 *       separate mask
 *   sampler check STREAM epochs|- natural|equal DIR|- window DIR ...
 *   sampler mark STREAM k RUN       a checkpoint after message k
 *   sampler tail WHOLE RESUMED k    is it the tail after message k?
 *   sampler broken WHOLE PART RUN   PART, which broke off anywhere, is what
 *       WHOLE has there, byte for byte; a checkpoint after its last message
 *   sampler last RUN                the message of its newest checkpoint
 *   sampler filter                  add teacher.odd [B,T,2] to batches
 *   sampler rows STREAM             a line a row
 *   sampler shares STREAM           a line a row: tokens of s0, s1, s2
 *   sampler odd STREAM sum|print    is it still that of the ids?
 *   sampler sip MICROSECONDS        read a stream, and pause after each batch
 * check holds every piece of a stream of batches against the documents of the
 * directories, and counts each token; it prints what it has seen.
 */
#include "base/io.h"
#include "base/mem.h"
#include "base/prog.h"
#include "base/rng.h"
#include "data/batch.h"
#include "data/sampler.h"
#include "format/ckpt.h"
#include "../tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HASH "0123456789abcdef0123456789abcdef"

struct made {
    uint64_t seed;
    size_t sources, docs, mean, vocab, frame;
    int separate, mask;
};

static void
fatal(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(e->code);
}

/* Lognormal lengths, sources falling like 1/i. */
static size_t
length_of(const struct made *m, size_t d)
{
    const double n = exp(log((double)m->mean) - 0.5 +
        rng_normal(m->seed, d));

    return n < 1.0 ? 1 : n > 60000.0 ? 60000 : (size_t)n;
}

static uint16_t
source_of(const struct made *m, size_t d)
{
    double all = 0.0, u, at = 0.0;

    for (size_t i = 0; i < m->sources; i++)
        all += 1.0 / (double)(i + 1);
    u = m->separate ? (double)d / (double)m->docs : rng_unit(m->seed + 1, d);
    for (size_t i = 0; i < m->sources; i++)
        if (u < (at += 1.0 / (double)(i + 1) / all))
            return (uint16_t)i;
    return (uint16_t)(m->sources - 1);
}

static void
make_preamble(struct msg_out *w, const struct made *m, struct err *e)
{
    static char name[64][24];
    static const char *names[64];
    struct stream_info i = { .content = "docs", .tokenizer = HASH,
        .vocab = m->vocab, .bos = -1, .eos = 2 };

    for (size_t k = 0; k < m->sources; k++) {
        snprintf(name[k], sizeof name[k], "s%zu", k);
        names[k] = name[k];
    }
    i.nsource = m->sources;
    i.source = names;
    stream_info_put(msg_begin(w, MSG_STREAM), &i);
    if (msg_send(w, e) != 0)
        fatal(e);
}

static void
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
    for (size_t d = 0; d < m->docs; ) {
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
                const uint32_t v = (uint32_t)((u >> 8) % m->vocab >>
                    (u & 7));
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

static void
make_dir(const char *dir, const struct made *m)
{
    const struct shard_opts so = { .codec = CODEC_ZSTD, .level = 1,
        .shard_size = m->frame * 10, .frame_size = m->frame, .force = 1 };
    char *path = xasprintf("%s.stream", dir);
    struct err e;
    struct msg_in *in;
    struct shard_writer *w;
    struct msg msg;
    int r;

    make_stream(path, m);
    if (!(in = msg_in_open(path, 0, &e)) || !(w = shardw_open(dir, &so, &e)))
        fatal(&e);
    while ((r = msg_read(in, &msg, &e)) >= 0) {
        if (shardw_put(w, &msg, &e) < 0)
            fatal(&e);
        if (r == 0)
            break;
    }
    if (r < 0)
        fatal(&e);
    shardw_close(w);
    msg_in_close(in);
    remove(path);
    free(path);
}

/* A document as it was stored. */
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

static int
by_key(const void *a, const void *b)
{
    const struct truth *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

static size_t
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

static void
learn(struct truths *a, const char *dir)
{
    struct err e;
    struct msg_in *in = msg_in_open(dir, 0, &e);
    struct stream_info info = { 0 };
    struct msg m;
    int r;

    if (!in)
        fatal(&e);
    while ((r = msg_read(in, &m, &e)) > 0) {
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
            t->source = name_of(a, info.source[at(st_find(&m.st,
                "doc_source"), d)]);
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
    if (r < 0)
        fatal(&e);
    msg_in_close(in);
    stream_info_release(&info);
    qsort(a->t, a->n, sizeof *a->t, by_key);
}

static void
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

/* Is a piece what its document says?  Counts its tokens. */
static int
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

/* Farthest from its share that a source has been, in tokens. */
static double
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
    double off;             /* of the shares, tokens */
    uint64_t apart;         /* sum of distances of keys that follow */
};

/* Check a stream of batches; epochs 0: tokens may be missing at the end. */
static struct seen
check_stream(const char *path, struct truths *a, size_t epochs,
    const double *share)
{
    struct seen s = { 0 };
    struct batch b = { 0 };
    struct stream_info info = { 0 };
    uint64_t *had = xcalloc(a->nsource, sizeof *had), last = 0;
    struct err e;
    struct msg_in *in = msg_in_open(path, 0, &e);
    struct msg m;
    int r;

    if (!in)
        fatal(&e);
    while ((r = msg_read(in, &m, &e)) > 0) {
        const struct st_tensor *t = st_find(&m.st, "loss_mask");
        const uint8_t *mask = t ? t->data : NULL;
        size_t row = SIZE_MAX, place = 0;

        if (m.kind == MSG_STREAM && stream_info_read(&info, &m.st, &e) < 0)
            fatal(&e);
        if (m.kind != MSG_BATCH)
            continue;
        if (batch_unpack(&b, &m, info.vocab, &e) < 0)
            fatal(&e);
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
            s.apart += last < b.piece_key[p] ? b.piece_key[p] - last :
                last - b.piece_key[p];
            last = b.piece_key[p];
        }
        s.off = fmax(s.off, off_share(a, had, share));
        s.batches++;
        s.rows += b.B;
        s.pieces += b.P;
        s.tokens += b.ntok;
        s.T = b.T;
        if (st_meta(&m.st, "cursor") && strlen(st_meta(&m.st, "cursor")) >
            s.cursor)
            s.cursor = strlen(st_meta(&m.st, "cursor"));
    }
    if (r < 0)
        fatal(&e);
    for (size_t i = 0; epochs && i < a->n; i++)
        for (size_t k = 0; k < a->t[i].len; k++)
            s.wrong += a->t[i].seen[k] != epochs;
    msg_in_close(in);
    stream_info_release(&info);
    batch_release(&b);
    free(had);
    return s;
}

static int
run_check(int argc, char **argv)
{
    const size_t epochs = strcmp(argv[3], "-") == 0 ? 0 :
        strtoul(argv[3], NULL, 10);
    struct truths a = { 0 };
    struct seen s;
    double *share, all = 0.0;

    for (int i = 5; i < argc; i++)
        learn(&a, argv[i]);
    share = xcalloc(a.nsource, sizeof *share);
    for (size_t i = 0; i < a.nsource; i++)
        all += (double)a.tokens[i];
    for (size_t i = 0; i < a.nsource; i++)
        share[i] = strcmp(argv[4], "equal") == 0 ? 1.0 / (double)a.nsource :
            (double)a.tokens[i] / all;
    s = check_stream(argv[2], &a, epochs, share);
    printf("batches=%zu rows=%zu pieces=%zu tokens=%" PRIu64 " padding=%.3f "
        "bad=%zu wrong=%" PRIu64 " cursor=%zu off=%.1f apart=%.0f\n",
        s.batches, s.rows, s.pieces, s.tokens, 100.0 - 100.0 *
        (double)s.tokens / ((double)s.rows * (double)s.T), s.bad, s.wrong,
        s.cursor, s.off / (double)s.T, s.pieces ? (double)s.apart /
        (double)s.pieces : 0.0);
    free(share);
    forget(&a);
    return s.bad || s.wrong;
}

/* A checkpoint of a consumer that has read messages 0..k. */
static int
run_mark(const char *path, uint64_t k, const char *run)
{
    struct position p = { 0 };
    struct err e;
    struct msg_in *in = msg_in_open(path, 0, &e);
    struct msg m;
    int r;

    if (!in)
        fatal(&e);
    while ((r = msg_read(in, &m, &e)) > 0 && m.seq < k)
        ;
    if (r < 0 || m.seq != k)
        fatal(&e);
    p.seq = k;
    chain_hex(msg_in_chain(in), p.chain);
    if (st_meta(&m.st, "cursor"))
        p.cursor = xstrdup(st_meta(&m.st, "cursor"));
    free(ckpt_begin(run, k, &e));
    if (ckpt_commit(run, k, &p, 1, &e) < 0)
        fatal(&e);
    position_release(&p);
    msg_in_close(in);
    return 0;
}

/* The bytes after the preamble of `tail` are the last ones of `whole`, and
 * begin with message k + 1. */
static int
run_tail(const char *whole, const char *tail, uint64_t k)
{
    struct err e;
    struct msg_in *in = msg_in_open(tail, 0, &e);
    struct msg m;
    char *a, *b;
    size_t na = 0, nb = 0, n;
    int r, same;

    if (!in)
        fatal(&e);
    while ((r = msg_read(in, &m, &e)) > 0 && m.kind <= MSG_TEACHER)
        ;
    if (r < 0 || io_slurp(whole, SIZE_MAX / 4, &a, &na, &e) < 0 ||
        io_slurp(tail, SIZE_MAX / 4, &b, &nb, &e) < 0)
        fatal(&e);
    n = nb - (size_t)m.at;
    same = m.seq == k + 1 && n <= na && memcmp(a + na - n, b + m.at, n) == 0;
    if (!same)
        printf("message %" PRIu64 " first, %zu of %zu bytes\n", m.seq, n, na);
    while (r > 0 && (r = msg_read(in, &m, &e)) > 0)
        ;
    if (r < 0)
        fatal(&e);
    msg_in_close(in);
    free(a);
    free(b);
    return !same;
}

/* Where message seq of a stream begins. */
static uint64_t
place_of(const char *path, uint64_t seq)
{
    struct err e;
    struct msg_in *in = msg_in_open(path, 0, &e);
    struct msg m = { .seq = UINT64_MAX };

    if (!in)
        fatal(&e);
    while (m.seq != seq)
        if (msg_read(in, &m, &e) < 0)
            fatal(&e);
    msg_in_close(in);
    return m.at;
}

/* The message of the newest checkpoint. */
static int
run_last(const char *run)
{
    struct position p;
    char *dir = NULL;
    struct err e;

    if (ckpt_newest(run, &dir, NULL, &p, &e) < 0)
        fatal(&e);
    printf("%" PRIu64 "\n", p.seq);
    position_release(&p);
    free(dir);
    return 0;
}

static int
run_broken(const char *whole, const char *part, const char *run)
{
    struct err e;
    struct msg_in *in = msg_in_open(part, 0, &e);
    struct msg m;
    uint64_t first = 0, last = 0, at = 0, end = 0, from;
    char *a, *b;
    size_t na, nb;

    if (!in || io_slurp(whole, SIZE_MAX / 4, &a, &na, &e) < 0 ||
        io_slurp(part, SIZE_MAX / 4, &b, &nb, &e) < 0)
        fatal(&e);
    while (msg_read(in, &m, &e) > 0) {
        end = m.at + m.nraw;
        if (m.kind == MSG_BATCH && first == 0) {
            first = m.seq;
            at = m.at;
        }
        if (m.kind == MSG_BATCH)
            last = m.seq;
    }
    msg_in_close(in);
    printf("messages %" PRIu64 " to %" PRIu64 ", %zu bytes more\n", first,
        last, (size_t)(nb - end));
    if (first == 0)
        return 0;
    from = place_of(whole, first);
    if (nb - at > na - from || memcmp(a + from, b + at, nb - at) != 0)
        return 1;
    free(a);
    free(b);
    return run_mark(part, last, run);
}

/* Like a teacher: a message in the preamble, and a tensor for every token that
 * tells which token it is. */
static int
run_filter(void)
{
    static const float norm[2] = { 1.0f, 2.0f };
    const size_t two[1] = { 2 };
    struct err e;
    struct msg_in *in = msg_in_open("-", 0, &e);
    struct msg_out *w = msg_out_open("-", &e);
    struct batch b = { 0 };
    struct buf own = { 0 };
    struct msg m;
    int r, k = 0;

    while (k == 0 && (r = msg_read(in, &m, &e)) > 0) {
        struct st_out *o = msg_copy(w, &m);
        const char *seq = st_meta(&m.st, "next_seq");
        struct stream_info info;

        if (m.kind == MSG_BATCH) {
            const size_t s[3] = { st_find(&m.st, "ids")->shape[0],
                st_find(&m.st, "ids")->shape[1], 2 };

            if (batch_unpack(&b, &m, 1 << 20, &e) < 0)
                fatal(&e);
            buf_clear(&own);
            for (size_t i = 0; i < s[0] * s[1]; i++) {
                const uint32_t v[2] = { b.ids[i] + 1, ~b.ids[i] };

                buf_add(&own, v, sizeof v);
            }
            st_out_tensor(o, "teacher.odd", DT_U32, 3, s, own.p);
        }
        if (seq) {
            if (stream_info_read(&info, &m.st, &e) < 0)
                fatal(&e);
            msg_out_resume(w, info.next_seq + 1, &info.down);
            stream_info_release(&info);
        }
        k = msg_send(w, &e);
        if (m.kind == MSG_STREAM && k == 0) {
            o = msg_begin(w, MSG_TEACHER);
            st_out_tensor(o, "norm", DT_F32, 1, two, norm);
            k = msg_send(w, &e);
        }
    }
    if (k < 0 || (k == 0 && (r < 0 || msg_end(w, &e) < 0)))
        fatal(&e);
    msg_in_close(in);
    msg_out_close(w);
    batch_release(&b);
    buf_release(&own);
    return 0;
}

/* Every batch of a stream to `each`; the sum of what it returns. */
static size_t
each_batch(const char *path, size_t (*each)(const struct batch *b,
    const struct st *st, const char *mode), const char *mode)
{
    struct err e;
    struct msg_in *in = msg_in_open(path, 0, &e);
    struct batch b = { 0 };
    struct msg m;
    size_t sum = 0;
    int r;

    if (!in)
        fatal(&e);
    while ((r = msg_read(in, &m, &e)) > 0) {
        if (m.kind != MSG_BATCH)
            continue;
        if (batch_unpack(&b, &m, 1 << 20, &e) < 0)
            fatal(&e);
        sum += each(&b, &m.st, mode);
    }
    if (r < 0)
        fatal(&e);
    msg_in_close(in);
    batch_release(&b);
    return sum;
}

/* Tokens whose teacher.odd is another's; mode print: a line an id. */
static size_t
odd(const struct batch *b, const struct st *st, const char *mode)
{
    const struct st_tensor *t = st_find(st, "teacher.odd");
    const struct st_tensor *ids = st_find(st, "ids");
    size_t bad = 0;

    for (size_t i = 0; i < b->B * b->T; i++) {
        const uint32_t id = (uint32_t)at(ids, i);

        if (strcmp(mode, "print") == 0)
            printf("%u\n", id);
        bad += !t || at(t, 2 * i) != id + 1 ||
            at(t, 2 * i + 1) != (uint32_t)~id;
    }
    return bad;
}

/* A line a row: its pieces. */
static size_t
rows(const struct batch *b, const struct st *st, const char *mode)
{
    (void)st;
    (void)mode;
    for (size_t p = 0; p < b->P; p++)
        printf("%" PRIu64 ".%u.%u%c", b->piece_key[p], b->piece_off[p],
            b->piece_len[p], p + 1 < b->P && b->piece_row[p + 1] ==
            b->piece_row[p] ? ' ' : '\n');
    return 0;
}

static size_t
shares(const struct batch *b, const struct st *st, const char *mode)
{
    (void)st;
    (void)mode;
    for (size_t row = 0, p = 0; row < b->B; row++) {
        size_t n[3] = { 0 };

        for (; p < b->P && b->piece_row[p] == row; p++)
            if (b->piece_source[p] < 3)
                n[b->piece_source[p]] += b->piece_len[p];
        printf("%zu %zu %zu\n", n[0], n[1], n[2]);
    }
    return 0;
}

/* Every document of every source once an epoch, in another order each. */
static void
test_order(int separate)
{
    const struct made m = { 7, 3, 300, 50, 900, 4096, separate, 0 };
    const char *what = separate ? "separate" : "mixed";
    char *const dir = (char *)(uintptr_t)"order";
    const struct sampler_opts o = { .open = 12, .seed = 5, .shuffle = 1 };
    const struct sampler_opts ahead = { .open = 12, .seed = 5, .shuffle = 1,
        .mem = 1 << 20, .threads = 3 };
    struct dirs d;
    struct err e = { 0 };
    struct sampler *s, *again;
    size_t twice = 0, same = 0, other = 0, n = 0;
    unsigned char *seen = xcalloc(300, 2);

    make_dir(dir, &m);
    ok(dirs_open(&d, &dir, 1, 0, &e) == 0, "%s: open %s", what, e.msg);
    s = sampler_new(&d, &o, &e);
    again = sampler_new(&d, &ahead, &e);
    ok(s && sampler_open(s) == 4, "%s: four frames a source", what);
    for (size_t i = 0; i < 3; i++) {
        struct place p = { 0, 0, 0, 0 }, q = { 0, 0, 0, 0 };
        struct place first = p;

        for (; p.epoch < 2; sampler_step(s, i, &p), n++) {
            struct sampled x, y;

            if (sampler_at(s, i, &p, &x, &e) < 0)
                fatal(&e);
            if (seen[2 * (x.key % 1000000) + p.epoch]++)
                twice++;
            /* Out of order, and by reference, the same. */
            if (p.doc % 3 == 0 && (sampler_at(again, i, &p, &y, &e) < 0 ||
                y.key != x.key || y.len != x.len || y.frame != x.frame ||
                sampler_ref(again, i, x.frame, x.doc, &y, &e) < 0 ||
                y.key != x.key || memcmp(y.ids, x.ids, 2 * y.len) != 0))
                other++;
            if (p.epoch == 1) {
                const uint64_t key = x.key;

                if (sampler_at(again, i, &q, &y, &e) < 0)
                    fatal(&e);
                same += y.key == key;
                sampler_step(again, i, &q);
            }
        }
        ok(sampler_valid(s, i, &first) && sampler_docs(s, i) > 0,
            "%s: source %zu", what, i);
        first.block = 1000;
        ok(!sampler_valid(s, i, &first), "%s: not outside", what);
    }
    ok(n == 600 && twice == 0, "%s: each document once an epoch", what);
    ok(other == 0, "%s: a place is enough", what);
    ok(same < 60, "%s: epochs differ (%zu of 300 at the same place)", what,
        same);
    sampler_free(s);
    sampler_free(again);
    dirs_release(&d);
    free(seen);
}

/* How far neighbours on disk come apart is what sampler_distance says. */
static void
test_distance(size_t open, int separate)
{
    enum { DOCS = 6000 };
    const struct made m = { 11, 2, DOCS, 40, 900, 4096, separate, 0 };
    char *const dir = (char *)(uintptr_t)"far";
    const struct sampler_opts o = { .open = open, .seed = 5, .shuffle = 1 };
    struct sampler_distance want;
    struct dirs d;
    struct err e = { 0 };
    struct sampler *s;
    double sum = 0.0, n = 0.0, far;

    make_dir(dir, &m);
    if (dirs_open(&d, &dir, 1, 0, &e) < 0 || !(s = sampler_new(&d, &o, &e)))
        fatal(&e);
    for (size_t i = 0; i < 2; i++) {
        int64_t *at = xcalloc(DOCS, sizeof *at), last = -1, k = 0;
        struct place p = { 0, 0, 0, 0 };
        struct sampled x;

        memset(at, 0xff, DOCS * sizeof *at);
        for (; p.epoch < 1; sampler_step(s, i, &p), k++) {
            if (sampler_at(s, i, &p, &x, &e) < 0)
                fatal(&e);
            at[x.key % 1000000] = k;
        }
        for (size_t j = 0; j < DOCS; j++) {
            if (at[j] < 0)
                continue;
            if (last >= 0) {
                sum += fabs((double)(at[j] - last));
                n++;
            }
            last = at[j];
        }
        free(at);
    }
    far = sum / n;
    sampler_distance(s, &want);
    ok(near(far, want.expected, 0.0, 0.1), "%zu frames%s: neighbours come %.0f "
        "documents apart, expected %.0f, %.0f in a full shuffle", open,
        separate ? " of separate sources" : "", far, want.expected, want.full);
    ok(open < 1000 ? far < 0.5 * want.full : near(far, want.full, 0.0, 0.05),
        "%zu frames: which is %s", open, open < 1000 ? "less" : "that");
    sampler_free(s);
    dirs_release(&d);
}

/* A consumer that takes the batches of standard input one every so many
 * microseconds; the share of time it waited for them, in percent. */
static int
run_sip(double pause)
{
    const struct timespec t = { 0, (long)(pause * 1e3) };
    struct err e;
    struct msg_in *in = msg_in_open("-", 0, &e);
    struct msg m;
    double begun = 0.0, waited = 0.0;
    uint64_t n = 0;
    int r = 1;

    if (!in)
        fatal(&e);
    while (r > 0) {
        const double now = prog_now();

        if ((r = msg_read(in, &m, &e)) <= 0 || m.kind != MSG_BATCH)
            continue;
        if (n++ == 0)
            begun = prog_now();
        else
            waited += prog_now() - now;
        nanosleep(&t, NULL);
    }
    if (r < 0)
        fatal(&e);
    printf("batches=%" PRIu64 " stall=%.2f\n", n,
        100.0 * waited / (prog_now() - begun));
    msg_in_close(in);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "sip") == 0)
        return run_sip(strtod(argv[2], NULL));
    if (argc == 11 && strcmp(argv[1], "make") == 0) {
        const struct made m = { strtoul(argv[3], NULL, 10),
            strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10),
            strtoul(argv[6], NULL, 10), strtoul(argv[7], NULL, 10),
            strtoul(argv[8], NULL, 10), argv[9][0] == '1', argv[10][0] == '1' };

        make_dir(argv[2], &m);
        return 0;
    }
    if (argc > 5 && strcmp(argv[1], "check") == 0)
        return run_check(argc, argv);
    if (argc == 5 && strcmp(argv[1], "mark") == 0)
        return run_mark(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
    if (argc == 5 && strcmp(argv[1], "tail") == 0)
        return run_tail(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "last") == 0)
        return run_last(argv[2]);
    if (argc == 5 && strcmp(argv[1], "broken") == 0)
        return run_broken(argv[2], argv[3], argv[4]);
    if (argc == 2 && strcmp(argv[1], "filter") == 0)
        return run_filter();
    if (argc == 3 && strcmp(argv[1], "rows") == 0)
        return (int)each_batch(argv[2], rows, NULL);
    if (argc == 3 && strcmp(argv[1], "shares") == 0)
        return (int)each_batch(argv[2], shares, NULL);
    if (argc == 4 && strcmp(argv[1], "odd") == 0)
        return each_batch(argv[2], odd, argv[3]) > 0;
    test_order(0);
    test_order(1);
    test_distance(8, 0);
    test_distance(24, 1);
    test_distance(100000, 0);
    return done_testing();
}
