/* prune search - find what to cut; see prune-search(1) */
#include "common.h"
#include "session.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct session_options o = SESSION_DEFAULT;
static const char *out, *units = "blocks,channels";
static struct opt_list sets;
static int type, widths;

static const char *const width_names[] = { "uniform", "ranked", NULL };

static const struct opt options[] = { COMMON_MODEL(&o.model,
                                          "the model to cut"),
    OPT_STR('o', "output", &out, "file",
        "the choice, for prune cut (default: standard output)"),
    OPT_GROUP("goal (at least one)"), GOAL_OPTIONS(o.goal),
    OPT_SIZE(0, "memory", &o.goal.memory, 1, 1e15, "bytes",
        "at most so many bytes of weights, as --dtype writes them"),
    OPT_STR(0, "flops", &o.goal.flops, "count",
        "at most so many operations a token, such as 150M"),
    OPT_REAL(0, "latency", &o.goal.latency, 1e-6, 1e9, "ms",
        "at most so many milliseconds for a row of tokens, measured here"),
    OPT_GROUP("what may go"),
    OPT_STR(0, "units", &units, "list",
        "parts to choose: blocks, attention, mlp, channels, groups"),
    OPT_ENUM(0, "widths", &widths, width_names, "word",
        "one width for all MLPs, or channels ranked over all of them"),
    GOAL_MULTIPLE(o.goal),
    OPT_STR('p', "profile", &o.profile, "folder",
        "order channels by that profile, not by the calibration data"),
    OPT_FLAG(0, "gradient", &o.gradient,
        "and by its gradients times weights, not by energy"),
    OPT_GROUP("what is minimised"),
    OPT_LIST(0, "calib", &sets, "NAME=WEIGHT:input",
        "a calibration set instead of the input; several times"),
    OPT_SIZE(0, "calib-rows", &o.rows, 0, 1e9, "rows",
        "rows of the input, or of each set, that are used (0: all)"),
    OPT_REAL(0, "loss-weight", &o.loss_weight, 0, 1e6, "w",
        "weight of the log of perplexity beside KL(whole || cut)"),
    OPT_GROUP("search"),
    OPT_ENUM(0, "method", &o.method, method_names, "word", "how to search"),
    OPT_ENUM(0, "start", &o.start, method_names, "word",
        "what tabu begins with"),
    OPT_SIZE(0, "candidates", &o.candidates, 0, 1e6, "n",
        "configurations tried in each round, of least influence (0: all)"),
    OPT_REAL(0, "evals", &o.evals, 0, 1e9, "n",
        "evaluation budget of tabu and random (0: tabu twice its start's, at "
        "least 32; random 32)"),
    OPT_FLAG(0, "halve", &o.halve,
        "a quarter of the rows first, the best half on more"),
    OPT_SIZE(0, "tenure", &o.tenure, 0, 1e6, "moves",
        "moves for which tabu does not change a part back"),
    OPT_SIZE(0, "patience", &o.patience, 1, 1e6, "moves",
        "moves without improvement before tabu restarts at the best"),
    OPT_SIZE('s', "seed", &o.seed, 0, 1e15, "n", "seed of the random draws"),
    OPT_STR(0, "log", &o.log, "file",
        "every evaluation, as TSV; those there are not made again"),
    OPT_FLAG(0, "no-cache", &o.no_cache,
        "make all anew each time (to see what caches save)"),
    OPT_GROUP("run"), COMMON_COMPUTE(&o.compute), COMMON_DTYPE(&type),
    OPT_SIZE(0, "jobs", &o.jobs, 1, 4096, "processes",
        "that share the candidates"),
    COMMON_THREADS(&o.threads), OPT_END };

static unsigned
parse_units(const char *text)
{
    char *copy = xstrdup(text);
    unsigned bits = 0;

    for (char *p = copy, *next; p != NULL; p = next) {
        size_t i = 0;

        if ((next = strchr(p, ',')) != NULL)
            *next++ = '\0';
        while (part_names[i] != NULL && strcmp(p, part_names[i]) != 0)
            i++;
        if (part_names[i] == NULL)
            die(EX_USAGE,
                "--units: '%s' is none of blocks, attention, mlp, channels, "
                "groups",
                p);
        bits |= 1u << i;
    }
    free(copy);
    return bits;
}

static void
check(void)
{
    if (o.model == NULL)
        die(EX_USAGE, "-m is needed; see prune search -h");
    if (!goal_given(&o.goal))
        die(EX_USAGE,
            "how small? give --params, --ratio, --blocks, --width, --memory, "
            "--flops or --latency");
    if (o.method == METHOD_TABU && o.start == METHOD_TABU)
        die(EX_USAGE, "--start: tabu does not begin with itself");
    if (o.ranked && o.goal.width > 0)
        die(EX_USAGE, "--width: MLPs of one width are not --widths ranked");
    if (o.gradient && o.profile == NULL)
        die(EX_USAGE, "--gradient: needs a --profile");
    if (sets.n > 0 && o.input != NULL)
        die(EX_USAGE, "%s: is not read with --calib", o.input);
}

int
search_main(int argc, char **argv)
{
    struct session x;
    struct buf b = { 0 };
    struct err e;

    o.input = *opt_parse(argc, argv, options, "find what to cut from a model",
        "[input]", 0, 1, NULL);
    o.units = parse_units(units);
    o.ranked = widths;
    o.sets = sets.v;
    o.nsets = sets.n;
    dtype_bytes(common_dtype(type), 1, &o.width);
    check();
    common_open(&x.m, o.model);
    if (compute_init(o.compute, &e) < 0)
        die_err(&e);
    session_begin(&x, &o);
    session_search(&x);
    session_tell(&x, &x.log.t[x.s.best]);
    choice_write(&x.log.t[x.s.best].choice, &b);
    out_file(out, b.p, b.n);
    prog_closing("%zu configurations on %zu tokens", x.log.n, x.c.ntok);
    out_done();
    buf_release(&b);
    session_end(&x);
    return 0;
}
