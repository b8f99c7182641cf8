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
/* The name with the prefix; without one, "retort-NAME", as make install calls
 * it with the prefix "retort-", under which retort itself has none.
 * malloc'd. */
char *program_name(const char *name);
/* The file of the program in the folder of the running executable: that of
 * program_name; without a prefix, if there is none, NAME.  malloc'd. */
char *program_path(const char *name);

#endif
