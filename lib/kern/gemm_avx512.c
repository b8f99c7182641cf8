/* Matrix products for AVX-512: 32 registers; see gemm_vec.h. */
#include "kern/gemm.h"
#include "kern/kern.h"

#if defined(__AVX512F__)
#include "kern/avx512_vec.h"

#define MR 8
#define NV 3
#define DOUBLE_MR MR
#define AHEAD 2
#define DOT_ROWS 4   /* rows of x at a time in dots */
#define DOT_GROUPS 2 /* vectors of rows of w at a time in dots */
#define PAGED_NV(m) 4
#define GEMM gemm_avx512
#include "kern/gemm_vec.h"
#endif
