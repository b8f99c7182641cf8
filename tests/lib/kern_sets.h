/* Tests of every set of kernels: for each of kern_sets[KERN_SETS] that
 * kern_sets_use has made the one in use. */
#ifndef TESTS_LIB_KERN_SETS_H
#define TESTS_LIB_KERN_SETS_H

#include "kern/kern.h"
#include "tap.h"

enum { KERN_SETS = 3 };
static const char *const kern_sets[KERN_SETS] = { "ref", "avx2", "avx512" };

/* 0: this processor has them not, which is said. */
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
