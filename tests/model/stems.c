/* Pieces that share a stem.  Each has the states that it has in a row of only
 * the stem and itself; their bits do not depend on the row's other pieces. */
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "model/pass/forward.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { T = 256, STEM = 90, PIECES = 3, FRONT = 7 };
static const size_t len[PIECES] = { 50, 70, 1 };

struct row {
    uint32_t ids[T], first[T], stem[T], nstem[T];
    size_t n;
};

/* Append to the row n random tokens of seed `what`, whose stem is the nstem
 * tokens from `stem` on.  Returns the place of the n tokens. */
static size_t
put(struct row *r, size_t n, size_t stem, size_t nstem, uint64_t what)
{
    const size_t at = r->n;

    for (size_t i = 0; i < n; i++) {
        r->ids[at + i] = (uint32_t)(rng_u64(what, i) % 40);
        r->first[at + i] = (uint32_t)at;
        r->stem[at + i] = (uint32_t)stem;
        r->nstem[at + i] = (uint32_t)nstem;
    }
    r->n += n;
    return at;
}

/* The final states [T,d]; stems 0: run without stems. */
static float *
run(const struct model *m, const struct row *r, int stems)
{
    struct pool *p = pool_new(2, NULL);
    struct fwd *f = fwd_new(m, p, 1, T);
    const struct rows rows = { 1, T, r->ids, r->first };
    float *x = xmalloc(T * m->c.d * sizeof *x);

    if (stems)
        fwd_stems(f, r->stem, r->nstem);
    fwd_states(f, &rows, x);
    fwd_free(f);
    pool_free(p);
    return x;
}

static void
begin(struct row *r)
{
    memset(r, 0, sizeof *r);
    memset(r->first, 0xff, sizeof r->first);
}

static double
apart(const float *a, const float *b, size_t n)
{
    double w = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double e = fabs((double)a[i] - b[i]) / (1.0 + fabs(b[i]));

        w = e <= w ? w : isnan(e) ? INFINITY : e;
    }
    return w;
}

/* A row that holds a document of FRONT tokens, then the stem and all pieces,
 * has the states of separate rows, each of the stem and a piece. */
static void
test(const char *name)
{
    char *path = xasprintf("tests/golden/family/%s", name);
    size_t at[PIECES], stem;
    struct row shared, alone;
    struct model m;
    struct err e;
    float *x, *y;

    if (model_open(&m, path, &e) < 0)
        die_err(&e);
    begin(&shared);
    put(&shared, FRONT, 0, 0, 99);
    stem = put(&shared, STEM, 0, 0, 1);
    for (size_t i = 0; i < PIECES; i++)
        at[i] = put(&shared, len[i], stem, STEM, 10 + i);
    x = run(&m, &shared, 1);
    for (size_t i = 0; i < PIECES; i++) {
        const size_t d = m.c.d;
        double w;

        begin(&alone);
        put(&alone, STEM, 0, 0, 1);
        put(&alone, len[i], 0, 0, 10 + i);
        for (size_t t = 0; t < alone.n; t++)
            alone.first[t] = 0;
        y = run(&m, &alone, 0);
        w = apart(x + at[i] * d, y + STEM * d, len[i] * d);
        ok(w <= 1e-5,
            "%s: a piece of %zu behind a stem gives what it gives in "
            "one with it (%.2g)",
            name, len[i], w);
        free(y);
    }
    begin(&alone);
    stem = put(&alone, STEM, 0, 0, 1);
    put(&alone, len[1], stem, STEM, 11);
    y = run(&m, &alone, 1);
    ok(memcmp(x + at[1] * m.c.d, y + STEM * m.c.d,
           len[1] * m.c.d * sizeof *x) == 0,
        "%s: to the bit, without its neighbours", name);
    free(x);
    free(y);
    free(path);
    model_close(&m);
}

int
main(void)
{
    test("gemma3"); /* blocks with a window of 5 */
    test("qwen3");
    test("mistral");
    test("cohere2");
    test("qwen3_5");
    test("lfm2");
    return done_testing();
}
