/* The number format of a program's matrix products, set by the option
 * --compute; see kern_compute. */
#ifndef MODEL_COMPUTE_H
#define MODEL_COMPUTE_H

#include "base/err.h"
#include "model/pass/forward.h"

/* The words of --compute, "f32" first; ends with NULL. */
extern const char *const compute_names[];

/* Call kern_init and set the format of products to compute_names[choice].  For
 * bfloat16 a note names what computes the products; a warning follows if that
 * is plain C.  -1: RETORT_KERNELS is wrong (EX_SYS). */
int compute_init(int choice, struct err *e);

/* Return the index of kern_fastest() in compute_names; 0 if RETORT_KERNELS is
 * wrong. */
int compute_fastest(void);

/*
 * Print a note, which begins with `who`, on the error of bfloat16 products in
 * m.  The first COMPUTE_SAMPLE tokens of r's first row are run with fp32 and
 * with bfloat16 products; compared are the final states, the loss, and the
 * distributions after COMPUTE_LOGITS of the tokens.  With -q or fp32 products
 * this does nothing.  The weights of m that it reads do not stay in memory.
 */
enum { COMPUTE_SAMPLE = 128, COMPUTE_LOGITS = 32 };
void compute_note(const struct model *m, struct pool *pool,
    const struct rows *r, int choice, const char *who);

#endif
