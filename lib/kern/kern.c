/* Choice of kernels at run time. */
#include "kern/kern.h"
#include "kern/gemm_bf16.h"
#include "kern/kern_impl.h"

#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    } else if (code == CPU_AVX512) {
        rows_avx512(&k);
        gemm_avx512(&k);
    }
#endif
    k.name = cpu_name(code);
    kern = single = k;
    slow = 0;
    return NULL;
}

/* Products in bfloat16 by this instruction, if it may be called. */
static int
use_instruction(enum kern_bf16 i)
{
#if defined(__x86_64__)
    if (strcmp(single.name, "avx512") != 0)
        return 0;
    if (i == KERN_BF16_AMX && cpu_amx())
        gemm_bf16(&kern, &bf16_amx);
    else if (i == KERN_BF16_AVX512 && cpu_avx512bf16())
        gemm_bf16(&kern, &bf16_avx512);
    else
        return 0;
    return 1;
#else
    (void)i;
    return 0;
#endif
}

const char *
kern_compute(const char *name)
{
    static const char *const names[] = { "avx512bf16", "amx" };
    static char whole[32];

    kern = single;
    slow = 0;
    if (strcmp(name, "f32") == 0)
        return NULL;
    for (int i = KERN_BF16_N - 1; i >= 0; i--) {
        if (strcmp(name, "bf16") != 0 && strcmp(name, names[i]) != 0)
            continue;
        if (!use_instruction((enum kern_bf16)i)) {
            if (strcmp(name, "bf16") == 0)
                continue;
            gemm_bf16_ref(&kern, (enum kern_bf16)i);
            slow = 1;
        }
        snprintf(whole, sizeof(whole), "%s+%s", single.name, names[i]);
        kern.name = whole;
        return NULL;
    }
    return "no instruction for bfloat16 here (avx512bf16 and amx give its "
           "results in plain C, slowly)";
}

int
kern_slow(void)
{
    return slow;
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
