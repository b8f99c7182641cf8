/* Products with the bits of VDPBF16PS, for AVX2; see gemm_bf16_vec.h. */
#include "kern/gemm_bf16.h"

#if defined(__AVX2__)
#include "kern/avx2_vec.h"

#define MR 4
#define NV 2
#define SET bf16_fma256
#include "kern/gemm_bf16_vec.h"
#endif
