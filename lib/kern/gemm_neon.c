/* Matrix products for NEON: 32 registers, of which a vector has two; see
 * gemm_vec.h. */
#include "kern/gemm.h"
#include "kern/kern.h"

#if defined(__aarch64__)
#include "kern/neon_vec.h"

#define MR 4
#define NV 3
#define AHEAD 3
#define DOT_ROWS 3   /* rows of x at a time in dots */
#define DOT_GROUPS 2 /* vectors of rows of w at a time in dots */
#define PAGED_NV(m) ((m) <= 3 ? 4 : 2)
#define GEMM gemm_neon
#include "kern/gemm_vec.h"
#endif
