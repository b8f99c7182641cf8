/* The kernels of losses for AVX2, made from the template loss_vec.h. */
#include "kern/loss.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"

#define LOSS_KERN loss_kern_avx2
#include "kern/loss_vec.h"
#endif
