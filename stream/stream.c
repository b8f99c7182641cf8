/* stream - shuffle, mix and pack shards into batches; see stream(1) */
#include "choose.h"
#include "docs.h"
#include "rows.h"
#include "send.h"
#include "weights.h"
#include "base/clock.h"
#include "base/numa.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEM_DEFAULT ((size_t)256 << 20)
enum { THREADS_MOST = 4 };
#define WHOLE 9007199254740992.0 /* 2^53 */

/* Number of threads that read ahead: all but the one that packs and writes. */
static size_t
threads_ahead(size_t given)
{
    const size_t cpus = pool_cpus();

    return (given ? given : cpus < THREADS_MOST ? cpus : THREADS_MOST) - 1;
}

/* The options; OPT_NONE, NAN and -1 mean: not given. */
static struct given g = { .B = OPT_NONE,
    .T = OPT_NONE,
    .seed = OPT_NONE,
    .open = OPT_NONE,
    .length = { OPT_NONE, OPT_NONE, OPT_NONE },
    .alpha = NAN,
    .unimax = NAN,
    .pack = -1,
    .mem = MEM_DEFAULT };
static const char *out, *run, *cpus, *node;
static int partial, dry;
static size_t threads;

static const struct opt options[] = {
    OPT_STR('o', "output", &out, "stream",
        "address to write the stream to (default: standard output)"),
    OPT_SIZE('B', "batch-size", &g.B, 1, 1 << 20, "rows",
        "rows of a batch (default: 8)"),
    OPT_SIZE('T', "length", &g.T, 1, 1 << 24, "tokens",
        "tokens of a row (default: 1024, or what is recorded)"),
    OPT_PARTIAL(&partial),
    OPT_FLAG(0, "dry-run", &dry, "print what would be done, and end"),
    OPT_GROUP("order"),
    OPT_SIZE('s', "seed", &g.seed, 0, WHOLE, "seed",
        "seed of the random numbers (default: 0)"),
    OPT_FLAG(0, "shuffle", &g.shuffle,
        "read in a random order (default for documents)"),
    OPT_FLAG(0, "no-shuffle", &g.no_shuffle,
        "read in the stored order (default for recorded batches)"),
    OPT_SIZE(0, "open", &g.open, 1, 1 << 20, "frames",
        "frames shuffled together (default: as many as half of --mem holds)"),
    OPT_SIZE(0, "mem", &g.mem, 1 << 20, WHOLE, "bytes",
        "memory that may be used"),
    OPT_THREADS_OF(&threads, 64, "one per processor, at most 4"),
    OPT_CPUS(&cpus), OPT_NUMA(&node, ""),
    OPT_STR(0, "rank", &g.rank, "r/n",
        "write only rows r, r+n, r+2n, ... of each batch, for rank r of n "
        "(default: 0/1)"),
    OPT_RESUME(&run), OPT_GROUP("length"),
    OPT_SIZE(0, "batches", &g.length[LENGTH_BATCHES], 1, WHOLE, "n",
        "end after this many batches"),
    OPT_SIZE(0, "tokens", &g.length[LENGTH_TOKENS], 1, WHOLE, "n",
        "number of tokens of the whole run"),
    OPT_SIZE(0, "epochs", &g.length[LENGTH_EPOCHS], 1, WHOLE, "n",
        "end when every source was read n times (default: 1)"),
    OPT_GROUP("documents"),
    OPT_ENUM(0, "pack", &g.pack, pack_names, "how",
        "how documents fill rows (default: best)"),
    OPT_STR(0, "weights", &g.weights, "name=x,...",
        "weights of the sources (default: in proportion to tokens)"),
    OPT_REAL(0, "alpha", &g.alpha, 0, 10, "a",
        "give sources weights in proportion to tokens^a"),
    OPT_REAL(0, "unimax", &g.unimax, 0.001, 1e6, "cap",
        "give sources equal weights, but read none more than cap times"),
    OPT_STR(0, "curriculum", &g.curriculum, "file",
        "file of weights, each with the number of tokens after which it "
        "applies"),
    OPT_END
};

/* Is an option given that determines content? */
static int
is_said(void)
{
    static const char *const others[] = { "output", "partial", "dry-run", "mem",
        "threads", "cpus", "numa", "resume", NULL };
    struct buf said = { 0 };
    int any;

    opt_changes(&said, options, others);
    any = said.n > 0;
    buf_release(&said);
    return any;
}

int
main(int argc, char **argv)
{
    struct dirs d;
    struct resume from = { 0 };
    struct feed_means how;
    struct sending s = { .begun = clock_now(),
        .d = &d,
        .from = &from,
        .how = &how };
    struct err e;
    int n;
    char **dir = opt_parse(argc, argv, options,
        "shuffle, mix and pack shards into batches; replay batches", "dir ...",
        1, -1, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(dir[i], "-") == 0)
            die(EX_USAGE,
                "-: a stream cannot be read in any order; store it with "
                "shard write -o, and name the directory");
    if (numa_bind(cpus, node, 0, 0, &e) < 0)
        die_err(&e);
    if (dirs_open(&d, dir, (size_t)n, partial, &e) < 0)
        die_err(&e);
    if (run)
        resume_read(&from, run, is_said());
    choose_cursor(&s.c, &g, &d, &from);
    how = (struct feed_means){ g.mem, threads_ahead(threads), dry };
    s.feed = d.info.T ? rows_feed(&d, &s.c.spec, &how, &e)
                      : docs_feed(&d, &s.c.spec, &how, &e);
    if (!s.feed || (dry && s.feed->plan(s.feed, &e) < 0))
        die_err(&e);
    if (!dry)
        send_stream(&s, out);
    out_done();
    s.feed->free(s.feed);
    dirs_release(&d);
    free(s.c.spec.w);
    curriculum_release(&s.c.spec);
    resume_release(&from);
    return 0;
}
