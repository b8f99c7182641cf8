/*
 * Saves the intact parts of a damaged shard directory: see set_repair.h.
 *
 * Only the frames are needed: each has its own checksum and holds whole
 * messages (or a part of one too large for a frame).  Manifest, index and seek
 * table are used where they are good: they show where the frames are, and what
 * lost frames held.  The messages found are numbered anew and stored as a new
 * stream.
 */
#include "set_repair.h"
#include "base/bytes.h"
#include "base/io.h"
#include "shard/make.h"
#include "shard/dir.h"
#include "shard/index.h"
#include "format/seekable.h"
#include "msg/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct repair {
    const char *dir, *out;
    const struct shard_opts *o;
    const struct stream_info *head;
    void (*report)(void *ctx, const char *line);
    void *ctx;
    struct shard_loss *l;
    struct manifest m;    /* valid if l->counted */
    struct shard_make *k; /* NULL before the first message */
    enum codec codec;
    struct frame_dec *dec;
    struct buf raw;  /* content of a frame */
    struct buf pend; /* beginning of a message that ends in the next frame */
    uint64_t next;   /* seq that the next message should have */
};

static void report_lost(const struct repair *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
report_lost(const struct repair *r, const char *fmt, ...)
{
    char line[600];
    va_list ap;

    if (!r->report)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    r->report(r->ctx, line);
}

/* ---- messages ---- */

/* Make a `stream` message in place of the lost one, from the manifest and from
 * head (the tokenizer given).  m is the first message found: its first document
 * shows whether documents have BOS and EOS. */
static int
make_head(struct repair *r, const struct msg *m, struct err *e)
{
    const struct manifest *f = &r->m;
    struct stream_info i = { .content = "docs", .bos = -1, .eos = -1 };
    int64_t first, last;
    const struct st_tensor *ids, *len;

    if (!r->head || !r->l->counted || m->kind != MSG_DOCS)
        return err_set(e, EX_INPUT,
            "%s: the message that describes the stream is lost%s", r->dir,
            m->kind == MSG_DOCS && r->l->counted ? ": give the tokenizer (-t)"
                                                 : "");
    if (strcmp(r->head->tokenizer, f->tokenizer) != 0)
        return err_set(e, EX_INPUT, "%s: another tokenizer made it: %s, not %s",
            r->dir, f->tokenizer, r->head->tokenizer);
    ids = st_find(&m->st, "ids");
    len = st_find(&m->st, "doc_len");
    if (!ids || !len || ids->n == 0 || len->n == 0 || len->dtype != DT_U32 ||
        st_u32(len, 0) == 0 || st_u32(len, 0) > ids->n ||
        (ids->dtype != DT_U16 && ids->dtype != DT_U32))
        return err_set(e, EX_INPUT, "%s: a message without documents", r->dir);
    first = (int64_t)st_uint(ids, 0);
    last = (int64_t)st_uint(ids, st_u32(len, 0) - 1);
    i.bos = first == r->head->bos ? first : -1;
    i.eos = last == r->head->eos ? last : -1;
    i.tokenizer = f->tokenizer;
    i.vocab = f->vocab;
    i.nsource = f->nsource;
    i.source = xcalloc(f->nsource, sizeof *i.source);
    for (size_t n = 0; n < f->nsource; n++)
        i.source[n] = f->source[n].name;
    stream_info_put(shardmk_begin(r->k, MSG_STREAM), &i);
    free(i.source);
    report_lost(r,
        "%s: the message that describes the stream is lost; it is made anew, "
        "BOS %s, EOS %s",
        r->dir, i.bos < 0 ? "none" : "as the tokenizer's",
        i.eos < 0 ? "none" : "as the tokenizer's");
    return shardmk_send(r->k, e);
}

/* Number a complete message anew and store it. */
static int
save_message(struct repair *r, struct msg *m, struct err *e)
{
    const char *kind = st_meta(&m->st, "kind"), *seq = st_meta(&m->st, "seq");

    if (!kind || !seq || msg_number(seq, &m->seq) < 0)
        return err_set(e, EX_INPUT, "a message without kind or seq");
    m->kind = msg_kind_of(kind);
    /* stored already: it is also in a shard file that was replaced but not yet
     * removed */
    if (m->seq < r->next)
        return 0;
    if (m->seq > r->next)
        r->l->messages += m->seq - r->next;
    r->next = m->seq + 1;
    if (m->kind == MSG_END)
        return 0;
    if (!r->k) {
        r->k = shardmk_open(r->out, r->o, e);
        if (!r->k || (m->kind != MSG_STREAM && make_head(r, m, e) < 0))
            return -1;
    } else if (m->kind == MSG_STREAM) {
        return err_set(e, EX_INPUT, "a second stream message");
    }
    shardmk_copy(r->k, m, 1, NULL);
    return shardmk_send(r->k, e);
}

/* Store the messages in a frame's content.  Returns 0; 1: the content continues
 * a message whose beginning is lost, so it is of no use; -1. */
static int
keep_content(struct repair *r, struct err *e)
{
    size_t at = 0;

    buf_add(&r->pend, r->raw.p, r->raw.n);
    while (at < r->pend.n) {
        struct msg m = { .kind = MSG_OTHER };
        size_t n;
        int k;

        if (msg_size(r->pend.p + at, r->pend.n - at, &n, NULL) < 0) {
            buf_clear(&r->pend);
            return 1;
        }
        if (n > r->pend.n - at)
            break;
        if (st_parse(&m.st, r->pend.p + at, n, e) < 0)
            return -1;
        m.raw = (const unsigned char *)r->pend.p + at;
        m.nraw = n;
        k = save_message(r, &m, e);
        st_release(&m.st);
        if (k < 0)
            return -1;
        at += n;
    }
    buf_drop(&r->pend, at);
    return 0;
}

/* ---- frames ---- */

struct frame_span {
    uint64_t at, csize, dsize;
};

/* Decode the frame p[n] into r->raw.  Returns NULL, or why the frame is
 * lost. */
static const char *
decode_frame(struct repair *r, const unsigned char *p, size_t n, size_t dsize)
{
    static struct err why;

    if (!frame_is_backed(n, dsize))
        return "it is to become much more than it can be";
    buf_clear(&r->raw);
    buf_reserve(&r->raw, dsize);
    if (frame_decode(r->dec, p, n, r->raw.p, dsize, &why) < 0)
        return why.msg;
    r->raw.n = dsize;
    return NULL;
}

/* Save frame i of a shard.  x: the shard's index, which tells what a lost frame
 * held; NULL: the index is damaged. */
static int
save_frame(struct repair *r, const char *path, const struct io_map *f, size_t i,
    const struct frame_span *s, const struct shard_index *x, struct err *e)
{
    const char *why = NULL;
    int k = 0;

    r->l->frames++;
    if (s->at > f->n || s->csize > f->n - s->at)
        why = "the file ends before it does";
    else
        why = decode_frame(r, f->p + s->at, (size_t)s->csize, (size_t)s->dsize);
    if (!why) {
        k = keep_content(r, e);
        if (k < 0) /* an error of writing names its own file */
            return e && e->code == EX_SYS
                ? -1
                : err_prefix(e, "%s: frame %zu at byte %" PRIu64, path, i,
                      s->at);
        if (k > 0)
            why = "the message it continues is lost";
    }
    if (!why)
        return 0;
    r->l->lost++;
    buf_clear(&r->pend);
    if (x && x->frame[i].nmsg) {
        const struct shard_msg *m = &x->msg[x->frame[i].msg];
        uint64_t n = 0, tokens = 0;

        for (uint32_t j = 0; j < x->frame[i].nmsg; j++) {
            n += m[j].n;
            tokens += m[j].tokens;
        }
        report_lost(r,
            "%s: frame %zu at byte %" PRIu64 " is lost, documents %" PRIu64
            " to %" PRIu64 " of the shard, %" PRIu64 " tokens: %s",
            path, i, s->at, m->first, m->first + n, tokens, why);
    } else {
        report_lost(r, "%s: frame %zu at byte %" PRIu64 " is lost: %s", path, i,
            s->at, why);
    }
    return 0;
}

/* Find frames by the seek table; NULL: the table is damaged. */
static struct frame_span *
by_table(const struct io_map *f, size_t *n)
{
    struct seek_entry *t;
    struct frame_span *s;
    uint64_t frames, at = 0;
    size_t bytes;

    if (f->n < 17)
        return NULL;
    frames = le_get(f->p + f->n - 9, 4);
    if (frames > SEEK_FRAMES_MAX ||
        (bytes = seek_bytes((size_t)frames)) > f->n ||
        seek_parse(f->p + f->n - bytes, bytes, f->n - bytes, &t, n, NULL) < 0)
        return NULL;
    s = xcalloc(*n, sizeof *s);
    for (size_t i = 0; i < *n; i++) {
        s[i] = (struct frame_span){ at, t[i].csize, t[i].dsize };
        at += t[i].csize;
        if (t[i].dsize > FRAME_MAX)
            at = UINT64_MAX / 2;
    }
    free(t);
    if (at == f->n - bytes)
        return s;
    free(s);
    return NULL;
}

/* Find frames by looking at every byte for a frame's header.  Decoding shows,
 * by the checksum, which of them are real. */
static struct frame_span *
by_looking(enum codec c, const struct io_map *f, size_t *n)
{
    const unsigned char first = c == CODEC_ZSTD ? 0x28 : 0x04;
    struct frame_span *s = NULL;
    size_t at = 0, cs, ds;

    *n = 0;
    while (at < f->n) {
        if (f->p[at] == first &&
            frame_span(c, f->p + at, f->n - at, &cs, &ds) == 0 && ds > 0) {
            s = xgrow_pow2(s, *n, sizeof *s);
            s[(*n)++] = (struct frame_span){ at, cs, ds };
            at += cs;
        } else {
            at++;
        }
    }
    return s ? s : xcalloc(1, sizeof *s);
}

/* Map the index of shard i.  Is it good, that is, well formed and, if the
 * manifest is good, with the hash in the manifest? */
static int
good_index(struct repair *r, size_t i, const char *shard, struct io_map *map,
    struct shard_index *x)
{
    char name[SHARD_NAME], *path;
    struct chain c;
    int good;

    shard_index_name(name, shard);
    path = shard_path(r->dir, name);
    good = io_map(map, path, NULL) == 0;
    if (good) {
        chain_of(&c, map->p, map->n);
        good = index_view(x, map->p, map->n, NULL) == 0 &&
            (!r->l->counted || memcmp(c.h, r->m.file[i].index_hash.h, 16) == 0);
        if (!good)
            io_unmap(map);
    }
    if (!good)
        report_lost(r,
            "%s: the index is damaged or missing; frames are found without it",
            path);
    free(path);
    return good;
}

/* Save all frames of shard i.  Returns 0; 1: the shard does not exist; -1. */
static int
save_shard(struct repair *r, size_t i, struct err *e)
{
    struct shard_index x;
    struct io_map f, map = { 0 };
    struct frame_span *s = NULL;
    char name[SHARD_NAME], *path;
    size_t n = 0;
    int good, k = 0;

    shard_name(name, i, r->codec);
    if (r->l->counted)
        memcpy(name, r->m.file[i].name, strlen(r->m.file[i].name) + 1);
    path = shard_path(r->dir, name);
    if (io_map(&f, path, e) < 0) {
        if (errno == ENOENT && r->l->counted)
            report_lost(r, "%s: the shard is missing", path);
        k = errno == ENOENT ? 1 : -1;
        free(path);
        return k;
    }
    good = good_index(r, i, name, &map, &x);
    if (good) {
        n = x.nframe;
        s = xcalloc(n, sizeof *s);
        for (size_t j = 0; j < n; j++)
            s[j] = (struct frame_span){ x.frame[j].at, x.frame[j].csize,
                x.frame[j].dsize };
    } else if (!(s = by_table(&f, &n))) {
        s = by_looking(r->codec, &f, &n);
    }
    buf_clear(&r->pend); /* messages do not go on from shard to shard */
    for (size_t j = 0; k == 0 && j < n; j++)
        k = save_frame(r, path, &f, j, &s[j], good ? &x : NULL, e);
    if (good)
        io_unmap(&map);
    io_unmap(&f);
    free(s);
    free(path);
    return k;
}

/* ---- the directory ---- */

/* Compute the loss: the old manifest's counts less the new one's. */
static void
count_loss(struct repair *r, const struct manifest *new)
{
    struct shard_loss *l = r->l;

    if (!l->counted)
        return;
    l->docs = r->m.docs - (new->docs < r->m.docs ? new->docs : r->m.docs);
    l->tokens =
        r->m.tokens - (new->tokens < r->m.tokens ? new->tokens : r->m.tokens);
    l->nsource = r->m.nsource;
    l->source = xcalloc(l->nsource, sizeof *l->source);
    for (size_t i = 0; i < l->nsource; i++) {
        struct shard_source *s = &l->source[i];

        *s = r->m.source[i];
        s->name = xstrdup(s->name);
        if (i < new->nsource &&new->source[i].docs <= s->docs) {
            s->docs -= new->source[i].docs;
            s->tokens -= new->source[i].tokens;
        }
    }
}

void
shard_loss_release(struct shard_loss *l)
{
    for (size_t i = 0; i < l->nsource; i++)
        free(l->source[i].name);
    free(l->source);
    memset(l, 0, sizeof *l);
}

/* Guess the codec of a directory without a good manifest: lz4 if a shard's name
 * says so. */
static enum codec
guess_codec(const char *dir)
{
    for (size_t i = 0; i < 64; i++) {
        char name[SHARD_NAME], *path;
        int there;

        shard_name(name, i, CODEC_LZ4);
        path = shard_path(dir, name);
        there = io_exists(path);
        free(path);
        if (there)
            return CODEC_LZ4;
    }
    return CODEC_ZSTD;
}

static int
save_all(struct repair *r, struct err *e)
{
    const size_t n = r->l->counted ? r->m.nfile : SHARD_LIMIT;
    size_t missing = 0;

    for (size_t i = 0; i < n && missing < 64; i++) {
        const int k = save_shard(r, i, e);

        if (k < 0)
            return -1;
        missing = k > 0 && !r->l->counted ? missing + 1 : 0;
    }
    if (!r->k)
        return err_set(e, EX_INPUT, "%s: nothing of it can be saved", r->dir);
    if (r->l->counted && r->m.seq + 1 > r->next)
        r->l->messages += r->m.seq + 1 - r->next;
    return shardmk_end(r->k, e);
}

int
set_repair(const char *dir, const char *out, const struct shard_opts *o,
    const struct stream_info *head, void (*report)(void *ctx, const char *line),
    void *ctx, struct shard_loss *l, struct err *e)
{
    struct repair r = { .dir = dir,
        .out = out,
        .o = o,
        .head = head,
        .report = report,
        .ctx = ctx,
        .l = l };
    struct shard_opts same = *o;
    struct err why;
    int k;

    memset(l, 0, sizeof *l);
    if (!io_is_dir(dir)) {
        errno = io_exists(dir) ? ENOTDIR : ENOENT;
        return err_set(e, EX_SYS, "%s:", dir);
    }
    l->counted = manifest_read(&r.m, dir, &why) == 0;
    if (!l->counted && why.code == EX_SYS) {
        if (e)
            *e = why;
        return -1;
    }
    if (!l->counted)
        report_lost(&r, "%s", why.msg);
    if (l->counted) {
        same.codec = r.m.codec;
        same.level = r.m.level;
        same.frame_size = r.m.frame_size;
        same.shard_size = r.m.shard_size;
        r.o = &same;
    }
    r.codec = l->counted ? r.m.codec : guess_codec(dir);
    r.dec = frame_dec_new(r.codec);
    k = save_all(&r, e);
    if (k == 0)
        count_loss(&r, shardmk_manifest(r.k));
    shardmk_close(r.k);
    frame_dec_free(r.dec);
    manifest_release(&r.m);
    buf_release(&r.raw);
    buf_release(&r.pend);
    return k;
}
