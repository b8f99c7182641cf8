/* A hash of a program's options, by which a resumed run sees whether it has
 * those of the run that it continues. */
#ifndef CLI_DIGEST_H
#define CLI_DIGEST_H

#include "cli/opt.h"

/* XXH3-64 of the names and values of all options, except those named in `aside`
 * (ends with NULL) and those that are 0, none or empty.  So a new option of the
 * program changes the hash only of those who use it. */
uint64_t opt_digest(const struct opt *table, const char *const *aside);

#endif
