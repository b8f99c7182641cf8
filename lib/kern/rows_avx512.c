/* Row kernels for AVX-512 (F, BW, DQ, VL). */
#include "kern/kern.h"

#if defined(__AVX512F__)
#include "kern/avx512_vec.h"

#define ROWS rows_avx512
#define LOSS_KERN loss_kern_avx512
#include "kern/rows_ref.h"
#include "kern/rows_vec.h"
#endif
