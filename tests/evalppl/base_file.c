/* llama.cpp's files of a base model's probabilities: one that llama-perplexity
 * wrote, and rows made by hand */
#include "../../evalppl/base_file.h"
#include "../lib/tap.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

#define GOLDEN "tests/golden/llama/f32.kld"

static struct err e;

/* llama-perplexity prints "Mean PPL(base)" of the rows with six decimals. */
static void
test_golden(void)
{
    struct base_in b;
    struct base_out out;
    const int r = base_in_open(&b, GOLDEN, &e);
    const size_t rows = base_window_rows(b.c), size = base_row_bytes(b.V);
    unsigned char *row = xmalloc(rows * size);
    float *logp = xreallocarray(NULL, b.V, sizeof(*logp));
    double nll = 0.0;
    int good = 1;

    ok(r == 0 && b.c == 32 && b.V == 300 && b.windows == 8 && rows == 15,
        "the head has context, vocabulary and windows");
    ok(b.tokens[0] == 54 && b.tokens[1] == 263 && b.tokens[2] == 223,
        "the tokens are those of llama-tokenize");
    ok(base_out_begin(&out, "again.kld", b.c, b.V, b.tokens, b.windows, &e) ==
            0,
        "a second file is begun");
    for (size_t w = 0; w < b.windows; w++) {
        good = good && base_in_rows(&b, row, rows, &e) == 0 &&
            base_out_rows(&out, row, rows, &e) == 0;
        for (size_t i = 0; i < rows; i++) {
            good = good && base_row_unpack(row + i * size, logp, b.V) == 0;
            nll -= logp[b.tokens[w * b.c + b.c / 2 + 1 + i]];
        }
    }
    ok(good && io_out_commit(&out.o, &e) == 0, "all rows are written again");
    ok(near(exp(nll / (double)(rows * b.windows)), 808.333577, 6e-7, 0),
        "the rows have the perplexity that llama.cpp prints");
    ok(base_in_rows(&b, row, 1, &e) < 0 && e.code == EX_INPUT,
        "a read behind the last row fails: %s", e.msg);
    base_in_close(&b);
    free(row);
    free(logp);
}

static float
number(const unsigned char *p)
{
    float v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static void
test_by_hand(void)
{
    const float z[5] = { 0.0f, -20.0f, -8.0f, -16.0f, -0.0003f };
    const unsigned want[6] = { 65535, 0, 32768, 0, 65534, 0 };
    const double lse =
        log(1.0 + exp(-20.0) + exp(-8.0) + exp(-16.0) + exp(-0.0003));
    unsigned char row[20];
    float back[5];
    int good = 1;

    ok(base_row_bytes(5) == 20 && base_row_bytes(4) == 16,
        "a row has an even number of values");
    memset(row, 0xff, sizeof(row));
    base_row_pack(row, z, 5);
    ok(near(number(row), 16.0 / 65535.0, 0, 1e-7), "the scale covers 16 nats");
    ok(near(number(row + 4), -16.0 - lse, 0, 1e-7),
        "low is 16 nats below the top");
    for (size_t v = 0; v < 6; v++) {
        const unsigned u = (unsigned)le_get(row + 8 + 2 * v, 2);

        if (u != want[v])
            printf("# %zu: %u, not %u\n", v, u, want[v]);
        good = good && u == want[v];
    }
    ok(good, "values are the nearest steps, halves to even");
    ok(base_row_unpack(row, back, 5) == 0 && near(back[0], -lse, 2e-6, 0) &&
            near(back[2], -8.0 - lse, 1.3e-4, 0) &&
            near(back[1], -16.0 - lse, 2e-6, 0),
        "a row unpacks to the log probabilities");
}

static void
test_edges(void)
{
    const float equal[4] = { 2.0f, 2.0f, 2.0f, 2.0f };
    const float low[3] = { 1.0f, -INFINITY, 0.5f };
    const float bad[2] = { NAN, INFINITY };
    unsigned char row[16];
    float back[4];

    base_row_pack(row, equal, 4);
    ok(number(row) == 0.0f && base_row_unpack(row, back, 4) == 0 &&
            near(back[3], -log(4.0), 1e-6, 0),
        "equal logits have scale 0");
    base_row_pack(row, low, 3);
    ok(base_row_unpack(row, back, 3) == 0 &&
            near(back[1] - back[0], -16.0, 1e-5, 0),
        "a minus infinity is 16 nats below the top");
    for (size_t i = 0; i < 2; i++) {
        memcpy(row, &bad[i], 4);
        ok(base_row_unpack(row, back, 3) < 0, "a scale of %g is refused",
            bad[i]);
        base_row_pack(row, low, 3);
        memcpy(row + 4, &bad[i], 4);
        ok(base_row_unpack(row, back, 3) < 0, "a low end at %g is refused",
            bad[i]);
    }
}

int
main(void)
{
    tap_scratch();
    test_golden();
    test_by_hand();
    test_edges();
    return done_testing();
}
