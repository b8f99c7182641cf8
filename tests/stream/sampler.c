/*
 * stream: the order of documents; without arguments a test, otherwise the
 * helper of the shell tests here:
 *   sampler make DIR seed sources documents mean-length vocabulary frame-bytes
 *       separate mask
 *   sampler check STREAM epochs|- natural|equal DIR|- window DIR ...
 *   sampler mark STREAM k RUN       a checkpoint after message k
 *   sampler tail WHOLE RESUMED k    is RESUMED what WHOLE has after message k?
 *   sampler broken WHOLE PART RUN   has PART, which broke off, WHOLE's bytes
 *       from its first batch on?  if so, a checkpoint after its last message
 *   sampler last RUN                the message of RUN's newest checkpoint
 *   sampler filter                  add a teacher message, and teacher.odd
 *                                   [B,T,2], computed from the ids, to batches
 *   sampler rows STREAM             a line a row
 *   sampler shares STREAM           a line a row: tokens of s0, s1, s2
 *   sampler odd STREAM sum|print    does teacher.odd belong to the ids?  print:
 *                                   print the ids too
 *   sampler sip MICROSECONDS        read a stream, and pause after each batch
 * check holds every piece of a stream of batches against the documents of the
 * directories, and counts each token; it prints what it has seen.
 */
#include "base/dir.h"
#include "base/io.h"
#include "stream/sampler_load.h"
#include "format/ckpt.h"
#include "../lib/tap.h"
#include "../lib/truth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int
run_check(int argc, char **argv)
{
    const size_t epochs =
        strcmp(argv[3], "-") == 0 ? 0 : strtoul(argv[3], NULL, 10);
    struct truths a = { 0 };
    struct seen s;
    double *share, all = 0.0;

    for (int i = 5; i < argc; i++)
        learn(&a, argv[i]);
    share = xcalloc(a.nsource, sizeof *share);
    for (size_t i = 0; i < a.nsource; i++)
        all += (double)a.tokens[i];
    for (size_t i = 0; i < a.nsource; i++)
        share[i] = strcmp(argv[4], "equal") == 0 ? 1.0 / (double)a.nsource
                                                 : (double)a.tokens[i] / all;
    s = check_stream(argv[2], &a, epochs, share);
    printf("batches=%zu rows=%zu pieces=%zu tokens=%" PRIu64 " padding=%.3f "
           "bad=%zu wrong=%" PRIu64 " cursor=%zu off=%.1f apart=%.0f\n",
        s.batches, s.rows, s.pieces, s.tokens,
        100.0 - 100.0 * (double)s.tokens / ((double)s.rows * (double)s.T),
        s.bad, s.wrong, s.cursor, s.off / (double)s.T,
        s.pieces ? (double)s.apart / (double)s.pieces : 0.0);
    free(share);
    forget(&a);
    return s.bad || s.wrong;
}

/* A checkpoint of a consumer that has read messages 0..k. */
static int
run_mark(const char *path, uint64_t k, const char *run)
{
    struct position p = { 0 };
    struct dir_new d;
    struct err e;
    struct msg_in *in = must_open(path);
    struct msg m;

    while (must_read(in, &m) > 0 && m.seq < k)
        ;
    if (m.seq != k) {
        err_set(&e, EX_INPUT, "%s: ends before message %" PRIu64, path, k);
        fatal(&e);
    }
    p.seq = k;
    chain_hex(msg_in_chain(in), p.chain);
    if (st_meta(&m.st, "cursor"))
        p.cursor = xstrdup(st_meta(&m.st, "cursor"));
    if (ckpt_begin(&d, run, k, &e) < 0 ||
        ckpt_commit(&d, run, k, &p, 1, &e) < 0)
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
    struct msg_in *in = must_open(tail);
    struct msg m;
    char *a, *b;
    size_t na = 0, nb = 0, n;
    int r, same;

    while ((r = must_read(in, &m)) > 0 && m.kind <= MSG_TEACHER)
        ;
    if (io_slurp(whole, SIZE_MAX / 4, &a, &na, &e) < 0 ||
        io_slurp(tail, SIZE_MAX / 4, &b, &nb, &e) < 0)
        fatal(&e);
    n = nb - (size_t)m.at;
    same = m.seq == k + 1 && n <= na && memcmp(a + na - n, b + m.at, n) == 0;
    if (!same)
        printf("message %" PRIu64 " first, %zu of %zu bytes\n", m.seq, n, na);
    while (r > 0)
        r = must_read(in, &m);
    msg_in_close(in);
    free(a);
    free(b);
    return !same;
}

/* Offset at which message seq of a stream begins. */
static uint64_t
place_of(const char *path, uint64_t seq)
{
    struct msg_in *in = must_open(path);
    struct msg m = { .seq = UINT64_MAX };

    while (m.seq != seq)
        must_read(in, &m);
    msg_in_close(in);
    return m.at;
}

/* Print the message that the newest checkpoint was made after. */
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
    struct msg_in *in = msg_in_open(part, &e);
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
    printf("messages %" PRIu64 " to %" PRIu64 ", %zu bytes more\n", first, last,
        (size_t)(nb - end));
    if (first == 0)
        return 0;
    from = place_of(whole, first);
    if (nb - at > na - from || memcmp(a + from, b + at, nb - at) != 0)
        return 1;
    free(a);
    free(b);
    return run_mark(part, last, run);
}

/* Copy a stream as a teacher does: add a message to the preamble, and to each
 * batch a tensor that has for every token a function of its id. */
static int
run_filter(void)
{
    static const float norm[2] = { 1.0f, 2.0f };
    const size_t two[1] = { 2 };
    struct err e;
    struct msg_in *in = msg_in_open("-", &e);
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

            batch_unpack(&b, &m);
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

/* Call `each` with every batch of a stream; returns the sum of its results. */
static size_t
each_batch(const char *path,
    size_t (
        *each)(const struct batch *b, const struct st *st, const char *mode),
    const char *mode)
{
    struct msg_in *in = must_open(path);
    struct batch b = { 0 };
    struct msg m;
    size_t sum = 0;

    while (must_read(in, &m) > 0) {
        if (m.kind != MSG_BATCH)
            continue;
        batch_unpack(&b, &m);
        sum += each(&b, &m.st, mode);
    }
    msg_in_close(in);
    batch_release(&b);
    return sum;
}

/* Number of tokens whose teacher.odd does not belong to their id; mode print:
 * also print each id on a line. */
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
        bad +=
            !t || at(t, 2 * i) != id + 1 || at(t, 2 * i + 1) != (uint32_t)~id;
    }
    return bad;
}

/* Print the pieces of each row on a line. */
static size_t
rows(const struct batch *b, const struct st *st, const char *mode)
{
    (void)st;
    (void)mode;
    for (size_t p = 0; p < b->P; p++)
        printf("%" PRIu64 ".%u.%u%c", b->piece_key[p], b->piece_off[p],
            b->piece_len[p],
            p + 1 < b->P && b->piece_row[p + 1] == b->piece_row[p] ? ' '
                                                                   : '\n');
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

/* Every document comes once in an epoch, and each epoch has another order. */
static void
test_order(int separate)
{
    const struct made m = { 7, 3, 300, 50, 900, 4096, separate, 0 };
    const char *what = separate ? "separate" : "mixed";
    char *const dir = (char *)(uintptr_t) "order";
    const struct sampler_opts o = { .open = 12, .seed = 5, .shuffle = 1 };
    const struct sampler_opts ahead = { .open = 12,
        .seed = 5,
        .shuffle = 1,
        .mem = 1 << 20,
        .threads = 3 };
    struct dirs d;
    struct err e = { 0 };
    struct sampler *s, *again;
    size_t twice = 0, same = 0, other = 0, n = 0;
    unsigned char *seen = xcalloc(300, 2);

    make_dir(dir, &m);
    ok(dirs_open(&d, &dir, 1, 0, &e) == 0, "%s: the directory is opened %s",
        what, e.msg);
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
            /* At every third place a second sampler gives the same document,
             * by place and by reference. */
            if (p.doc % 3 == 0 &&
                (sampler_at(again, i, &p, &y, &e) < 0 || y.key != x.key ||
                    y.len != x.len || y.frame != x.frame ||
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
        ok(!sampler_valid(s, i, &first),
            "%s: source %zu ends at its last block", what, i);
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

/* sampler_distance predicts how far apart two documents come that are
 * neighbours on disk. */
static void
test_distance(size_t open, int separate)
{
    enum { DOCS = 6000 };
    const struct made m = { 11, 2, DOCS, 40, 900, 4096, separate, 0 };
    char *const dir = (char *)(uintptr_t) "far";
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
    ok(near(far, want.expected, 0.0, 0.1),
        "%zu frames%s: neighbours come %.0f "
        "documents apart, expected %.0f, %.0f in a full shuffle",
        open, separate ? " of separate sources" : "", far, want.expected,
        want.full);
    ok(open < 1000 ? far < 0.5 * want.full : near(far, want.full, 0.0, 0.05),
        "%zu frames: which is %s", open, open < 1000 ? "less" : "that");
    sampler_free(s);
    dirs_release(&d);
}

/* Frames that come soon are in memory before they are asked for: whenever a
 * consumer pauses until the open block and the next one are read, none is
 * late, however the threads are scheduled. */
static int
is_read(struct sampler *s, size_t source)
{
    const struct source *c = &s->src[source];
    int r = 1;

    pthread_mutex_lock(&s->ahead.lock);
    for (size_t i = 0; i < c->nmember + c->nnext; i++)
        r &= c->part[c->member[i]] != NULL;
    pthread_mutex_unlock(&s->ahead.lock);
    return r;
}

static void
test_ahead(void)
{
    const struct made m = { 3, 3, 900, 50, 900, 4096, 1, 0 };
    const struct timespec ms = { 0, 1000000 };
    char *const dir = (char *)(uintptr_t) "ahead";
    const struct sampler_opts o = { .open = 12,
        .seed = 5,
        .shuffle = 1,
        .mem = 1 << 20,
        .threads = 2 };
    struct dirs d;
    struct err e = { 0 };
    struct sampler *s;
    struct ahead_times t;
    size_t pauses = 0, blocks = 0;

    make_dir(dir, &m);
    if (dirs_open(&d, &dir, 1, 0, &e) < 0 || !(s = sampler_new(&d, &o, &e)))
        fatal(&e);
    for (size_t i = 0; i < 3; i++) {
        struct place p = { 0, 0, 0, 0 };

        for (; p.epoch < 2; sampler_step(s, i, &p)) {
            struct sampled x;

            if (sampler_at(s, i, &p, &x, &e) < 0)
                fatal(&e);
            blocks += p.doc == 0;
            for (; p.doc == 0 && !is_read(s, i) && pauses < 60000; pauses++)
                nanosleep(&ms, NULL);
            if (p.epoch + p.block + p.doc == 0) {
                /* The first document of a source is asked for before its
                 * frame is read. */
                pthread_mutex_lock(&s->ahead.lock);
                s->ahead.times.late = 0;
                s->ahead.times.ahead = 1;
                pthread_mutex_unlock(&s->ahead.lock);
            }
        }
        sampler_times(s, &t);
        ok(t.late == 0 && pauses < 60000,
            "source %zu: %llu frames late of "
            "%zu blocks",
            i, (unsigned long long)t.late, blocks);
    }
    sampler_free(s);
    dirs_release(&d);
}

/* Wait for `pause` microseconds at each batch. */
static size_t
sip(const struct batch *b, const struct st *st, const char *pause)
{
    const struct timespec t = { 0, strtol(pause, NULL, 10) * 1000 };

    (void)b;
    (void)st;
    nanosleep(&t, NULL);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "sip") == 0)
        return (int)each_batch("-", sip, argv[2]);
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
    tap_scratch();
    test_order(0);
    test_order(1);
    test_ahead();
    test_distance(8, 0);
    test_distance(24, 1);
    test_distance(100000, 0);
    return done_testing();
}
