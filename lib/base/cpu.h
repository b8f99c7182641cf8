/* Chooses the instruction set of the kernels: the processor's best, or what
 * RETORT_KERNELS names; retort(7). */
#ifndef BASE_CPU_H
#define BASE_CPU_H

enum cpu_code {
    CPU_REF,   /* portable C */
    CPU_AVX2,  /* AVX2, FMA and F16C */
    CPU_AVX512 /* those, and AVX-512 F, BW, DQ, VL */
};

/* *code that `name`, of RETORT_KERNELS, asks for: ref, avx2, avx512; NULL
 * or "": the best of this processor.  NULL, or why not. */
const char *cpu_choose(const char *name, enum cpu_code *code);

/* "ref", "avx2", "avx512" */
const char *cpu_name(enum cpu_code code);

/* Whether this processor has AVX512-BF16. */
int cpu_avx512bf16(void);
/* Whether it has AMX for bfloat16 and the system lets this process use its
 * tiles: the first call asks, for all threads. */
int cpu_amx(void);

#endif
