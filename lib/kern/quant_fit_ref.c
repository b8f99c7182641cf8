/* Scales of quantised groups (quant_fit.h), for any processor. */
#define FIT_KERN fit_kern_ref
#include "kern/quant_fit_lanes.h"
