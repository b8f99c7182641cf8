/* UTF-8 and the table of classes; see unicode.h. */
#include "text/unicode.h"

#include <assert.h>
#include <string.h>

uint16_t uni_index[UNI_INDEX];
uint8_t uni_block[UNI_BLOCKS][128];

/* Runs of characters from U+0000 to U+10FFFF, from which the tables are filled:
 * for each run the number of characters and their class.  In a run whose class
 * has both U_UP and U_LOW, upper and lower case alternate. */
static const uint32_t uni_run[] = {
#include "text/unicode_runs.inc"
};

/* The first and the last character of each run of \p{P} and \p{S},
 * ascending. */
static const uint32_t uni_punct[] = {
#include "text/unicode_punct.inc"
};

/* Does a run of this class alternate between upper and lower case? */
static int
in_turn(uint32_t cls)
{
    return (cls & U_UP) && (cls & U_LOW);
}

/* Fill a block of 128 classes.  The block begins in run r, of which *left
 * characters are still to come.  Returns the run in which the block ends, and
 * sets *left for that run. */
static const uint32_t *
fill_class_block(uint8_t *block, const uint32_t *r, uint32_t *left)
{
    for (int i = 0; i < 128; i++, --*left) {
        if (*left == 0)
            *left = *(r += 2);
        block[i] = (uint8_t)r[1];
        if (in_turn(r[1]))
            block[i] &= (uint8_t) ~(*left % 2 ? U_UP : U_LOW);
    }
    return r;
}

/* Fill uni_index and uni_block before main, so that uni_class need not check;
 * takes 0.1 ms.  Blocks in which all characters have the same class are stored
 * once. */
__attribute__((constructor)) static void
fill_tables(void)
{
    const uint32_t *r = uni_run;
    uint32_t left = r[0];
    /* by class: 1 + index of the block in which all characters have that
     * class; 0: there is no such block yet */
    uint16_t of_class[256] = { 0 };
    uint16_t n = 0;

    for (size_t i = 0; i < UNI_INDEX; i++) {
        uint16_t *shared;

        if (left == 0)
            left = *(r += 2);
        shared = left >= 128 && !in_turn(r[1]) ? &of_class[r[1]] : NULL;
        if (shared && *shared) {
            left -= 128;
            uni_index[i] = (uint16_t)(*shared - 1);
            continue;
        }
        assert(n < UNI_BLOCKS);
        r = fill_class_block(uni_block[n], r, &left);
        uni_index[i] = n++;
        if (shared)
            *shared = n;
    }
}

int
uni_is_punct(uint32_t c)
{
    size_t lo = 0, hi = sizeof uni_punct / sizeof *uni_punct / 2;

    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;

        if (c < uni_punct[2 * mid])
            hi = mid;
        else if (c > uni_punct[2 * mid + 1])
            lo = mid + 1;
        else
            return 1;
    }
    return 0;
}

const unsigned char *
uni_before(const unsigned char *p, const unsigned char *begin)
{
    const unsigned char *q = p - 1;

    while (q > begin && p - q < 4 && (*q & 0xc0) == 0x80)
        q--;
    return q;
}

size_t
uni_valid(const char *text, size_t n)
{
    const unsigned char *const begin = (const unsigned char *)text;
    const unsigned char *p = begin, *const end = begin + n;
    uint64_t w;
    size_t k;

    while (p < end) {
        while (end - p >= 8) {
            memcpy(&w, p, 8);
            if (w & UINT64_C(0x8080808080808080))
                break;
            p += 8;
        }
        if (p == end)
            break;
        /* fast path for two- and three-byte characters */
        while (end - p >= 3 && *p >= 0xc2 && *p < 0xf0) {
            if ((p[1] & 0xc0) != 0x80)
                break;
            if (*p < 0xe0)
                p += 2;
            else if (*p != 0xe0 && *p != 0xed && (p[2] & 0xc0) == 0x80)
                p += 3;
            else
                break;
        }
        if (p == end)
            break;
        if (utf8_next(p, end, &k) == UTF8_BAD)
            break;
        p += k;
    }
    return (size_t)(p - begin);
}

size_t
uni_repair(const char *text, size_t n, struct buf *out)
{
    size_t bad = 0;

    while (n > 0) {
        const size_t good = uni_valid(text, n);
        size_t k;

        if (out)
            buf_add(out, text, good);
        text += good;
        n -= good;
        if (n == 0)
            break;
        utf8_next((const unsigned char *)text, (const unsigned char *)text + n,
            &k);
        if (out)
            buf_adds(out, "\xef\xbf\xbd");
        text += k;
        n -= k;
        bad++;
    }
    return bad;
}
