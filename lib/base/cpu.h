/* Chooses the instruction set of the kernels: the processor's best, or what
 * RETORT_KERNELS names; retort(7). */
#ifndef BASE_CPU_H
#define BASE_CPU_H

enum cpu_code {
    CPU_REF,    /* portable C */
    CPU_AVX2,   /* AVX2, FMA and F16C */
    CPU_AVX512, /* AVX2, FMA, F16C, and AVX-512 F, BW, DQ, VL */
    CPU_NEON    /* Advanced SIMD of every 64-bit Arm processor */
};

/* Set *code to the instruction set called name, the value of RETORT_KERNELS:
 * ref, avx2, avx512 or neon; NULL or "": the best that this processor has.
 * Returns NULL, or a message that says why it cannot be used. */
const char *cpu_choose(const char *name, enum cpu_code *code);

/* "ref", "avx2", "avx512", "neon" */
const char *cpu_name(enum cpu_code code);

/* Does this processor have SDOT (64-bit Arm)? */
int cpu_dotprod(void);
/* Does this processor have BFMMLA (64-bit Arm)? */
int cpu_bfmmla(void);
/* Does this processor have AVX512-BF16? */
int cpu_avx512bf16(void);
/* Does this processor have AVX-512 VNNI? */
int cpu_vnni(void);
/* Does this processor have AMX for bfloat16, and may this process use it?  The
 * call asks the system to allow AMX to all threads. */
int cpu_amx(void);

/* Tell the processor that this thread waits in a loop. */
static inline void
cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
