/* Packing rows of a GGUF into strips; see int.h. */
#include "kern/int_form.h"

#include <string.h>

int
int_has(enum kern_quant t)
{
    return int_form(t).bits != 0;
}

size_t
int_strip_bytes(enum kern_quant t, size_t k)
{
    const struct int_form f = int_form(t);
    const size_t blocks = k / INT_BLOCK;
    const size_t n = int_piece(f);

    return (blocks / n * int_piece_bytes(f, n) + 63) / 64 * 64;
}

size_t
int_row_bytes(size_t k)
{
    return (k / INT_BLOCK * sizeof(struct int_block) + 63) / 64 * 64;
}

size_t
int_panel_bytes(size_t k)
{
    return k / INT_BLOCK * INT_PANEL_BLOCK;
}

/* Replace the 32 integers of a block by codes. */
static void
make_codes(struct int_form f, signed char *q)
{
    unsigned char code[256];

    if (f.listed) {
        for (size_t i = 0; i < 16; i++)
            code[(unsigned char)quant_iq4_value[i]] = (unsigned char)i;
        for (size_t i = 0; i < INT_BLOCK; i++)
            q[i] = (signed char)code[(unsigned char)q[i]];
    } else if (f.zero) {
        for (size_t i = 0; i < INT_BLOCK; i++)
            q[i] = (signed char)(q[i] + (1 << f.zero));
    }
}

/* Put the 32 codes of a row into a block, whose bits for this row must be
 * 0. */
static void
put_codes(struct int_form f, const signed char *q, size_t row,
    unsigned char *out)
{
    unsigned char *high = out + 4 * INT_QUAD;

    for (size_t i = 0; i < INT_BLOCK; i++) {
        const unsigned c = (unsigned char)q[i];
        const size_t quad = i / 4, at = 4 * row + i % 4;

        if (f.bits == 8) {
            out[quad * INT_QUAD + at] = (unsigned char)c;
            continue;
        }
        out[quad % 4 * INT_QUAD + at] |=
            (unsigned char)((c & 15) << (quad < 4 ? 0 : 4));
        if (f.bits == 5)
            high[at] |= (unsigned char)(c >> 4 << quad);
        else if (f.bits == 6)
            high[quad % 2 * INT_QUAD + at] |=
                (unsigned char)(c >> 4 << quad / 2 * 2);
    }
}

static void
put16(unsigned char *p, uint16_t v)
{
    p[0] = (unsigned char)(v & 255);
    p[1] = (unsigned char)(v >> 8);
}

/* Store the scales of part `part` of an unpacked block of the GGUF; the part is
 * block b of a piece. */
static void
put_strip_scales(struct int_form f, const struct quant_parts *q, size_t part,
    size_t b, size_t row, unsigned char *piece)
{
    const size_t group = part * (size_t)f.groups;
    unsigned char *p = piece + int_scale_at(f, b);

    if (!f.super) {
        put16(p + 2 * row, q->d);
        if (f.min) /* f = dmin * min, min = -1 */
            put16(p + 2 * (INT_ROWS + row), q->dmin ^ 0x8000);
        return;
    }
    for (size_t g = 0; g < (size_t)f.groups; g++)
        p[g * INT_ROWS + row] = (unsigned char)q->scale[group + g];
    if (f.min)
        p[INT_ROWS + row] = (unsigned char)q->min[group];
    if (part == 0) {
        put16(piece + 2 * row, q->d);
        if (f.min)
            put16(piece + 2 * (INT_ROWS + row), q->dmin);
    }
}

/* Pack block b of a row: part `part` of q. */
static void
put_strip_block(struct int_form f, struct quant_parts *q, size_t part, size_t b,
    size_t row, unsigned char *strip)
{
    const size_t n = int_piece(f);
    unsigned char *piece = strip + b / n * int_piece_bytes(f, n);

    make_codes(f, q->q + part * INT_BLOCK);
    put_codes(f, q->q + part * INT_BLOCK, row,
        piece + int_scale_at(f, n) + b % n * int_code_bytes(f));
    put_strip_scales(f, q, part, b % n, row, piece);
}

void
int_pack(enum kern_quant t, size_t k, const unsigned char *const row[INT_ROWS],
    unsigned char *strip)
{
    const struct int_form f = int_form(t);
    const struct quant_type type = quant_type(t);
    const size_t parts = type.elements / INT_BLOCK;

    assert(f.bits != 0 && k % type.elements == 0);
    memset(strip, 0, int_strip_bytes(t, k));
    for (size_t r = 0; r < INT_ROWS; r++) {
        for (size_t i = 0; row[r] != NULL && i < k / type.elements; i++) {
            struct quant_parts q;

            quant_unpack(t, row[r] + i * type.bytes, &q);
            for (size_t part = 0; part < parts; part++)
                put_strip_block(f, &q, part, i * parts + part, r, strip);
        }
    }
}
