/*
 * Programs with commands, such as `shard write`.  The table of a program
 * finds the command that is named and lists all of them under -h.
 */
#ifndef CLI_SUB_H
#define CLI_SUB_H

struct sub {
    const char *name; /* NULL ends a table */
    int (*main)(int argc, char **argv);
    const char *about; /* one line for -h, begins in lower case */
};

/* Run the command that argv[1] names and return its exit status; -1 if it names
 * none.  If it is nearly the name of a command, and no file is called so, the
 * program ends with a usage error that suggests the command.  The command's
 * argv[0] is "PROGRAM COMMAND". */
int sub_run(int argc, char **argv, const struct sub *table);
/* Text that opt_parse prints for -h: `about`, then a line for each command.
 * Never freed. */
const char *sub_about(const char *about, const struct sub *table);
/* sub_run for a program that does nothing without a command: -h prints
 * sub_about, and no command or an unknown one is a usage error. */
int sub_main(int argc, char **argv, const struct sub *table, const char *about);

#endif
