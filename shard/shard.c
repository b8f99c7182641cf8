/* shard - store a stream in a directory, check and show it; see shard(1) */
#include "base/err.h"
#include "base/io.h"
#include "base/opt.h"
#include "base/prog.h"
#include "data/shardset.h"
#include "shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "Continue it" for a directory that stays open. */
static void
say_open(const struct manifest *m, const char *dir)
{
    if (m->nfile)
        warn("%s: %zu shards are committed, up to message %" PRIu64
            "; the directory stays open", dir, m->nfile, m->seq);
}

static void
closing(const struct manifest *m)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < m->nfile; i++)
        bytes += m->file[i].bytes;
    prog_closing("%" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64 " tokens, "
        "%zu shards, %.1f of %.1f MB", m->messages, m->docs,
        strcmp(m->content, "batch") == 0 ? "rows" : "documents", m->tokens,
        m->nfile, (double)bytes / 1e6, (double)m->raw / 1e6);
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
    r = msg_in_open(input, 0, &e);
    if (!r)
        die_err(&e);
    progress_begin("stored", 0, "bytes");
    while (k > 0 && !bad && !prog_stopped) {
        k = msg_read(r, &m, &e);
        if (k < 0)
            break;
        /* The folder is made when a stream has begun to come. */
        if (!w && !(w = shardw_open(dir, o, &e)))
            die_err(&e);
        bad = shardw_put(w, &m, &e);
        snprintf(extra, sizeof extra, "%zu shards",
            shardw_manifest(w)->nfile);
        progress_at((double)msg_in_bytes(r), extra);
    }
    progress_end();
    if (w && !bad && k != 0 && shardw_settle(w, &settle) < 0)
        warn("%s", settle.msg);
    if (w && (bad || k != 0))
        say_open(shardw_manifest(w), dir);
    if (w && k == 0 && !bad)
        closing(shardw_manifest(w));
    shardw_close(w);
    if (prog_stopped && !bad && k != 0)
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
        r = shardset_check(*dir, partial, tick, NULL, &e);
        progress_end();
        if (r == 0 && manifest_read(&m, *dir, &e) < 0)
            r = -1;
        if (r < 0) {
            warn("%s", e.msg);
            printf("%s: BAD\n", *dir);
            status = e.code > status ? e.code : status;
            continue;
        }
        printf("%s: good, %s: %" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64
            " tokens in %zu shards\n", *dir, m.complete ? "complete" : "open",
            m.messages, m.docs, strcmp(m.content, "batch") == 0 ? "rows" :
            "documents", m.tokens, m.nfile);
        manifest_release(&m);
    }
    return status;
}

int
main(int argc, char **argv)
{
    static const char about[] = "Store a stream in a directory of compressed "
        "shards; check, list or show it.";
    const char *out = NULL;
    int codec = CODEC_ZSTD, checking = 0, listing = 0, dumping = 0, n;
    size_t level = 0, shard_size = 64 << 20, frame = 1 << 20;
    struct shard_opts o = { .force = 0 };
    struct dump_opts d = { .values = 8, .messages = SIZE_MAX };
    const struct opt opts[] = {
        OPT_GROUP("to store a stream"),
        OPT_STR('o', "output", &out, "dir", "the directory to write"),
        OPT_FLAG('f', "force", &o.force, "replace what the directory holds"),
        OPT_ENUM(0, "codec", &codec, codec_names, "name", "compression"),
        OPT_SIZE(0, "level", &level, 0, 19, "n",
            "its level: zstd 1-19, lz4 1-12, 0 for 3 and 1"),
        OPT_SIZE(0, "shard-size", &shard_size, 1, 0x1p40, "bytes",
            "close a file at this size"),
        OPT_SIZE(0, "frame", &frame, 1, 0x1p30, "bytes",
            "content of a frame"),
        OPT_SIZE('j', "threads", &o.threads, 0, 1024, "n",
            "compress with so many, 0: one a processor"),
        OPT_GROUP("to look at what is there"),
        OPT_FLAG(0, "check", &checking, "verify directories from end to end"),
        OPT_FLAG(0, "list", &listing, "print the tables of directories"),
        OPT_FLAG(0, "dump", &dumping, "show a stream or directory as text"),
        OPT_STR('t', "tokenizer", &d.tokenizer, "path",
            "dump: decode text with it"),
        OPT_SIZE('n', "messages", &d.messages, 0, 0x1p53, "n",
            "dump: stop after so many messages"),
        OPT_SIZE(0, "values", &d.values, 0, 0x1p53, "n",
            "dump: values, documents, pieces to show of each"),
        OPT_FLAG(0, "partial", &d.partial,
            "accept a directory whose stream broke off"),
        OPT_END
    };
    char **in = opt_parse(argc, argv, opts, about, "[input ...]", 0, -1, &n);

    if (checking + listing + dumping > 1)
        die(EX_USAGE, "--check, --list and --dump exclude each other");
    if (out && checking + listing + dumping)
        die(EX_USAGE, "-o: there is nothing to write");
    if ((checking || listing) && n == 0)
        die(EX_USAGE, "which directory?");
    if (!checking && !listing && n > 1)
        die(EX_USAGE, "unexpected operand \"%s\"", in[1]);
    if (checking) {
        const int status = check(in, d.partial);

        io_done();
        return status;
    }
    if (listing || dumping) {
        for (; listing && *in; in++)
            list(*in);
        if (dumping)
            dump(*in, &d);
        io_done();
        return 0;
    }
    if (!out)
        die(EX_USAGE, "-o dir is needed (or --check, --list, --dump)");
    if ((int)level > codec_level_max((enum codec)codec))
        die(EX_USAGE, "--level: %s has levels 1 to %d", codec_names[codec],
            codec_level_max((enum codec)codec));
    o.codec = (enum codec)codec;
    o.level = (int)level;
    o.shard_size = shard_size;
    o.frame_size = frame;
    store(*in, out, &o);
    return 0;
}
