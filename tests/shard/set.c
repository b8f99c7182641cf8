/* lib/shard: shard directories */
#include "base/dir.h"
#include "base/io.h"
#include "cli/die.h"
#include "shard/set_check.h"
#include "shard/dir.h"
#include "shard/make.h"
#include "shard/set.h"
#include "shard/write.h"
#include "shard/source.h"
#include "shard/index.h"
#include "format/seekable.h"
#include "msg/wire.h"
#include "../lib/streams.h"
#include "../lib/tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct sample docs = { .messages = 12,
    .docs = 6,
    .T = 30,
    .vocab = 500,
    .mask = 1 };
static const struct sample wide = { .messages = 5,
    .docs = 3,
    .T = 40,
    .vocab = 70000 };
static const struct sample batches = { .batch = 1,
    .messages = 9,
    .docs = 3,
    .T = 16,
    .vocab = 60,
    .teacher = 1,
    .mask = 1 };

static const struct shard_opts small = { CODEC_ZSTD, 3, 1200, 700, 0, 0, 1 };

static void
rm(const char *dir)
{
    struct err e;

    if (io_exists(dir) && dir_remove(dir, &e) < 0)
        die_err(&e);
}

/* Feed a stream file to a directory, `stop` messages of it (0: all). */
static int
feed(const char *file, const char *dir, const struct shard_opts *o, size_t stop,
    struct err *e)
{
    struct shard_writer *w = shardw_open(dir, o, e);
    struct msg_in *r;
    struct msg m;
    size_t n = 0;
    int k = 1, bad = 0;

    if (!w)
        return -1;
    r = set_in_open(file, 0, e);
    while (!bad && k > 0 && (!stop || n < stop)) {
        k = msg_read(r, &m, e);
        if (k >= 0)
            bad = shardw_put(w, &m, e);
        n++;
    }
    msg_in_close(r);
    shardw_close(w);
    return bad;
}

/* Write all messages of a directory to a file. */
static int
unpack(const char *dir, const char *file, int partial, struct err *e)
{
    struct msg_in *r = set_in_open(dir, partial, e);
    struct msg m;
    FILE *f = fopen(file, "wb");
    int k = -1;

    if (!f)
        abort();
    while (r && (k = msg_read(r, &m, e)) > 0)
        fwrite(m.raw, 1, m.nraw, f);
    if (k == 0 && m.raw)
        fwrite(m.raw, 1, m.nraw, f);
    fclose(f);
    msg_in_close(r);
    return k;
}

static int
same_files(const char *a, const char *b)
{
    char *p = NULL, *q = NULL;
    size_t n = 0, m = 1;
    struct err e;
    int same = io_slurp(a, 1 << 24, &p, &n, &e) == 0 &&
        io_slurp(b, 1 << 24, &q, &m, &e) == 0 && n == m && memcmp(p, q, n) == 0;

    free(p);
    free(q);
    return same;
}

static size_t
count_files(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    while (d && readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Do two folders hold the same names and bytes? */
static int
same_dirs(const char *a, const char *b)
{
    DIR *d = opendir(a);
    struct dirent *ent;
    int same = count_files(a) == count_files(b);

    while (same && d && (ent = readdir(d))) {
        char *p = xasprintf("%s/%s", a, ent->d_name);
        char *q = xasprintf("%s/%s", b, ent->d_name);

        if (*ent->d_name != '.' && !same_files(p, q)) {
            printf("# %s and %s differ\n", p, q);
            same = 0;
        }
        free(p);
        free(q);
    }
    closedir(d);
    return same;
}

static void
test_round(const char *name, const struct sample *s, const struct shard_opts *o)
{
    struct err e = { 0 };
    struct manifest m = { 0 };

    rm("d");
    ok(sample_file("s", s, &e) == 0 && feed("s", "d", o, 0, &e) == 0,
        "%s: the stream is stored %s", name, e.msg);
    ok(unpack("d", "t", 0, &e) == 0 && same_files("s", "t"),
        "%s: comes back %s", name, e.msg);
    ok(set_check("d", 0, NULL, NULL, &e) == 0, "%s: the directory checks %s",
        name, e.msg);
    ok(manifest_read(&m, "d", &e) == 0 && m.complete && m.nfile > 1,
        "%s: %zu shards %s", name, m.nfile, e.msg);
    ok(count_files("d") == 2 * m.nfile + 1, "%s: nothing else there", name);
    manifest_release(&m);
}

/* Does message k of a shard hold the documents that the index names, from
 * doc[*d - n] to doc[*d - 1]?  If so, subtracts their number n from *d. */
static int
same_docs(const struct shard_index *x, const struct msg *m, size_t k, size_t *d)
{
    const struct st_tensor *len = st_find(&m->st, "doc_len");
    const struct st_tensor *source = st_find(&m->st, "doc_source");
    size_t at = 0;
    int bad = x->msg[k].n != len->n || *d < len->n;

    for (size_t i = 0; i < len->n && !bad; i++) {
        const struct shard_doc *y = &x->doc[*d - len->n + i];
        uint32_t n;
        uint16_t from;

        memcpy(&n, (const char *)len->data + 4 * i, 4);
        memcpy(&from, (const char *)source->data + 2 * i, 2);
        bad |= y->msg != k || y->off != at || y->len != n || y->source != from;
        at += n;
    }
    *d -= bad ? 0 : len->n;
    return !bad && at == st_find(&m->st, "ids")->n && at == x->msg[k].tokens;
}

/* Read messages from the last to the first, and compare them with the index. */
static void
test_docs(const char *name, const struct sample *s)
{
    struct err e = { 0 };
    struct shard_set *set;
    struct shard_buf b = { 0 };
    const struct manifest *m;
    size_t bad = 0, ndoc = 0, part_docs = 0;
    uint64_t tokens = 0, part_tokens = 0;

    rm("d");
    sample_file("s", s, &e);
    feed("s", "d", &small, 0, &e);
    set = set_open("d", 0, &e);
    m = set_manifest(set);
    for (size_t i = m->nfile; i-- > 0;) {
        const struct shard_index *x = set_index(set, i, &e);
        size_t d = x->ndoc;
        struct msg g;

        ndoc += d;
        for (size_t k = x->nmsg; k-- > 0;) {
            if (x->msg[k].kind != MSG_DOCS)
                continue;
            bad +=
                set_msg(set, i, k, &b, &g, &e) < 0 || !same_docs(x, &g, k, &d);
            tokens += x->msg[k].tokens;
        }
        bad += d != 0;
        for (size_t k = 0; k < x->npart; k++) {
            part_docs += x->part[k].ndoc;
            part_tokens += x->part[k].tokens;
        }
    }
    ok(bad == 0 && ndoc == s->messages * s->docs && ndoc == m->docs &&
            tokens == m->tokens,
        "%zu documents out of order %s", ndoc, e.msg);
    ok(part_docs == ndoc && part_tokens == tokens,
        "%s: parts add up to the documents", name);
    ok(m->source[0].docs + m->source[1].docs + m->source[2].docs == ndoc &&
            strcmp(m->source[1].name, "cs\"\\") == 0,
        "%s: sources add up to the documents", name);
    ok(set_head(set, &e) &&
            strcmp(st_meta(&set_head(set, &e)->st, "content"), "docs") == 0,
        "%s: the stream message is there", name);
    ok(!set_teacher(set, &e) && e.code == EX_OK, "%s: there is no teacher: %s",
        name, e.msg);
    shard_buf_release(&b);
    set_close(set);
}

/* Messages of batches, read by number, and the head. */
static void
test_rows(void)
{
    struct err e = { 0 };
    struct shard_set *set;
    struct shard_buf b = { 0 };
    struct msg g;
    uint64_t rows = 0, seq = 0;
    size_t bad = 0;

    rm("d");
    sample_file("s", &batches, &e);
    feed("s", "d", &small, 0, &e);
    set = set_open("d", 0, &e);
    for (size_t i = 0; i < set_manifest(set)->nfile; i++) {
        const struct shard_index *x = set_index(set, i, &e);

        for (size_t k = 0; k < x->nmsg; k++, seq++) {
            bad += set_msg(set, i, k, &b, &g, &e) < 0 || g.seq != seq ||
                ((uintptr_t)g.raw + g.st.data_at) % 64 != 0;
            rows += x->msg[k].n;
        }
    }
    ok(bad == 0 && rows == 27 && seq == 12, "rows by number %s", e.msg);
    ok(set_teacher(set, &e) && st_find(&set_teacher(set, &e)->st, "head"),
        "the head is there");
    shard_buf_release(&b);
    set_close(set);
}

/* Does set_check refuse the directory as bad input? */
static int
refused(const char *dir, struct err *e)
{
    e->code = 0;
    e->msg[0] = '\0';
    return set_check(dir, 0, NULL, NULL, e) == -1 && e->code == EX_INPUT;
}

static void
test_damage(enum codec c, int batch)
{
    static const char *const sort[] = { "manifest.json", "00000.shard",
        "00000.index", "00001.shard", "00001.index" };
    const struct sample s = { .batch = batch,
        .messages = 3,
        .docs = 2,
        .T = 6,
        .vocab = 500,
        .mask = batch };
    const struct shard_opts o = { c, 0, 300, 300, 0, 0, 1 };
    char name[40];
    struct err e = { 0 };

    snprintf(name, sizeof name, "%s in %s", batch ? "batches" : "docs",
        codec_names[c]);
    rm("d");
    sample_file("s", &s, &e);
    ok(feed("s", "d", &o, 0, &e) == 0 && !refused("d", &e),
        "%s: a tiny set is stored %s", name, e.msg);
    for (size_t i = 0; i < 5; i++) {
        char *path = xasprintf("d/%s%s", sort[i],
                 strstr(sort[i], "shard") ? codec_suffix(c) : ""),
             *p = NULL, first[100] = "", *away;
        size_t n = 0, bad = 0, cuts = 0;
        int fd;

        if (io_slurp(path, 1 << 20, &p, &n, &e) < 0)
            die_err(&e);
        fd = open(path, O_RDWR);
        for (size_t k = 0; k < n * 8; k++) {
            const char flipped = (char)(p[k / 8] ^ 1 << k % 8);

            if (pwrite(fd, &flipped, 1, (off_t)(k / 8)) != 1)
                abort();
            if (!refused("d", &e)) {
                if (!bad++)
                    snprintf(first, sizeof first, "(bit %zu of byte %zu)",
                        k % 8, k / 8);
            }
            if (pwrite(fd, p + k / 8, 1, (off_t)(k / 8)) != 1)
                abort();
        }
        ok(bad == 0, "%s: each of %zu flipped bits of %s is refused %s", name,
            n * 8, path, first);
        printf("# %s\n", e.msg);
        for (size_t k = n; k-- > 0;) {
            if (ftruncate(fd, (off_t)k) < 0)
                abort();
            cuts += !refused("d", &e);
        }
        ok(cuts == 0, "%s: each of %zu cuts of %s is refused", name, n, path);
        if (pwrite(fd, p, n, 0) != (ssize_t)n ||
            pwrite(fd, "", 1, (off_t)n) != 1)
            abort();
        ok(refused("d", &e), "%s: a byte more is refused: %s", name, e.msg);
        if (ftruncate(fd, (off_t)n) < 0)
            abort();
        close(fd);
        away = xasprintf("%s.away", path);
        if (rename(path, away) < 0)
            abort();
        ok(set_check("d", 0, NULL, NULL, &e) == -1,
            "%s: a missing file is refused: %s", name, e.msg);
        if (rename(away, path) < 0)
            abort();
        free(away);
        free(path);
        free(p);
    }
    ok(!refused("d", &e), "%s: the restored set is whole", name);
}

/* A stream that breaks off after any message is continued, and the directory
 * is then the one of an undisturbed stream. */
static void
test_resume(const char *name, const struct sample *whole,
    const struct shard_opts *o)
{
    const size_t pre = 1 + (size_t)whole->teacher;
    struct err e = { 0 };
    size_t bad = 0, resumed = 0;

    rm("whole");
    sample_file("s", whole, &e);
    feed("s", "whole", o, 0, &e);
    for (size_t k = 1; k <= pre + whole->messages; k++) {
        struct sample s = *whole;
        struct manifest m = { 0 };

        rm("d");
        bad += feed("s", "d", o, k, &e) != 0 ||
            manifest_read(&m, "d", &e) < 0 || m.complete;
        bad += m.nfile && set_check("d", 1, NULL, NULL, &e) < 0;
        bad += m.nfile && set_check("d", 0, NULL, NULL, &e) == 0;
        if (m.nfile && m.seq + 1 > pre) {
            char want[30];

            resumed++;
            s.from = (size_t)m.seq + 1 - pre;
            s.chain = &m.chain;
            s.tokens = m.tokens;
            snprintf(want, sizeof want, "%s=%zu", s.batch ? "b" : "in",
                s.from - 1);
            bad += !m.cursor || strcmp(m.cursor, want) != 0;
            bad += sample_file("t", &s, &e) != 0;
            bad += feed("t", "d", o, 0, &e) != 0;
        } else if (m.nfile == 0) {
            bad += feed("s", "d", o, 0, &e) != 0;
        } else {
            manifest_release(&m);
            continue;
        }
        manifest_release(&m);
        bad += !same_dirs("whole", "d");
        if (bad) {
            printf("# broken off after %zu: %s\n", k, e.msg);
            break;
        }
    }
    ok(bad == 0 && resumed > 2,
        "a stream in %s, broken off after any message and %zu times "
        "continued, is identical %s",
        name, resumed, e.msg);
}

/* The number of threads does not matter, also where a stream breaks off. */
static void
test_threads(void)
{
    struct shard_opts o = small;
    struct err e = { 0 };
    size_t bad = 0;

    sample_file("s", &docs, &e);
    for (size_t stop = 0; stop < docs.messages; stop++) {
        rm("whole");
        o.threads = 1;
        feed("s", "whole", &o, stop, &e);
        for (o.threads = 2; o.threads < 6; o.threads++) {
            rm("d");
            feed("s", "d", &o, stop, &e);
            bad += !same_dirs("whole", "d");
        }
    }
    ok(bad == 0, "1 to 5 threads write the same directories");
}

static void
test_refuse(void)
{
    struct sample s = docs, b = batches;
    struct shard_opts f = small;
    struct shard_writer *w;
    struct manifest m;
    struct chain c;
    struct err e = { 0 };

    f.force = 1;
    rm("d");
    sample_file("s", &s, &e);
    feed("s", "d", &small, 0, &e);
    ok(feed("s", "d", &small, 0, &e) < 0 && e.code == EX_USAGE, "%s", e.msg);
    ok(feed("s", "d", &f, 0, &e) == 0, "replaced by force");
    rm("d");
    feed("s", "d", &small, 8, &e);
    ok(feed("s", "d", &small, 0, &e) < 0 && e.code == EX_USAGE,
        "a new stream is refused: %s", e.msg);
    ok(!set_open("d", 0, &e) && e.code == EX_INPUT, "%s", e.msg);
    ok(unpack("d", "t", 1, &e) == 0, "what is committed can be read");
    manifest_read(&m, "d", &e);
    c = m.chain;
    c.h[5] ^= 1;
    s.from = (size_t)m.seq;
    s.chain = &c;
    s.tokens = m.tokens;
    sample_file("t", &s, &e);
    ok(feed("t", "d", &small, 0, &e) < 0 && e.code == EX_INPUT, "%s", e.msg);
    s.chain = &m.chain;
    s.mask = 0;
    s.vocab = 501;
    sample_file("t", &s, &e);
    ok(feed("t", "d", &small, 0, &e) < 0 && e.code == EX_INPUT, "%s", e.msg);
    manifest_release(&m);
    b.teacher = 0;
    sample_file("b", &b, &e);
    ok(feed("b", "d", &small, 0, &e) < 0, "%s", e.msg);
    rm("e");
    ok(feed("t", "e", &small, 0, &e) < 0 && e.code == EX_USAGE, "%s", e.msg);
    ok(!shardw_open(".", &small, &e) && e.code == EX_USAGE, "%s", e.msg);
    ok(!shardw_open("s/x", &small, &e) && e.code == EX_SYS, "%s", e.msg);
    rm("e");
    w = shardw_open("e", &small, &e);
    ok(w && !shardw_open("e", &small, &e), "%s", e.msg);
    shardw_close(w);
}

/* Change a number of an index and make the hashes right again, as a directory
 * made to deceive could.  0: it is refused. */
static int
deceive(size_t array, size_t at, size_t field, uint64_t v)
{
    static const size_t size[] = { sizeof(struct shard_frame),
        sizeof(struct shard_msg), sizeof(struct shard_doc),
        sizeof(struct shard_part) };
    struct shard_set *s;
    const struct shard_index *x;
    struct manifest m;
    struct err e = { 0 };
    size_t n, from = SHARD_INDEX_HEAD;
    char *p = NULL;
    int good;

    rm("d");
    feed("s", "d", &small, 0, &e);
    if (manifest_read(&m, "d", &e) < 0 ||
        io_slurp("d/00000.index", 1 << 20, &p, &n, &e) < 0)
        die_err(&e);
    for (size_t i = 0; i < array; i++)
        from += size[i] * (size_t)((uint64_t *)(void *)p)[2 + i];
    if (field < 8)
        memcpy(p + from + at * size[array] + 8 * field, &v, 8);
    chain_of(&m.file[0].index_hash, p, n);
    index_frames_hash((unsigned char *)p, n, (size_t)((uint64_t *)(void *)p)[4],
        (size_t)((uint64_t *)(void *)p)[5], &m.file[0].frames_hash);
    if (io_put_file("d/00000.index", p, n, &e) < 0 ||
        manifest_write(&m, "d", &e) < 0)
        die_err(&e);
    free(p);
    manifest_release(&m);
    e.msg[0] = '\0';
    s = set_open("d", 0, &e);
    x = s ? set_frames(s, 0, &e) : NULL;
    good = x && x->npart > 2;
    printf("# %s\n", e.msg);
    set_close(s);
    return good;
}

/* Change one byte of the index of d: are its frames, or the whole of it, still
 * given out? */
static void
touch_index(size_t at, int *frames, int *whole)
{
    struct shard_set *s;
    struct err e;
    size_t n;
    char *p;

    if (io_slurp("d/00000.index", 1 << 20, &p, &n, &e) < 0)
        die_err(&e);
    p[at] ^= 1;
    if (io_put_file("d/00000.index", p, n, &e) < 0)
        die_err(&e);
    s = set_open("d", 0, &e);
    *frames = s && set_frames(s, 0, &e);
    *whole = s && set_index(s, 0, &e);
    set_close(s);
    p[at] ^= 1;
    if (io_put_file("d/00000.index", p, n, &e) < 0)
        die_err(&e);
    free(p);
}

/* The frames of a large index have a hash of their own, so that its documents
 * need not be read. */
static void
test_large_index(void)
{
    const struct sample many = { .messages = 3,
        .docs = 2000,
        .T = 3,
        .vocab = 300 };
    const struct shard_opts one = { CODEC_ZSTD, 3, 1 << 30, 1 << 20, 0, 0, 1 };
    struct err e = { 0 };
    struct manifest m;
    int frames, whole;

    rm("d");
    sample_file("s", &many, &e);
    feed("s", "d", &one, 0, &e);
    ok(manifest_read(&m, "d", &e) == 0 && m.file[0].index_bytes > 65536,
        "a large index %s", e.msg);
    touch_index(SHARD_INDEX_HEAD + 16, &frames, &whole); /* a frame's hash */
    ok(!frames && !whole, "damage of its frames is found");
    touch_index((size_t)m.file[0].index_bytes / 2, &frames, &whole);
    ok(frames && !whole, "that of its documents when they are read");
    manifest_release(&m);
}

/* An index of n frames of `each` bytes, compressed to `comp`, that are one
 * message: is it believed? */
static int
believed(size_t n, size_t each, size_t comp, struct err *e)
{
    struct index_make x = { 0 };
    const struct shard_msg m = { .len = n * each, .kind = MSG_OTHER };
    struct shard_index h = { .bytes = n * comp + seek_bytes(n),
        .raw = n * each,
        .table_at = n * comp },
                       view;
    void *const content = xcalloc(comp, 1);
    struct buf b = { 0 };
    int r;

    for (size_t i = 0; i < n; i++)
        index_make_frame(&x, i * comp, i * each, content, comp, each, i > 0,
            i == 0);
    buf_add(&x.msg, &m, sizeof m);
    index_make_file(&x, &h, &b);
    r = index_view(&view, (const unsigned char *)b.p, b.n, e) == 0;
    index_make_release(&x);
    buf_release(&b);
    free(content);
    return r;
}

/* A few bytes that ask for much memory. */
static void
test_bomb(void)
{
    const struct stream_info i = { .content = "docs",
        .tokenizer = HASH,
        .vocab = 300,
        .bos = -1,
        .eos = -1,
        .nsource = 1,
        .source = (const char *[]){ "a" } };
    const size_t N = 20 << 20, one = 1;
    const uint32_t len = (uint32_t)N;
    const uint16_t source = 0;
    const uint64_t key = 1;
    struct shard_make *k;
    struct st_out *o;
    struct err e = { 0 };
    void *ids = xcalloc(N, 2);
    int r;

    ok(believed(1, 16 << 20, 500, &e), "16 MiB of 500 bytes %s", e.msg);
    ok(believed(1, 32 << 20, 40000, &e), "32 MiB of 40000 %s", e.msg);
    ok(!believed(1, 32 << 20, 4000, &e), "%s", e.msg);
    ok(!believed(250, 16 << 20, 500, &e), "%s", e.msg);
    rm("d");
    k = shardmk_open("d", &small, &e);
    stream_info_put(shardmk_begin(k, MSG_STREAM), &i);
    r = shardmk_send(k, &e);
    o = shardmk_begin(k, MSG_DOCS);
    st_out_tensor(o, "ids", DT_U16, 1, &N, ids);
    st_out_tensor(o, "doc_len", DT_U32, 1, &one, &len);
    st_out_tensor(o, "doc_source", DT_U16, 1, &one, &source);
    st_out_tensor(o, "doc_key", DT_U64, 1, &one, &key);
    ok(r == 0 && (shardmk_send(k, &e) < 0 || shardmk_end(k, &e) < 0) &&
            e.code == EX_INPUT,
        "a message so much alike is not written: %s", e.msg);
    shardmk_close(k);
    free(ids);
}

static void
test_deceit(void)
{
    enum { FRAME, MSG, DOC, PART };
    const uint64_t wrap = (uint64_t)1 << 63;
    struct manifest m;
    struct err e = { 0 };

    sample_file("s", &docs, &e);
    ok(deceive(PART, 0, 9, 0), "an index as it was written");
    ok(!deceive(PART, 0, 0, wrap), "tokens of a part that wrap in bytes");
    ok(!deceive(PART, 1, 0, wrap + 1),
        "parts that wrap with those of others are refused");
    ok(!deceive(PART, 0, 0, 1), "fewer than its documents need");
    ok(!deceive(MSG, 2, 3, wrap), "tokens of a message larger than it");
    ok(!deceive(MSG, 0, 3, 5), "tokens in the message that describes all");
    manifest_read(&m, "d", &e);
    m.file[0].tokens = m.file[1].tokens = INT64_MAX;
    m.tokens = 0;
    for (size_t i = 0; i < m.nfile; i++)
        m.tokens += m.file[i].tokens;
    ok(manifest_write(&m, "d", &e) == 0 && m.tokens < wrap, "few in all");
    manifest_release(&m);
    ok(manifest_read(&m, "d", &e) < 0, "sums of a manifest that wrap: %s",
        e.msg);
}

int
main(void)
{
    const struct shard_opts lz4 = { CODEC_LZ4, 0, 1500, 900, 0, 0, 3 };
    const struct shard_opts cut = { CODEC_ZSTD, 1, 1500, 200, 150, 0, 2 };
    const struct shard_opts one = { CODEC_ZSTD, 1, 1, 1, 0, 0, 1 };

    tap_scratch();
    test_round("docs", &docs, &small);
    test_round("wide", &wide, &small);
    test_round("batches", &batches, &small);
    test_round("lz4", &batches, &lz4);
    test_round("cut messages", &batches, &cut);
    test_round("a shard a message", &docs, &one);
    test_docs("docs", &docs);
    test_docs("wide", &wide);
    test_rows();
    test_damage(CODEC_ZSTD, 0);
    test_damage(CODEC_LZ4, 0);
    test_damage(CODEC_ZSTD, 1);
    test_damage(CODEC_LZ4, 1);
    test_threads();
    test_resume("docs", &docs, &small);
    test_resume("batches", &batches, &small);
    test_resume("cut messages", &batches, &cut);
    test_resume("in lz4", &docs, &lz4);
    test_refuse();
    test_deceit();
    test_large_index();
    test_bomb();
    return done_testing();
}
