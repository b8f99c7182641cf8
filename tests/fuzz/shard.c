/* Any bytes as a part of a shard directory, which the first byte chooses:
 * index, seek table, frame, manifest, or a shard to be repaired. */
#include "base/dir.h"
#include "base/io.h"
#include "shard/set_check.h"
#include "shard/dir.h"
#include "shard/index.h"
#include "shard/set_repair.h"
#include "format/seekable.h"
#include "msg/wire.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder is made in memory if it can be: syncing takes no time there. */
static char memory[] = "/dev/shm/fuzz-shard-XXXXXX";
static char disk[] = "/tmp/fuzz-shard-XXXXXX";
static const char *dir;

static void
leave(void)
{
    dir_remove(dir, NULL);
}

/* The folder of this process, which the first call makes. */
static const char *
folder(void)
{
    if (!dir) {
        if (!(dir = mkdtemp(memory)) && !(dir = mkdtemp(disk)))
            abort();
        atexit(leave);
    }
    return dir;
}

/* Fail unless a refusal says why. */
static void
refused(const struct err *e)
{
    if (e->code == 0 || e->msg[0] == '\0')
        abort();
}

static void
put_file(const char *name, const void *p, size_t n, const char *more)
{
    char *path = shard_path(folder(), name);
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(p, 1, n, f) != n || fputs(more, f) < 0 || fclose(f) != 0)
        abort();
    free(path);
}

static void
try_index(const uint8_t *p, size_t n)
{
    struct shard_index x;
    struct err e = { 0 };
    uint64_t sum = 0;

    if (index_view(&x, p, n, &e) < 0) {
        refused(&e);
        return;
    }
    /* Frames, messages and documents of a valid index lead to each other. */
    for (size_t i = 0; i < x.nframe; i++)
        for (size_t k = 0; k < x.frame[i].nmsg; k++)
            sum += x.msg[x.frame[i].msg + k].len;
    for (size_t i = 0; i < x.ndoc; i++)
        sum -= x.msg[x.doc[i].msg].tokens < x.doc[i].len;
    for (size_t i = 0; i < x.npart; i++)
        sum += x.frame[x.part[i].frame].dsize == 0 ||
            x.part[i].tokens > x.raw || x.part[i].tokens < x.part[i].ndoc;
    if (sum != x.raw)
        abort();
}

static void
try_table(const uint8_t *p, size_t n)
{
    struct seek_entry *f;
    struct buf b = { 0 };
    struct err e = { 0 };
    size_t nf;

    if (seek_parse(p, n, 0, &f, &nf, &e) < 0) {
        refused(&e);
        return;
    }
    seek_write(&b, f, nf);
    if (b.n != n || memcmp(b.p, p, n) != 0)
        abort();
    free(f);
    buf_release(&b);
}

static void
try_frame(enum codec c, const uint8_t *p, size_t n)
{
    struct frame_dec *d = frame_dec_new(c);
    struct err e = { 0 };
    size_t csize, dsize;
    char *out;

    if (frame_span(c, p, n, &csize, &dsize) == 0 && dsize < 1 << 24) {
        if (csize > n)
            abort();
        out = xmalloc(dsize);
        if (frame_decode(d, p, csize, out, dsize, &e) < 0)
            refused(&e);
        free(out);
    }
    frame_dec_free(d);
}

/* The bytes as a manifest, with the right hash at the end, so that they are
 * parsed. */
static void
try_manifest(const uint8_t *p, size_t n)
{
    struct manifest m;
    struct err e = { 0 };
    struct chain c;
    char hex[33], end[60];

    chain_of(&c, p, n);
    chain_hex(&c, hex);
    snprintf(end, sizeof end, "  \"hash\": \"%s\"\n}\n", hex);
    put_file(SHARD_MANIFEST, p, n, end);
    if (manifest_read(&m, folder(), &e) < 0) {
        refused(&e);
        return;
    }
    /* A manifest that was read can be written and read again. */
    if (manifest_write(&m, folder(), &e) < 0)
        abort();
    manifest_release(&m);
    if (manifest_read(&m, folder(), &e) < 0)
        abort();
    manifest_release(&m);
}

static void
try_repair(enum codec c, const uint8_t *p, size_t n)
{
    const struct shard_opts o = { c, 1, 1 << 20, 1 << 16, 0, 1, 1 };
    struct shard_loss l;
    struct err e = { 0 };
    char name[32], *out = shard_path(folder(), "out"), *path;

    shard_name(name, 0, c);
    put_file(name, p, n, "");
    path = shard_path(folder(), SHARD_MANIFEST);
    unlink(path);
    free(path);
    if (set_repair(folder(), out, &o, NULL, NULL, NULL, &l, &e) < 0)
        refused(&e);
    else if (set_check(out, 0, NULL, NULL, &e) < 0)
        abort();
    shard_loss_release(&l);
    free(out);
    path = shard_path(folder(), name);
    unlink(path);
    free(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* An aligned copy: a shard's index is mapped, and so aligned. */
    uint64_t *copy;

    if (n == 0)
        return 0;
    copy = xcalloc(n / 8 + 1, 8);
    memcpy(copy, data + 1, n - 1);
    switch (data[0]) {
    case 'i': try_index((const uint8_t *)copy, n - 1); break;
    case 's': try_table((const uint8_t *)copy, n - 1); break;
    case 'z': try_frame(CODEC_ZSTD, (const uint8_t *)copy, n - 1); break;
    case 'l': try_frame(CODEC_LZ4, (const uint8_t *)copy, n - 1); break;
    case 'm': try_manifest((const uint8_t *)copy, n - 1); break;
    case 'Z': try_repair(CODEC_ZSTD, (const uint8_t *)copy, n - 1); break;
    case 'L': try_repair(CODEC_LZ4, (const uint8_t *)copy, n - 1); break;
    default: break;
    }
    free(copy);
    return 0;
}
