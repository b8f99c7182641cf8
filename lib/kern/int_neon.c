/* Products in 8-bit integers for NEON; see int_vec.h. */
#include "kern/int.h"

#if defined(__aarch64__)
#include "kern/int_neon_vec.h"

const struct int_kern int_kern_neon = { round_int, multiply_int };
#endif
