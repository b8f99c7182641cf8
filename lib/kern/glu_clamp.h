/* The unit of gpt-oss's experts (arXiv:2508.10925, s. 2.2, and its code). */
#ifndef KERN_GLU_CLAMP_H
#define KERN_GLU_CLAMP_H

#include <stddef.h>

/* out [n] = (u + 1) g / (1 + exp(-1.702 g)), with g = min(gate, 7) and
 * u = up clamped to -7..7.  out may be gate or up. */
void glu_clamp_ref(float *out, const float *gate, const float *up, size_t n);

/* From dout [n], the gradient of out, compute dgate and dup [n], the gradients
 * of gate and up.  Where a value is clamped its gradient is 0.  dgate may be
 * gate, dup may be up. */
void glu_clamp_bwd_ref(float *dgate, float *dup, const float *dout,
    const float *gate, const float *up, size_t n);

#endif
