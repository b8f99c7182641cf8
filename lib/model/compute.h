/* The number format of a program's matrix products: its option --compute; see
 * kern_compute. */
#ifndef MODEL_COMPUTE_H
#define MODEL_COMPUTE_H

#include "base/err.h"
#include "model/forward.h"

/* The words of --compute, "f32" first; ends with NULL. */
extern const char *const compute_names[];

/* kern_init, and products by names[choice]; in bfloat16 a note says by which
 * instruction, and a warning when plain C stands in for it.  -1: RETORT_KERNELS
 * is wrong (EX_SYS). */
int compute_init(int choice, struct err *e);

/*
 * Note the error of bfloat16 products for m: states of up to COMPUTE_SAMPLE
 * tokens of the first row of r are compared with both kinds of product, and
 * distributions after COMPUTE_LOGITS of them.  The note begins with `who`.
 * Nothing is done with -q or when products are fp32.  Weights of m that are
 * read do not stay in memory.
 */
enum { COMPUTE_SAMPLE = 128, COMPUTE_LOGITS = 32 };
void compute_tell(const struct model *m, struct pool *pool,
    const struct rows *r, int choice, const char *who);

#endif
