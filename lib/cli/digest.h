/* A hash of a program's options, by which a run that goes on is compared with
 * the one before. */
#ifndef CLI_DIGEST_H
#define CLI_DIGEST_H

#include "cli/opt.h"

/* XXH3-64 of the names and values of all options that are set, but for those
 * named in `aside` (ends with NULL).  Options that are 0, none or empty are
 * left out, so that a new option changes nobody's hash who does not use it. */
uint64_t opt_digest(const struct opt *table, const char *const *aside);

#endif
