/* Finds the name that a user meant by a misspelt one. */
#ifndef CLI_NEARNESS_H
#define CLI_NEARNESS_H

#include <stddef.h>

/* Levenshtein distance of a[n] and b; SIZE_MAX if either has more than 80
 * bytes. */
size_t near_distance(const char *a, size_t n, const char *b);
/* A name is proposed for what the user typed, which has n bytes, if their
 * distance is less than this. */
size_t near_limit(size_t n);
/* If text is probably a misspelling of name: their distance, else SIZE_MAX. */
size_t nearness(const char *text, const char *name);
/* For a search of the nearest of several names, which begins with *least =
 * SIZE_MAX.  If nearness(text, name) is less than *least: set *least to it, and
 * return 1.  Else return 0. */
int near_better(const char *text, const char *name, size_t *least);

#endif
