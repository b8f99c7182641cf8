/* Commands of a program; see sub.h. */
#include "cli/sub.h"
#include "cli/nearness.h"
#include "cli/opt.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"

#include <stdint.h>
#include <string.h>

const char *
sub_nearest(const char *text, const struct sub *table)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;

    for (; table->name != NULL; table++)
        if (near_better(text, table->name, &least))
            nearest = table->name;
    return nearest;
}

static void
set_progname(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');

    progname = slash != NULL ? slash + 1 : argv0;
}

/* Die if text is nearly the name of a command and no file has that name. */
static void
check_name(const char *argv0, const char *text, const struct sub *table)
{
    const char *name = sub_nearest(text, table);

    if (name != NULL && *text != '-' && !io_exists(text)) {
        set_progname(argv0);
        die(EX_USAGE, "there is no command \"%s\"; did you mean %s %s?", text,
            progname, name);
    }
}

int
sub_run(int argc, char **argv, const struct sub *table)
{
    if (argc < 2)
        return -1;
    for (const struct sub *s = table; s->name != NULL; s++)
        if (strcmp(argv[1], s->name) == 0) {
            argv[1] = xasprintf("%s %s", argv[0], argv[1]); /* progname */
            return s->main(argc - 1, argv + 1);
        }
    check_name(argv[0], argv[1], table);
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

/* Is text an option for help or the version, or nearly one? */
static int
needs_no_command(const char *text)
{
    if (strncmp(text, "--", 2) == 0)
        return nearness(text + 2, "help") < SIZE_MAX ||
            nearness(text + 2, "version") < SIZE_MAX;
    return strpbrk(text, "hV") != NULL &&
        text[1 + strspn(text + 1, "hqvV")] == '\0';
}

/* Die: an option was given in the place of a command. */
static _Noreturn void
option_first(const char *argv0, const char *option, const struct sub *table)
{
    const int n = (int)strcspn(option, "=");
    struct buf all = { 0 };

    for (const struct sub *s = table; s->name != NULL; s++)
        buf_addf(&all, "%s%s", s > table ? ", " : "", s->name);
    set_progname(argv0);
    die(EX_USAGE, "%.*s comes after a command: %s %s %.*s ... (%s)", n, option,
        progname, table->name, n, option, all.p);
}

int
sub_main(int argc, char **argv, const struct sub *table, const char *about)
{
    const struct opt none[] = { OPT_END };
    const int status = sub_run(argc, argv, table);

    if (status >= 0)
        return status;
    if (argc > 1 && *argv[1] == '-' && argv[1][1] != '\0' &&
        !needs_no_command(argv[1]))
        option_first(argv[0], argv[1], table);
    argv = opt_parse(argc, argv, none, sub_about(about, table),
        "command [option ...]", 0, -1, NULL);
    if (argv[0] == NULL)
        die(EX_USAGE, "name a command, such as %s; -h lists them", table->name);
    die(EX_USAGE, "there is no command \"%s\"; -h lists them", argv[0]);
}
