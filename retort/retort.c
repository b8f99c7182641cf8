/* retort - run the programs, distil a model, show pages, look at this machine;
 * see retort(1) */
#include "distil.h"
#include "doctor.h"
#include "programs.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/sub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replace this process by the program, which gets argv with the path of its
 * file as argv[0]. */
static int
run_program(const char *name, char **argv)
{
    argv[0] = program_path(name);
    if (!io_exists(argv[0]))
        die(EX_SYS, "%s is not installed: there is no %s", name, argv[0]);
    execv(argv[0], argv);
    die(EX_SYS, "%s:", argv[0]);
}

/* Run a program; argv[0] is "retort NAME". */
static int
program_main(int argc, char **argv)
{
    (void)argc;
    return run_program(strrchr(argv[0], ' ') + 1, argv);
}

static struct sub *make_commands(void);

/* Print a line for each command: what it does, and what to type.  own: the
 * path by which retort was called, perhaps with a command behind it. */
static int
list_uses(const char *own)
{
    struct sub *const commands = make_commands();
    const char *slash = strrchr(own, '/');
    const char *name = slash != NULL ? slash + 1 : own;
    struct buf b = { 0 };

    buf_adds(&b, "What can be done, and what to type for it:\n\n");
    for (const struct sub *c = commands; c->name != NULL; c++)
        buf_addf(&b, "%-62s %.*s %s\n", c->about, (int)strcspn(name, " "), name,
            c->name);
    buf_adds(&b,
        "\nWith -h each lists its options; \"retort help PROGRAM\" "
        "shows its page.\n");
    out_put(b.p, b.n);
    out_done();
    buf_release(&b);
    free(commands);
    return EX_OK;
}

/* Append the programs that have a command `name`: "generate run or plan run" if
 * name is "run" and joint a space, "generate-run or plan-run" if joint is a
 * dash. */
static void
add_pages(struct buf *b, const char *name, char joint)
{
    for (size_t i = 0; command_pages[i] != NULL; i++) {
        const char *page = command_pages[i];
        const int program = (int)strcspn(page, "-");

        if (strcmp(page + program + 1, name) == 0)
            buf_addf(b, "%s%.*s%c%s", b->n > 0 ? " or " : "", program, page,
                joint, name);
    }
}

static _Noreturn void
no_program(const char *name)
{
    const char *nearest = sub_nearest(name, make_commands());
    struct buf found = { 0 };

    add_pages(&found, name, '-');
    if (found.n > 0)
        nearest = found.p;
    if (nearest != NULL)
        die(EX_USAGE, "there is no program \"%s\"; did you mean %s?", name,
            nearest);
    die(EX_USAGE, "there is no program \"%s\"; \"retort help\" lists them",
        name);
}

/* From the name of a page, as other pages and files have it, to that of a
 * program and its command: retort-student, plan-run, retort-plan-run. */
static void
page_name(const char **name, const char **command)
{
    static const char prefix[] = "retort-";
    const size_t n = sizeof prefix - 1;
    const char *dash;

    if (!is_program(*name) && strncmp(*name, prefix, n) == 0)
        *name += n;
    dash = strchr(*name, '-');
    if (*command == NULL && dash != NULL) {
        char *program = xasprintf("%.*s", (int)(dash - *name), *name);

        if (is_program(program)) {
            *name = program;
            *command = dash + 1;
        }
    }
}

/* Show the man page of program words[0] or, if words[1] is not NULL, of its
 * command words[1].  Without a page or man(1), show the text of -h. */
static int
show_page(char **words)
{
    static const char script[] = "for page in \"$1\" \"${1#retort-}\"; do\n"
                                 "    man 1 \"$page\" 2>/dev/null && exit\n"
                                 "done; shift; exec \"$@\" -h";
    const char *name = words[0], *command = words[1];
    char *program, *page;
    int own, distils;

    page_name(&name, &command);
    own = !is_program(name);
    distils = own && strcmp(name, "distil") == 0;
    if (own && !distils && strcmp(name, "help") != 0 &&
        strcmp(name, "doctor") != 0 && strcmp(name, "retort") != 0)
        no_program(words[0]);
    page = program_name(own ? "retort" : name);
    program = program_path(own ? "retort" : name);
    if (own)
        command = distils ? name : NULL;
    if (command != NULL)
        page = xasprintf("%s-%s", page, command);
    execl("/bin/sh", "sh", "-c", script, "sh", page, program, command,
        (char *)NULL);
    die(EX_SYS, "/bin/sh:");
}

static int
help_main(int argc, char **argv)
{
    const struct opt table[] = { OPT_END };
    const char *const own = argv[0];

    argv = opt_parse(argc, argv, table,
        "print the page of a program or of its command, or list all programs",
        "[program [command]]", 0, 2, NULL);
    if (argv[0] != NULL)
        return show_page(argv);
    return list_uses(own);
}

/* Make the list of commands: three of this program's own, then all programs. */
static struct sub *
make_commands(void)
{
    static const struct sub own[] = {
        { "distil", distil_main, "make a smaller model for your own text" },
        { "help", help_main, "print a program's page, or list the programs" },
        { "doctor", doctor_main,
            "say what this machine has, and what it lacks" },
    };
    size_t n = sizeof own / sizeof *own;
    struct sub *c;

    for (const struct program *p = programs; p->name != NULL; p++)
        n++;
    c = xcalloc(n + 1, sizeof *c);
    memcpy(c, own, sizeof own);
    n = sizeof own / sizeof *own;
    for (const struct program *p = programs; p->name != NULL; p++)
        c[n++] = (struct sub){ p->name, program_main, p->about };
    return c;
}

/* For `retort chat`, where the user meant `retort generate chat`: if `name` is
 * not in `commands`, but a program has a command of this name, die and say
 * which. */
static void
check_command(const char *name, const struct sub *commands)
{
    struct buf found = { 0 };

    for (; commands->name != NULL; commands++)
        if (strcmp(name, commands->name) == 0)
            return;
    add_pages(&found, name, ' ');
    if (found.n > 0)
        die(EX_USAGE, "there is no command \"%s\"; did you mean %s %s?", name,
            progname, found.p);
    buf_release(&found);
}

int
main(int argc, char **argv)
{
    const struct sub *commands = make_commands();

    program_begin(argv[0]);
    if (argc == 1)
        return list_uses(argv[0]);
    check_command(argv[1], commands);
    return sub_main(argc, argv, commands,
        "run a program, as in \"retort stream data/\", or a command");
}
