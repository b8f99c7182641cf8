/* The losses' kernels for AVX2; the template is loss_vec.h. */
#include "kern/loss.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"

#define LOSS_KERN loss_kern_avx2
#include "kern/loss_vec.h"
#endif
