/*
 * Where the processor time goes.  With RETORT_PROFILE=FILE in the environment,
 * the parts of a program that call these functions are timed, by the processor
 * time of their thread, and FILE gets a table when the program ends (see
 * retort(7)).  Otherwise a part costs one test of a flag.  Parts may not
 * contain one another.
 *
 *     const double t = profile_begin();
 *     ... work of `flop` operations, or that moves `bytes` ...
 *     profile_end("forward qkv", t, flop, bytes);
 *     profile_exps("head log-sum-exp", exps);
 */
#ifndef BASE_PROFILE_H
#define BASE_PROFILE_H

#include <stddef.h>

/* Called by pool_new: look for RETORT_PROFILE in the environment. */
void profile_init(size_t threads);
/* Call after each step or batch.  The first call discards what was measured
 * before, so that the program's start does not count. */
void profile_step(size_t tokens);

double profile_begin(void);
/* Add the processor time since `begin`, operations and bytes to the part called
 * name.  There may be 64 names; further ones count as the last. */
void profile_end(const char *name, double begin, double flop, double bytes);
/* Count `exps` exponentials as work of the part called name. */
void profile_exps(const char *name, double exps);

#endif
