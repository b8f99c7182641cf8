/* UNROLL before a loop with a constant number of iterations unrolls it, so that
 * arrays it indexes stay in registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
