/* Numbers as people write them. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>

/* Parse all of s as a number within [lo,hi].  number_size: a whole number,
 * perhaps with a suffix K, M, G or T (powers of 1024).  number_real: a finite
 * real.  0; -1: *r is not changed. */
int number_size(const char *s, double lo, double hi, size_t *r);
int number_real(const char *s, double lo, double hi, double *r);
/* Parse a count: a number, perhaps with a suffix K, M, G or T (powers of 1000),
 * such as 84M; the fraction is cut off.  Returns as number_size. */
int number_count(const char *s, double lo, double hi, double *r);
/* Parse a time into seconds: digits, perhaps with a point, then s, m, h or d
 * (without a letter: s).  Returns as number_size. */
int number_time(const char *s, double lo, double hi, double *r);

#endif
