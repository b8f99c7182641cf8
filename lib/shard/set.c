/*
 * Reads shard directories: see set.h.
 *
 * Hashes form a chain: the manifest ends with its own hash and holds the hashes
 * of the indexes; an index holds the hashes of the frames and the seek table.
 * So a frame can be read alone, and every byte of it is checked before it is
 * decoded.  Sizes and shapes are checked too, since somebody may have made a
 * directory to deceive, hashes included.
 */
#include "shard/set.h"
#include "shard/dir.h"
#include "shard/index.h"
#include "base/bytes.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/seekable.h"
#include "msg/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_FILES = 32 };

/* x, map, mapped, whole: written by the first set_index or set_frames, before
 * several threads read the shard (set.h). */
struct shard {
    struct shard_index x;
    struct io_map map;
    int mapped; /* 1: the index is mapped, and all but its documents was found
                 * good */
    int whole;  /* 1: the documents in the index were found good, too */
    /* under the set's lock */
    int checked; /* 1: the file's size and seek table were found good */
    int fd;      /* descriptor of the shard file, or -1 */
};

struct shard_set {
    char *dir;
    struct manifest m;
    struct shard *shard;
    int scattered;                  /* 1: set_scatter was called, before threads
                                     * read */
    pthread_mutex_t lock;           /* protects open and nopen */
    size_t open[OPEN_FILES], nopen; /* shards with an open fd, oldest first */
    /* used by one thread at a time (set.h) */
    struct shard_buf head_buf, teacher_buf;
    struct msg head, teacher; /* raw NULL: not read yet */
};

struct shard_set *
set_open(const char *dir, int partial, struct err *e)
{
    struct shard_set *s = xcalloc(1, sizeof *s);

    s->dir = xstrdup(dir);
    if (manifest_read(&s->m, dir, e) < 0) {
        free(s->dir);
        free(s);
        return NULL;
    }
    s->shard = xcalloc(s->m.nfile, sizeof *s->shard);
    for (size_t i = 0; i < s->m.nfile; i++)
        s->shard[i].fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    if (!s->m.complete && !partial) {
        err_set(e, EX_INPUT,
            "%s: the directory is open: what wrote it broke off after %zu "
            "shards (resume it, or read it with --partial)",
            dir, s->m.nfile);
        set_close(s);
        return NULL;
    }
    return s;
}

void
set_close(struct shard_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->m.nfile; i++) {
        io_unmap(&s->shard[i].map);
        if (s->shard[i].fd >= 0)
            close(s->shard[i].fd);
    }
    shard_buf_release(&s->head_buf);
    shard_buf_release(&s->teacher_buf);
    manifest_release(&s->m);
    pthread_mutex_destroy(&s->lock);
    free(s->shard);
    free(s->dir);
    free(s);
}

const char *
set_dir(const struct shard_set *s)
{
    return s->dir;
}

void
set_scatter(struct shard_set *s)
{
    s->scattered = 1;
}

const struct manifest *
set_manifest(const struct shard_set *s)
{
    return &s->m;
}

/* Return -1.  If the file is missing (errno is ENOENT), make the error
 * EX_INPUT, since the manifest names it. */
static int
missing(struct err *e)
{
    if (e && errno == ENOENT)
        e->code = EX_INPUT;
    return -1;
}

/* Check that the index agrees with the manifest's entry of the shard. */
static int
compare_index(const struct shard_file *f, const struct shard_index *x,
    struct err *e)
{
    uint64_t tokens = 0, docs = 0;

    for (size_t k = 0; k < x->nmsg; k++) {
        tokens += x->msg[k].tokens;
        docs += x->msg[k].n;
    }
    if (x->bytes != f->bytes || x->raw != f->raw || x->nframe != f->frames ||
        x->nmsg != f->messages || docs != f->docs || tokens != f->tokens ||
        memcmp(x->file.h, f->hash.h, 16) != 0)
        return err_set(e, EX_INPUT,
            "it is not the index the manifest describes");
    return 0;
}

/* Tell the system to read the index from disk now, without its documents. */
static void
fetch_frames(const struct io_map *m)
{
    enum { FIRST = 65536 }; /* usually everything before the documents */
    size_t at, bytes;

    io_map_fetch(m, 0, m->n < FIRST ? m->n : FIRST);
    index_docs_at(m->p, m->n, &at, &bytes);
    io_map_fetch(m, 0, at);
    io_map_fetch(m, at + bytes, m->n - at - bytes);
}

/* Check the mapped index (whole 0: without its documents) against the
 * manifest's hash, and set h->x to it. */
static int
view_index(struct shard *h, const struct shard_file *f, int whole,
    struct err *e)
{
    struct chain c;

    if (h->map.n != f->index_bytes)
        return err_set(e, EX_INPUT,
            "offset %zu: %" PRIu64 " bytes were written", h->map.n,
            f->index_bytes);
    if (!whole) {
        fetch_frames(&h->map);
    } else {
        io_map_fetch(&h->map, 0, h->map.n);
        chain_of(&c, h->map.p, h->map.n);
        if (memcmp(c.h, f->index_hash.h, 16) != 0)
            return err_set(e, EX_INPUT,
                "offset 0: its hash is not the one in the manifest: damaged");
    }
    if (index_view_frames(&h->x, h->map.p, h->map.n, e) < 0)
        return -1;
    if (whole)
        return index_check_docs(&h->x, e) < 0 ? -1 : compare_index(f, &h->x, e);
    index_frames_hash(h->map.p, h->map.n, h->x.ndoc, h->x.npart, &c);
    if (memcmp(c.h, f->frames_hash.h, 16) != 0)
        return err_set(e, EX_INPUT,
            "offset 0: its frames are not those of the manifest: damaged");
    return compare_index(f, &h->x, e);
}

static const struct shard_index *
open_index(struct shard_set *s, size_t i, int whole, struct err *e)
{
    struct shard *h = &s->shard[i];
    const struct shard_file *f = &s->m.file[i];
    char name[SHARD_NAME], *path;
    int r = 0;

    /* skipping the documents of a small index saves nothing */
    whole |= f->index_bytes < 65536;
    if (whole ? h->whole : h->mapped)
        return &h->x;
    shard_index_name(name, f->name);
    path = shard_path(s->dir, name);
    if (!h->mapped && (r = io_map(&h->map, path, e)) < 0) {
        missing(e);
    } else if ((r = view_index(h, f, whole, e)) < 0) {
        err_prefix(e, "%s", path);
        io_unmap(&h->map);
    }
    /* pages read only for the hash need not stay in memory */
    if (r == 0 && h->map.n > 0)
        madvise((void *)(uintptr_t)h->map.p, h->map.n, MADV_DONTNEED);
    h->mapped = r == 0;
    h->whole = r == 0 && whole;
    free(path);
    return r == 0 ? &h->x : NULL;
}

const struct shard_index *
set_index(struct shard_set *s, size_t i, struct err *e)
{
    return open_index(s, i, 1, e);
}

const struct shard_index *
set_frames(struct shard_set *s, size_t i, struct err *e)
{
    return open_index(s, i, 0, e);
}

/* Read n bytes at offset `at`; if the file has fewer, that is an error. */
static int
read_at(int fd, void *p, size_t n, uint64_t at, struct err *e)
{
    const ptrdiff_t got = io_read_at(fd, p, n, at);

    if (got < 0)
        return err_set(e, EX_SYS, "byte %" PRIu64 ":", at);
    return (size_t)got == n
        ? 0
        : err_set(e, EX_INPUT, "byte %" PRIu64 ": the file ends here",
              at + (uint64_t)got);
}

/* Check the shard file's size and the hash of its seek table. */
static int
check_shard_file(struct shard *h, struct err *e)
{
    const size_t n = seek_bytes(h->x.nframe);
    struct stat st;
    void *p;
    int r;

    if (fstat(h->fd, &st) < 0)
        return err_set(e, EX_SYS, "stat:");
    if ((uint64_t)st.st_size != h->x.bytes)
        return err_set(e, EX_INPUT,
            "byte %lld: the file ends here, but %" PRIu64 " bytes were written",
            (long long)st.st_size, h->x.bytes);
    p = xmalloc(n);
    r = read_at(h->fd, p, n, h->x.table_at, e);
    if (r == 0 && XXH3_64bits(p, n) != h->x.table_hash)
        r = err_set(e, EX_INPUT, "byte %" PRIu64 ": the seek table is damaged",
            h->x.table_at);
    free(p);
    h->checked = r == 0;
    return r;
}

int
shard_open_file(struct shard_set *s, size_t i, struct err *e)
{
    struct shard *h = &s->shard[i];
    char *path;
    uint64_t size;
    int r = 0;

    if (!set_frames(s, i, e))
        return -1;
    if (h->fd >= 0)
        return 0;
    if (s->nopen == OPEN_FILES) {
        close(s->shard[s->open[0]].fd);
        s->shard[s->open[0]].fd = -1;
        memmove(s->open, s->open + 1, --s->nopen * sizeof *s->open);
    }
    path = shard_path(s->dir, s->m.file[i].name);
    h->fd = io_open_file(path, &size, e);
    if (h->fd >= 0 && s->scattered)
        (void)posix_fadvise(h->fd, 0, 0, POSIX_FADV_RANDOM);
    if (h->fd < 0) {
        r = missing(e);
    } else if (!h->checked && check_shard_file(h, e) < 0) {
        r = err_prefix(e, "%s", path);
        close(h->fd); /* the next call checks again, with the same error */
        h->fd = -1;
    } else {
        s->open[s->nopen++] = i;
    }
    free(path);
    return r;
}

#define SPARE ((size_t)4 << 20)

static void
reserve_bytes(unsigned char **p, size_t *cap, size_t n)
{
    void *q;

    /* Free a buffer that is far larger than needed now, such as one that held a
     * teacher's head when small frames follow. */
    if (n <= *cap && *cap / 2 <= n + SPARE)
        return;
    free(*p);
    *p = NULL;
    *cap = 0;
    if (posix_memalign(&q, MSG_ALIGN, n) != 0)
        mem_exhausted("frame or message of %zu bytes", n);
    *p = q;
    *cap = n;
}

void
shard_buf_release(struct shard_buf *b)
{
    free(b->raw);
    free(b->msg);
    free(b->comp);
    frame_dec_free(b->dec);
    st_release(&b->st);
    memset(b, 0, sizeof *b);
}

/* Return a descriptor of the shard file for this thread, which no other thread
 * closes; -1. */
static int
borrow_file(struct shard_set *s, size_t shard, struct err *e)
{
    int fd = -1;

    pthread_mutex_lock(&s->lock);
    if (shard_open_file(s, shard, e) == 0) {
        fd = fcntl(s->shard[shard].fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            err_set(e, EX_SYS, "%s/%s:", s->dir, s->m.file[shard].name);
    }
    pthread_mutex_unlock(&s->lock);
    return fd;
}

/* Decode the first n bytes (0: all) of a frame's content into b->raw.  The hash
 * of all its compressed bytes is checked. */
static int
read_frame(struct shard_set *s, size_t shard, size_t frame, size_t n,
    struct shard_buf *b, struct err *e)
{
    const struct shard_frame *f;
    int r, fd;

    b->valid = 0;
    if ((fd = borrow_file(s, shard, e)) < 0)
        return -1;
    f = &s->shard[shard].x.frame[frame];
    b->nraw = n ? n : f->dsize;
    if (!b->dec || b->codec != s->m.codec) {
        frame_dec_free(b->dec);
        b->dec = frame_dec_new(s->m.codec);
        b->codec = s->m.codec;
    }
    reserve_bytes(&b->comp, &b->comp_cap, f->csize);
    reserve_bytes(&b->raw, &b->raw_cap, b->nraw);
    r = read_at(fd, b->comp, f->csize, f->at, e);
    close(fd);
    if (r == 0 && XXH3_64bits(b->comp, f->csize) != f->hash)
        r = err_set(e, EX_INPUT,
            "its hash is not the one in the index: damaged");
    if (r == 0)
        r = (n ? frame_decode_start : frame_decode)(b->dec, b->comp, f->csize,
            b->raw, b->nraw, e);
    if (r < 0)
        return err_prefix(e, "%s/%s: frame %zu at byte %" PRIu64, s->dir,
            s->m.file[shard].name, frame, f->at);
    return 0;
}

int
set_frame(struct shard_set *s, size_t shard, size_t frame, struct shard_buf *b,
    struct err *e)
{
    if (b->valid && b->shard == shard && b->frame == frame &&
        memcmp(b->of.h, s->m.hash.h, sizeof b->of.h) == 0)
        return 0;
    if (read_frame(s, shard, frame, 0, b, e) < 0)
        return -1;
    b->of = s->m.hash;
    b->valid = 1;
    b->shard = shard;
    b->frame = frame;
    return 0;
}

/* Copy to dst n bytes of decompressed content from offset raw, which is in
 * `frame` or a later one. */
static int
copy_raw(struct shard_set *s, size_t shard, size_t frame, uint64_t raw,
    size_t n, unsigned char *dst, struct shard_buf *b, struct err *e)
{
    const struct shard_index *x = &s->shard[shard].x;

    while (n > 0) {
        const struct shard_frame *f = &x->frame[frame];
        size_t off, k;

        if (raw - f->raw >= f->dsize) {
            frame++;
            continue;
        }
        if (set_frame(s, shard, frame, b, e) < 0)
            return -1;
        off = (size_t)(raw - f->raw);
        k = f->dsize - off < n ? f->dsize - off : n;
        memcpy(dst, b->raw + off, k);
        dst += k;
        raw += k;
        n -= k;
    }
    return 0;
}

/* Parse the message p[x->len] and compare it with x, its index entry. */
static int
parse_msg(const struct shard_msg *x, const unsigned char *p, struct msg *m,
    struct st *st, struct err *e)
{
    const char *kind, *seq;

    st_release(st);
    if (st_parse(st, p, (size_t)x->len, e) < 0)
        return -1;
    kind = st_meta(st, "kind");
    seq = st_meta(st, "seq");
    if (!kind || !seq || msg_number(seq, &m->seq) < 0 || m->seq != x->seq ||
        (m->kind = msg_kind_of(kind)) != (enum msg_kind)x->kind)
        return err_set(e, EX_INPUT,
            "it is not the message the index describes");
    m->raw = p;
    m->nraw = (size_t)x->len;
    m->st = *st;
    return 0;
}

/* Parse message `msg` of a shard, whose bytes are at p. */
static int
take_msg(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    const unsigned char *p, struct msg *m, struct err *e)
{
    const struct shard_index *x = &s->shard[shard].x;
    const struct shard_msg *y = &x->msg[msg];

    m->at = x->raw_at + y->raw;
    if (parse_msg(y, p, m, &b->st, e) < 0)
        return err_prefix(e,
            "%s/%s: frame %" PRIu32 " at byte %" PRIu64 ": message %zu", s->dir,
            s->m.file[shard].name, y->frame, x->frame[y->frame].at, msg);
    return 0;
}

int
set_msg(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e)
{
    const struct shard_index *x = set_frames(s, shard, e);
    const struct shard_msg *y;
    unsigned char len8[8];
    size_t pad;

    memset(m, 0, sizeof *m);
    if (!x)
        return -1;
    y = &x->msg[msg];
    if (copy_raw(s, shard, y->frame, y->raw, 8, len8, b, e) < 0)
        return -1;
    pad = msg_pad((size_t)le_get(len8, 8));
    reserve_bytes(&b->msg, &b->msg_cap, pad + (size_t)y->len);
    if (copy_raw(s, shard, y->frame, y->raw, (size_t)y->len, b->msg + pad, b,
            e) < 0)
        return -1;
    return take_msg(s, shard, msg, b, b->msg + pad, m, e);
}

int
set_peek(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e)
{
    const struct shard_index *x = set_frames(s, shard, e);
    const struct shard_msg *y = x ? &x->msg[msg] : NULL;
    const struct shard_frame *f = x ? &x->frame[y->frame] : NULL;

    if (x && y->raw - f->raw + y->len > f->dsize)
        return set_msg(s, shard, msg, b, m, e);
    memset(m, 0, sizeof *m);
    if (!x || set_frame(s, shard, y->frame, b, e) < 0)
        return -1;
    return take_msg(s, shard, msg, b, b->raw + (y->raw - f->raw), m, e);
}

/* Read message i of the first shard into *m.  If the message ends in the frame
 * in which it begins, that frame is decoded only up to the message's end. */
static int
read_preamble(struct shard_set *s, size_t i, struct shard_buf *b, struct msg *m,
    struct err *e)
{
    const struct shard_index *x = &s->shard[0].x;
    const struct shard_msg *y = &x->msg[i];
    const struct shard_frame *f = &x->frame[y->frame];
    const size_t at = (size_t)(y->raw - f->raw), len = (size_t)y->len;
    size_t pad;

    if (len > f->dsize - at)
        return set_msg(s, 0, i, b, m, e);
    if (read_frame(s, 0, y->frame, at + len, b, e) < 0)
        return -1;
    memset(m, 0, sizeof *m);
    pad = msg_pad((size_t)le_get(b->raw + at, 8));
    reserve_bytes(&b->msg, &b->msg_cap, pad + len);
    memcpy(b->msg + pad, b->raw + at, len);
    return take_msg(s, 0, i, b, b->msg + pad, m, e);
}

/* Return message i of the first shard, which must be of kind k; read it into *m
 * if that was not done before. */
static const struct msg *
preamble(struct shard_set *s, size_t i, enum msg_kind k, struct shard_buf *b,
    struct msg *m, struct err *e)
{
    const struct shard_index *x;

    if (m->raw)
        return m;
    if (s->m.nfile == 0) {
        err_set(e, EX_INPUT, "%s: nothing is committed yet", s->dir);
        return NULL;
    }
    x = set_frames(s, 0, e);
    if (!x)
        return NULL;
    if (i >= x->nmsg || x->msg[i].kind != (uint32_t)k) {
        err_set(e, k == MSG_TEACHER ? EX_OK : EX_INPUT,
            "%s: there is no %s message", s->dir, msg_kind_name(k));
        return NULL;
    }
    if (read_preamble(s, i, b, m, e) < 0)
        return NULL;
    /* m points into b->msg as long as s exists; free the rest of b */
    free(b->raw);
    free(b->comp);
    frame_dec_free(b->dec);
    b->raw = b->comp = NULL;
    b->raw_cap = b->comp_cap = 0;
    b->dec = NULL;
    b->valid = 0;
    return m;
}

const struct msg *
set_head(struct shard_set *s, struct err *e)
{
    return preamble(s, 0, MSG_STREAM, &s->head_buf, &s->head, e);
}

const struct msg *
set_teacher(struct shard_set *s, struct err *e)
{
    if (!s->m.teacher) {
        e->code = 0;
        return NULL;
    }
    return preamble(s, 1, MSG_TEACHER, &s->teacher_buf, &s->teacher, e);
}

/* Write the header of the `stream` message without the keys of resuming. */
static void
plain_head(struct st_out *o, const struct st *s)
{
    static const char *const resume[] = { "next_seq", "next_tokens", "chain",
        "chain_down" };

    st_out_begin(o);
    for (size_t i = 0; i < s->nmeta; i++) {
        int skip = 0;

        for (size_t k = 0; k < 4; k++)
            skip |= strcmp(s->key[i], resume[k]) == 0;
        if (!skip)
            st_out_meta(o, s->key[i], s->val[i]);
    }
    st_out_end(o);
}

static int
same_head(const struct st *a, const struct st *b)
{
    struct st_out x = { 0 }, y = { 0 };
    int same;

    plain_head(&x, a);
    plain_head(&y, b);
    same = x.head.n == y.head.n && memcmp(x.head.p, y.head.p, x.head.n) == 0;
    st_out_release(&x);
    st_out_release(&y);
    return same;
}

int
set_same_head(const char *dir, const struct msg *m, struct err *e)
{
    struct shard_set *s = set_open(dir, 1, e);
    const struct msg *have;
    struct err none = { 0 };
    int same = 0;

    if (!s)
        return -1;
    if (m->kind == MSG_STREAM) {
        have = set_head(s, e);
        same = have && same_head(&have->st, &m->st);
    } else {
        have = set_teacher(s, &none);
        same = have && have->nraw == m->nraw &&
            memcmp(have->raw, m->raw, m->nraw) == 0;
    }
    if (!have && none.code && e)
        *e = none;
    else if (!same && (have || m->kind == MSG_TEACHER))
        err_set(e, EX_INPUT,
            "%s: the stream's %s message is not the one that is stored: this "
            "is another stream",
            dir, msg_kind_name(m->kind));
    set_close(s);
    return same ? 0 : -1;
}
