/* Matrix products for NEON: 32 registers, of which a vector has two; see
 * gemm_vec.h. */
#include "kern/gemm.h"
#include "kern/kern.h"

#if defined(__aarch64__)
#include "kern/neon_vec.h"

/* A tile of gemm: 24 registers of sums, 3 of b and 2 of a. */
#define TW 4
#define tf float32x4_t
#define t_set1(a) vdupq_n_f32(a)
#define t_load(p) vld1q_f32(p)
#define t_store(p, a) vst1q_f32(p, a)
#define t_add(a, b) vaddq_f32(a, b)
#define t_fma(a, b, c) vfmaq_f32(c, a, b)
#define t_load_part(p, k) (v_load_part(p, k, 0.0f).val[0])
#define t_store_part(p, k, a) v_store_part(p, k, ((vf){ { a, a } }))

#define MR 8
#define NV 3
#define STEPS 2
#define DOUBLE_MR 4
#define AHEAD 3
#define DOT_ROWS 3   /* rows of x at a time in dots */
#define DOT_GROUPS 2 /* vectors of rows of w at a time in dots */
#define PAGED_NV(m) ((m) <= 3 ? 4 : 2)
#define GEMM gemm_neon
#include "kern/gemm_vec.h"
#endif
