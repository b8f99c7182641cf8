/* Filters of a form's fields: functions from text to text. */
#ifndef TASK_FILTER_H
#define TASK_FILTER_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

/* A list of NUL-terminated strings; { 0 } is empty. */
struct strings {
    char **v; /* [n] */
    size_t n;
};
/* Append a copy of p[n]. */
void strings_add(struct strings *s, const char *p, size_t n);
void strings_release(struct strings *s);

/* A `map` line of a form: the filter map:NAME (map) replaces the text `from` by
 * `to`. */
struct map_word {
    char *map, *from, *to;
};

/* A filter with its arguments. */
struct filter_step {
    size_t filter; /* index of the filter, set by filter_named */
    struct strings arg;
};
/* Set step->filter to the filter `name`.  step->arg must already hold its
 * arguments.  -1 and *e: there is no such filter, or it takes more or fewer
 * arguments. */
int filter_named(struct filter_step *step, const char *name, struct err *e);
/* Replace the malloc'd text *s by the filtered text.  map [nmap]: all `map`
 * lines of the form.  -1 and *e: the filter failed, for example as the text
 * does not contain the filter's argument; *s is unchanged. */
int filter_apply(const struct filter_step *step, const struct map_word *map,
    size_t nmap, char **s, struct err *e);

#endif
