/* shard write - store streams in a directory; see shard-write(1) */
#include "write.h"
#include "merge.h"
#include "store.h"
#include "base/err.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "shard/source.h"

#include <inttypes.h>
#include <stdio.h>

static struct store_args a = STORE_DEFAULT;
static int append, partial;

static const struct opt options[] = { STORE_OPTIONS(a),
    OPT_FLAG(0, "append", &append, "append to the directory"),
    OPT_PARTIAL(&partial), OPT_END };

/* Note what an unfinished directory holds. */
static void
note_open_directory(const struct manifest *m, const char *dir)
{
    if (m->nfile && !m->complete)
        warn("%s: %zu shards are committed, up to message %" PRIu64
             "; the directory stays open",
            dir, m->nfile, m->seq);
}

/* Note if the settings given are not the directory's: a directory that is
 * continued keeps its own. */
static void
note_recorded(const struct manifest *m, const struct shard_opts *o,
    const char *dir)
{
    if (m->codec != o->codec || (o->level && m->level != o->level) ||
        m->frame_size != o->frame_size || m->shard_size != o->shard_size)
        note("%s: goes on as it was begun: %s -%d, frames of %" PRIu64
             ", shards of %" PRIu64 " bytes",
            dir, codec_names[m->codec], m->level, m->frame_size, m->shard_size);
}

static void
print_stored(const struct manifest *m, const char *dir)
{
    uint64_t bytes = 0;

    if (m->docs == 0)
        note("%s: is complete, and holds nothing: the stream was empty", dir);

    for (size_t i = 0; i < m->nfile; i++)
        bytes += m->file[i].bytes;
    prog_closing("%" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64
                 " tokens, %zu shards, %.1f of %.1f MB",
        m->messages, m->docs, store_unit(m), m->tokens, m->nfile,
        (double)bytes / 1e6, (double)m->raw / 1e6);
}

static void
store_stream(const char *input, const char *dir, const struct shard_opts *o)
{
    struct shard_writer *w = NULL;
    struct msg_in *r;
    struct msg m;
    struct err e, settle;
    int k = 1, bad = 0;
    char extra[80];

    prog_catch_stop();
    r = set_in_open(input, 0, &e);
    if (!r)
        die_err(&e);
    progress_begin("stored", 0, "B");
    while (k > 0 && !bad && !stop_asked) {
        k = msg_read(r, &m, &e);
        if (k < 0)
            break;
        /* make the directory only when a stream has begun to arrive */
        if (!w && !(w = shardw_open(dir, o, &e)))
            die_err(&e);
        bad = shardw_put(w, &m, &e);
        if (m.kind == MSG_STREAM && !bad)
            note_recorded(shardw_manifest(w), o, dir);
        snprintf(extra, sizeof extra, "%zu shards", shardw_manifest(w)->nfile);
        progress_total(msg_in_expect(r, (double)msg_in_bytes(r)));
        progress_at((double)msg_in_bytes(r), extra);
    }
    progress_end();
    prog_saving(1);
    if (w && !bad && k != 0 && shardw_settle(w, &settle) < 0)
        warn("%s", settle.msg);
    if (w && (bad || k != 0))
        note_open_directory(shardw_manifest(w), dir);
    if (w && k == 0 && !bad)
        print_stored(shardw_manifest(w), dir);
    shardw_close(w);
    if (stop_asked && !bad && k != 0)
        die(EX_STOP, "%s: interrupted", dir);
    if (bad || k < 0)
        die_err(&e);
    msg_in_close(r);
}

int
write_main(int argc, char **argv)
{
    int n;
    char **in = opt_parse(argc, argv, options,
        "store streams and directories of shards in one directory",
        "[input ...]", 0, -1, &n);

    if (a.out == NULL)
        die(EX_USAGE, "name the directory to write: -o dir");
    if (append && a.o.force)
        die(EX_USAGE,
            "--append adds to a directory and -f replaces it: give one");
    store_check(&a);
    if (append || n > 1)
        merge(in, a.out, append, partial, &a.o);
    else
        store_stream(*in, a.out, &a.o);
    return EX_OK;
}
