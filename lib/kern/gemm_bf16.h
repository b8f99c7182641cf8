/*
 * Products of numbers rounded to bfloat16, summed in fp32: what the versions
 * for AMX (gemm_amx.c) and AVX512-BF16 (gemm_avx512bf16.c, and by fused
 * multiply-adds gemm_bf16_vec.h) share, and what their plain version
 * (gemm_bf16_ref.c) must give; only for lib/kern.
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

#include "kern/gemm.h"
#include "kern/kern.h"

enum {
    BF16_CHUNK = 32,  /* elements along k that a tile of AMX takes */
    BF16_GROUP = 16,  /* rows of a, columns of b of one panel */
    BF16_ROWS = 576,  /* rows copied at once */
    BF16_STRIP = 3,   /* panels of b that a strip has at most */
    BF16_PAIRS = 256, /* words of a chunk of a panel: two neighbours a word */
    BF16_WHOLE = 512, /* the same: one element a word */
    BF16_WORDS = 288  /* longest block of a row or column, in words */
};

/* c [m,n] = or += the sum over chunks of a strip: a's panels one after
 * another, n at most `strip` groups. */
struct bf16_strip {
    size_t m, n, chunks;
    const float *a, *b;
    int along; /* a->l_step was 1 */
    int add;
    float *c;
    size_t ldc;
};

/* A way to multiply.  A word of a panel is 32 bits: two neighbours along k, the
 * even one in the low half, or one element as fp32. */
struct bf16_set {
    enum kern_bf16 result; /* whose bits it gives */
    size_t strip;          /* panels of b a strip has */
    size_t words;          /* BF16_PAIRS or BF16_WHOLE */
    /* Panels of n rows of a, columns of b, one after another: whole chunks */
    void (*pack_a)(float *out, size_t n, size_t kc, const struct operand *x);
    void (*pack_b)(float *out, size_t n, size_t kc, const struct operand *x);
    void (*multiply)(const struct bf16_strip *s);
};
extern const struct bf16_set bf16_amx, bf16_avx512, bf16_fma512, bf16_fma256;

/* Put one way's products into *k: by the processor's instructions, or the
 * plain version, which gives the same bits. */
void gemm_bf16(struct kern *k, const struct bf16_set *set);
void gemm_bf16_ref(struct kern *k, enum kern_bf16 result);

/* All panels of n rows or columns by a function that makes one. */
static inline void
bf16_panels(void (
                *one)(float *out, size_t n, size_t kc, const struct operand *x),
    size_t words, float *out, size_t n, size_t kc, const struct operand *x)
{
    struct operand y = *x;

    for (size_t i = 0; i < n; i += BF16_GROUP) {
        one(out, n - i < BF16_GROUP ? n - i : BF16_GROUP, kc, &y);
        y.p += BF16_GROUP * y.i_step;
        out += (kc + BF16_CHUNK - 1) / BF16_CHUNK * words;
    }
}

/* Length of the blocks that `deep` elements, at most GEMM_DEEP, are cut to:
 * AMX has the longer ones, for its tiles are slow to empty. */
static inline size_t
bf16_block(enum kern_bf16 result, size_t deep)
{
    const size_t most = result == KERN_BF16_AMX ? 2 * BF16_WORDS : BF16_WORDS;
    const size_t n = (deep + most - 1) / most;

    return ((deep + n - 1) / n + BF16_CHUNK - 1) / BF16_CHUNK * BF16_CHUNK;
}

#endif
