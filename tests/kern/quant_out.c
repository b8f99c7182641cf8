/* Rounding to GGUF's block types, against ggml
 * (tests/golden/kern/quant_out.safetensors, by scripts/oracle/quant_out.py). */
#include "base/mem.h"
#include "kern/quant_out.h"
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"

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

int
main(void)
{
    const char *top = getenv("RETORT_TOP");
    char *path = xasprintf("%s/tests/golden/kern/quant_out.safetensors",
        top != NULL ? top : ".");
    struct golden g;

    golden_open(&g, path);
    for (size_t s = 0; s < KERN_SETS; s++)
        for (int t = 0; t < TYPES && kern_sets_use(kern_sets[s]); t++)
            test_bits(kern_sets[s], &g, t);
    golden_close(&g);
    free(path);
    return done_testing();
}
