/* UNROLL before a loop with a constant number of iterations unrolls it, so that
 * arrays that it indexes stay in registers.  ROLLED before a loop keeps it a
 * loop, so that the compiler makes it one operation on vectors. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define ROLLED _Pragma("GCC unroll 1")
#endif
