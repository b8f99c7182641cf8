/* For tests of every set of kernels: loop over kern_sets[KERN_SETS] and call
 * kern_sets_use for each. */
#ifndef TESTS_LIB_KERN_SETS_H
#define TESTS_LIB_KERN_SETS_H

#include "kern/kern.h"
#include "tap.h"

static const char *const kern_sets[] = {
    "ref",
#if defined(__aarch64__)
    "neon",
#else
    "avx2",
    "avx512",
#endif
};
enum { KERN_SETS = sizeof kern_sets / sizeof *kern_sets };

/* Use this set; 0: the processor cannot run it, and a skip is reported. */
static inline int
kern_sets_use(const char *set)
{
    const char *why = kern_force(set);
    char what[40];

    snprintf(what, sizeof what, "the kernels %s are tested", set);
    if (why != NULL)
        tap_skip(what, why);
    return why == NULL;
}

#endif
