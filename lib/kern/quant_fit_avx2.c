/* Scales of quantised groups (quant_fit.h), for AVX2; a vector has 8 groups, so
 * AVX-512 takes this version too. */
#include "kern/quant_fit.h"

#if defined(__AVX2__)
#define FIT_KERN fit_kern_avx2
#include "kern/quant_fit_lanes.h"
#endif
