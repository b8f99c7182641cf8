/*
 * Writes several streams to a new directory, or appends them to one; see
 * shard(1).
 *
 * The first message of a stream names its sources, so the first messages of all
 * inputs are read before anything is written.  If the directory already has all
 * these sources, it gets new files (shardmk_append).  Otherwise a new directory
 * is written beside the old one, and replaces it at the end.
 */
#include "merge.h"
#include "store.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/wire.h"
#include "shard/dir.h"
#include "shard/make.h"
#include "shard/set.h"
#include "shard/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct input {
    const char *name;
    struct msg_in *in; /* NULL: closed, to be opened again */
    struct stream_info info;
    uint16_t *map; /* [info.nsource] each source's number in the new stream */
};

/* A message that the directory already holds. */
struct before {
    uint64_t tokens;
    uint32_t n; /* number of documents or rows */
    uint32_t shard;
    size_t msg;
    int known;          /* 1: `chain` is set */
    struct chain chain; /* hash of the message's ids and keys */
};

struct merge {
    const char *dir; /* the directory to write */
    int partial;
    struct input *input;
    size_t n;
    struct stream_info info; /* describes the merged stream */
    struct shard_make *k;    /* NULL before the first input */
    int some;                /* the new stream has documents or rows already */
    struct buf teacher;      /* the teacher message; empty: none so far */
    struct shard_set *old;   /* the directory that is added to, or NULL */
    struct buf before;       /* struct before [], sorted by tokens, then by n */
    struct shard_buf read;   /* memory for reading old */
    struct buf source;       /* renumbered sources of a message, u16 */
    uint64_t bytes;
};

static void
read_first(struct merge *g, struct input *x)
{
    struct stat st;
    struct msg m;
    struct err e;

    x->in = set_in_open(x->name, g->partial, &e);
    if (!x->in || msg_read(x->in, &m, &e) < 0 ||
        stream_info_read(&x->info, &m.st, &e) < 0)
        die_err(&e);
    if (x->info.resumed)
        die(EX_USAGE,
            "%s: goes on at message %" PRIu64
            " of a stream that broke off: only the directory of its beginning "
            "takes it",
            msg_in_name(x->in), x->info.next_seq);
    /* close it: there may be thousands of inputs */
    if (x->name && stat(x->name, &st) == 0 &&
        (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
        msg_in_close(x->in);
        x->in = NULL;
    }
}

/* Open input i, and add its sources to the merged stream's. */
static void
open_merge_input(struct merge *g, size_t i, const char *name)
{
    struct input *x = &g->input[i];
    struct err e;

    x->name = name;
    read_first(g, x);
    if (i == 0) {
        g->info = x->info;
        g->info.source = NULL;
        g->info.nsource = 0;
    } else if (stream_info_fits(&g->info, io_in_name(g->input[0].name),
                   &x->info, io_in_name(name), &e) < 0) {
        die_err(&e);
    }
    x->map = xreallocarray(NULL, x->info.nsource, sizeof *x->map);
    if (stream_info_merge(&g->info, &x->info, x->map, &e) < 0)
        die_err(&e);
}

/* Renumber the sources of m.  Returns the tensor to write in place of m's. */
static const struct st_tensor *
renumber_sources(struct merge *g, const struct input *x, const struct msg *m,
    struct st_tensor *t)
{
    const struct st_tensor *s =
        st_find(&m->st, m->kind == MSG_DOCS ? "doc_source" : "piece_source");

    buf_clear(&g->source);
    for (size_t i = 0; i < s->n; i++) {
        const uint16_t v = x->map[st_u16(s, i)];

        buf_add(&g->source, &v, sizeof v);
    }
    *t = *s;
    t->data = (const void *)g->source.p;
    return t;
}

/* Store the first `teacher` message; later ones must be equal to it. */
static int
copy_teacher(struct merge *g, const struct input *x, const struct msg *m,
    struct err *e)
{
    if (g->teacher.n ? m->nraw != g->teacher.n ||
                memcmp(m->raw, g->teacher.p, m->nraw) != 0
                     : g->some)
        return err_set(e, EX_INPUT,
            "%s: another teacher than in what comes before it",
            io_in_name(x->name));
    if (g->teacher.n)
        return 0;
    buf_add(&g->teacher, m->raw, m->nraw);
    shardmk_copy(g->k, m, 0, NULL);
    return shardmk_send(g->k, e);
}

/* Hash the ids and keys in m.  Returns 1; 0: m has no documents or rows. */
static int
identify(const struct msg *m, struct chain *c)
{
    const char *name = m->kind == MSG_DOCS ? "doc_key" : "piece_key";
    const struct st_tensor *ids = st_find(&m->st, "ids");
    const struct st_tensor *key = st_find(&m->st, name);
    struct buf b = { 0 };

    if ((m->kind != MSG_DOCS && m->kind != MSG_BATCH) || !ids || !key ||
        ids->nbytes == 0 || key->nbytes == 0)
        return 0;
    buf_add(&b, ids->data, ids->nbytes);
    buf_add(&b, key->data, key->nbytes);
    chain_of(c, b.p, b.n);
    buf_release(&b);
    return 1;
}

static int
order_before(const void *a, const void *b)
{
    const struct before *x = a, *y = b;

    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

/* Set g->before to the messages with documents or rows that the directory
 * holds, from its indexes. */
static int
find_before(struct merge *g, struct err *e)
{
    for (size_t i = 0; i < set_manifest(g->old)->nfile; i++) {
        const struct shard_index *x = set_frames(g->old, i, e);

        if (!x)
            return -1;
        for (size_t k = 0; k < x->nmsg; k++)
            if (x->msg[k].n > 0) {
                const struct before b = { .tokens = x->msg[k].tokens,
                    .n = x->msg[k].n,
                    .shard = (uint32_t)i,
                    .msg = k };

                buf_add(&g->before, &b, sizeof b);
            }
    }
    if (g->before.n > 0)
        qsort(g->before.p, g->before.n / sizeof(struct before),
            sizeof(struct before), order_before);
    return 0;
}

static int
is_input_before(struct merge *g, struct before *b, const struct chain *c,
    struct err *e)
{
    struct msg m;

    if (!b->known) {
        if (set_msg(g->old, b->shard, b->msg, &g->read, &m, e) < 0)
            return -1;
        b->known = 1;
        identify(&m, &b->chain);
    }
    return memcmp(b->chain.h, c->h, sizeof c->h) == 0;
}

/* Fail if the documents or rows of m are in the directory already, as one
 * message: this happens when a script is run twice.  Only stored messages with
 * equal numbers of tokens and documents are read, each of them once. */
static int
check_new(struct merge *g, const struct input *x, const struct msg *m,
    struct err *e)
{
    struct before *const v = (void *)g->before.p,
                         key = { .n = (uint32_t)st_find(&m->st,
                                     m->kind == MSG_DOCS ? "doc_len" : "ids")
                                          ->shape[0],
                             .tokens = msg_tokens(m) };
    size_t lo = 0, hi = g->before.n / sizeof *v;
    const size_t n = hi;
    struct chain c;
    int same = 0;

    if (n == 0 || !identify(m, &c))
        return 0;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (order_before(&v[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; same == 0 && lo < n && order_before(&v[lo], &key) == 0; lo++)
        same = is_input_before(g, &v[lo], &c, e);
    return same <= 0
        ? same
        : err_set(e, EX_USAGE,
              "%s: message %" PRIu64
              " holds what %s has already: it was added before, leave it out",
              io_in_name(x->name), m->seq, g->input[0].name);
}

static int
add_merged(struct merge *g, const struct input *x, const struct msg *m,
    int *taught, struct err *e)
{
    const struct st_tensor *instead = NULL;
    struct st_tensor t;

    if (m->kind == MSG_STREAM)
        return 0;
    if (m->kind == MSG_TEACHER) {
        *taught = 1;
        return copy_teacher(g, x, m, e);
    }
    if (m->kind == MSG_DOCS || m->kind == MSG_BATCH) {
        if (g->teacher.n && !*taught)
            return err_set(e, EX_INPUT,
                "%s: no teacher, but there is one in what comes before it",
                io_in_name(x->name));
        if (x != g->input && check_new(g, x, m, e) < 0)
            return -1;
        instead = renumber_sources(g, x, m, &t);
        g->some = 1;
    }
    /* cursors are not copied: they are valid only in their own stream */
    shardmk_copy(g->k, m, 0, instead);
    return shardmk_send(g->k, e);
}

static int
add_input_messages(struct merge *g, struct input *x, struct err *e)
{
    struct msg m;
    int k, taught = 0, first = 1;
    char extra[80];

    if (!x->in && !(x->in = set_in_open(x->name, g->partial, e)))
        return -1;
    while ((k = msg_read(x->in, &m, e)) > 0 && !stop_asked) {
        /* the input was opened again: it must still be the same */
        if (first && m.kind == MSG_STREAM) {
            struct stream_info now;

            if (stream_info_read(&now, &m.st, e) < 0)
                return -1;
            k = now.nsource == x->info.nsource;
            stream_info_release(&now);
            if (!k)
                return err_set(e, EX_INPUT, "%s: has changed while it was read",
                    io_in_name(x->name));
        }
        first = 0;
        if (add_merged(g, x, &m, &taught, e) < 0)
            return -1;
        snprintf(extra, sizeof extra, "%zu shards",
            shardmk_manifest(g->k)->nfile);
        progress_at((double)(g->bytes + msg_in_bytes(x->in)), extra);
    }
    g->bytes += msg_in_bytes(x->in);
    msg_in_close(x->in);
    x->in = NULL;
    return k;
}

/* Open the directory to write.  in_place: append to it. */
static int
begin_merged(struct merge *g, int in_place, const struct shard_opts *o,
    struct err *e)
{
    const struct msg *t;

    g->k = in_place ? shardmk_append(g->dir, o, e) : shardmk_open(g->dir, o, e);
    if (!g->k)
        return -1;
    if (!in_place) {
        stream_info_put(shardmk_begin(g->k, MSG_STREAM), &g->info);
        return shardmk_send(g->k, e);
    }
    t = set_teacher(g->old, e);
    if (t)
        buf_add(&g->teacher, t->raw, t->nraw);
    g->some = 1;
    return t || e->code == EX_OK ? 0 : -1;
}

static void
release_inputs(struct merge *g)
{
    shardmk_close(g->k);
    for (size_t i = 0; i < g->n; i++) {
        msg_in_close(g->input[i].in);
        stream_info_release(&g->input[i].info);
        free(g->input[i].map);
    }
    free(g->input);
    free(g->info.source);
    buf_release(&g->teacher);
    buf_release(&g->source);
    buf_release(&g->before);
    shard_buf_release(&g->read);
    set_close(g->old);
}

/* Write all inputs from number `from` on. in_place: to the old directory.
 * rewrite: to a new directory that will replace the old one.  Neither: to a new
 * directory. */
static void
write_messages(struct merge *g, size_t from, int in_place, int rewrite,
    const struct shard_opts *o)
{
    const struct manifest *m;
    struct err e;
    int k, begun;

    progress_begin("stored", 0, "B");
    k = begin_merged(g, in_place, o, &e);
    begun = g->k != NULL;
    for (size_t i = from; k == 0 && i < g->n && !stop_asked; i++)
        k = add_input_messages(g, &g->input[i], &e);
    if (k == 0 && !stop_asked)
        k = shardmk_end(g->k, &e);
    progress_end();
    if (k == 0 && !stop_asked) {
        m = shardmk_manifest(g->k);
        prog_closing("%" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64
                     " tokens, %zu shards, of %zu inputs",
            m->messages, m->docs, store_unit(m), m->tokens, m->nfile,
            g->n - from);
        return;
    }
    shardmk_close(g->k);
    g->k = NULL;
    if (rewrite && begun)
        shard_dir_remove(g->dir, NULL);
    if (stop_asked)
        die(EX_STOP, "%s: interrupted", g->dir);
    die_err(&e);
}

void
merge(char **in, const char *dir, int append, int partial,
    const struct shard_opts *o)
{
    static char *none[] = { NULL, NULL };
    struct merge g = { .dir = dir, .partial = partial };
    struct shard_opts opts = *o;
    char *manifest = xasprintf("%s/" SHARD_MANIFEST, dir);
    char *new = xasprintf("%s.append", dir);
    char *old = xasprintf("%s.append.old", dir);
    const size_t had = append && io_exists(manifest);
    size_t n = 0, known;
    int lock;
    struct err e;

    while (in[n])
        n++;
    if (n == 0)
        in = none;
    prog_catch_stop();
    g.n = had + (n ? n : 1);
    g.input = xcalloc(g.n, sizeof *g.input);
    if (had) {
        open_merge_input(&g, 0, dir);
        if (!(g.old = set_open(dir, 0, &e)) || find_before(&g, &e) < 0)
            die_err(&e);
    }
    known = g.info.nsource;
    for (size_t i = had; i < g.n; i++)
        open_merge_input(&g, i, in[i - had]);
    if (!had || g.info.nsource == known) {
        write_messages(&g, had, had, 0, &opts);
    } else {
        struct manifest m;

        if ((lock = shard_dir_lock(dir, &e)) < 0 ||
            manifest_read(&m, dir, &e) < 0)
            die_err(&e);
        note("%s: %zu new sources: it is written anew", dir,
            g.info.nsource - known);
        opts.codec = m.codec;
        opts.level = m.level;
        opts.frame_size = m.frame_size;
        opts.shard_size = m.shard_size;
        opts.force = 1; /* replace what an earlier run that died has left */
        manifest_release(&m);
        g.dir = new;
        write_messages(&g, 0, 0, 1, &opts);
        if (io_exists(old) && shard_dir_remove(old, &e) < 0)
            die_err(&e);
        store_exchange(dir, new, old);
        if (shard_dir_remove(old, &e) < 0)
            warn("%s", e.msg);
        close(lock);
    }
    release_inputs(&g);
    free(manifest);
    free(new);
    free(old);
}
