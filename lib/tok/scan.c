/* Pieces from bit sets; see scan.h. */
#include "tok/scan.h"
#include "tok/queue.h"
#include "text/unicode.h"

#include "base/cpu.h"

#include <string.h>

#define ALL UINT64_C(0x0101010101010101)

/* Find the bytes of x that are in [from,to]: 0x80 in their places, 0 in all
 * other bytes.  All bytes of x, and `to`, are below 0x80. */
static inline uint64_t
range(uint64_t x, unsigned from, unsigned to)
{
    return (x + ALL * (0x80 - from)) & ~(x + ALL * (0x7f - to)) & ALL << 7;
}

/* Gather bit 7 of each of the 8 bytes of x into one byte. */
static inline uint64_t
gather_sets(uint64_t x)
{
    return (x >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Does a letter of two bytes begin at p? */
static inline int
letter_of_two(const unsigned char *p)
{
    return p[0] >= 0xc2 && p[0] < 0xe0 && (p[1] & 0xc0) == 0x80 &&
        (uni_class((p[0] & 31u) << 6 | (p[1] & 63u)) & U_L);
}

static void
scan_ref(struct scan *s, size_t at, size_t blocks, const unsigned char *p,
    uint64_t *carry)
{
    for (; blocks > 0; blocks--, at++, p += 64) {
        uint64_t upper = 0, lower = 0, number = 0, white = 0, high = 0;
        uint64_t space = 0, quote = 0;
        uint64_t follow = *carry, both = *carry;

        for (int i = 0; i < 64; i += 8) {
            uint64_t w, x, low;

            memcpy(&w, p + i, 8);
            x = w & ALL * 0x7f;
            low = ~w & ALL << 7;
            high |= gather_sets(w & ALL << 7) << i;
            upper |= gather_sets(range(x, 'A', 'Z') & low) << i;
            lower |= gather_sets(range(x, 'a', 'z') & low) << i;
            number |= gather_sets(range(x, '0', '9') & low) << i;
            white |= gather_sets(range(x, '\t', '\r') & low) << i;
            space |= gather_sets(range(x, ' ', ' ') & low) << i;
            quote |= gather_sets(range(x, '\'', '\'') & low) << i;
        }
        *carry = 0;
        for (uint64_t x = high & ~both; x; x &= x - 1) {
            const uint64_t lead = x & -x;

            if (!letter_of_two(p + __builtin_ctzll(x)))
                continue;
            follow |= lead << 1;
            both |= lead | lead << 1;
            *carry = lead >> 63;
            x &= ~(lead << 1);
        }
        s->set[SCAN_L][at] = upper | lower | both;
        s->set[SCAN_U][at] = upper;
        s->set[SCAN_V][at] = lower;
        s->set[SCAN_N][at] = number;
        s->set[SCAN_S][at] = white | space;
        s->set[SCAN_P][at] = space;
        s->set[SCAN_Q][at] = quote;
        s->set[SCAN_F][at] = follow;
        s->set[SCAN_X][at] = high & ~both;
    }
}

const struct tok_code *
scan_choose(const char *name, struct err *e)
{
    static const struct tok_code codes[] = {
        [CPU_REF] = { "ref", scan_ref, queue_ref, NULL },
#if defined(__x86_64__)
        [CPU_AVX2] = { "avx2", scan_avx2, queue_avx2, valid_avx2 },
        [CPU_AVX512] = { "avx512", scan_avx512, queue_avx512, valid_avx512 },
#elif defined(__aarch64__)
        [CPU_NEON] = { "neon", scan_neon, queue_neon, valid_neon },
#endif
    };
    enum cpu_code code;
    const char *why = cpu_choose(name, &code);

    if (!why)
        return &codes[code];
    err_set(e, EX_USAGE, "%s", why);
    return NULL;
}

size_t
tok_valid(const struct tokenizer *t, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    const size_t k = t->code->valid ? t->code->valid(p, n) : 0;

    return k + uni_valid(text + k, n - k);
}

static inline int
bit(const uint64_t *set, size_t i)
{
    return (int)(set[i >> 6] >> (i & 63) & 1);
}

static void
bits_on(uint64_t *set, size_t i, size_t n)
{
    for (; n > 0; i++, n--)
        set[i >> 6] |= UINT64_C(1) << (i & 63);
}

static inline void
case_on(struct scan *s, size_t i, size_t n, unsigned cls)
{
    if (cls & U_UP)
        bits_on(s->set[SCAN_U], i, n);
    else if (cls & U_LOW)
        bits_on(s->set[SCAN_V], i, n);
}

/* Add two-byte letters to U (upper case) or V (lower case), except those in X.
 */
static void
place_cases(struct scan *s, size_t words)
{
    for (size_t w = 0; w < words; w++)
        for (uint64_t x = s->set[SCAN_L][w] &
                 ~(s->set[SCAN_U][w] | s->set[SCAN_V][w] | s->set[SCAN_F][w]);
             x; x &= x - 1) {
            const size_t i = 64 * w + (size_t)__builtin_ctzll(x);
            const unsigned char *const p = s->base + i;

            if (i >= s->n)
                return;
            case_on(s, i, 2, uni_class((p[0] & 31u) << 6 | (p[1] & 63u)));
        }
}

/* Classify the characters that are in X. */
static void
place_others(struct scan *s, size_t words, const unsigned char *end)
{
    const unsigned number = s->split == SPLIT_GPT2_DIGITS ? U_DIGIT : U_N;
    const unsigned letter = s->split == SPLIT_QWEN35 ? U_L | U_M : U_L;
    const int by_case = split_by_case(s->split);
    size_t next = 0, k;

    for (size_t w = 0; w < words; w++) {
        for (uint64_t x = s->set[SCAN_X][w]; x; x &= x - 1) {
            const size_t i = 64 * w + (size_t)__builtin_ctzll(x);
            unsigned cls;

            if (i < next)
                continue;
            if (i >= s->n)
                return;
            cls = uni_class_at(s->base + i, end, &k);
            next = i + k;
            if (k > 1)
                bits_on(s->set[SCAN_F], i + 1, k - 1);
            if (by_case) {
                case_on(s, i, k, cls);
                if (cls & U_M)
                    bits_on(s->set[SCAN_T], i, k);
            }
            if (cls & letter)
                bits_on(s->set[SCAN_L], i, k);
            else if (cls & number)
                bits_on(s->set[SCAN_N], i, k);
            else if (cls & U_S)
                bits_on(s->set[SCAN_S], i, k);
        }
    }
}

void
scan_begin(struct scan *s, const struct tok_code *code, enum split split,
    const unsigned char *p, const unsigned char *end)
{
    const int by_case = split_by_case(split);
    size_t n = (size_t)(end - p), words, whole;
    uint64_t carry = 0;

    s->split = split;
    s->base = p;
    s->last = n <= SCAN_BYTES;
    if (!s->last) {
        n = SCAN_BYTES;
        for (size_t back = 0; back < 4; back++) /* cut at a whole character */
            if ((p[n - back] & 0xc0) != 0x80) {
                n -= back;
                break;
            }
    }
    s->n = n;
    words = (n + 63) / 64;
    whole = (size_t)(end - p - 1) / 64; /* number of blocks with a byte of text
                                         * after them */
    if (whole > words)
        whole = words;
    code->blocks(s, 0, whole, p, &carry);
    if (whole < words) {
        unsigned char tail[64 + 1] = { 0 };

        memcpy(tail, p + 64 * whole, n - 64 * whole);
        code->blocks(s, whole, 1, tail, &carry);
    }
    for (int k = 0; k < SCAN_SETS; k++)
        s->set[k][words] = s->set[k][words + 1] = 0;
    if (by_case) {
        memset(s->set[SCAN_T], 0, words * sizeof **s->set);
        place_cases(s, words);
    }
    place_others(s, words, end);
    if (n % 64)
        for (int k = 0; k < SCAN_SETS; k++)
            s->set[k][words - 1] &= UINT64_MAX >> (64 - n % 64);
    for (size_t w = 0; w < words; w++)
        s->set[SCAN_O][w] =
            ~(s->set[SCAN_L][w] | s->set[SCAN_N][w] | s->set[SCAN_S][w]);
    if (n % 64)
        s->set[SCAN_O][words - 1] &= UINT64_MAX >> (64 - n % 64);
    for (size_t w = 0; by_case && w < words; w++)
        s->set[SCAN_T][w] |= s->set[SCAN_L][w];
    if (split == SPLIT_GPT2 || split == SPLIT_GPT2_DIGITS)
        scan_gpt2(s, words, end);
}

/* The first byte from i on that is not in the set. */
static inline size_t
run_end(const uint64_t *set, size_t i)
{
    uint64_t w;
    size_t k;

    do {
        memcpy(&w, (const unsigned char *)set + (i >> 3), 8);
        w = ~(w >> (i & 7)) | UINT64_C(1) << 56;
        k = (size_t)__builtin_ctzll(w);
        i += k;
    } while (k == 56);
    return i;
}

/* Length of \s+(?!\S)|\s+ at i; r: the end of the white space. */
static inline size_t
space(const struct scan *s, size_t i, size_t r)
{
    size_t last = r - 1;

    if (r == s->n)
        return r - i;
    while (last > i && bit(s->set[SCAN_F], last))
        last--;
    return last > i ? last - i : r - i;
}

/* May a run that ends at r go on after the stretch? */
static inline int
open_end(const struct scan *s, size_t r)
{
    return r >= s->n && !s->last;
}

/* Length of \s*[\r\n]+|\s+(?!\S)|\s+ at i; 0: it may go on after the
 * stretch. */
static size_t
space_lines(const struct scan *s, size_t i)
{
    const size_t r = run_end(s->set[SCAN_S], i);
    size_t q = r;

    if (open_end(s, r))
        return 0;
    while (q > i && s->base[q - 1] != '\r' && s->base[q - 1] != '\n')
        q--;
    return q > i ? q - i : space(s, i, r);
}

/* Length of at most `most` characters of \p{N} at i; 0: they may go on after
 * the stretch. */
static size_t
numbers(const struct scan *s, size_t i, int most)
{
    size_t r = i;

    do
        r = run_end(s->set[SCAN_F], r + 1);
    while (--most > 0 && bit(s->set[SCAN_N], r));
    return open_end(s, r) ? 0 : r - i;
}

static inline size_t
cl100k(const struct scan *s, size_t i, const unsigned char *end, int most)
{
    const unsigned char *const p = s->base + i;
    size_t j, r, n;

    if (bit(s->set[SCAN_L], i)) {
        r = run_end(s->set[SCAN_L], i);
        return open_end(s, r) ? 0 : r - i;
    }
    if (bit(s->set[SCAN_N], i))
        return numbers(s, i, most);
    if (*p == '\'' && (n = split_contraction_i(p, end)) > 0)
        return n;
    j = *p < 0x80 ? i + 1 : run_end(s->set[SCAN_F], i + 1);
    if (open_end(s, j))
        return 0;
    if (bit(s->set[SCAN_L], j) && *p != '\r' && *p != '\n') {
        r = run_end(s->set[SCAN_L], j);
        return open_end(s, r) ? 0 : r - i;
    }
    if (bit(s->set[SCAN_S], i) && (*p != ' ' || !bit(s->set[SCAN_O], j)))
        return space_lines(s, i);
    r = run_end(s->set[SCAN_O], j);
    while (r < s->n && (s->base[r] == '\r' || s->base[r] == '\n'))
        r++;
    return open_end(s, r) ? 0 : r - i;
}

/* The first of the bytes i .. r - 1 that is in the set; r: none is. */
static inline size_t
first_in(const uint64_t *set, size_t i, size_t r)
{
    for (; i < r; i += 56) {
        uint64_t w;

        memcpy(&w, (const unsigned char *)set + (i >> 3), 8);
        w = w >> (i & 7) & (UINT64_MAX >> 8);
        if (w) {
            i += (size_t)__builtin_ctzll(w);
            break;
        }
    }
    return i < r ? i : r;
}

/* End of the match of U*W+|U+W* (split.c) at byte i, which is in T; 0: it may
 * be after the stretch. */
static inline size_t
tekken_end(const struct scan *s, size_t i)
{
    const size_t r = run_end(s->set[SCAN_T], i);
    const size_t v = first_in(s->set[SCAN_V], i, r);
    size_t q = r;

    if (v < r && (q = first_in(s->set[SCAN_U], v, r)) < r)
        return q; /* the match ends before r, so what follows r does not
                   * matter */
    if (open_end(s, r))
        return 0;
    if (v < r)
        return r;
    while (q > i && bit(s->set[SCAN_U], q - 1))
        q--;
    return q > i ? q : r;
}

/* Length of the piece at i, a word whose letters begin at j; o200k: with the
 * contraction after the word.  0: the piece may go on after the stretch. */
static inline size_t
tekken_word(const struct scan *s, size_t i, size_t j, const unsigned char *end,
    int o200k)
{
    size_t r = tekken_end(s, j);

    if (r == 0)
        return 0;
    if (o200k && s->base + r < end && s->base[r] == '\'')
        r += split_contraction_i(s->base + r, end);
    return r - i;
}

/* Length of the piece at i of the Tekken pattern; o200k: of the o200k pattern,
 * with contractions and numbers of 3 digits. */
static inline size_t
tekken(const struct scan *s, size_t i, const unsigned char *end, int o200k)
{
    const unsigned char *const p = s->base + i;
    size_t j, r;

    if (bit(s->set[SCAN_L], i))
        return tekken_word(s, i, i, end, o200k);
    if (bit(s->set[SCAN_T], i)) /* a mark */
        return split_piece(s->split, p, end);
    j = *p < 0x80 ? i + 1 : run_end(s->set[SCAN_F], i + 1);
    if (open_end(s, j))
        return 0;
    if (bit(s->set[SCAN_N], i))
        return o200k ? numbers(s, i, 3) : j - i;
    if (bit(s->set[SCAN_T], j) && *p != '\r' && *p != '\n')
        return tekken_word(s, i, j, end, o200k);
    if (bit(s->set[SCAN_S], i) && (*p != ' ' || !bit(s->set[SCAN_O], j)))
        return space_lines(s, i);
    r = run_end(s->set[SCAN_O], j);
    while (r < s->n &&
        (s->base[r] == '\r' || s->base[r] == '\n' || s->base[r] == '/'))
        r++;
    return open_end(s, r) ? 0 : r - i;
}

size_t
scan_other(const struct scan *s, size_t i, const unsigned char *end)
{
    switch (s->split) {
    case SPLIT_CL100K: return cl100k(s, i, end, 3);
    case SPLIT_CL100K_1:
    case SPLIT_QWEN35: return cl100k(s, i, end, 1);
    case SPLIT_TEKKEN: return tekken(s, i, end, 0);
    case SPLIT_O200K: return tekken(s, i, end, 1);
    default: return split_piece(s->split, s->base + i, end);
    }
}
