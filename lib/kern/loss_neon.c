/* The kernels of losses for NEON, made from the template loss_vec.h. */
#include "kern/loss.h"

#if defined(__aarch64__)
#include "kern/neon_vec.h"

#define LOSS_KERN loss_kern_neon
#include "kern/loss_vec.h"
#endif
