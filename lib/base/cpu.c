/* Instructions of this processor; see cpu.h. */
#include "base/cpu.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static enum cpu_code
best(void)
{
#if defined(__x86_64__)
    /* no processor has AVX2 without F16C */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return CPU_REF;
    if (!__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return CPU_AVX2;
    return CPU_AVX512;
#elif defined(__aarch64__)
    return CPU_NEON;
#else
    return CPU_REF;
#endif
}

const char *
cpu_choose(const char *name, enum cpu_code *code)
{
    const enum cpu_code most = best();

    *code = most;
    if (!name || !*name)
        return NULL;
    for (int c = CPU_REF; c <= (int)most; c++)
        if (strcmp(name, cpu_name((enum cpu_code)c)) == 0 &&
            (c == CPU_REF || (c == CPU_NEON) == (most == CPU_NEON))) {
            *code = (enum cpu_code)c;
            return NULL;
        }
    return most == CPU_NEON
        ? "RETORT_KERNELS: not one of ref, neon for this processor"
        : "RETORT_KERNELS: not one of ref, avx2, avx512 for this processor";
}

const char *
cpu_name(enum cpu_code code)
{
    static const char *const name[] = { "ref", "avx2", "avx512", "neon" };

    return name[code];
}

int
cpu_dotprod(void)
{
#if defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
    return 0;
#endif
}

int
cpu_bfmmla(void)
{
#if defined(__aarch64__)
    return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#else
    return 0;
#endif
}

int
cpu_avx512bf16(void)
{
#if defined(__x86_64__)
    return best() == CPU_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
}

int
cpu_vnni(void)
{
#if defined(__x86_64__)
    return best() == CPU_AVX512 && __builtin_cpu_supports("avx512vnni");
#else
    return 0;
#endif
}

int
cpu_amx(void)
{
#if defined(__x86_64__)
    enum { ASK = 0x1023, TILES = 18 }; /* ARCH_REQ_XCOMP_PERM, XTILEDATA */
    enum { BF16 = 1 << 22, TILE = 1 << 24 };
    unsigned a, b, c, d;

    return cpu_avx512bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
        (d & BF16) && (d & TILE) && syscall(SYS_arch_prctl, ASK, TILES) == 0;
#else
    return 0;
#endif
}
