/* shard - store a stream in a directory, check and show it; see shard(1) */
#include "base/err.h"
#include "base/io.h"
#include "base/note.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "shard/set.h"
#include "shard/source.h"
#include "shard.h"
#include "foreign/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Say what an unfinished directory holds. */
static void
say_open(const struct manifest *m, const char *dir)
{
    if (m->nfile && !m->complete)
        warn("%s: %zu shards are committed, up to message %" PRIu64
             "; the directory stays open",
            dir, m->nfile, m->seq);
}

/* Note if a continued directory keeps other settings than those given. */
static void
say_recorded(const struct manifest *m, const struct shard_opts *o,
    const char *dir)
{
    if (m->codec != o->codec || (o->level && m->level != o->level) ||
        m->frame_size != o->frame_size || m->shard_size != o->shard_size)
        note("%s: goes on as it was begun: %s -%d, frames of %" PRIu64
             ", shards of %" PRIu64 " bytes",
            dir, codec_names[m->codec], m->level, m->frame_size, m->shard_size);
}

static void
closing(const struct manifest *m, const char *dir)
{
    uint64_t bytes = 0;

    if (m->docs == 0)
        note("%s: is complete, and holds nothing: the stream was empty", dir);

    for (size_t i = 0; i < m->nfile; i++)
        bytes += m->file[i].bytes;
    prog_closing("%" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64
                 " tokens, %zu shards, %.1f of %.1f MB",
        m->messages, m->docs, unit_of(m), m->tokens, m->nfile,
        (double)bytes / 1e6, (double)m->raw / 1e6);
}

static void
store(const char *input, const char *dir, const struct shard_opts *o)
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
        /* The folder is made when a stream has begun to come. */
        if (!w && !(w = shardw_open(dir, o, &e)))
            die_err(&e);
        bad = shardw_put(w, &m, &e);
        if (m.kind == MSG_STREAM && !bad)
            say_recorded(shardw_manifest(w), o, dir);
        snprintf(extra, sizeof extra, "%zu shards", shardw_manifest(w)->nfile);
        progress_total(msg_in_expect(r, (double)msg_in_bytes(r)));
        progress_at((double)msg_in_bytes(r), extra);
    }
    progress_end();
    prog_saving(1);
    if (w && !bad && k != 0 && shardw_settle(w, &settle) < 0)
        warn("%s", settle.msg);
    if (w && (bad || k != 0))
        say_open(shardw_manifest(w), dir);
    if (w && k == 0 && !bad)
        closing(shardw_manifest(w), dir);
    shardw_close(w);
    if (stop_asked && !bad && k != 0)
        die(EX_STOP, "%s: interrupted", dir);
    if (bad || k < 0)
        die_err(&e);
    msg_in_close(r);
}

static uint64_t
size_of(const char *dir)
{
    struct manifest m;
    uint64_t n = 0;

    if (manifest_read(&m, dir, NULL) < 0)
        return 0;
    for (size_t i = 0; i < m.nfile; i++)
        n += m.file[i].bytes;
    manifest_release(&m);
    return n;
}

static void
tick(void *ctx, uint64_t done)
{
    (void)ctx;
    progress_at((double)done, NULL);
}

/* One line a directory; the worst status. */
static int
check(char **dir, int partial)
{
    int status = EX_OK;

    for (; *dir; dir++) {
        struct err e;
        struct manifest m;
        int r;

        progress_begin("checked", (double)size_of(*dir), "bytes");
        r = set_check(*dir, partial, tick, NULL, &e);
        progress_end();
        if (r == 0 && manifest_read(&m, *dir, &e) < 0)
            r = -1;
        if (r < 0) {
            if (e.code != EX_INPUT || survey(*dir) == 0)
                warn("%s", e.msg);
            printf("%s: BAD\n", SHOWN(*dir));
            status = e.code > status ? e.code : status;
            continue;
        }
        printf("%s: good, %s: %" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64
               " tokens in %zu shards\n",
            SHOWN(*dir), m.complete ? "complete" : "open", m.messages, m.docs,
            unit_of(&m), m.tokens, m.nfile);
        manifest_release(&m);
    }
    return status;
}

/* What the command line asks for. */
static struct ask {
    const char *out;
    int codec, append, check, list, dump, repair, partial;
    size_t level, shard_size, frame;
    struct shard_opts o;
    struct dump_opts d;
    struct import_opts in;
    struct export_opts ex;
} ask = { .shard_size = 64 << 20,
    .frame = 1 << 20,
    .d = { .values = 8, .messages = SIZE_MAX },
    .in = { .format = -1 },
    .ex = { .format = -1 } };

/* Modes exclude each other, and each needs its operands. */
static void
check_usage(char **in, int n)
{
    const int import_ = ask.in.format >= 0, export_ = ask.ex.format >= 0;

    if (ask.check + ask.list + ask.dump + ask.repair + import_ + export_ > 1)
        die(EX_USAGE,
            "--check, --list, --dump, --repair, --import and --export exclude "
            "each other");
    if (ask.out && ask.check + ask.list + ask.dump)
        die(EX_USAGE, "-o: there is nothing to write");
    if ((ask.check || ask.list || ask.repair || import_) && n == 0)
        die(EX_USAGE, import_ ? "which file?" : "which directory?");
    if (ask.append &&
        ask.check + ask.list + ask.dump + ask.repair + import_ + export_ +
            ask.o.force)
        die(EX_USAGE,
            "--append: streams and directories are added, without -f and other "
            "modes");
    if ((ask.dump || ask.repair || export_) && n > 1)
        die(EX_USAGE, "unexpected operand \"%s\"", in[1]);
    if (!ask.check && !ask.list && !ask.dump && !ask.repair && !ask.out)
        die(EX_USAGE, "-o dir is needed (or --check, --list, --dump)");
    if (import_ && !ask.d.tokenizer == !ask.in.vocab)
        die(EX_USAGE,
            "--import: whose ids are they? Give either -t or --vocab");
    if ((int)ask.level > codec_level_max((enum codec)ask.codec))
        die(EX_USAGE, "--level: %s has levels 1 to %d", codec_names[ask.codec],
            codec_level_max((enum codec)ask.codec));
}

int
main(int argc, char **argv)
{
    static const char about[] = "Store a stream in a directory of compressed "
                                "shards; check, list or show it.";
    const struct opt opts[] = { OPT_GROUP("to store a stream"),
        OPT_STR('o', "output", &ask.out, "dir", "the directory to write"),
        OPT_FLAG(0, "append", &ask.append, "add to what the directory holds"),
        OPT_FLAG('f', "force", &ask.o.force,
            "replace what the directory holds"),
        OPT_ENUM(0, "codec", &ask.codec, codec_names, "name", "compression"),
        OPT_SIZE(0, "level", &ask.level, 0, 19, "n",
            "zstd 1 to 19, lz4 1 to 12 (0: zstd 3, lz4 1)"),
        OPT_SIZE(0, "shard-size", &ask.shard_size, 1, 0x1p40, "bytes",
            "close a file at this size"),
        OPT_SIZE(0, "frame", &ask.frame, 1, 0x1p30, "bytes",
            "content of a frame"),
        OPT_SIZE('j', "threads", &ask.o.threads, 0, 1024, "threads",
            "compress with so many (0: one a processor)"),
        OPT_GROUP("formats of others"),
        OPT_ENUM(0, "import", &ask.in.format, foreign_names, "format",
            "store such files"),
        OPT_ENUM(0, "export", &ask.ex.format, foreign_names, "format",
            "write documents as such files to -o"),
        OPT_SIZE(0, "vocab", &ask.in.vocab, 1, 0x1p32, "n",
            "import: ids are below this (0: what -t says)"),
        OPT_STR(0, "bos-id", &ask.in.bos, "id",
            "import: documents begin with it; or none"),
        OPT_STR(0, "eos-id", &ask.in.eos, "id",
            "import: documents end with it; or none"),
        OPT_STR(0, "source", &ask.in.source, "name",
            "import: name of the source; export: only this one"),
        OPT_GROUP("damage"),
        OPT_FLAG(0, "repair", &ask.repair,
            "store what is intact in -o, or in its place"),
        OPT_GROUP("to look at what is there"),
        OPT_FLAG(0, "check", &ask.check, "verify directories from end to end"),
        OPT_FLAG(0, "list", &ask.list, "print the tables of directories"),
        OPT_FLAG(0, "dump", &ask.dump, "show a stream or directory as text"),
        OPT_STR('t', "tokenizer", &ask.d.tokenizer, "tokenizer",
            "dump: decode text with it; import: it made the ids"),
        OPT_SIZE('n', "messages", &ask.d.messages, 0, 0x1p53, "n",
            "dump: stop after so many messages"),
        OPT_SIZE(0, "values", &ask.d.values, 0, 0x1p53, "n",
            "dump: values, documents, pieces to show of each"),
        OPT_FLAG(0, "partial", &ask.partial,
            "accept a directory whose stream broke off"),
        OPT_END };
    int n, status = 0;
    char **in = opt_parse(argc, argv, opts, about, "[input ...]", 0, -1, &n);

    check_usage(in, n);
    ask.o.codec = (enum codec)ask.codec;
    ask.o.level = (int)ask.level;
    ask.o.shard_size = ask.shard_size;
    ask.o.frame_size = ask.frame;
    ask.d.partial = ask.ex.partial = ask.partial;
    ask.in.tokenizer = ask.d.tokenizer;
    ask.ex.source = ask.in.source;
    if (ask.check) {
        status = check(in, ask.partial);
    } else if (ask.list) {
        for (; *in; in++)
            list(*in);
    } else if (ask.dump) {
        dump(*in, &ask.d);
    } else if (ask.repair) {
        repair(*in, ask.out, ask.d.tokenizer, &ask.o);
    } else if (ask.in.format >= 0) {
        import(in, ask.out, &ask.in, &ask.o);
    } else if (ask.ex.format >= 0) {
        export(*in, ask.out, &ask.ex);
    } else if (ask.append || n > 1) {
        merge(in, ask.out, ask.append, ask.partial, &ask.o);
    } else {
        store(*in, ask.out, &ask.o);
    }
    if (ask.check || ask.list || ask.dump || ask.repair)
        out_done();
    return status;
}
