/* Frames: see frame.h */
#include "format/frame.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <assert.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

const char *const codec_names[] = { "zstd", "lz4", NULL };

struct frame_enc {
    enum codec codec;
    ZSTD_CCtx *z;
    LZ4F_preferences_t l;
};

struct frame_dec {
    enum codec codec;
    ZSTD_DCtx *z;
    LZ4F_dctx *l;
};

const char *
codec_suffix(enum codec c)
{
    return c == CODEC_ZSTD ? ".zst" : ".lz4";
}

int
codec_level_max(enum codec c)
{
    return c == CODEC_ZSTD ? 19 : 12;
}

int
codec_level_default(enum codec c)
{
    return c == CODEC_ZSTD ? 3 : 1;
}

struct frame_enc *
frame_enc_new(enum codec c, int level)
{
    struct frame_enc *f = xcalloc(1, sizeof *f);
    size_t r;

    assert(level >= 0 && level <= codec_level_max(c));
    level = level ? level : codec_level_default(c);
    f->codec = c;
    if (c == CODEC_LZ4) {
        f->l.frameInfo.blockSizeID = LZ4F_max1MB;
        f->l.frameInfo.blockMode = LZ4F_blockIndependent;
        f->l.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
        f->l.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
        f->l.compressionLevel = level;
        return f;
    }
    f->z = ZSTD_createCCtx();
    if (!f->z)
        mem_exhausted("zstd");
    r = ZSTD_CCtx_setParameter(f->z, ZSTD_c_compressionLevel, level);
    assert(!ZSTD_isError(r));
    r = ZSTD_CCtx_setParameter(f->z, ZSTD_c_checksumFlag, 1);
    assert(!ZSTD_isError(r));
    return f;
}

void
frame_enc_free(struct frame_enc *f)
{
    if (f)
        ZSTD_freeCCtx(f->z);
    free(f);
}

int
frame_encode(struct frame_enc *f, const void *src, size_t n, struct buf *out,
    struct err *e)
{
    size_t r;

    assert(n > 0 && n <= FRAME_MAX);
    if (f->codec == CODEC_LZ4) {
        f->l.frameInfo.contentSize = n;
        buf_reserve(out, LZ4F_compressFrameBound(n, &f->l));
        r = LZ4F_compressFrame(out->p + out->n, out->cap - out->n, src, n,
            &f->l);
        if (LZ4F_isError(r))
            return err_set(e, EX_SYS, "lz4: %s", LZ4F_getErrorName(r));
    } else {
        buf_reserve(out, ZSTD_compressBound(n));
        r = ZSTD_compress2(f->z, out->p + out->n, out->cap - out->n, src, n);
        if (ZSTD_isError(r))
            return err_set(e, EX_SYS, "zstd: %s", ZSTD_getErrorName(r));
    }
    out->n += r;
    return 0;
}

struct frame_dec *
frame_dec_new(enum codec c)
{
    struct frame_dec *f = xcalloc(1, sizeof *f);

    f->codec = c;
    if (c == CODEC_ZSTD)
        f->z = ZSTD_createDCtx();
    else if (LZ4F_isError(LZ4F_createDecompressionContext(&f->l, LZ4F_VERSION)))
        f->l = NULL;
    if (!f->z && !f->l)
        mem_exhausted("%s", codec_names[c]);
    return f;
}

void
frame_dec_free(struct frame_dec *f)
{
    if (f) {
        ZSTD_freeDCtx(f->z);
        LZ4F_freeDecompressionContext(f->l);
    }
    free(f);
}

static uint32_t
magic_of(const unsigned char *p, size_t n)
{
    return n < 6 ? 0 : (uint32_t)le_get(p, 4);
}

static int
decode_zstd(struct frame_dec *f, const unsigned char *p, size_t n, void *dst,
    size_t dn, struct err *e)
{
    size_t r;

    /* bit 2 of the descriptor: the frame has a checksum */
    if (magic_of(p, n) != ZSTD_MAGICNUMBER || !(p[4] & 4))
        return err_set(e, EX_INPUT, "no zstd frame with a checksum");
    r = ZSTD_findFrameCompressedSize(p, n);
    if (!ZSTD_isError(r) && r != n)
        return err_set(e, EX_INPUT,
            "the zstd frame ends after %zu of %zu "
            "bytes",
            r, n);
    if (!ZSTD_isError(r))
        r = ZSTD_decompressDCtx(f->z, dst, dn, p, n);
    if (ZSTD_isError(r))
        return err_set(e, EX_INPUT, "zstd: %s", ZSTD_getErrorName(r));
    if (r != dn)
        return err_set(e, EX_INPUT, "a frame of %zu bytes, not %zu", r, dn);
    return 0;
}

static int
decode_lz4(struct frame_dec *f, const unsigned char *p, size_t n, void *dst,
    size_t dn, struct err *e)
{
    size_t at = 0, done = 0, r;

    /* The flags say: version 01, block checksums, size and checksum of the
     * content. */
    if (magic_of(p, n) != LZ4F_MAGICNUMBER || (p[4] & 0xdc) != 0x5c)
        return err_set(e, EX_INPUT, "no lz4 frame with checksums and size");
    LZ4F_resetDecompressionContext(f->l);
    do {
        size_t in = n - at, out = dn - done;

        r = LZ4F_decompress(f->l, (char *)dst + done, &out, p + at, &in, NULL);
        if (LZ4F_isError(r))
            return err_set(e, EX_INPUT, "lz4: %s", LZ4F_getErrorName(r));
        if (r != 0 && in == 0 && out == 0)
            return err_set(e, EX_INPUT,
                "the lz4 frame does not fit: %zu of "
                "%zu bytes decoded",
                done, dn);
        at += in;
        done += out;
    } while (r != 0);
    if (at != n || done != dn)
        return err_set(e, EX_INPUT,
            "an lz4 frame of %zu bytes in %zu, not "
            "%zu in %zu",
            done, at, dn, n);
    return 0;
}

int
frame_decode(struct frame_dec *f, const void *src, size_t n, void *dst,
    size_t dn, struct err *e)
{
    return f->codec == CODEC_ZSTD ? decode_zstd(f, src, n, dst, dn, e)
                                  : decode_lz4(f, src, n, dst, dn, e);
}

int
frame_decode_start(struct frame_dec *f, const void *src, size_t n, void *dst,
    size_t dn, struct err *e)
{
    ZSTD_outBuffer to = { dst, dn, 0 };
    ZSTD_inBuffer from = { src, n, 0 };
    size_t r = 1;

    if (f->codec == CODEC_LZ4)
        LZ4F_resetDecompressionContext(f->l);
    else
        ZSTD_DCtx_reset(f->z, ZSTD_reset_session_only);
    while (to.pos < dn && r != 0) {
        const size_t was = from.pos + to.pos;

        if (f->codec == CODEC_LZ4) {
            size_t in = n - from.pos, out = dn - to.pos;

            r = LZ4F_decompress(f->l, (char *)dst + to.pos, &out,
                (const char *)src + from.pos, &in, NULL);
            from.pos += in;
            to.pos += out;
        } else {
            r = ZSTD_decompressStream(f->z, &to, &from);
        }
        if (f->codec == CODEC_LZ4 ? LZ4F_isError(r) : ZSTD_isError(r))
            return err_set(e, EX_INPUT, "%s: %s", codec_names[f->codec],
                f->codec == CODEC_LZ4 ? LZ4F_getErrorName(r)
                                      : ZSTD_getErrorName(r));
        if (from.pos + to.pos == was)
            break;
    }
    if (to.pos < dn)
        return err_set(e, EX_INPUT, "the %s frame ends after %zu of %zu bytes",
            codec_names[f->codec], to.pos, dn);
    return 0;
}

/* Walk the blocks of an lz4 frame, each a size, data and a checksum, up to the
 * end mark. */
static int
span_lz4(const unsigned char *p, size_t n, size_t *csize, size_t *dsize)
{
    uint64_t content;
    size_t at = 15; /* magic, FLG, BD, content size, checksum */

    if (n < at || magic_of(p, n) != LZ4F_MAGICNUMBER || (p[4] & 0xdd) != 0x5c)
        return -1;
    content = le_get(p + 6, 8);
    while (n - at >= 4) {
        const uint32_t size = (uint32_t)le_get(p + at, 4) & 0x7fffffff;

        at += 4;
        if (size == 0 && n - at >= 4 && content <= FRAME_MAX) {
            *csize = at + 4;
            *dsize = (size_t)content;
            return 0;
        }
        if (size == 0 || n - at < (size_t)size + 4)
            return -1;
        at += (size_t)size + 4;
    }
    return -1;
}

int
frame_span(enum codec c, const void *p, size_t n, size_t *csize, size_t *dsize)
{
    unsigned long long d;
    size_t r;

    if (c == CODEC_LZ4)
        return span_lz4(p, n, csize, dsize);
    if (magic_of(p, n) != ZSTD_MAGICNUMBER)
        return -1;
    r = ZSTD_findFrameCompressedSize(p, n);
    d = ZSTD_getFrameContentSize(p, n);
    if (ZSTD_isError(r) || d > FRAME_MAX) /* "unknown" and "error" are larger */
        return -1;
    *csize = r;
    *dsize = (size_t)d;
    return 0;
}
