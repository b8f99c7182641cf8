/* The models as drafts of the base: how much faster the base would write if a
 * model drafted its tokens. */
#ifndef EVALPPL_DRAFT_H
#define EVALPPL_DRAFT_H

#include "eval.h"
#include "format/sheet.h"

#include <stddef.h>

struct draft {
    size_t tokens;  /* drafted for each step of the base; 0: no drafting */
    double speedup; /* tokens a second with drafts / tokens a second without */
};
/* The number of drafted tokens n, at most 64, with the highest speed-up
 *   (1 + a + ... + a^n) / (1 + n cost)
 * where a is `accept`, the probability that a token is accepted, `cost` is the
 * draft's time for a token divided by the base's, and the base's step on n + 1
 * tokens lasts as long as on one (Leviathan et al., arXiv:2211.17192, theorem
 * 3.8).  If `accept` or `cost` is NAN: 0 tokens, and a speed-up of NAN. */
struct draft draft_best(double accept, double cost);

/* Append a table with two rows for each model but the base.  The first has the
 * cost by the bytes of weights that a token reads, the second by measured time;
 * each has draft_best of its cost.  e has a base. */
void drafts_print(const struct eval *e, struct sheet *s);

#endif
