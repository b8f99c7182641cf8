/*
 * Programs with commands, such as `shard write`.  A program's table lists its
 * commands: sub_run finds a command by its name in the table, and -h prints the
 * table.
 */
#ifndef CLI_SUB_H
#define CLI_SUB_H

struct sub {
    const char *name; /* NULL ends a table */
    int (*main)(int argc, char **argv);
    const char *about; /* one line for -h, begins in lower case */
};

/* Run the command that argv[1] names, with "PROGRAM COMMAND" as its argv[0],
 * and return its exit status; -1 if there is no such command.  If argv[1] is
 * nearly the name of a command, and no file is called argv[1], the program ends
 * with a usage error that suggests the command. */
int sub_run(int argc, char **argv, const struct sub *table);
/* The name in the table of which text is probably a misspelling; NULL: none. */
const char *sub_nearest(const char *text, const struct sub *table);
/* Make the text that opt_parse prints for -h: `about`, then a line for each
 * command.  It is never freed. */
const char *sub_about(const char *about, const struct sub *table);
/* sub_run for a program that needs a command: -h prints sub_about; a missing or
 * unknown command, or an option before it, is a usage error. */
int sub_main(int argc, char **argv, const struct sub *table, const char *about);

#endif
