/* Numbers on the command lines of meters. */
#ifndef BENCH_NUMBER_H
#define BENCH_NUMBER_H

#include "base/err.h"
#include "base/number.h"
#include "cli/die.h"

#include <stddef.h>

/* Read a whole number, such as 4096 or 64K.  Dies if `text` is none or is less
 * than `least`. */
static inline size_t
number(const char *text, double least)
{
    size_t v;

    if (number_size(text, least, 1e15, &v) < 0)
        die(EX_USAGE, "'%s' is not a whole number", text);
    return v;
}

#endif
