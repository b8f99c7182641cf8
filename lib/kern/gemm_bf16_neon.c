/* Products with the bits of VDPBF16PS, for NEON; see gemm_bf16_vec.h. */
#include "kern/gemm_bf16.h"

#if defined(__aarch64__)
#include "kern/neon_vec.h"

#define MR 4
#define NV 2
#define SET bf16_fma_neon
#include "kern/gemm_bf16_vec.h"
#endif
