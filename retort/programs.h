/* The programs of retort, and where they are installed. */
#ifndef RETORT_PROGRAMS_H
#define RETORT_PROGRAMS_H

struct program {
    const char *name;  /* "stream" */
    const char *about; /* what its page says under NAME */
};

/* In the order of the pipeline; the last has no name. */
extern const struct program programs[];

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

#endif
