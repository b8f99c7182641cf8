/*
 * Writing shard directories: see write.h.
 *
 * Messages gather in a unit until they fill a frame.  Full units wait until
 * there is work for all threads, are compressed in parallel, and are written in
 * order, so that the bytes do not depend on the threads.  A temporary file
 * grows until it has the size of a shard.  Then the shard is committed, in this
 * order: shard file, index, manifest, each synced and renamed.  The shard
 * counts only when the manifest names it.  So the directory on disk is whole at
 * every moment, and a writer that dies leaves at most files the manifest does
 * not name, which the next writer removes.
 */
#include "msg/batch.h"
#include "shard/write.h"
#include "shard/set.h"
#include "shard/dir.h"
#include "shard/index.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "format/seekable.h"
#include "msg/rules.h"
#include "msg/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Full units are compressed when there are UNITS of them for each thread; or
 * one for each thread, and UNIT_BYTES in all; or UNIT_BYTES_MAX in all.  With
 * a single thread a unit is compressed as soon as it is full. */
enum { UNITS = 4 };
#define UNIT_BYTES ((size_t)16 << 20)
#define UNIT_BYTES_MAX ((size_t)256 << 20)

/* Content that is compressed in one task: the messages of one frame, or a large
 * message, which may take several frames. */
struct unit {
    struct buf content;
    struct buf len;  /* size_t: length of each message */
    int end;         /* 1: its last message is `end` */
    struct buf comp; /* the compressed frames */
    struct buf seek; /* struct seek_entry of each frame */
    struct err e;
    int failed;
};

struct shard_writer {
    char *dir;
    int lock; /* descriptor of the locked dir */
    struct shard_opts o;
    struct manifest m; /* counts include the unfinished shard */
    int had_manifest;  /* 1: m was read from the directory */
    struct stream_info info;
    /* begun: begin_directory was called; resuming: the stream continues a
     * stored stream; has_head: the teacher message has the head; failed:
     * writing has failed */
    int begun, resuming, has_head, failed;
    int appending;     /* 1: messages are added to a complete directory, in
                        * which nothing changes before the end */
    struct pool *pool; /* NULL: compress in this thread */
    size_t nthread;
    struct frame_enc **enc;         /* [nthread] */
    struct unit *unit;              /* [nunit]; the first `full` are full */
    size_t nunit, full, full_bytes; /* full_bytes: content of the full units */
    /* The shard being written. */
    size_t number; /* the number in its name */
    int is_open;   /* `out` is a shard file being written */
    struct io_out out;
    struct index_make index;
    struct shard_index head;
    struct buf seek;        /* struct seek_entry of each frame */
    XXH3_state_t *hash;     /* hash of the file so far */
    struct shard_file sums; /* counts of this shard */
    uint64_t raw;           /* bytes of content of this shard so far */
    XXH3_state_t *x;        /* hashes messages for the chain */
    struct chain h;         /* H of the last message */
    uint64_t seq;           /* number of the last message */
    char *cursor;           /* last metadata `cursor`, or NULL */
};

/* ---- the folder ---- */

/* Find out what the folder is: new, a shard directory, or something else, which
 * is refused. */
static int
inspect_folder(struct shard_writer *w, struct err *e)
{
    char *path = shard_path(w->dir, SHARD_MANIFEST);
    size_t foreign, shards;
    int ours;

    w->had_manifest = io_exists(path);
    free(path);
    if (w->had_manifest && !w->o.force)
        return manifest_read(&w->m, w->dir, e);
    if (w->had_manifest) { /* a damaged manifest will be replaced: do not read
                            * it */
        if ((ours = manifest_is_ours(w->dir, e)) == 0)
            return err_set(e, EX_USAGE,
                "%s: is no shard directory: its " SHARD_MANIFEST
                " is that of something else; give another name",
                w->dir);
        return ours < 0 ? -1 : 0;
    }
    if (shard_dir_look(w->dir, &foreign, &shards, e) < 0)
        return -1;
    if (foreign > 0)
        return err_set(e, EX_USAGE,
            "%s: is a folder of other things, no shard directory: give another "
            "name",
            w->dir);
    if (shards > 0 && !w->o.force)
        return err_set(e, EX_USAGE,
            "%s: holds shards, but no " SHARD_MANIFEST
            ": shard repair saves them, -f replaces them",
            w->dir);
    return 0;
}

struct shard_writer *
shardw_open(const char *dir, const struct shard_opts *o, struct err *e)
{
    struct shard_writer *w = xcalloc(1, sizeof *w);

    w->dir = xstrdup(dir);
    w->o = *o;
    if (w->o.frame_max == 0 || w->o.frame_max > FRAME_MAX)
        w->o.frame_max = FRAME_MAX;
    if (w->o.frame_size > w->o.frame_max)
        w->o.frame_size = w->o.frame_max;
    w->lock = w->out.fd = -1;
    w->hash = XXH3_createState();
    w->x = XXH3_createState();
    if (!w->hash || !w->x)
        mem_exhausted("state of a hash");
    if (msg_refuse_address(dir, e) == 0 && io_mkdirs(dir, e) == 0 &&
        (w->lock = shard_dir_lock(dir, e)) >= 0 && inspect_folder(w, e) == 0)
        return w;
    shardw_close(w);
    return NULL;
}

/* Remove the files that shardw_append's writer made: those that the manifest
 * does not name. */
static void
withdraw(const struct shard_writer *w)
{
    struct manifest was;

    if (manifest_read(&was, w->dir, NULL) < 0)
        return;
    shard_dir_clean(w->dir, &was, NULL);
    manifest_release(&was);
}

void
shardw_close(struct shard_writer *w)
{
    if (!w)
        return;
    if (w->begun && !w->appending)
        shardw_settle(w, NULL);
    if (w->is_open)
        io_out_abort(&w->out);
    if (w->appending && (w->failed || !w->m.complete))
        withdraw(w);
    if (w->lock >= 0)
        close(w->lock);
    manifest_release(&w->m);
    stream_info_release(&w->info);
    index_make_release(&w->index);
    for (size_t i = 0; w->enc && i < w->nthread; i++)
        frame_enc_free(w->enc[i]);
    for (size_t i = 0; i < w->nunit; i++) {
        buf_release(&w->unit[i].content);
        buf_release(&w->unit[i].len);
        buf_release(&w->unit[i].comp);
        buf_release(&w->unit[i].seek);
    }
    free(w->enc);
    free(w->unit);
    pool_free(w->pool);
    XXH3_freeState(w->hash);
    XXH3_freeState(w->x);
    buf_release(&w->seek);
    free(w->cursor);
    free(w->dir);
    free(w);
}

const struct manifest *
shardw_manifest(const struct shard_writer *w)
{
    return &w->m;
}

/* ---- beginning ---- */

/* Continue with the codec and sizes with which the directory was begun. */
static void
keep_recorded(struct shard_writer *w)
{
    w->o.codec = w->m.codec;
    w->o.level = w->m.level;
    w->o.frame_size = w->m.frame_size;
    w->o.shard_size = w->m.shard_size;
}

/* Begin a directory: a new one, one whose content is replaced (-f), or one that
 * has no shard yet. */
static int
begin_new(struct shard_writer *w, struct err *e)
{
    char *path;
    int r = 0;

    if (w->had_manifest && !w->o.force && w->m.complete)
        return err_set(e, EX_USAGE,
            "%s: holds a complete shard directory; -f replaces it", w->dir);
    if (w->had_manifest && !w->o.force && w->m.nfile)
        return err_set(e, EX_USAGE,
            "%s: holds %zu shards of a stream that broke off: continue that "
            "stream, or replace it with -f",
            w->dir, w->m.nfile);
    if (w->had_manifest && !w->o.force)
        keep_recorded(w);
    manifest_release(&w->m);
    if (w->had_manifest) {
        /* remove the manifest first: without it the other files do not count */
        path = shard_path(w->dir, SHARD_MANIFEST);
        if (unlink(path) < 0 || io_fsync_dir(w->dir, NULL) < 0)
            r = err_set(e, EX_SYS, "%s:", path);
        free(path);
    }
    if (r < 0 || shard_dir_clean(w->dir, &w->m, e) < 0)
        return -1;
    manifest_begin(&w->m, &w->info);
    w->m.codec = w->o.codec;
    /* store the level that 0 stands for: the default may be another when the
     * directory is resumed */
    w->m.level = w->o.level ? w->o.level : codec_level_default(w->o.codec);
    w->m.frame_size = w->o.frame_size;
    w->m.shard_size = w->o.shard_size;
    return manifest_write(&w->m, w->dir, e);
}

static size_t
next_number(const struct manifest *m)
{
    return m->nfile ? shard_number(m->file[m->nfile - 1].name, m->codec) + 1
                    : 0;
}

static int
begin_resumed(struct shard_writer *w, const struct msg *m, struct err *e)
{
    const struct stream_info *i = &w->info;

    if (!w->had_manifest || w->m.nfile == 0)
        return err_set(e, EX_USAGE,
            "%s: the stream goes on at message %" PRIu64
            ", but nothing is stored here: give the directory of its beginning",
            w->dir, i->next_seq);
    if (w->m.complete)
        return err_set(e, EX_USAGE,
            "%s: is complete; there is nothing to resume", w->dir);
    if (w->m.seq + 1 != i->next_seq || w->m.tokens != i->next_tokens ||
        memcmp(w->m.chain.h, i->chain.h, sizeof i->chain.h) != 0)
        return err_set(e, EX_INPUT,
            "%s: the stream goes on at message %" PRIu64
            " after other content than the %" PRIu64 " messages stored here",
            w->dir, i->next_seq, w->m.seq + 1);
    if (w->m.nsource != i->nsource)
        return err_set(e, EX_INPUT,
            "%s: %zu sources are stored, but the stream has %zu", w->dir,
            w->m.nsource, i->nsource);
    w->resuming = 1;
    w->has_head = w->m.teacher;
    w->number = next_number(&w->m);
    w->h = w->m.chain;
    w->seq = w->m.seq;
    w->cursor = w->m.cursor ? xstrdup(w->m.cursor) : NULL;
    keep_recorded(w);
    if (shard_dir_clean(w->dir, &w->m, e) < 0)
        return -1;
    return set_same_head(w->dir, m, e);
}

static int
start_threads(struct shard_writer *w, struct err *e)
{
    w->nthread = w->o.threads ? w->o.threads : pool_cpus();
    if (w->nthread > 1 && (w->pool = pool_new(w->nthread, e)) == NULL)
        return -1;
    w->enc = xcalloc(w->nthread, sizeof(*w->enc));
    for (size_t i = 0; i < w->nthread; i++)
        w->enc[i] = frame_enc_new(w->o.codec, w->o.level);
    w->nunit = w->nthread > 1 ? UNITS * w->nthread : 1;
    w->unit = xcalloc(w->nunit, sizeof *w->unit);
    return 0;
}

static int
begin_directory(struct shard_writer *w, const struct msg *m, struct err *e)
{
    int r;

    if (m->kind != MSG_STREAM)
        return err_set(e, EX_INPUT, "the first message is %s, not stream",
            msg_kind_name(m->kind));
    if (stream_info_read(&w->info, &m->st, e) < 0)
        return -1;
    w->begun = 1;
    if (w->info.resumed && w->o.force)
        return err_set(e, EX_USAGE,
            "%s: a stream that is continued cannot replace its own beginning "
            "(-f)",
            w->dir);
    r = w->info.resumed ? begin_resumed(w, m, e) : begin_new(w, e);
    if (r < 0)
        return r;
    return start_threads(w, e);
}

/* ---- frames and shards ---- */

static int
open_shard(struct shard_writer *w, uint64_t first_seq, struct err *e)
{
    char name[SHARD_NAME], *path;
    int r;

    if (w->number == SHARD_LIMIT)
        return err_set(e, EX_SYS,
            "%s: more than %u shards; use a larger --shard-size", w->dir,
            SHARD_LIMIT);
    shard_name(name, w->number, w->o.codec);
    path = shard_path(w->dir, name);
    r = io_out_begin(&w->out, path, e);
    free(path);
    if (r < 0)
        return -1;
    w->is_open = 1;
    index_make_clear(&w->index);
    buf_clear(&w->seek);
    w->raw = 0;
    memset(&w->sums, 0, sizeof w->sums);
    memset(&w->head, 0, sizeof w->head);
    w->head.first_seq = first_seq;
    w->head.before = w->h;
    w->head.raw_at = w->m.raw;
    XXH3_128bits_reset(w->hash);
    return 0;
}

static int
write_bytes(struct shard_writer *w, const void *p, size_t n, struct err *e)
{
    XXH3_128bits_update(w->hash, p, n);
    return io_out_write(&w->out, p, n, e);
}

/* Finish the shard file: seek table, sync, rename. */
static int
finish_file(struct shard_writer *w, struct err *e)
{
    struct buf b = { 0 };
    int r;

    w->head.table_at = w->out.n;
    seek_write(&b, (const void *)w->seek.p,
        w->seek.n / sizeof(struct seek_entry));
    w->head.table_hash = XXH3_64bits(b.p, b.n);
    r = write_bytes(w, b.p, b.n, e);
    buf_release(&b);
    if (r < 0)
        return -1;
    w->head.bytes = w->out.n;
    w->head.raw = w->raw;
    chain_end(w->hash, &w->head.file);
    if (io_out_commit(&w->out, e) < 0)
        return -1;
    w->is_open = 0;
    return 0;
}

static int
finish_index(struct shard_writer *w, struct err *e)
{
    char shard[SHARD_NAME], name[SHARD_NAME], *path;
    struct buf b = { 0 };
    int r;

    index_make_parts(&w->index);
    index_make_file(&w->index, &w->head, &b);
    shard_name(shard, w->number, w->o.codec);
    shard_index_name(name, shard);
    path = shard_path(w->dir, name);
    r = io_put_file(path, b.p, b.n, e);
    w->sums.index_bytes = b.n;
    chain_of(&w->sums.index_hash, b.p, b.n);
    index_frames_hash((const unsigned char *)b.p, b.n,
        w->index.doc.n / sizeof(struct shard_doc),
        w->index.part.n / sizeof(struct shard_part), &w->sums.frames_hash);
    free(path);
    buf_release(&b);
    return r;
}

static int
commit_shard(struct shard_writer *w, int complete, struct err *e)
{
    struct manifest *m = &w->m;
    struct shard_file *f = &w->sums;
    char name[SHARD_NAME];

    if (finish_file(w, e) < 0 || finish_index(w, e) < 0)
        return -1;
    shard_name(name, w->number++, w->o.codec);
    f->name = xstrdup(name);
    f->bytes = w->head.bytes;
    f->raw = w->raw;
    f->frames = w->seek.n / sizeof(struct seek_entry);
    f->hash = w->head.file;
    m->file = xreallocarray(m->file, m->nfile + 1, sizeof *m->file);
    m->file[m->nfile++] = *f;
    m->messages += f->messages;
    m->docs += f->docs;
    m->tokens += f->tokens;
    m->raw += f->raw;
    m->seq = w->seq;
    m->chain = w->h;
    free(m->cursor);
    m->cursor = w->cursor ? xstrdup(w->cursor) : NULL;
    m->complete = complete;
    if (!w->appending)
        return manifest_write(m, w->dir, e);
    /* appending: the new manifest makes all new files count at once; then the
     * old last file is removed */
    return complete &&
            (manifest_write(m, w->dir, e) < 0 ||
                shard_dir_clean(w->dir, m, e) < 0)
        ? -1
        : 0;
}

/* ---- counting ---- */

/* Add message m, whose content begins at offset raw, to the index, the sums and
 * the chain. */
static void
account(struct shard_writer *w, const struct msg *m, uint64_t raw)
{
    const uint64_t tokens = msg_tokens(m), docs = w->index.docs;
    const char *cursor = st_meta(&m->st, "cursor");
    const size_t frame = w->seek.n / sizeof(struct seek_entry);

    index_make_msg(&w->index, m, raw, tokens, frame, w->m.source);
    w->sums.tokens += tokens;
    w->sums.docs += w->index.docs - docs;
    chain_begin(w->x, m->seq == 0 ? NULL : &w->h);
    XXH3_128bits_update(w->x, m->raw, m->nraw);
    chain_end(w->x, &w->h);
    w->seq = m->seq;
    if (cursor) {
        free(w->cursor);
        w->cursor = xstrdup(cursor);
    }
    if (m->kind == MSG_TEACHER)
        w->m.teacher = 1;
}

/* ---- units ---- */

/* Compress unit number `task` into one frame, or, if its content exceeds
 * frame_max, into several.  Runs in any thread. */
static void
compress(void *ctx, size_t task, size_t worker)
{
    struct shard_writer *w = ctx;
    struct unit *u = &w->unit[task];

    buf_clear(&u->comp);
    buf_clear(&u->seek);
    u->failed = 0;
    for (size_t at = 0; at < u->content.n && !u->failed;) {
        const char *p = u->content.p + at;
        const size_t left = u->content.n - at, before = u->comp.n;
        const size_t n = left > w->o.frame_max ? (size_t)w->o.frame_max : left;
        struct seek_entry s = { .dsize = (uint32_t)n, .sum = seek_sum(p, n) };

        u->failed = frame_encode(w->enc[worker], p, n, &u->comp, &u->e) < 0;
        s.csize = (uint32_t)(u->comp.n - before);
        if (!u->failed && !frame_is_backed(s.csize, n))
            u->failed =
                err_set(&u->e, EX_INPUT,
                    "%zu bytes of a message are so much alike that they take "
                    "%" PRIu32 ": more than %d fold is not stored, for it "
                    "would not be read",
                    n, s.csize, FRAME_RATIO) < 0;
        buf_add(&u->seek, &s, sizeof s);
        at += n;
    }
}

/* Parse all messages of a unit and count them: see account. */
static int
account_unit(struct shard_writer *w, const struct unit *u, struct err *e)
{
    const size_t *len = (const void *)u->len.p;
    size_t at = 0;

    for (size_t i = 0; i < u->len.n / sizeof *len; at += len[i++]) {
        struct msg m = { .nraw = len[i] };

        m.raw = (const unsigned char *)u->content.p + at;
        if (st_parse(&m.st, m.raw, m.nraw, e) < 0)
            return -1;
        m.kind = msg_kind_of(st_meta(&m.st, "kind"));
        if (msg_number(st_meta(&m.st, "seq"), &m.seq) < 0)
            m.seq = w->seq + 1;
        if (!w->is_open && open_shard(w, m.seq, e) < 0) {
            st_release(&m.st);
            return -1;
        }
        account(w, &m, w->raw + at);
        st_release(&m.st);
    }
    return 0;
}

/* Write a compressed unit; then commit the shard if it is large enough. */
static int
write_unit(struct shard_writer *w, struct unit *u, struct err *e)
{
    const struct seek_entry *s = (const void *)u->seek.p;
    size_t nmsg = u->len.n / sizeof(size_t), at = 0;

    if (u->failed) {
        if (e)
            *e = u->e;
        return -1;
    }
    if (account_unit(w, u, e) < 0)
        return -1;
    for (size_t i = 0; i < u->seek.n / sizeof *s; i++, nmsg = 0) {
        const char *p = u->comp.p + at;

        index_make_frame(&w->index, w->out.n, w->raw, p, s[i].csize, s[i].dsize,
            (size_t)w->sums.messages, nmsg);
        buf_add(&w->seek, &s[i], sizeof s[i]);
        w->raw += s[i].dsize;
        w->sums.messages += nmsg;
        if (write_bytes(w, p, s[i].csize, e) < 0)
            return -1;
        at += s[i].csize;
    }
    if (u->end)
        return commit_shard(w, 1, e);
    return w->out.n >= w->o.shard_size ? commit_shard(w, 0, e) : 0;
}

/* Empty a unit; free its buffers if they are unusually large. */
static void
clear_unit(struct unit *u)
{
    if (u->content.cap > UNIT_BYTES) {
        buf_release(&u->content);
        buf_release(&u->comp);
    }
    buf_clear(&u->content);
    buf_clear(&u->len);
    u->end = 0;
}

/* Compress and write the full units; the unit being filled becomes the
 * first. */
static int
drain(struct shard_writer *w, struct err *e)
{
    const size_t n = w->full;
    int r = 0;

    if (w->pool)
        pool_run(w->pool, n, compress, w);
    else
        for (size_t i = 0; i < n; i++)
            compress(w, i, 0);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = write_unit(w, &w->unit[i], e);
    for (size_t i = 0; i < n; i++)
        clear_unit(&w->unit[i]);
    w->full = 0;
    w->full_bytes = 0;
    if (n < w->nunit && n > 0) {
        const struct unit u = w->unit[0];

        w->unit[0] = w->unit[n];
        w->unit[n] = u;
    }
    return r;
}

/* The unit being filled is full: begin the next one, or compress and write if
 * there is work enough. */
static int
close_unit(struct shard_writer *w, struct err *e)
{
    w->full_bytes += w->unit[w->full].content.n;
    w->full++;
    return w->full == w->nunit || w->full_bytes >= UNIT_BYTES_MAX ||
            (w->full >= w->nthread && w->full_bytes >= UNIT_BYTES)
        ? drain(w, e)
        : 0;
}

/* ---- messages ---- */

/* Refuse a batch with final states if the teacher message has no head for
 * them. */
static int
check_has_head(struct shard_writer *w, const struct msg *m, struct err *e)
{
    if (m->kind == MSG_TEACHER)
        w->has_head = st_find(&m->st, "head") != NULL;
    if (m->kind == MSG_BATCH && !w->has_head &&
        st_find(&m->st, "teacher.final"))
        return err_set(e, EX_INPUT,
            "%s: batches hold teacher.final, but there is no teacher message "
            "with the head: let the teacher send it",
            w->dir);
    return 0;
}

static int
put_checked(struct shard_writer *w, const struct msg *m, struct err *e)
{
    struct unit *u;

    if (!w->begun && begin_directory(w, m, e) < 0)
        return -1;
    if (w->resuming && m->kind == MSG_STREAM)
        return 0; /* begin_directory has compared it with the stored one */
    if (w->resuming && m->kind == MSG_TEACHER)
        return set_same_head(w->dir, m, e);
    if (check_has_head(w, m, e) < 0)
        return -1;
    u = &w->unit[w->full];
    if (u->content.n > 0 && m->nraw > w->o.frame_size - u->content.n &&
        close_unit(w, e) < 0)
        return -1;
    u = &w->unit[w->full];
    buf_add(&u->content, m->raw, m->nraw);
    buf_add(&u->len, &m->nraw, sizeof m->nraw);
    u->end = m->kind == MSG_END;
    if (u->end)
        return close_unit(w, e) < 0 || drain(w, e) < 0 ? -1 : 0;
    return m->nraw >= w->o.frame_size ? close_unit(w, e) : 0;
}

int
shardw_put(struct shard_writer *w, const struct msg *m, struct err *e)
{
    if (w->failed)
        return err_set(e, EX_SYS, "%s: writing has failed before", w->dir);
    if (put_checked(w, m, e) == 0)
        return 0;
    w->failed = 1;
    return -1;
}

int
shardw_settle(struct shard_writer *w, struct err *e)
{
    if (w->failed || drain(w, e) == 0)
        return 0;
    w->failed = 1;
    return -1;
}

/* ---- adding to a complete directory ---- */

/* Take the last file, with the counts `its` by source, out of the manifest and
 * the sums: the messages of that file will be written again. */
static void
drop_last(struct shard_writer *w, const struct shard_index *x,
    const struct shard_source *its)
{
    struct manifest *m = &w->m;
    struct shard_file *f = &m->file[--m->nfile];

    m->messages -= f->messages;
    m->docs -= f->docs;
    m->tokens -= f->tokens;
    m->raw -= f->raw;
    for (size_t i = 0; i < m->nsource; i++) {
        m->source[i].docs -= its[i].docs;
        m->source[i].tokens -= its[i].tokens;
    }
    m->complete = 0;
    free(f->name);
    w->h = x->before;
    w->seq = x->first_seq - 1;
    w->resuming = m->nfile > 0;
    w->cursor = m->cursor ? xstrdup(m->cursor) : NULL;
}

/* Go through the messages of the last file of s.
 * store 0: count their documents and tokens by source in its[].
 * store 1: put them again, except `end`, which tells *r where the stream
 * continues. */
static int
last_file(struct shard_writer *w, struct shard_set *s, int store,
    struct shard_source *its, struct msg_rules *r, struct err *e)
{
    const size_t last = set_manifest(s)->nfile - 1;
    const struct shard_index *x = set_index(s, last, e);
    struct index_make none = { 0 };
    struct shard_buf b = { 0 };
    struct msg m;
    uint64_t tokens;
    int k = x ? 0 : -1;

    for (size_t i = 0; k == 0 && i < x->nmsg; i++) {
        if ((k = set_msg(s, last, i, &b, &m, e)) < 0)
            break;
        if (m.kind == MSG_DOCS)
            k = msg_check_docs(&m.st, w->m.vocab, w->m.nsource, &tokens, e);
        else if (m.kind == MSG_BATCH)
            k = batch_check(&m.st, w->m.vocab, w->m.nsource, &tokens, e);
        if (k == 0 && !store)
            index_make_msg(&none, &m, 0, 0, 0, its);
        else if (k == 0 && m.kind != MSG_END)
            k = put_checked(w, &m, e);
        else if (k == 0)
            k = msg_rules_go_on(r, &m, e);
    }
    if (k < 0)
        err_prefix(e, "%s", set_manifest(s)->file[last].name);
    index_make_release(&none);
    shard_buf_release(&b);
    return k;
}

static int
reopen_last_file(struct shard_writer *w, struct shard_set *s,
    struct msg_rules *r, struct err *e)
{
    const struct msg *head = set_head(s, e);
    const struct shard_index *x;
    struct shard_source *its;
    uint64_t tokens;
    struct msg m;
    int k;

    if (!head || !(x = set_index(s, w->m.nfile - 1, e)))
        return -1;
    m = *head;
    its = xcalloc(w->m.nsource, sizeof *its);
    k = msg_rules_check(r, &m, &tokens, e);
    if (k == 0 && r->info.nsource != w->m.nsource)
        k = err_set(e, EX_INPUT, "the manifest has other sources");
    if (k == 0)
        k = last_file(w, s, 0, its, r, e);
    if (k == 0 && (k = shard_dir_clean(w->dir, &w->m, e)) == 0 &&
        (k = start_threads(w, e)) == 0) {
        w->appending = w->begun = 1;
        w->number = next_number(&w->m);
        keep_recorded(w);
        drop_last(w, x, its);
        r->teacher = w->has_head = w->m.teacher;
        k = last_file(w, s, 1, NULL, r, e);
    }
    free(its);
    return k;
}

struct shard_writer *
shardw_append(const char *dir, const struct shard_opts *o, struct msg_rules *r,
    struct err *e)
{
    struct shard_writer *w = shardw_open(dir, o, e);
    struct shard_set *s = w ? set_open(dir, 0, e) : NULL;
    int k = s ? reopen_last_file(w, s, r, e) : -1;

    if (k < 0 && s)
        err_prefix(e, "%s", dir);
    set_close(s);
    if (k == 0)
        return w;
    shardw_close(w);
    return NULL;
}
