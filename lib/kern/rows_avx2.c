/* Row kernels for AVX2 with FMA and F16C. */
#include "kern/kern.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"

#define ROWS rows_avx2
#define LOSS_KERN loss_kern_avx2
#include "kern/rows_ref.h"
#include "kern/rows_vec.h"
#endif
