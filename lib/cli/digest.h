/* A hash of a program's options.  A resumed run compares it with the hash of
 * the run that it continues. */
#ifndef CLI_DIGEST_H
#define CLI_DIGEST_H

#include "cli/opt.h"

/* XXH3-64 of the names and values of all options, without the options named in
 * `aside` (ends with NULL) and without options that are 0, none or empty.  So
 * adding an option to a program changes no hash of a run that does not use
 * it. */
uint64_t opt_digest(const struct opt *table, const char *const *aside);

#endif
