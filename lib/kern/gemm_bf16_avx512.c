/* Products with the bits of VDPBF16PS, for AVX512; see gemm_bf16_vec.h. */
#include "kern/gemm_bf16.h"

#if defined(__AVX512F__)
#include "kern/avx512_vec.h"

#define MR 8
#define NV 3
#define SET bf16_fma512
#include "kern/gemm_bf16_vec.h"
#endif
