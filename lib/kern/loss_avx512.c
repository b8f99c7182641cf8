/* The losses' kernels for AVX512; the text is loss_vec.h. */
#define LOSS_KERN loss_kern_avx512
#include "kern/loss_vec.h"
