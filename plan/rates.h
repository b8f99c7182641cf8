/* Tables of a machine's file: shares of a rate that products, attention and
 * messages reach, by size. */
#ifndef PLAN_RATES_H
#define PLAN_RATES_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>
#include <stddef.h>

/* BF16_PRODUCTS and F32_PRODUCTS: by rows of a pass and width, the square root
 * of a matrix's rows times its columns.  *_ATTENTION: by tokens of a row and
 * numbers of a head.  *_MESSAGES: by bytes of a message; the first axis has one
 * size. */
enum rates_of {
    BF16_PRODUCTS,
    F32_PRODUCTS,
    BF16_ATTENTION,
    F32_ATTENTION,
    LINK_MESSAGES,
    NET_MESSAGES,
    RATES
};

enum { RATES_SIZES = 6 };
struct rates {
    size_t n[2];                 /* sizes on each axis; 0: there is no table */
    double size[2][RATES_SIZES]; /* rising */
    double share[RATES_SIZES * RATES_SIZES]; /* [n[0],n[1]] */
};

/* The share at size a of the first axis and b of the second, interpolated on
 * logarithmic scales.  A size beyond the table's counts as the nearest of them.
 * Returns 1 if there is no table. */
double rates_at(const struct rates *r, double a, double b);
/* Find a table by its name in a machine's file; RATES: there is none. */
enum rates_of rates_named(const char *name);
/* Read the table `which` from its JSON.  -1 and *e. */
int rates_read(struct rates *r, enum rates_of which, const json_t *j,
    struct err *e);
/* Append the table, its shares divided by `whole`, as a member of JSON, after a
 * comma.  Nothing is appended if there is no table. */
void rates_put(struct buf *b, const struct rates *r, enum rates_of which,
    double whole, const char *source);

#endif
