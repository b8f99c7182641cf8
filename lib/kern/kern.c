/* Choice of kernels at run time. */
#include "kern/kern.h"
#include "kern/kern_impl.h"

#include "base/cpu.h"

#include <stdlib.h>

static const char *failure; /* why kern_init failed */
static int done;

const char *
kern_force(const char *name)
{
    struct kern k = kern_ref;
    enum cpu_code code;
    const char *why = cpu_choose(name, &code);

    if (why != NULL)
        return why;
#if defined(__x86_64__)
    if (code == CPU_AVX2) {
        rows_avx2(&k);
        gemm_avx2(&k);
    } else if (code == CPU_AVX512) {
        rows_avx512(&k);
        gemm_avx512(&k);
    }
#endif
    k.name = cpu_name(code);
    kern = k;
    return NULL;
}

const char *
kern_init(void)
{
    if (!done) {
        done = 1;
        failure = kern_force(getenv("RETORT_KERNELS"));
    }
    return failure;
}

const char *
kern_name(void)
{
    return kern.name;
}
