/* Matrix products for AVX2 and FMA: 16 registers; see gemm_vec.h. */
#include "kern/gemm.h"
#include "kern/kern.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"

#define MR 4
#define NV 3
#define DOUBLE_MR MR
#define AHEAD 3
#define DOT_ROWS 3   /* rows of x at a time in dots */
#define DOT_GROUPS 2 /* vectors of rows of w at a time in dots */
#define PAGED_NV(m) ((m) <= 3 ? 4 : 2)
#define GEMM gemm_avx2
#include "kern/gemm_vec.h"
#endif
