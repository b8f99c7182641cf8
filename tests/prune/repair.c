/* Repair of a cut layer, against numpy's lstsq (scripts/oracle/repair.py). */
#include "prune/lapack.h"
#include "prune/repair.h"
#include "base/mem.h"
#include "base/note.h"
#include "kern/kern.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <stdint.h>

static struct golden g;
static struct pool *pool;
static size_t N, n, k, keep[64];
static float *w, *out;
static double *h;
static int warned;

static void
count_warning(const char *msg)
{
    warned += strstr(msg, "not positive definite") != NULL;
}

static void
against_oracle(const struct repair_aim *aim, double damp, const char *name)
{
    char error[40];
    struct repaired r;
    struct err e;

    snprintf(error, sizeof error, "%s.error", name);
    ok(layer_repair(w, N, n, keep, k, h, aim, damp, pool, "golden", out, &r,
           &e) == 0 &&
            golden_off(out, golden_get(&g, name)) <= 2e-5,
        "damping %s repairs as the oracle does, off by %.2g", name,
        golden_off(out, golden_get(&g, name)));
    ok(near(r.cut, golden_at(golden_get(&g, error), 0), 0, 1e-5) &&
            near(r.repaired, golden_at(golden_get(&g, error), 1), 0, 1e-4) &&
            near(r.whole, golden_at(golden_get(&g, error), 2), 0, 1e-5),
        "damping %s: the error is %.4g of %.4g, before %.4g", name, r.repaired,
        r.whole, r.cut);
    ok(r.damp == damp && warned == 0, "damping %s is used as it is", name);
}

/* A single thread gives the bits of two. */
static void
threads(void)
{
    struct pool *one = pool_new(1, NULL);
    float *again = xcalloc(N * k, sizeof *again);
    struct repaired r;
    struct err e;

    ok(layer_repair(w, N, n, keep, k, h, NULL, 0.3, one, "golden", again, &r,
           &e) == 0 &&
            memcmp(again, out, N * k * sizeof *out) == 0,
        "one thread gives the same bits");
    pool_free(one);
    free(again);
}

/* An indefinite Hessian, one with NaN, and one of dead inputs. */
static void
singular(void)
{
    double *bad = xcalloc(n * n, sizeof *bad);
    struct repaired r;
    struct err e;

    for (size_t i = 0; i < n * n; i++)
        bad[i] = i / n == i % n ? 1.0 : -1.0;
    ok(layer_repair(w, N, n, keep, k, bad, NULL, 1e-3, pool, "block 3, o", out,
           &r, &e) < 0 &&
            e.code == EX_NUM && warned == 3 &&
            strstr(e.msg, "block 3, o: ") == e.msg,
        "an indefinite Hessian is refused: %s", e.msg);
    warned = 0;
    ok(layer_repair(w, N, n, keep, k, bad, NULL, 10.0, pool, "block 3, o", out,
           &r, &e) == 0 &&
            warned == 1 && r.damp == 100.0,
        "damping grows with a warning, to %g", r.damp);
    bad[5 * n] = NAN;
    ok(layer_repair(w, N, n, keep, k, bad, NULL, 1e-3, pool, "block 3, o", out,
           &r, &e) < 0 &&
            e.code == EX_NUM,
        "a Hessian with NaN is refused: %s", e.msg);
    memset(bad, 0, n * n * sizeof *bad);
    ok(layer_repair(w, N, n, keep, k, bad, NULL, 1e-3, pool, "o", out, &r,
           &e) == 0 &&
            out[3] == w[keep[3]] && r.whole == 0.0,
        "a layer of dead inputs stays as it was");
    free(bad);
}

int
main(void)
{
    const struct st_tensor *list;
    struct repair_aim aim;
    struct err e;

    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL)
        return 1;
    if (lapack_open(&e) < 0) {
        tap_skip("repair", "no OpenBLAS");
        return done_testing();
    }
    golden_open(&g, "tests/golden/repair.safetensors");
    note_sink = count_warning;
    N = golden_get(&g, "w")->shape[0];
    n = golden_get(&g, "w")->shape[1];
    list = golden_get(&g, "keep");
    for (k = 0; k < list->n; k++)
        keep[k] = st_u32(list, k);
    w = golden_floats(&g, "w");
    h = golden_doubles(&g, "h");
    out = xcalloc(N * n, sizeof *out);
    against_oracle(NULL, 0.01, "0.01");
    against_oracle(NULL, 0.3, "0.3");
    threads();
    aim.cross = golden_doubles(&g, "cross");
    aim.energy = golden_at(golden_get(&g, "aim.0.01.error"), 2);
    against_oracle(&aim, 0.01, "aim.0.01");
    against_oracle(&aim, 0.3, "aim.0.3");
    singular();
    free(w);
    free(h);
    free(out);
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
