/* The fastest of some segments; see tune.h. */
#include "dist/tune.h"
#include "base/mem.h"
#include "dist/dist.h"

#include <math.h>
#include <stdlib.h>

/* The first steps touch memory; the best of several is the least disturbed. */
enum { WARM = 2, ROUNDS = 3 };

static const size_t tried[TUNE_TRIED] = { 1 << 12, 1 << 14, 1 << 16, 1 << 18,
    1 << 20 };

static struct {
    int on;
    size_t step, elements; /* elements, seconds: of this step */
    double seconds, gbs[TUNE_TRIED];
} tune;

int
tune_on(void)
{
    return tune.on;
}

size_t
tune_most(void)
{
    return tried[TUNE_TRIED - 1];
}

void
tune_add(size_t elements, double seconds)
{
    tune.elements += elements;
    tune.seconds += seconds;
}

void
tune_begin(void)
{
    tune.on = dist_world()->n > 1;
}

/* What the ranks agree on. */
static void
choose(struct tuned *t)
{
    const struct dist_group *g = dist_world();
    double(*all)[TUNE_TRIED] = xcalloc(g->n, sizeof *all);

    t->chosen = 0;
    for (size_t i = 0; i < TUNE_TRIED; i++)
        all[g->rank][i] = tune.gbs[i];
    dist_all_gather_one(g, all, sizeof *all);
    for (size_t i = 0; i < TUNE_TRIED; i++) {
        t->segment[i] = tried[i];
        t->gbs[i] = all[0][i];
        for (size_t r = 1; r < g->n; r++)
            t->gbs[i] = fmin(t->gbs[i], all[r][i]);
        if (t->gbs[i] > t->gbs[t->chosen])
            t->chosen = i;
    }
    free(all);
}

int
tune_step(struct tuned *t)
{
    const size_t of = (tune.step + TUNE_TRIED - WARM) % TUNE_TRIED;

    if (!tune.on)
        return 0;
    if (tune.step >= WARM && tune.seconds > 0.0)
        tune.gbs[of] =
            fmax(tune.gbs[of], 4e-9 * (double)tune.elements / tune.seconds);
    tune.elements = 0;
    tune.seconds = 0.0;
    tune.step++;
    if (tune.step < WARM + ROUNDS * TUNE_TRIED) {
        dist_segment(tried[(tune.step + TUNE_TRIED - WARM) % TUNE_TRIED]);
        return 0;
    }
    tune.on = 0;
    choose(t);
    dist_segment(t->segment[t->chosen]);
    return 1;
}
