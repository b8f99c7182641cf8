/* The kernels of losses for AVX-512, made from the template loss_vec.h. */
#include "kern/loss.h"

#if defined(__AVX512F__)
#include "kern/avx512_vec.h"

#define LOSS_KERN loss_kern_avx512
#include "kern/loss_vec.h"
#endif
