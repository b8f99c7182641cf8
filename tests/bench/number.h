/* Numbers on the command lines of meters. */
#ifndef BENCH_NUMBER_H
#define BENCH_NUMBER_H

#include "base/err.h"
#include "base/number.h"
#include "cli/die.h"

#include <stddef.h>

/* A whole number from `least` on, such as 4096 or 64K; dies of another. */
static inline size_t
number(const char *text, double least)
{
    size_t v;

    if (number_size(text, least, 1e15, &v) < 0)
        die(EX_USAGE, "'%s' is not a whole number", text);
    return v;
}

#endif
