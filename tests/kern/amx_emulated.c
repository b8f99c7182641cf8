/*
 * The products of lib/kern/gemm_amx.c, with plain C in place of each tile
 * instruction, against the plain version, bit by bit.  So packing, adding and
 * storing are tested wherever there is AVX512-BF16.  tests/kern/bf16.c tests
 * the instructions themselves where there is AMX.
 */
#include "kern/bf16.h"
#include "kern/gemm_bf16.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "../lib/tap.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static uint32_t tiles[8][16][16];
static int configured;

static void
tile_config(const void *p)
{
    static const unsigned char want[64] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 16, 16, 16,
        16 };

    configured = memcmp(p, want, sizeof want) == 0;
}

static void
tile_load(int t, const void *p, size_t stride)
{
    for (size_t i = 0; i < 16; i++)
        memcpy(tiles[t][i], (const char *)p + i * stride, 64);
}

static void
tile_store(int t, void *p, size_t stride)
{
    for (size_t i = 0; i < 16; i++)
        memcpy((char *)p + i * stride, tiles[t][i], 64);
}

/* The upper (odd = 1) or lower bfloat16 of a word, as fp32. */
static float
half_of(uint32_t word, size_t odd)
{
    const uint32_t u = odd ? word & 0xffff0000 : word << 16;
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

static void
tile_multiply(int c, int a, int b)
{
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 16; j++) {
            float x[32], y[32], s;

            for (size_t l = 0; l < 32; l++) {
                x[l] = half_of(tiles[a][i][l / 2], l % 2);
                y[l] = half_of(tiles[b][l / 2][j], l % 2);
            }
            memcpy(&s, &tiles[c][i][j], sizeof s);
            s = bf16_tdp(s, x, y);
            memcpy(&tiles[c][i][j], &s, sizeof s);
        }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig(p) tile_config(p)
#define _tile_release() (void)(configured = 0)
#define _tile_zero(t) memset(tiles[t], 0, sizeof tiles[t])
#define _tile_loadd(t, p, stride) tile_load(t, p, stride)
#define _tile_stored(t, p, stride) tile_store(t, p, stride)
#define _tile_dpbf16ps(c, a, b) \
    (configured ? tile_multiply(c, a, b) : (void)ok(0, "tiles configured"))

#define ISA "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target(ISA))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif
#define __AMX_BF16__
#define bf16_amx bf16_emulated
#include "kern/gemm_amx.c"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

enum { M = 70, N = 70, K = 900, LD = 1000 };

static float a[M * LD], b[M * LD], c[M * N], want[M * N];

static size_t
differing(const struct kern *k, const struct kern *plain, int op, size_t m,
    size_t n, size_t depth, int add)
{
    const size_t lda = (op == 2 ? m : depth) + 3;
    const size_t ldb = (op == 0 ? depth : n) + 1;
    size_t bad = 0;

    for (size_t i = 0; i < M * N; i++)
        c[i] = want[i] = (float)rng_normal(3, i);
    (op == 0          ? k->gemm_nt
            : op == 1 ? k->gemm_nn
                      : k->gemm_tn)(m, n, depth, a, lda, b, ldb, add, c, N);
    (op == 0 ? plain->gemm_nt
            : op == 1
            ? plain->gemm_nn
            : plain->gemm_tn)(m, n, depth, a, lda, b, ldb, add, want, N);
    for (size_t i = 0; i < M * N; i++)
        bad += memcmp(&c[i], &want[i], sizeof *c) != 0;
    return bad;
}

static void
test_products(void)
{
    static const size_t side[] = { 1, 16, 17, 33, 64, M };
    static const size_t depth[] = { 1, 2, 31, 64, 577, K };
    struct kern k = { 0 }, plain = { 0 };
    size_t bad = 0, n = 0;

    gemm_bf16(&k, &bf16_emulated);
    gemm_bf16_ref(&plain, KERN_BF16_AMX);
    for (size_t i = 0; i < M * LD; i++) {
        a[i] = (float)rng_normal(1, i);
        b[i] = (float)rng_normal(2, i);
    }
    for (int op = 0; op < 3; op++)
        for (size_t i = 0; i < 216; i += 5, n++)
            bad += differing(&k, &plain, op, side[i % 6], side[i / 6 % 6],
                depth[i / 36], (int)(i % 2));
    ok(bad == 0, "%zu products as in plain C (%zu elements differ)", n, bad);
}
#endif

int
main(void)
{
#if defined(__x86_64__)
    if (cpu_avx512bf16()) {
        test_products();
        return done_testing();
    }
#endif
    tap_skip("emulated AMX", "this processor has no such kernels");
    return done_testing();
}
