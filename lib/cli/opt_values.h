/* The values of options as JSON, for a file that a program writes beside its
 * result. */
#ifndef CLI_OPT_VALUES_H
#define CLI_OPT_VALUES_H

#include "cli/opt.h"

#include <jansson.h>

/* An object with a member for each option, by its long name: true or false, a
 * number, a word or text, a list, or null if it has no value.  The caller
 * releases it. */
json_t *opt_values(const struct opt *table);

#endif
