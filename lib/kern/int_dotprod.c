/* Products in 8-bit integers for NEON with SDOT (ARMv8.2-A, DotProd). */
#include "kern/int.h"

#if defined(__ARM_FEATURE_DOTPROD)
#include "kern/int_neon_vec.h"

const struct int_kern int_kern_dotprod = { round_int, multiply_int };
#endif
