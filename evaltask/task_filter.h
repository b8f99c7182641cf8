/* Filters that a form's fields go through: functions of a text. */
#ifndef TASK_FILTER_H
#define TASK_FILTER_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

/* Texts that end with NUL; { 0 } is empty. */
struct strings {
    char **v; /* [n] */
    size_t n;
};
/* Append a copy of p[n]. */
void strings_add(struct strings *s, const char *p, size_t n);
void strings_release(struct strings *s);

/* The filter `map` called NAME replaces the word `from` by `to`. */
struct map_word {
    char *map, *from, *to;
};

/* A filter with its arguments. */
struct filter_step {
    size_t filter; /* set by filter_named */
    struct strings arg;
};
/* Look up the step's filter; its arguments have been added.  -1 and *e: there
 * is no such filter, or it has more or fewer arguments. */
int filter_named(struct filter_step *step, const char *name, struct err *e);
/* Replace the malloc'd text *s by what the filter makes of it; map [nmap].  -1
 * and *e, as where the text lacks an argument; *s is then as before. */
int filter_apply(const struct filter_step *step, const struct map_word *map,
    size_t nmap, char **s, struct err *e);

#endif
