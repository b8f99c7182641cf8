/* Row kernels in plain C and by vectors; only for lib/kern. */
#ifndef KERN_ROWS_REF_H
#define KERN_ROWS_REF_H

#include "kern/kern.h"

/* The whole reference version.  Other versions are copies in which some kernels
 * are replaced. */
extern const struct kern kern_ref;
/* Put the row kernels of one instruction set into *k.  Matrix products and
 * narrow_f16 stay as they are. */
void rows_avx2(struct kern *k);
void rows_avx512(struct kern *k);
void rows_neon(struct kern *k);
/* 2 sqrt(2/pi), and the factor of g^3, in the tanh form of GELU. */
#define GELU_Z2 1.5957691216057308f
#define GELU_CUBE 0.044715f

/* Half precision to single, exact. */
float half_to_float(uint16_t h);

static inline uint16_t
load16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

#endif
