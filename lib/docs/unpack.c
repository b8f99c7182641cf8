/* Decompression, by libarchive; see unpack.h. */
#include "docs/unpack.h"

#include "base/mem.h"

#include <archive.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)256 << 10)
#define TAIL 4 /* bytes of `tail` */

struct unpack {
    int fd;
    const char *name;
    struct archive *a;     /* decompresses fd; NULL: fd is read unchanged */
    int packed, seeks;     /* is fd compressed?  does unpack_seek work? */
    int error;             /* errno of a failed read */
    int end;               /* 1: `a` (fd, if `a` is NULL) has no more content */
    int done;              /* 1: nothing follows the compressed data */
    int closed;            /* 1: `a` was given lz4_skip */
    unsigned char head[4]; /* first bytes of fd */
    char *tail;            /* [TAIL] bytes of fd before block */
    char *block;           /* [BLOCK] bytes of fd; follows tail in memory */
    size_t nblock;         /* bytes in block */
    size_t rest;           /* bytes at block's end not yet given to `a` */
    uint64_t fed;          /* bytes read from fd */
    uint64_t before;       /* bytes of fd before those given to `a` */
    uint64_t content;      /* bytes decompressed so far */
    struct buf ahead;      /* content that unpack_peek has read */
    size_t given;          /* bytes of `ahead` that unpack_read has returned */
};

static ptrdiff_t
read_some(int fd, void *p, size_t n)
{
    ptrdiff_t k;

    do
        k = read(fd, p, n);
    while (k < 0 && errno == EINTR);
    return k;
}

/*
 * After the last lz4 frame libarchive consumes the next four bytes before it
 * sees that they begin no frame, so any four bytes there would go unnoticed.
 * Therefore a skippable frame is appended to the file.  libarchive reads this
 * frame to its end only where a frame may begin.  The appended frame has no
 * four zeros, which would end a frame that was cut off.
 */
static const unsigned char lz4_magic[2][4] = { { 0x04, 0x22, 0x4d, 0x18 },
    { 0x02, 0x21, 0x4c, 0x18 } }; /* the second is the legacy format, lz4 -l */
static const unsigned char lz4_skip[12] = { 0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0,
    0xff, 0xff, 0xff, 0xff };

static int
is_lz4(const void *p)
{
    return memcmp(p, lz4_magic[0], sizeof *lz4_magic) == 0 ||
        memcmp(p, lz4_magic[1], sizeof *lz4_magic) == 0;
}

static la_ssize_t
feed_compressed(struct archive *a, void *ctx, const void **block)
{
    struct unpack *u = ctx;
    ptrdiff_t k;

    if (u->rest > 0) {
        k = (ptrdiff_t)u->rest;
        u->rest = 0;
        *block = u->block + u->nblock - (size_t)k;
        return k;
    }
    memmove(u->tail, u->tail + u->nblock, TAIL);
    k = read_some(u->fd, u->block, BLOCK);
    for (ptrdiff_t i = 0; i < k && u->fed + (uint64_t)i < sizeof u->head; i++)
        u->head[u->fed + (uint64_t)i] = (unsigned char)u->block[i];
    if (k == 0 && !u->closed && is_lz4(u->head)) {
        u->closed = 1;
        k = (ptrdiff_t)sizeof lz4_skip;
        memcpy(u->block, lz4_skip, sizeof lz4_skip);
    }
    if (k < 0)
        archive_set_error(a, u->error = errno, "%s", strerror(errno));
    else
        u->fed += u->nblock = (size_t)k;
    *block = u->block;
    return k;
}

static int
failed(const struct unpack *u, struct err *e)
{
    const char *s = archive_error_string(u->a);

    return err_set(e, u->error ? EX_SYS : EX_INPUT, "%s: offset %llu%s: %s",
        u->name, (unsigned long long)u->content,
        u->packed ? " of its content" : "", s ? s : "is damaged");
}

/* Read on without libarchive.  A regular file is read from its beginning
 * again; of any other input, the block that libarchive has read goes to
 * u->ahead.  If libarchive has read more than one block, u->a stays in use. */
static void
make_plain(struct unpack *u)
{
    struct stat st;

    /* If a part of fd was read before unpack_open, do not go back over it. */
    u->seeks = fstat(u->fd, &st) == 0 && S_ISREG(st.st_mode) &&
        lseek(u->fd, 0, SEEK_CUR) == (off_t)u->fed &&
        lseek(u->fd, 0, SEEK_SET) == 0;
    if (!u->seeks && u->fed > u->nblock)
        return;
    archive_read_free(u->a);
    u->a = NULL;
    if (u->seeks)
        u->fed = 0;
    else
        buf_add(&u->ahead, u->block, u->nblock);
    u->end = 0;
}

/* Open u->a at the current place of fd; the content may be empty. */
static int
open_packed(struct unpack *u, struct err *e)
{
    struct archive_entry *entry;
    int k;

    u->a = archive_read_new();
    if (!u->a)
        mem_exhausted("unpacking %s", u->name);
    archive_read_support_filter_gzip(u->a);
    archive_read_support_filter_bzip2(u->a);
    archive_read_support_filter_xz(u->a);
    archive_read_support_filter_zstd(u->a);
    archive_read_support_filter_lz4(u->a);
    archive_read_support_format_raw(u->a);
    archive_read_support_format_empty(u->a);
    k = archive_read_open(u->a, u, NULL, feed_compressed, NULL);
    if (k == ARCHIVE_OK)
        k = archive_read_next_header(u->a, &entry);
    if (k != ARCHIVE_OK && k != ARCHIVE_WARN && k != ARCHIVE_EOF)
        return failed(u, e);
    if (archive_filter_count(u->a) > 2) /* the file's own compression counts as
                                         * one */
        return err_set(e, EX_INPUT, "%s: offset 0: is compressed twice",
            u->name);
    u->end = k == ARCHIVE_EOF;
    return 0;
}

struct unpack *
unpack_open(int fd, const char *name, struct err *e)
{
    struct unpack *u = xcalloc(1, sizeof *u);

    u->fd = fd;
    u->name = name;
    u->tail = xcalloc(1, TAIL + BLOCK);
    u->block = u->tail + TAIL;
    if (open_packed(u, e) < 0) {
        unpack_close(u);
        return NULL;
    }
    u->packed = archive_filter_code(u->a, 0) != ARCHIVE_FILTER_NONE;
    if (!u->packed)
        make_plain(u);
    return u;
}

void
unpack_close(struct unpack *u)
{
    if (!u)
        return;
    archive_read_free(u->a);
    buf_release(&u->ahead);
    free(u->tail);
    free(u);
}

int
unpack_is_packed(const struct unpack *u)
{
    return u->packed;
}

int
unpack_seeks(const struct unpack *u)
{
    return u->seeks;
}

static int
more_follows(const struct unpack *u, uint64_t at, struct err *e)
{
    return err_set(e, EX_INPUT,
        "%s: offset %llu: what is compressed ends here, but more follows",
        u->name, (unsigned long long)at);
}

/*
 * Has libarchive stopped after an empty lz4 frame, which it takes for the end?
 * used: bytes of the file that libarchive has used.  An empty frame ends in
 * four zeros or in the checksum of no data; if libarchive stopped elsewhere,
 * the last four bytes used began no frame.  The bytes not used are at the end
 * of the block.
 */
static int
is_behind_empty_frame(const struct unpack *u, uint64_t used)
{
    const uint64_t left = u->fed - used;
    const char *last;

    if (u->closed || !is_lz4(u->head) || left > u->nblock)
        return 0;
    last = u->block + u->nblock - (size_t)left - 4;
    return memcmp(last, "\0\0\0\0", 4) == 0 ||
        memcmp(last, "\x05\x5d\xcc\x02", 4) == 0;
}

/* Open the frame after an empty frame.  Returns 1; 0: nothing follows; -1 and
 * *e. */
static int
next_lz4_frame(struct unpack *u, uint64_t used, struct err *e)
{
    size_t n = (size_t)(u->fed - used);
    ptrdiff_t k = 1;

    memmove(u->tail, u->tail + u->nblock - n, TAIL + n);
    while (n < sizeof *lz4_magic && k > 0) {
        k = read_some(u->fd, u->block + n, BLOCK - n);
        if (k < 0)
            return err_set(e, EX_SYS, "%s:", u->name);
        n += (size_t)k;
        u->fed += (uint64_t)k;
    }
    if (n == 0)
        return 0;
    if (n < sizeof *lz4_magic || !is_lz4(u->block))
        return more_follows(u, used, e);
    archive_read_free(u->a);
    u->before = used;
    u->rest = u->nblock = n;
    if (open_packed(u, e) < 0)
        return -1;
    return archive_filter_code(u->a, 0) == ARCHIVE_FILTER_LZ4
        ? 1
        : more_follows(u, used, e);
}

/* Check what follows the compressed data, where libarchive stops.  1: another
 * frame, which can be read now; 0: nothing; -1 and *e: other bytes, or an
 * error. */
static int
check_packed_end(struct unpack *u, struct err *e)
{
    uint64_t used = u->before + (uint64_t)archive_filter_bytes(u->a, -1);
    ptrdiff_t k;

    if (!u->packed)
        return 0;
    if (is_behind_empty_frame(u, used))
        return next_lz4_frame(u, used, e);
    if (u->fed == used && (u->closed || !is_lz4(u->head))) {
        k = read_some(u->fd, u->block, BLOCK);
        if (k < 0)
            return err_set(e, EX_SYS, "%s:", u->name);
        if (k == 0)
            return 0;
    }
    if (is_lz4(u->head))
        used -= 4; /* these bytes began no frame */
    return more_follows(u, used, e);
}

/* Read content that unpack_peek has not read. */
static ptrdiff_t
read_content(struct unpack *u, void *p, size_t n, struct err *e)
{
    ptrdiff_t k = 0;

    if (!u->a && u->end)
        return 0;
    if (!u->a) {
        k = read_some(u->fd, p, n);
        if (k < 0)
            return err_set(e, EX_SYS, "%s:", u->name);
        u->fed += (uint64_t)k;
        u->end = k == 0;
        return k;
    }
    while (!u->done) {
        if (!u->end && (k = archive_read_data(u->a, p, n)) < 0)
            return failed(u, e);
        u->content += (uint64_t)k;
        if (k > 0)
            return k;
        if ((k = check_packed_end(u, e)) < 0)
            return -1;
        u->done = k == 0;
        k = 0;
    }
    return 0;
}

ptrdiff_t
unpack_peek(struct unpack *u, size_t n, const char **p, struct err *e)
{
    ptrdiff_t k = 1;

    while (u->ahead.n < n && k > 0) {
        const size_t more = n - u->ahead.n;

        buf_reserve(&u->ahead, more);
        k = read_content(u, u->ahead.p + u->ahead.n, more, e);
        if (k < 0)
            return -1;
        u->ahead.n += (size_t)k;
    }
    *p = u->ahead.p;
    return (ptrdiff_t)u->ahead.n;
}

ptrdiff_t
unpack_read(struct unpack *u, void *p, size_t n, struct err *e)
{
    const size_t left = u->ahead.n - u->given;

    if (left == 0)
        return read_content(u, p, n, e);
    n = n < left ? n : left;
    memcpy(p, u->ahead.p + u->given, n);
    u->given += n;
    if (u->given == u->ahead.n) {
        buf_release(&u->ahead);
        u->given = 0;
    }
    return (ptrdiff_t)n;
}

int64_t
unpack_seek(struct unpack *u, int64_t at, int whence)
{
    if (whence == SEEK_CUR)
        at -= (int64_t)(u->ahead.n - u->given);
    buf_release(&u->ahead);
    u->given = 0;
    u->end = 0;
    return lseek(u->fd, (off_t)at, whence);
}

uint64_t
unpack_fed(const struct unpack *u)
{
    return u->fed;
}
