/* Row kernels for NEON. */
#include "kern/kern.h"

#if defined(__aarch64__)
#include "kern/neon_vec.h"

#define ROWS rows_neon
#define LOSS_KERN loss_kern_neon
#include "kern/rows_ref.h"
#include "kern/rows_vec.h"
#endif
