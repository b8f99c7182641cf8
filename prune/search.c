/* prune search - find what to cut; see prune-search(1) */
#include "commands.h"
#include "write.h"
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
static int type;

static const char *const width_names[] = { "uniform", "ranked", NULL };

static const struct opt options[] = { OPT_MODEL(&o.model, "the model to cut"),
    OPT_STR('o', "output", &out, "file",
        "file to write the choice to, for prune cut (default: standard "
        "output)"),
    OPT_GROUP("goal (at least one)"), GOAL_OPTIONS(o.goal),
    OPT_SIZE(0, "memory", &o.goal.memory, 1, 1e15, "bytes",
        "keep at most this many bytes of weights of type --dtype"),
    OPT_COUNT(0, "flops", &o.goal.flops, 1, 1e15, "count",
        "allow at most this many operations per token, such as 150M"),
    OPT_REAL(0, "latency", &o.goal.latency, 1e-6, 1e9, "ms",
        "allow at most this many milliseconds for a row of tokens, measured on "
        "this machine"),
    OPT_GROUP("what may be removed"),
    OPT_STR(0, "units", &units, "list",
        "parts that may be removed: blocks, attention, mlp, channels, groups"),
    OPT_ENUM(0, "widths", &o.ranked, width_names, "word",
        "give all MLPs one width, or rank channels over all blocks"),
    GOAL_MULTIPLE(o.goal), PRUNE_PROFILE(&o.profile),
    PRUNE_GRADIENT(&o.gradient), OPT_GROUP("objective"),
    OPT_LIST(0, "calib", &sets, "NAME=WEIGHT:input",
        "calibration set instead of the input; may be repeated"),
    PRUNE_ROWS(&o.rows), OPT_GROUP("search"), SESSION_METHOD(o),
    OPT_STR(0, "from", &o.from, "file",
        "choice that tabu begins with (default: that of method influence)"),
    OPT_REAL(0, "evals", &o.evals, 0, 1e9, "n",
        "evaluations tabu may use, with those that found its start (0: twice "
        "as many as those, at least 32)"),
    OPT_FLAG(0, "halve", &o.halve,
        "score all candidates on a quarter of the rows, the better half on "
        "half of the rows, and the best quarter on all rows"),
    OPT_SEED(&o.seed),
    OPT_STR(0, "log", &o.log, "file",
        "append every evaluation to this TSV file; reuse those already in it"),
    OPT_GROUP("run"), OPT_COMPUTE(&o.compute), OPT_DTYPE(&type, write_types),
    OPT_THREADS(&o.threads), OPT_END };

static unsigned
parse_units(const char *text)
{
    char *copy = xstrdup(text);
    unsigned bits = 0;

    for (char *p = copy, *next; p != NULL; p = next) {
        size_t i = 0;

        if ((next = strchr(p, ',')) != NULL)
            *next++ = '\0';
        while (unit_names[i] != NULL && strcmp(p, unit_names[i]) != 0)
            i++;
        if (unit_names[i] == NULL)
            die(EX_USAGE,
                "--units: '%s' is none of blocks, attention, mlp, channels, "
                "groups",
                p);
        bits |= 1u << i;
    }
    free(copy);
    return bits;
}

int
search_main(int argc, char **argv)
{
    struct session x;
    const struct trial *found;
    struct buf b = { 0 };

    o.input = *opt_parse(argc, argv, options, "find what to cut from a model",
        "[input]", 0, 1, NULL);
    o.units = parse_units(units);
    o.sets = sets.v;
    o.nsets = sets.n;
    dtype_bytes(write_dtype(type), 1, &o.width);
    out_differ("-o", out != NULL ? out : "-", "--log", o.log, NULL);
    session_open(&x, &o);
    session_begin(&x);
    found = session_search(&x);
    session_note(&x, found);
    choice_write(&found->choice, &b);
    out_file(out, b.p, b.n);
    prog_closing("%zu configurations on %zu tokens", x.log.n, x.c.ntok);
    out_done();
    buf_release(&b);
    session_end(&x);
    return 0;
}
