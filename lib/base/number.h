/* Numbers in text that people write. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>

/* Parse all of s within [lo,hi]: number_size a whole number, to which a suffix
 * K, M, G or T (powers of 1024) may be added; number_real a finite real.  0, or
 * -1 and *r is not changed. */
int number_size(const char *s, double lo, double hi, size_t *r);
int number_real(const char *s, double lo, double hi, double *r);
/* Parse a time in seconds: digits, perhaps with a point, then s, m, h or d;
 * without a letter, seconds. */
int number_time(const char *s, double lo, double hi, double *r);

#endif
