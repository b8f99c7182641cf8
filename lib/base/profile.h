/*
 * Where the processor time goes: with RETORT_PROFILE=FILE in the environment,
 * the parts of a program that say so are timed by their thread's processor
 * time, and FILE gets a table when the program ends (see retort(7)).  Without
 * it a part costs one test of a flag.  Parts may not contain one another.
 *
 *     const double t = profile_begin();
 *     ... work of `flop` operations, or that moves `bytes` ...
 *     profile_end("forward qkv", t, flop, bytes);
 *     profile_exps("head log-sum-exp", exps);
 */
#ifndef BASE_PROFILE_H
#define BASE_PROFILE_H

#include <stddef.h>

/* Called by pool_new: looks at the environment. */
void profile_init(size_t threads);
/* Call after each step or batch.  The first call discards what was measured
 * before it, so that starting is not counted. */
void profile_step(size_t tokens);

double profile_begin(void);
/* Add processor time since `begin`, operations and bytes to the part called
 * name.  At most 64 names are told apart. */
void profile_end(const char *name, double begin, double flop, double bytes);
/* Count `exps` exponentials as work of the part called name. */
void profile_exps(const char *name, double exps);

#endif
