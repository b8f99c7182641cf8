/* Functions that avx2_vec.h and avx512_vec.h share. */
#include <immintrin.h>

#define v_half(h) _cvtsh_ss(h) /* half precision to single */

/* Number i of those that lie `step` floats apart, to be broadcast. */
#define v_number(p, i, step) (p)[(size_t)(i) * (step)]

/* For gemm_bf16_vec.h: results too small for normal numbers become 0, until
 * v_set_mode restores what this returned. */
static inline unsigned
v_tiny_to_zero(void)
{
    const unsigned mode = _mm_getcsr();

    _mm_setcsr(mode | 0x8000);
    return mode;
}
#define v_set_mode(mode) _mm_setcsr(mode)
