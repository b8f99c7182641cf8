/* The fastest of some ways to cut sums; see tune.h. */
#include "dist/tune.h"
#include "base/mem.h"
#include "dist/dist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first steps touch memory; the best of several is the least disturbed. */
enum { WARM = 2, ROUNDS = 3 };

static const struct {
    const char *name;
    void (*set)(size_t value);
    size_t n, value[TUNE_TRIED];
} tried[TUNE_KINDS] = {
    [TUNE_SEGMENT] = { "segment", dist_segment, 5,
        { 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20 } },
    [TUNE_RINGS] = { "rings", dist_rings, 3, { 1, 2, 4 } },
};

static struct {
    int on;
    size_t what, end; /* what is tried, up to end */
    size_t step;      /* that tries it */
    size_t elements;  /* of the step */
    double seconds;
    struct tuned found[TUNE_KINDS];
} tune;

const char *
tune_name(enum tune_what what)
{
    return tried[what].name;
}

int
tune_on(void)
{
    return tune.on;
}

size_t
tune_most(enum tune_what what)
{
    return tried[what].value[tried[what].n - 1];
}

void
tune_add(size_t elements, double seconds)
{
    tune.elements += elements;
    tune.seconds += seconds;
}

void
tune_begin(int rings)
{
    tune.on = dist_world()->n > 1;
    tune.end = rings ? TUNE_KINDS : TUNE_RINGS;
    for (size_t i = 0; i < tune.end; i++) {
        tune.found[i].n = tried[i].n;
        memcpy(tune.found[i].value, tried[i].value, sizeof tried[i].value);
    }
}

int
tune_use(enum tune_what what, size_t value)
{
    for (size_t i = 0; i < tried[what].n; i++)
        if (tried[what].value[i] == value) {
            tried[what].set(value);
            return 0;
        }
    return -1;
}

/* What the ranks agree on. */
static void
choose(struct tuned *t)
{
    const struct dist_group *g = dist_world();
    double(*all)[TUNE_TRIED] = xcalloc(g->n, sizeof *all);

    for (size_t i = 0; i < t->n; i++)
        all[g->rank][i] = t->gbs[i];
    dist_all_gather_one(g, all, sizeof *all);
    for (size_t i = 0; i < t->n; i++) {
        for (size_t r = 0; r < g->n; r++)
            t->gbs[i] = fmin(t->gbs[i], all[r][i]);
        if (t->gbs[i] > t->gbs[t->chosen])
            t->chosen = i;
    }
    free(all);
}

const struct tuned *
tune_step(void)
{
    struct tuned *t = &tune.found[tune.what];

    if (!tune.on)
        return NULL;
    if (tune.step >= WARM && tune.seconds > 0.0) {
        double *gbs = &t->gbs[(tune.step - WARM) % t->n];

        *gbs = fmax(*gbs, 4e-9 * (double)tune.elements / tune.seconds);
    }
    tune.elements = 0;
    tune.seconds = 0.0;
    if (++tune.step == WARM + ROUNDS * t->n) {
        choose(t);
        tune.on = tune.what + 1 < tune.end;
        tried[tune.what].set(t->value[t->chosen]);
        if (!tune.on)
            return tune.found;
        tune.what++;
        tune.step = WARM;
        t++;
    }
    if (tune.step >= WARM)
        tried[tune.what].set(t->value[(tune.step - WARM) % t->n]);
    return NULL;
}
