/* plan - predict memory, time and cost of a run; see plan(1) */
#include "commands.h"
#include "base/mem.h"
#include "cli/sub.h"

#include <string.h>

enum { RUN, MEASURE, CLUSTER, SEARCH, COMPARE, CALIBRATE, COMMANDS };
static const struct sub commands[COMMANDS + 1] = {
    [RUN] = { "run", run_main,
        "predict memory and operations on this machine" },
    [MEASURE] = { "measure", measure_main,
        "predict, and measure the time of a step too" },
    [CLUSTER] = { "cluster", cluster_main,
        "predict memory, time and cost on many ranks" },
    [SEARCH] = { "search", search_main, "print the fastest layouts that fit" },
    [COMPARE] = { "compare", compare_main, "compare one run on two machines" },
    [CALIBRATE] = { "calibrate", calibrate_main,
        "measure this machine for --machine" },
};

/* The command that is meant if the first argument is an option: cluster with
 * --machine, else run.  NULL: it is no option, or is one of plan itself. */
static const struct sub *
implied_command(int argc, char **argv)
{
    static const char *const own[] = { "-h", "--help", "-V", "--version" };

    if (argc < 2 || *argv[1] != '-')
        return NULL;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(argv[1], own[i]) == 0)
            return NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--machine") == 0 ||
            strncmp(argv[i], "--machine=", 10) == 0)
            return &commands[CLUSTER];
    return &commands[RUN];
}

int
main(int argc, char **argv)
{
    const struct sub *implied = implied_command(argc, argv);

    if (implied == NULL)
        return sub_main(argc, argv, commands,
            "predict memory, time and cost of a run\n\nOptions without a "
            "command are those of run; with --machine, those of cluster.");
    argv[0] = xasprintf("%s %s", argv[0], implied->name); /* progname */
    return implied->main(argc, argv);
}
