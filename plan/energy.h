/* Energy that this machine's processors have used, by the counters that Linux
 * shows of Intel's and AMD's (RAPL, /sys/class/powercap). */
#ifndef PLAN_ENERGY_H
#define PLAN_ENERGY_H

#include <stddef.h>

enum { ENERGY_PACKAGES = 16 };
struct energy {
    size_t n;                      /* packages; 0: they cannot be read */
    double uj[ENERGY_PACKAGES];    /* microjoules since some time */
    double range[ENERGY_PACKAGES]; /* where they begin again at 0 */
};
/* root stands before /sys: "" but in tests. */
void energy_read(struct energy *x, const char *root);
/* Joules of all packages from a to b, between which a counter has begun again
 * once at most; NAN where they cannot be read. */
double energy_between(const struct energy *a, const struct energy *b);

#endif
