/* plan - predict memory, time and cost of a run; see plan(1) */
#include "calibrate.h"
#include "cluster.h"
#include "run.h"
#include "search.h"
#include "base/mem.h"
#include "cli/sub.h"

#include <string.h>

static const struct sub commands[] = {
    { "run", run_main, "predict memory and operations on this machine" },
    { "measure", measure_main, "predict, and measure the time of a step too" },
    { "cluster", cluster_main, "predict memory, time and cost on many ranks" },
    { "search", search_main, "print the fastest layouts that fit" },
    { "calibrate", calibrate_main, "measure this machine for --machine" },
    { NULL, NULL, NULL },
};

/* Options without a command mean run, or cluster with --machine: the name of
 * that command, or NULL. */
static const char *
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
            return "cluster";
    return "run";
}

int
main(int argc, char **argv)
{
    const char *command = implied_command(argc, argv);

    if (command != NULL) {
        argv[0] = xasprintf("%s %s", argv[0], command); /* progname */
        return strcmp(command, "run") == 0 ? run_main(argc, argv)
                                           : cluster_main(argc, argv);
    }
    return sub_main(argc, argv, commands,
        "predict memory, time and cost of a run");
}
