/*
 * Record how this processor's bfloat16 instructions answer, as hexadecimal
 *   text: cc -O1 -mavx512f -mavx512bf16 -mamx-tile -mamx-bf16 bf16_record.c
 *   ./a.out avx512 > avx512.txt; ./a.out amx > amx.txt; bf16.py . OUT
 * and on 64-bit Arm, or by emulation (qemu-aarch64 -cpu max):
 *   cc -O1 -march=armv8.2-a+bf16 bf16_record.c; ./a.out bfmmla > bfmmla.txt
 * avx512  VDPBF16PS, a lane a line: a0 a1 b0 b1 c out (a0, b0: low halves)
 * amx     TDPBF16PS, four lines a case: a [16,32], b [16,16,2], c [16,16], out
 * bfmmla  BFMMLA, an element of its 2 x 2 a line: a0 .. a3 b0 .. b3 c out
 * Case i has numbers of kind i % 8: 0 near 1, 1 of wide exponents, 2 that
 * cancel, 3 denormal, 4 zeros, infinities and NaNs, 5 near overflow, 6 halfway
 * between results, 7 a mixture.
 */
#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CASES_BFMMLA = 1024,
    CASES_AMX = 40,
    CASES_AVX512 = 1024,
    WITHOUT_C = 256
};

static uint64_t state = 88172645463325252u; /* xorshift64 */

static uint32_t
draw_operand(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static uint16_t
half(int kind)
{
    const unsigned sign = (draw_operand() & 1) << 15, m = draw_operand() & 127;

    switch (kind) {
    case 0: return (uint16_t)(sign | (125 + draw_operand() % 4) << 7 | m);
    case 1: return (uint16_t)(sign | (70 + draw_operand() % 110) << 7 | m);
    case 2: return (uint16_t)(sign | 127 << 7 | (m & 3));
    case 3:
        return (uint16_t)(sign |
            (draw_operand() % 3 ? 0 : 50 + draw_operand() % 20) << 7 | m);
    case 4:
        switch (draw_operand() % 8) {
        case 0: return (uint16_t)sign;
        case 1: return (uint16_t)(sign | 0x7f80);
        case 2: return (uint16_t)(sign | 0x7fc0 | m);
        case 3: return (uint16_t)(sign | 0x7f80 | m | 1);
        default: return (uint16_t)(sign | 127 << 7 | m);
        }
    case 5: return (uint16_t)(sign | (180 + draw_operand() % 20) << 7 | m);
    case 6:
        return (uint16_t)(sign | (115 + draw_operand() % 24) << 7 |
            (draw_operand() & 1 ? 0 : 64));
    default: return half((int)(draw_operand() % 7));
    }
}

static uint32_t
single(int kind)
{
    uint32_t sign, h;

    if (kind == 3) {
        sign = (draw_operand() & 1) << 31;
        h = draw_operand() & 0x7fffff;
        return sign | h | (draw_operand() % 3 ? 0 : 0x00800000);
    }
    h = (uint32_t)half(kind) << 16;
    return h | (draw_operand() & 0xffff);
}

#if defined(__aarch64__)
static void
record_bfmmla(void)
{
    for (int c = 0; c < CASES_BFMMLA; c++) {
        uint16_t a[8], b[8];
        uint32_t d[4], out[4];

        for (int i = 0; i < 8; i++) {
            a[i] = half(c % 8);
            b[i] = half(c % 8);
        }
        for (int i = 0; i < 4; i++)
            d[i] = c < WITHOUT_C ? 0 : single(c % 8);
        vst1q_u32(out,
            vreinterpretq_u32_f32(
                vbfmmlaq_f32(vreinterpretq_f32_u32(vld1q_u32(d)),
                    vreinterpretq_bf16_u16(vld1q_u16(a)),
                    vreinterpretq_bf16_u16(vld1q_u16(b)))));
        for (int i = 0; i < 4; i++) {
            for (int l = 0; l < 4; l++)
                printf("%04x ", a[i / 2 * 4 + l]);
            for (int l = 0; l < 4; l++)
                printf("%04x ", b[i % 2 * 4 + l]);
            printf("%08x %08x\n", d[i], out[i]);
        }
    }
}

int
main(void)
{
    record_bfmmla();
    return 0;
}
#else
static void
print16(const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%04x%c", x[i], i + 1 == n ? '\n' : ' ');
}

static void
print32(const uint32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%08x%c", x[i], i + 1 == n ? '\n' : ' ');
}

static int
record_amx(void)
{
    static const struct {
        unsigned char palette, start, zero[14];
        unsigned short bytes[16];
        unsigned char rows[16];
    } tiles = { 1, 0, { 0 }, { 64, 64, 64 }, { 16, 16, 16 } };

    if (syscall(SYS_arch_prctl, 0x1023, 18) != 0)
        return 1;
    _tile_loadconfig(&tiles);
    for (int c = 0; c < CASES_AMX; c++) {
        static uint16_t a[512], b[512];
        static uint32_t d[256];

        for (int i = 0; i < 512; i++) {
            a[i] = half(c % 8);
            b[i] = half(c % 8);
        }
        for (int i = 0; i < 256; i++)
            d[i] = c < 8 ? 0 : single(c % 8);
        print16(a, 512);
        print16(b, 512);
        print32(d, 256);
        _tile_loadd(0, d, 64);
        _tile_loadd(1, a, 64);
        _tile_loadd(2, b, 64);
        _tile_dpbf16ps(0, 1, 2);
        _tile_stored(0, d, 64);
        print32(d, 256);
    }
    _tile_release();
    return 0;
}

static void
record_avx512(void)
{
    for (int c = 0; c < CASES_AVX512; c++) {
        uint16_t a[32], b[32];
        uint32_t d[16], out[16];

        for (int i = 0; i < 32; i++) {
            a[i] = half(c % 8);
            b[i] = half(c % 8);
        }
        for (int i = 0; i < 16; i++)
            d[i] = c < WITHOUT_C ? 0 : single(c % 8);
        _mm512_storeu_ps(out,
            _mm512_dpbf16_ps(_mm512_loadu_ps(d),
                (__m512bh)_mm512_loadu_si512(a),
                (__m512bh)_mm512_loadu_si512(b)));
        for (int i = 0; i < 16; i++)
            printf("%04x %04x %04x %04x %08x %08x\n", a[2 * i], a[2 * i + 1],
                b[2 * i], b[2 * i + 1], d[i], out[i]);
    }
}

int
main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "amx") == 0)
        return record_amx();
    record_avx512();
    return 0;
}
#endif
