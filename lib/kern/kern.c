/* Choice of kernels at run time. */
#include "kern/kern.h"
#include "kern/gemm_bf16.h"
#include "kern/int.h"
#include "kern/quant_fit.h"

#include "base/cpu.h"
#include "kern/rows_ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The main thread changes these, while no other thread computes (kern.h). */
static const char *failure; /* why kern_init failed */
static int done;
static struct kern single; /* the table with products in fp32 */
static int slow;

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
        k.ints = &int_kern_avx2;
        k.fit = &fit_kern_avx2;
    } else if (code == CPU_AVX512) {
        rows_avx512(&k);
        gemm_avx512(&k);
        k.ints = cpu_vnni() ? &int_kern_vnni : &int_kern_avx2;
        k.fit = &fit_kern_avx2;
    }
#elif defined(__aarch64__)
    if (code == CPU_NEON) {
        rows_neon(&k);
        gemm_neon(&k);
        k.ints = cpu_dotprod() ? &int_kern_dotprod : &int_kern_neon;
    }
#endif
    k.name = cpu_name(code);
    kern = single = k;
    slow = 0;
    done = 1; /* a later kern_init then changes nothing */
    failure = NULL;
    return NULL;
}

/* The fastest bf16_set that the kernels in use allow and whose products have
 * the bits of the instruction `result`; NULL: only plain C has them.  A
 * VDPBF16PS does the work of two fused multiply-adds.  On Intel's processors it
 * takes the time of four (a Xeon of family 6 model 207: 1.3 against 5.5
 * thousand million a second), so it is not used there.  Other processors have
 * not been measured and use it. */
static const struct bf16_set *
fastest(enum kern_bf16 result)
{
#if defined(__x86_64__)
    const int wide = strcmp(single.name, "avx512") == 0;

    if (result != KERN_BF16_AVX512)
        return result == KERN_BF16_AMX && wide && cpu_amx() ? &bf16_amx : NULL;
    if (wide && cpu_avx512bf16() && !__builtin_cpu_is("intel"))
        return &bf16_avx512;
    return wide                            ? &bf16_fma512
        : strcmp(single.name, "avx2") == 0 ? &bf16_fma256
                                           : NULL;
#elif defined(__aarch64__)
    if (strcmp(single.name, "neon") != 0)
        return NULL;
    return result == KERN_BF16_AVX512                ? &bf16_fma_neon
        : result == KERN_BF16_BFMMLA && cpu_bfmmla() ? &bf16_bfmmla
                                                     : NULL;
#else
    (void)result;
    return NULL;
#endif
}

/* dots_bf16 with the bits of `set`, or NULL. */
static void (*fast_dots(const struct bf16_set *set))(size_t m, size_t n,
    size_t k, const float *x, const unsigned char *w, size_t stride, float *y,
    size_t ldy)
{
#if defined(__x86_64__)
    return set == &bf16_avx512 ? dots_bf16_avx512 : NULL;
#else
    (void)set;
    return NULL;
#endif
}

/* dots in bfloat16 */
static void
dots_by_gemm(size_t m, size_t n, size_t k, const float *x, const float *w,
    size_t ldw, float *y, size_t ldy)
{
    kern.gemm_nt(m, n, k, x, k, w, ldw, GEMM_SET, y, ldy);
}

void
kern_compute(const char *name)
{
    static const char *const names[] = { "avx512bf16", "amx", "bfmmla" };
    static char whole[32];
    enum kern_bf16 result = KERN_BF16_AVX512;
    const struct bf16_set *set;

    kern = single;
    slow = 0;
    if (strcmp(name, "f32") == 0)
        return;
    for (enum kern_bf16 r = KERN_BF16_AMX; r <= KERN_BF16_BFMMLA; r++)
        if (strcmp(name, names[r]) == 0 ||
            (strcmp(name, "bf16") == 0 && fastest(r) != NULL))
            result = r;
    set = fastest(result);
    if (set != NULL)
        gemm_bf16(&kern, set);
    else
        gemm_bf16_ref(&kern, result);
    kern.dots = dots_by_gemm;
    kern.dots_stored = NULL;
    kern.dots_bf16 = fast_dots(set);
    slow = set == NULL;
    snprintf(whole, sizeof(whole), "%s+%s", single.name, names[result]);
    kern.name = whole;
}

const char *
kern_fastest(void)
{
#if defined(__x86_64__)
    if (fastest(KERN_BF16_AMX) != NULL)
        return "amx";
    if (fastest(KERN_BF16_AVX512) == &bf16_avx512)
        return "avx512bf16";
#endif
    return "f32";
}

int
kern_slow(void)
{
    return slow;
}

int
kern_rounds(void)
{
    return kern.dots == dots_by_gemm;
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

/* About 24 slices, of 256 to 4096 ids: enough tasks for many threads, and
 * slices wide enough for efficient products. */
size_t
kern_slice(size_t V)
{
    size_t w = (V + 23) / 24;

    w = (w + 63) / 64 * 64;
    return w < 256 ? 256 : w > 4096 ? 4096 : w;
}
