/* A shard directory as a source of messages: see source.h */
#include "shard/source.h"
#include "base/io.h"
#include "shard/set.h"
#include "msg/backend.h"

#include <string.h>

struct set_src {
    struct msg_src base;
    struct shard_set *set;
    struct shard_buf buf; /* holds the frame that is being given out */
    size_t pos, have;     /* bytes of that frame given out; bytes in it; both 0
                           * at first */
    size_t shard, frame;  /* the next frame to read */
};

/* Read from the rest of the frame in s->buf or, if that is used up, from the
 * next frame. */
static ptrdiff_t
dir_src_read(struct msg_src *base, void *p, size_t n, struct err *e)
{
    struct set_src *s = (struct set_src *)base;
    const struct manifest *m = set_manifest(s->set);
    size_t k;

    while (s->pos == s->have) {
        if (s->shard == m->nfile)
            return 0;
        if (s->frame == m->file[s->shard].frames) {
            s->shard++;
            s->frame = 0;
            continue;
        }
        if (set_frame(s->set, s->shard, s->frame, &s->buf, e) < 0)
            return -1;
        s->frame++;
        s->pos = 0;
        s->have = s->buf.nraw;
    }
    k = s->have - s->pos < n ? s->have - s->pos : n;
    memcpy(p, s->buf.raw + s->pos, k);
    s->pos += k;
    return (ptrdiff_t)k;
}

/* The memory of a frame, compressed and decompressed. */
static size_t
dir_src_memory(const struct msg_src *s, size_t n)
{
    (void)s;
    return 2 * n;
}

static void
dir_src_close(struct msg_src *base)
{
    struct set_src *s = (struct set_src *)base;

    set_close(s->set);
    shard_buf_release(&s->buf);
}

static const struct msg_backend directory = {
    .src_bytes = sizeof(struct set_src),
    .read = dir_src_read,
    .src_memory = dir_src_memory,
    .src_close = dir_src_close,
};

struct msg_in *
set_in_open(const char *addr, int partial, struct err *e)
{
    struct set_src *s;

    if (!addr || addr_is_special(addr) || !io_is_dir(addr))
        return msg_in_open(addr, e);
    s = (struct set_src *)msg_src_new(&directory, addr);
    if (!(s->set = set_open(addr, partial, e))) {
        msg_src_close(&s->base);
        return NULL;
    }
    s->base.size = set_manifest(s->set)->raw;
    s->base.slow = 1;
    s->base.unfinished = !set_manifest(s->set)->complete;
    return msg_in_start(&s->base, e);
}
