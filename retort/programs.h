/* The programs of retort, and where they are installed. */
#ifndef RETORT_PROGRAMS_H
#define RETORT_PROGRAMS_H

struct program {
    const char *name;  /* "stream" */
    const char *about; /* what its page says under NAME */
};

/* In the order of the pipeline; the last has no name. */
extern const struct program programs[];

/* The pages of commands, such as "plan-run"; NULL ends them. */
extern const char *const command_pages[];

/* Call once, with argv[0] of main: text before "retort" in its file name is the
 * prefix that all programs were installed with. */
void program_begin(const char *argv0);

/* Is this the name of a program, without prefix? */
int is_program(const char *name);
/* Returns the installed name of a program, malloc'd: NAME after the prefix.  If
 * there is no prefix, it is "retort-NAME": with PROGPREFIX=retort- make install
 * puts the prefix before every program but retort itself. */
char *program_name(const char *name);
/* Returns the path of a program, malloc'd: program_name in the folder of the
 * running executable.  If there is no prefix and no such file, it is NAME in
 * that folder. */
char *program_path(const char *name);
/* Returns the folder that has recipes/ and scripts/, malloc'd: RETORT_SHAREDIR,
 * that of the source tree, or share/retort beside the programs' folder; NULL:
 * none of these has them. */
char *program_share(void);
/* Returns the folder above bin/, malloc'd, in which the running executable is
 * beside the other programs without a prefix; NULL: it is not so. */
char *program_build(void);
/* Is there an executable file of this name in a folder of PATH? */
int program_in_path(const char *name);

#endif
