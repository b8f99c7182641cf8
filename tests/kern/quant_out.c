/* Rounding to GGUF's block types, against ggml
 * (tests/golden/kern/quant_out.safetensors, by scripts/oracle/quant_out.py). */
#include "base/mem.h"
#include "kern/quant_out.h"
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"

#include <math.h>

enum { ROWS = 28, COLS = 256 };

static const struct {
    const char *name;
    enum kern_quant type;
} types[] = { { "q8_0", QUANT_Q8_0 }, { "q4_0", QUANT_Q4_0 },
    { "q4_1", QUANT_Q4_1 }, { "q5_0", QUANT_Q5_0 }, { "q5_1", QUANT_Q5_1 },
    { "q4_k", QUANT_Q4_K }, { "q5_k", QUANT_Q5_K }, { "q6_k", QUANT_Q6_K } };
enum { TYPES = sizeof types / sizeof *types };

static void
test_bits(const char *set, const struct golden *g, int t)
{
    const struct st_tensor *want = golden_get(g, types[t].name);
    float *x = golden_floats(g, "x");
    unsigned char *got = xmalloc(want->n);

    quant_encode(types[t].type, got, x, NULL, ROWS * COLS);
    ok(memcmp(got, want->data, want->n) == 0,
        "%s rounds to %s with ggml's bits", set, types[t].name);
    free(x);
    free(got);
}

/* The sum over all rows of importance * error^2 is no more than ggml's. */
static void
test_importance(const char *set, const struct golden *g, int t)
{
    const enum kern_quant type = types[t].type;
    char *name = xasprintf("%s.error", types[t].name);
    const struct st_tensor *want = golden_get(g, name);
    float *x = golden_floats(g, "x"), *w = golden_floats(g, "importance");
    unsigned char p[COLS / 32 * 34];
    float y[COLS];
    double error = 0.0, theirs = 0.0;

    for (size_t r = 0; r < ROWS; r++) {
        theirs += golden_at(want, r);
        quant_encode(type, p, x + r * COLS, w, COLS);
        quant_widen(type, y, p, COLS);
        for (size_t i = 0; i < COLS; i++)
            error += w[i] * pow((double)y[i] - x[r * COLS + i], 2);
    }
    ok(error <= theirs * (1.0 + 1e-9),
        "%s: %s with importance has at most ggml's error (%.4f of it)", set,
        types[t].name, error / theirs);
    free(x);
    free(w);
    free(name);
}

/* A column that matters a thousand times more than the others is rounded more
 * precisely than without importance, in most rows. */
static void
test_planted(const struct golden *g, int t)
{
    enum { PLANTED = 77 };
    const enum kern_quant type = types[t].type;
    float *x = golden_floats(g, "x"), w[COLS], y[2][COLS];
    unsigned char p[COLS / 32 * 34];
    int better = 0, worse = 0;

    for (size_t i = 0; i < COLS; i++)
        w[i] = i == PLANTED ? 1000.0f : 1.0f;
    for (size_t r = 0; r < ROWS; r++) {
        const float v = x[r * COLS + PLANTED];

        for (int with = 0; with < 2; with++) {
            quant_encode(type, p, x + r * COLS, with ? w : NULL, COLS);
            quant_widen(type, y[with], p, COLS);
        }
        better += fabsf(y[1][PLANTED] - v) < fabsf(y[0][PLANTED] - v);
        worse += fabsf(y[1][PLANTED] - v) > fabsf(y[0][PLANTED] - v);
    }
    ok(better > 3 * worse,
        "%s rounds a column that matters more precisely (%d rows, %d less)",
        types[t].name, better, worse);
    free(x);
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP");
    char *path = xasprintf("%s/tests/golden/kern/quant_out.safetensors",
        top != NULL ? top : ".");
    struct golden g;

    golden_open(&g, path);
    for (size_t s = 0; s < KERN_SETS; s++)
        for (int t = 0; t < TYPES && kern_sets_use(kern_sets[s]); t++) {
            test_bits(kern_sets[s], &g, t);
            if (types[t].type != QUANT_Q8_0)
                test_importance(kern_sets[s], &g, t);
        }
    for (int t = 1; t < TYPES; t++)
        test_planted(&g, t);
    golden_close(&g);
    free(path);
    return done_testing();
}
