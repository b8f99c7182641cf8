/*
 * Checks a shard directory from end to end; see set_check.h.  One pass over
 * each file compares its hash, checks its messages, and compares the index with
 * the one that a writer would make of them.
 */
#include "set_check.h"
#include "shard/set.h"
#include "shard/dir.h"
#include "shard/index.h"
#include "base/mem.h"
#include "format/seekable.h"
#include "msg/rules.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct check {
    struct shard_set *s;
    const struct manifest *m;
    struct shard_buf buf;
    struct msg_rules rules;
    struct index_make index;     /* the index made from the messages, as a
                                  * writer would make it */
    struct shard_source *source; /* [65536] documents and tokens of each
                                  * source */
    struct buf pend;             /* beginning of a message that goes on in the
                                  * next frame */
    XXH3_state_t *hash;          /* hash of the shard file so far */
    char *cursor;
    uint64_t done; /* compressed bytes checked so far */
    void (*tick)(void *ctx, uint64_t done);
    void *ctx;
};

static int
prefix_frame(const struct check *c, size_t shard, size_t frame,
    const struct shard_frame *f, struct err *e)
{
    return err_prefix(e, "%s/%s: frame %zu at byte %" PRIu64, set_dir(c->s),
        c->m->file[shard].name, frame, f->at);
}

/* Check the message in pend. */
static int
check_message(struct check *c, struct err *e)
{
    const struct shard_msg *y;
    const struct shard_index *x;
    const size_t k = c->index.msg.n / sizeof *y, shard = c->buf.shard;
    struct msg m = { .kind = MSG_OTHER };
    uint64_t tokens;
    const char *cursor;
    int r;

    x = set_index(c->s, shard, e);
    if (!x)
        return -1;
    if (k >= x->nmsg)
        return err_set(e, EX_INPUT, "more messages than the index lists");
    y = &x->msg[k];
    if (st_parse(&m.st, c->pend.p, c->pend.n, e) < 0)
        return -1;
    m.raw = (const unsigned char *)c->pend.p;
    m.nraw = c->pend.n;
    r = msg_rules_check(&c->rules, &m, &tokens, e);
    if (r == 0) {
        index_make_msg(&c->index, &m, y->raw, tokens, y->frame, c->source);
        cursor = st_meta(&m.st, "cursor");
        if (cursor) {
            free(c->cursor);
            c->cursor = xstrdup(cursor);
        }
        if (m.nraw != y->len)
            r = err_set(e, EX_INPUT,
                "message %zu has %zu bytes, but the index says %" PRIu64, k,
                m.nraw, y->len);
    }
    st_release(&m.st);
    return r;
}

/* Check the complete messages in a frame's content.  The beginning of one that
 * continues in the next frame is kept in pend. */
static int
check_content(struct check *c, const unsigned char *p, size_t n, struct err *e)
{
    while (n > 0) {
        size_t need, k;

        if (msg_size(c->pend.p, c->pend.n, &need, e) < 0)
            return -1;
        k = need - c->pend.n < n ? need - c->pend.n : n;
        buf_add(&c->pend, p, k);
        p += k;
        n -= k;
        if (msg_size(c->pend.p, c->pend.n, &need, e) < 0)
            return -1;
        if (c->pend.n == need) {
            if (check_message(c, e) < 0)
                return -1;
            buf_clear(&c->pend);
        }
    }
    return 0;
}

static int
check_frame(struct check *c, size_t shard, size_t i,
    const struct shard_index *x, struct buf *seek, struct err *e)
{
    const struct shard_frame *f = &x->frame[i];
    struct seek_entry s = { f->csize, f->dsize, 0 };

    /* set_frame's error already names the frame */
    if (set_frame(c->s, shard, i, &c->buf, e) < 0)
        return -1;
    XXH3_128bits_update(c->hash, c->buf.comp, f->csize);
    index_make_frame(&c->index, f->at, f->raw, c->buf.comp, f->csize, f->dsize,
        f->msg, f->nmsg);
    s.sum = seek_sum(c->buf.raw, c->buf.nraw);
    buf_add(seek, &s, sizeof s);
    c->done += f->csize;
    if (c->tick)
        c->tick(c->ctx, c->done);
    if (check_content(c, c->buf.raw, c->buf.nraw, e) < 0)
        return prefix_frame(c, shard, i, f, e);
    return 0;
}

/* Check the seek table of the entries *seek against the table's hash in the
 * index, and add the table, the end of the file, to the file's hash. */
static int
check_table(struct check *c, const struct shard_index *x,
    const struct buf *seek, struct err *e)
{
    struct buf b = { 0 };
    int r = 0;

    seek_write(&b, (const void *)seek->p, x->nframe);
    XXH3_128bits_update(c->hash, b.p, b.n);
    if (XXH3_64bits(b.p, b.n) != x->table_hash)
        r = err_set(e, EX_INPUT,
            "byte %" PRIu64 ": the seek table is not that of the frames",
            x->table_at);
    buf_release(&b);
    return r;
}

/* Check that the index made from the messages has the same bytes as the stored
 * one. */
static int
check_rebuilt_index(struct check *c, size_t shard, const struct shard_index *x,
    const struct chain *before, uint64_t first_seq, uint64_t raw_at,
    struct err *e)
{
    struct shard_index h = *x;
    struct buf b = { 0 };
    struct chain sum;
    char name[SHARD_NAME];
    int r = 0;

    h.before = *before;
    h.first_seq = first_seq;
    h.raw_at = raw_at;
    index_make_parts(&c->index);
    index_make_file(&c->index, &h, &b);
    chain_of(&sum, b.p, b.n);
    if (memcmp(sum.h, c->m->file[shard].index_hash.h, sizeof sum.h) != 0) {
        shard_index_name(name, c->m->file[shard].name);
        r = err_set(e, EX_INPUT,
            "%s/%s: offset 0: the index is not that of the messages",
            set_dir(c->s), name);
    }
    /* the manifest has the hash of these bytes, so the sizes in x are good */
    if (r == 0) {
        index_frames_hash((const unsigned char *)b.p, b.n, x->ndoc, x->npart,
            &sum);
        if (memcmp(sum.h, c->m->file[shard].frames_hash.h, sizeof sum.h) != 0)
            r = err_set(e, EX_INPUT,
                "%s/%s: shard %zu: index_frames_hash is not that of the index",
                set_dir(c->s), SHARD_MANIFEST, shard);
    }
    buf_release(&b);
    return r;
}

static int
check_shard(struct check *c, size_t i, uint64_t raw_at, struct err *e)
{
    const struct chain before = c->rules.h;
    const uint64_t first_seq = c->rules.next;
    const struct shard_index *x = set_index(c->s, i, e);
    struct buf seek = { 0 };
    struct chain sum;
    int r = 0;

    if (!x || shard_open_file(c->s, i, e) < 0)
        return -1;
    index_make_clear(&c->index);
    XXH3_128bits_reset(c->hash);
    for (size_t f = 0; r == 0 && f < x->nframe; f++)
        r = check_frame(c, i, f, x, &seek, e);
    if (r == 0) {
        r = check_table(c, x, &seek, e);
        chain_end(c->hash, &sum);
        if (r == 0 && memcmp(sum.h, c->m->file[i].hash.h, 16) != 0)
            r = err_set(e, EX_INPUT,
                "byte 0: its hash is not the one in the manifest");
        if (r == 0 && c->pend.n)
            r = err_set(e, EX_INPUT,
                "byte %" PRIu64 ": the shard ends inside a message",
                x->table_at);
        if (r < 0)
            err_prefix(e, "%s/%s", set_dir(c->s), c->m->file[i].name);
    }
    buf_release(&seek);
    return r < 0 ? r
                 : check_rebuilt_index(c, i, x, &before, first_seq, raw_at, e);
}

static int
same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Check the manifest's totals against the messages. */
static int
check_manifest(const struct check *c, struct err *e)
{
    const struct manifest *m = c->m;
    const struct stream_info *i = &c->rules.info;
    const char *what = NULL;

    if (m->nfile == 0)
        return m->complete
            ? err_set(e, EX_INPUT, "%s/%s: complete without a shard",
                  set_dir(c->s), SHARD_MANIFEST)
            : 0;
    if (m->complete != c->rules.ended)
        what = "state";
    else if (m->seq + 1 != c->rules.next ||
        memcmp(m->chain.h, c->rules.h.h, 16) != 0 ||
        !same_text(m->cursor, c->cursor))
        what = "position";
    else if (!same_text(m->content, i->content) || m->vocab != i->vocab ||
        !same_text(m->tokenizer, i->tokenizer) || m->T != i->T ||
        m->teacher != c->rules.teacher)
        what = "description of the stream";
    for (size_t k = 0; !what && k < m->nsource; k++)
        if (m->nsource != i->nsource ||
            strcmp(m->source[k].name, i->source[k]) != 0 ||
            m->source[k].docs != c->source[k].docs ||
            m->source[k].tokens != c->source[k].tokens)
            what = "list of sources";
    return what
        ? err_set(e, EX_INPUT, "%s/%s: the %s is not that of the messages",
              set_dir(c->s), SHARD_MANIFEST, what)
        : 0;
}

int
set_check(const char *dir, int partial, void (*tick)(void *ctx, uint64_t done),
    void *ctx, struct err *e)
{
    struct check c = { .tick = tick, .ctx = ctx };
    uint64_t raw_at = 0;
    int r = 0;

    c.s = set_open(dir, partial, e);
    if (!c.s)
        return -1;
    c.m = set_manifest(c.s);
    /* The array has room for any source number (msg_rules checks that it is <
     * 65536): the manifest may have another number of sources than the stream.
     * Counts are compared only if these numbers are equal. */
    c.source = xcalloc(65536, sizeof *c.source);
    c.hash = XXH3_createState();
    if (!c.hash)
        mem_exhausted("state of a hash");
    msg_rules_init(&c.rules);
    for (size_t i = 0; r == 0 && i < c.m->nfile; i++) {
        r = check_shard(&c, i, raw_at, e);
        raw_at += c.m->file[i].raw;
    }
    if (r == 0)
        r = check_manifest(&c, e);
    msg_rules_release(&c.rules);
    index_make_release(&c.index);
    shard_buf_release(&c.buf);
    buf_release(&c.pend);
    XXH3_freeState(c.hash);
    free(c.source);
    free(c.cursor);
    set_close(c.s);
    return r;
}
