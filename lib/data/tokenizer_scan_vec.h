/* Classes of 64 bytes, for tokenizer_scan_avx2.c and _avx512.c, which define
 * vec, vec_load, vec_le (byte - from <= most, a bit a byte) and
 * vec_eq. */

/* Letters of two bytes that are usual: their first bytes. */
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
