/* The losses' kernels for AVX-512; the template is loss_vec.h. */
#include "kern/loss.h"

#if defined(__AVX512F__)
#include "kern/avx512_vec.h"

#define LOSS_KERN loss_kern_avx512
#include "kern/loss_vec.h"
#endif
