/*
 * Products of numbers rounded to bfloat16, summed in fp32.  This file has the
 * order of additions, which every version follows, and the code that the fast
 * ones share: AMX (gemm_amx.c), AVX512-BF16 (gemm_avx512bf16.c), and fused
 * multiply-adds with the bits of AVX512-BF16 (gemm_bf16_vec.h), BFMMLA
 * (gemm_bfmmla.c).  gemm_bf16_ref.c is the plain version.  Only for lib/kern.
 *
 * Both factors are rounded when copied into panels.  A product is cut along k
 * into parts of GEMM_DEEP, and each part into blocks of equal length, a
 * multiple of BF16_CHUNK.  The last block may be shorter; its last chunk is
 * padded with zeros.  Each element of c is by AVX512-BF16 and by BFMMLA
 *   c = or += sum of block 0 by the instruction's dot products, from zero
 *   c += sum of block 1 ...
 * and by AMX, whose bits do not depend on blocks,
 *   c = zero, or c, to which the instruction adds one chunk after another
 * so its bits depend only on k, its row of a, its column of b and the
 * instruction.
 */
#ifndef KERN_GEMM_BF16_H
#define KERN_GEMM_BF16_H

#include "kern/gemm.h"
#include "kern/kern.h"

enum {
    BF16_CHUNK = 32,  /* elements along k in a tile of AMX */
    BF16_GROUP = 16,  /* rows of a, or columns of b, in a panel */
    BF16_ROWS = 576,  /* rows copied at once */
    BF16_STRIP = 3,   /* panels of b in a strip, at most */
    BF16_AT_ONCE = 4, /* panels of b copied at once, at most */
    BF16_PAIRS = 256, /* words of a panel's chunk: two bf16 elements a word */
    BF16_WHOLE = 512, /* words of a panel's chunk: one fp32 element a word */
    BF16_WORDS = 288  /* longest block of a row or column, in words */
};

/* A strip: c [m,n] = or += the sum of products over `chunks` chunks.  The
 * panels of a follow one another; b has at most bf16_set.strip panels, b_step
 * words apart. */
struct bf16_strip {
    size_t m, n, chunks;
    const float *a, *b;
    size_t b_step;
    int along; /* 1: the factor a had l_step 1 */
    int add;
    float *c;
    size_t ldc;
};

/* A way to multiply in bfloat16.  A panel consists of 32-bit words.  If `words`
 * is BF16_PAIRS, a word holds two neighbours along k, the even one in the low
 * half; if it is BF16_WHOLE, one element as fp32. */
struct bf16_set {
    enum kern_bf16 result; /* the instruction whose bits it gives */
    size_t strip;          /* panels of b in a strip */
    size_t at_once;        /* panels of b copied at once; 0: those of a strip */
    size_t words;          /* BF16_PAIRS or BF16_WHOLE */
    /* Copy n rows of a (pack_b: columns of b) into panels, one after another,
     * in whole chunks. */
    void (*pack_a)(float *out, size_t n, size_t kc, const struct operand *x);
    void (*pack_b)(float *out, size_t n, size_t kc, const struct operand *x);
    void (*multiply)(const struct bf16_strip *s);
};
extern const struct bf16_set bf16_amx, bf16_avx512, bf16_fma512, bf16_fma256,
    bf16_fma_neon, bf16_bfmmla;

/* dots_bf16 of struct kern, with the bits of bf16_avx512. */
void dots_bf16_avx512(size_t m, size_t n, size_t k, const float *x,
    const unsigned char *w, size_t stride, float *y, size_t ldy);

/* gemm_bf16: make *k multiply by `set`. gemm_bf16_ref: make *k multiply by the
 * plain version, with the bits of the instruction `result`. */
void gemm_bf16(struct kern *k, const struct bf16_set *set);
void gemm_bf16_ref(struct kern *k, enum kern_bf16 result);

/* The length of the blocks that `deep` <= GEMM_DEEP elements are cut into.  AMX
 * and BFMMLA have longer blocks: their panels have two elements a word, and
 * memory is read in longer stretches. */
static inline size_t
bf16_block(enum kern_bf16 result, size_t deep)
{
    const size_t most =
        result == KERN_BF16_AVX512 ? BF16_WORDS : 2 * BF16_WORDS;
    const size_t n = (deep + most - 1) / most;

    return ((deep + n - 1) / n + BF16_CHUNK - 1) / BF16_CHUNK * BF16_CHUNK;
}

/* Return kern.chunk of products that have the bits of an instruction. */
static inline size_t
bf16_cut(enum kern_bf16 result)
{
    return result == KERN_BF16_AMX ? BF16_CHUNK : 0;
}

/* Return kern.packed_along of panels of pairs: BFMMLA takes quads. */
static inline size_t
bf16_along(enum kern_bf16 result)
{
    return result == KERN_BF16_BFMMLA ? 4 : 2;
}

/* Chunks of a row or column of k elements. */
static inline size_t
bf16_chunks(size_t k)
{
    return (k + BF16_CHUNK - 1) / BF16_CHUNK;
}

#endif
