/* Commands of a program; see sub.h. */
#include "cli/sub.h"
#include "cli/opt.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/die.h"

#include <string.h>

int
sub_run(int argc, char **argv, const struct sub *table)
{
    if (argc < 2)
        return -1;
    for (; table->name != NULL; table++)
        if (strcmp(argv[1], table->name) == 0) {
            argv[1] = xasprintf("%s %s", argv[0], argv[1]); /* progname */
            return table->main(argc - 1, argv + 1);
        }
    return -1;
}

const char *
sub_about(const char *about, const struct sub *table)
{
    struct buf text = { 0 };

    buf_addf(&text,
        "%s\n\ncommands (each has options of its own, see its -h):", about);
    for (; table->name != NULL; table++)
        buf_addf(&text, "\n  %-10s %s", table->name, table->about);
    return text.p;
}

int
sub_main(int argc, char **argv, const struct sub *table, const char *about)
{
    const struct opt none[] = { OPT_END };
    const int status = sub_run(argc, argv, table);

    if (status >= 0)
        return status;
    argv = opt_parse(argc, argv, none, sub_about(about, table),
        "command [option ...]", 0, -1, NULL);
    if (argv[0] == NULL)
        die(EX_USAGE, "name a command, such as %s; -h lists them", table->name);
    die(EX_USAGE, "there is no command \"%s\"; -h lists them", argv[0]);
}
