/* Energy that the processors of this machine use, by the counters of Intel and
 * AMD in Linux (RAPL, /sys/class/powercap). */
#ifndef BASE_ENERGY_H
#define BASE_ENERGY_H

#include <stddef.h>

enum { ENERGY_PACKAGES = 16 };
struct energy {
    size_t n;                      /* packages; 0: they cannot be read */
    double uj[ENERGY_PACKAGES];    /* the counters, microjoules */
    double range[ENERGY_PACKAGES]; /* a counter wraps to 0 at this value */
};
/* Read all counters.  root: a prefix of /sys for tests, else "". */
void energy_read(struct energy *x, const char *root);
/* Joules of all packages from a to b, if no counter wrapped more than once;
 * NAN: a counter could not be read. */
double energy_between(const struct energy *a, const struct energy *b);

#endif
