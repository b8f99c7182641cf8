/*
 * Products of numbers rounded to bfloat16, summed in fp32: the code shared by
 * the versions for AMX (gemm_amx.c) and AVX512-BF16 (gemm_avx512bf16.c, and
 * with fused multiply-adds gemm_bf16_vec.h), and the definition of their
 * results, which the plain version (gemm_bf16_ref.c) follows; only for
 * lib/kern.
 *
 * Both factors are rounded when copied into panels.  A product is cut along k
 * at multiples of GEMM_DEEP, and between these into blocks of equal length, a
 * multiple of BF16_CHUNK except for the last; a short chunk is padded with
 * zeros.  Each element of c is
 *   c = or += sum of block 0 of this instruction's dot products, from zero
 *   c += sum of block 1 ...
 * so its bits depend only on k, its row of a, its column of b and the
 * instruction.
 */
#ifndef KERN_GEMM_BF16_H
#define KERN_GEMM_BF16_H

#include "kern/gemm.h"
#include "kern/kern.h"

enum {
    BF16_CHUNK = 32,  /* elements along k in a tile of AMX */
    BF16_GROUP = 16,  /* rows of a, columns of b of one panel */
    BF16_ROWS = 576,  /* rows copied at once */
    BF16_STRIP = 3,   /* most panels of b in a strip */
    BF16_PAIRS = 256, /* words of a panel's chunk with two elements a word */
    BF16_WHOLE = 512, /* the same with one element a word */
    BF16_WORDS = 288  /* longest block of a row or column, in words */
};

/* A strip: c [m,n] = or += the sum over `chunks` chunks of products of a's
 * panels, one after another, with at most bf16_set.strip panels of b. */
struct bf16_strip {
    size_t m, n, chunks;
    const float *a, *b;
    int along; /* a->l_step was 1 */
    int add;
    float *c;
    size_t ldc;
};

/* A way to multiply in bfloat16.  A word of a panel is 32 bits: two neighbours
 * along k, the even one in the low half, or one element as fp32. */
struct bf16_set {
    enum kern_bf16 result; /* the instruction whose bits it gives */
    size_t strip;          /* panels of b in a strip */
    size_t words;          /* BF16_PAIRS or BF16_WHOLE */
    /* Copy n rows of a, n columns of b, into panels one after another, in whole
     * chunks. */
    void (*pack_a)(float *out, size_t n, size_t kc, const struct operand *x);
    void (*pack_b)(float *out, size_t n, size_t kc, const struct operand *x);
    void (*multiply)(const struct bf16_strip *s);
};
extern const struct bf16_set bf16_amx, bf16_avx512, bf16_fma512, bf16_fma256;

/* Set the products in *k to those of one way; to the plain version with the
 * bits of one instruction. */
void gemm_bf16(struct kern *k, const struct bf16_set *set);
void gemm_bf16_ref(struct kern *k, enum kern_bf16 result);

/* Make all panels of n rows or columns with a function that makes one. */
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

/* Length of the blocks that `deep` <= GEMM_DEEP elements are cut into: longer
 * for AMX, whose tiles are slow to store. */
static inline size_t
bf16_block(enum kern_bf16 result, size_t deep)
{
    const size_t most = result == KERN_BF16_AMX ? 2 * BF16_WORDS : BF16_WORDS;
    const size_t n = (deep + most - 1) / most;

    return ((deep + n - 1) / n + BF16_CHUNK - 1) / BF16_CHUNK * BF16_CHUNK;
}

#endif
