/* Words of options: see options.h. */
#include "options.h"

const char *const options_dtypes[] = { "f32", "bf16", NULL };
const char *const options_wires[] = { "f32", "bf16", NULL };
