/* Choice of kernels at run time. */
#include "kern/kern.h"
#include "kern/kern_impl.h"

#include <stdlib.h>
#include <string.h>

static const char *failure;     /* why kern_init failed */
static int done;

static int
has_avx2(void)
{
#if defined(__x86_64__)
    /* no processor has AVX2 without F16C */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

static int
has_avx512(void)
{
#if defined(__x86_64__)
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}

const char *
kern_force(const char *name)
{
    struct kern k = kern_ref;

    if (name == NULL || *name == '\0')
        name = has_avx512() ? "avx512" : has_avx2() ? "avx2" : "ref";
    if (strcmp(name, "ref") == 0) {
        k.name = "ref";
#if defined(__x86_64__)
    } else if (strcmp(name, "avx2") == 0) {
        if (!has_avx2())
            return "RETORT_KERNELS: this processor has no AVX2 and FMA";
        rows_avx2(&k);
        gemm_avx2(&k);
        k.name = "avx2";
    } else if (strcmp(name, "avx512") == 0) {
        if (!has_avx512())
            return "RETORT_KERNELS: this processor has no AVX-512";
        rows_avx512(&k);
        gemm_avx512(&k);
        k.name = "avx512";
#endif
    } else if (strcmp(name, "openblas") == 0) {
        const char *why = gemm_blas(&k, has_avx512() ? "SkylakeX" :
            has_avx2() ? "Haswell" : NULL);

        if (why != NULL)
            return why;
#if defined(__x86_64__)
        if (has_avx512())
            rows_avx512(&k);
        else if (has_avx2())
            rows_avx2(&k);
#endif
        k.name = "openblas";
    } else {
        return "RETORT_KERNELS: not one of ref, avx2, avx512, openblas for "
            "this processor";
    }
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

const char *
kern_blas(void)
{
    return strcmp(kern.name, "openblas") == 0 ? gemm_blas_core() : "";
}
