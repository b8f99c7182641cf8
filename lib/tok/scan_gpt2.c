/*
 * Where pieces of the GPT-2 pattern begin, for 64 bytes at a time.
 *
 * A piece begins with a run of letters, numbers or others, or with the space
 * before such a run.  The first character of a run of white space begins a
 * piece; if other text follows, so does the last, which may be the space before
 * that text.  Contractions are handled afterwards, one by one: a contraction
 * counts if its apostrophe begins a piece.  With SPLIT_GPT2_DIGITS each digit
 * is a piece, and so is all white space before a digit.
 */
#include "tok/scan.h"

static inline uint64_t
up(const uint64_t *set, size_t w)
{
    return set[w] << 1 | (w ? set[w - 1] >> 63 : 0);
}

static inline uint64_t
down(const uint64_t *set, size_t w)
{
    return set[w] >> 1 | set[w + 1] << 63;
}

static inline void
bit_set(uint64_t *set, size_t i)
{
    set[i >> 6] |= UINT64_C(1) << (i & 63);
}

static inline void
bit_clear(uint64_t *set, size_t i)
{
    set[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

/* A piece begins with a white-space character of several bytes: move the bit in
 * B from that character's last byte, i, to its first. */
static void
begin_wide(struct scan *s, size_t i)
{
    bit_clear(s->set[SCAN_B], i);
    while (i > 0 && s->set[SCAN_F][i >> 6] >> (i & 63) & 1)
        i--;
    bit_set(s->set[SCAN_B], i);
}

static inline void
piece_begins(struct scan *s, size_t words, int cut)
{
    const uint64_t *const L = s->set[SCAN_L], *const N = s->set[SCAN_N];
    const uint64_t *const O = s->set[SCAN_O], *const S = s->set[SCAN_S];
    const uint64_t *const F = s->set[SCAN_F];
    const size_t n = s->n;

    for (size_t w = 0; w < words; w++) {
        const uint64_t joined = up(s->set[SCAN_P], w);
        uint64_t first = (L[w] & ~up(L, w)) | (O[w] & ~up(O, w));
        uint64_t last = S[w] & ~down(S, w), wide;

        if (cut)
            last &= ~down(N, w);
        else
            first |= N[w] & ~up(N, w);
        if ((n - 1) >> 6 == w) /* the next character is not known */
            last &= ~(UINT64_C(1) << ((n - 1) & 63));
        s->set[SCAN_B][w] = (first & ~joined) | (S[w] & ~up(S, w)) | last;
        if (cut)
            s->set[SCAN_B][w] |= N[w] & ~F[w];
        for (wide = last & F[w]; wide; wide &= wide - 1)
            begin_wide(s, 64 * w + (size_t)__builtin_ctzll(wide));
    }
}

void
scan_gpt2(struct scan *s, size_t words, const unsigned char *end)
{
    uint64_t *const B = s->set[SCAN_B];

    if (s->split == SPLIT_GPT2_DIGITS)
        piece_begins(s, words, 1);
    else
        piece_begins(s, words, 0);
    B[words] = B[words + 1] = 0;
    B[0] |= 1;
    for (size_t w = 0; w < words; w++)
        for (uint64_t q = s->set[SCAN_Q][w] & B[w]; q; q &= q - 1) {
            const size_t i = 64 * w + (size_t)__builtin_ctzll(q);
            const size_t n = split_contraction(s->base + i, end);

            if (n > 0) {
                bit_clear(B, i + 1);
                bit_set(B, i + n);
            }
        }
    bit_set(B, s->last ? s->n : s->n + SCAN_OPEN);
}
