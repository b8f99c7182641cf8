/* Finds the character class of each of 64 bytes at once.  scan_avx2.c,
 * scan_avx512.c and scan_neon.c include this file and define SCAN_NAME,
 * VALID_NAME, vec (64 bytes) and vec_load, and two functions that return a mask
 * of 64 bits:
 *   vec_eq(v, c)           bit i: byte i of v is c
 *   vec_le(v, from, most)  bit i: byte i of v is one of from..from+most */

/* Mask of bytes at which a usual letter of two bytes (Latin, Greek, Cyrillic)
 * begins. */
static inline uint64_t
pairs(vec v, vec next)
{
    uint64_t lead = vec_le(v, 0xc4, 6) | vec_le(v, 0xd0, 1);

    lead |= vec_eq(v, 0xc3) & ~vec_eq(next, 0x97) & ~vec_eq(next, 0xb7);
    lead |= vec_eq(v, 0xce) & vec_le(next, 0x8e, 0x31) & ~vec_eq(next, 0xa2);
    lead |= vec_eq(v, 0xcf) & ~vec_eq(next, 0xb6);
    return lead & vec_le(next, 0x80, 0x3f);
}

void
SCAN_NAME(struct scan *s, size_t at, size_t blocks, const unsigned char *p,
    uint64_t *carry)
{
    for (; blocks > 0; blocks--, at++, p += 64) {
        const vec v = vec_load(p);
        const uint64_t high = vec_le(v, 0x80, 0x7f);
        const uint64_t upper = vec_le(v, 'A', 25), lower = vec_le(v, 'a', 25);
        uint64_t follow = 0, both = 0;

        if (high) {
            const uint64_t lead = pairs(v, vec_load(p + 1));

            follow = lead << 1 | *carry;
            both = lead | follow;
            *carry = lead >> 63;
        } else {
            *carry = 0;
        }
        s->set[SCAN_L][at] = upper | lower | both;
        s->set[SCAN_U][at] = upper;
        s->set[SCAN_V][at] = lower;
        s->set[SCAN_N][at] = vec_le(v, '0', 9);
        s->set[SCAN_P][at] = vec_eq(v, ' ');
        s->set[SCAN_Q][at] = vec_eq(v, '\'');
        s->set[SCAN_S][at] = vec_le(v, '\t', 4) | s->set[SCAN_P][at];
        s->set[SCAN_F][at] = follow;
        s->set[SCAN_X][at] = high & ~both;
    }
}

/* Mask of the bytes that UTF-8 does not allow after the three bytes before them
 * (Unicode 16, table 3-7). */
static inline uint64_t
wrong(const unsigned char *p)
{
    const vec v = vec_load(p), a = vec_load(p - 1);
    const vec b = vec_load(p - 2), c = vec_load(p - 3);
    uint64_t bad;

    if (!(vec_le(v, 0x80, 0x7f) | vec_le(c, 0x80, 0x7f)))
        return 0;
    bad = vec_le(v, 0x80, 0x3f) ^
        (vec_le(a, 0xc0, 0x3f) | vec_le(b, 0xe0, 0x1f) | vec_le(c, 0xf0, 0x0f));
    bad |= vec_le(v, 0xc0, 1) | vec_le(v, 0xf5, 0x0a);
    bad |= vec_eq(a, 0xe0) & vec_le(v, 0x80, 0x1f);
    bad |= vec_eq(a, 0xed) & vec_le(v, 0xa0, 0x1f);
    bad |= vec_eq(a, 0xf0) & vec_le(v, 0x80, 0x0f);
    return bad | (vec_eq(a, 0xf4) & vec_le(v, 0x90, 0x2f));
}

size_t
VALID_NAME(const unsigned char *p, size_t n)
{
    size_t i = 3;

    if (n < 3 + 64 || uni_valid((const char *)p, 3) < 3)
        return 0;
    while (n - i >= 64 && wrong(p + i) == 0)
        i += 64;
    while (i > 0 && (p[i - 1] & 0xc0) == 0x80) /* the last character may be
                                                * incomplete */
        i--;
    return i > 0 ? i - 1 : 0;
}
