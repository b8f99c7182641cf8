/* A hash of a program's options.  A resumed run compares it with the hash of
 * the run that it continues. */
#ifndef CLI_DIGEST_H
#define CLI_DIGEST_H

#include "cli/opt.h"

/* XXH3-64 of the names and values of all options that are set, except those
 * named in `aside` (ends with NULL).  Options that are 0, none or empty are
 * left out, so that adding an option changes the hash only of those who use
 * it. */
uint64_t opt_digest(const struct opt *table, const char *const *aside);

#endif
