/*
 * Products of numbers rounded to bfloat16, summed in fp32: what the versions
 * for AMX (gemm_amx.c) and AVX512-BF16 (gemm_avx512bf16.c) share, and what
 * their plain version (gemm_bf16_ref.c) must give; only for lib/kern.
 *
 * Both factors are rounded on the way into the panels.  A product is cut along
 * k at multiples of GEMM_DEEP, and between these into blocks of one length, a
 * multiple of BF16_CHUNK but for the last; a short chunk is filled up with
 * zeros.  Each element of c is
 *   c = or += sum of block 0 of this instruction's dot products, from zero
 *   c += sum of block 1 ...
 * so its bits depend on k, its row of a and its column of b alone, and on
 * which instruction it is.
 */
#ifndef KERN_GEMM_BF16_H
#define KERN_GEMM_BF16_H

#include "kern/kern.h"

enum {
    BF16_CHUNK = 32, /* elements along k that a tile of AMX takes */
    BF16_DEEP = 576, /* longest block */
    BF16_ROWS = 576, /* rows copied at once */
    BF16_GROUP = 16, /* rows of a, columns of b of one panel */
    BF16_STRIP = 3   /* panels of b that a strip has at most */
};

/* How an operand lies: row (of a) or column (of b) i at depth l is element
 * i * i_step + l * l_step; one of the steps is 1. */
struct bf16_operand {
    const float *p;
    size_t i_step, l_step;
};

/* c [m,n] = or += the sum over kc of a strip: a's panels one after another, n
 * at most `strip` groups. */
struct bf16_strip {
    size_t m, n, chunks; /* chunks of k: a panel is chunks * 256 words */
    const uint32_t *a, *b;
    int add;
    float *c;
    size_t ldc;
};

/* One instruction's product.  A word is two neighbours along k, the even one
 * in the low half; panels hold a whole number of chunks. */
struct bf16_set {
    size_t strip; /* panels of b a strip has */
    /* Panels of up to BF16_GROUP rows of a, columns of b */
    void (*pack_a)(uint32_t *out, size_t n, size_t kc,
        const struct bf16_operand *x);
    void (*pack_b)(uint32_t *out, size_t n, size_t kc,
        const struct bf16_operand *x);
    void (*multiply)(const struct bf16_strip *s);
};
extern const struct bf16_set bf16_avx512, bf16_amx;

/* Put one instruction's products into *k: by the processor's instruction, or
 * the plain version, which gives the same bits. */
void gemm_bf16(struct kern *k, const struct bf16_set *set);
void gemm_bf16_ref(struct kern *k, enum kern_bf16 set);

/* Length of the blocks that `deep` elements, at most GEMM_DEEP, are cut to. */
static inline size_t
bf16_block(size_t deep)
{
    const size_t n = (deep + BF16_DEEP - 1) / BF16_DEEP;

    return ((deep + n - 1) / n + BF16_CHUNK - 1) / BF16_CHUNK * BF16_CHUNK;
}

#endif
