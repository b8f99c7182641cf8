/* Counters of energy: see energy.h.  "psys" is not read: it counts the whole
 * machine, packages included. */
#include "base/energy.h"
#include "base/io.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Read dir/name; NULL: it cannot be read. */
static char *
counter_text(const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name), *p = NULL;
    struct err e;
    size_t n;

    if (io_slurp(path, 64, &p, &n, &e) < 0)
        p = NULL;
    free(path);
    return p;
}

static double
counter_value(const char *dir, const char *name)
{
    char *p = counter_text(dir, name);
    const double v = p != NULL ? strtod(p, NULL) : NAN;

    free(p);
    return v;
}

void
energy_read(struct energy *x, const char *root)
{
    int there = 1, bad = 0;

    x->n = 0;
    for (int i = 0; there && x->n < ENERGY_PACKAGES; i++) {
        char *dir = xasprintf("%s/sys/class/powercap/intel-rapl:%d", root, i);
        char *name = counter_text(dir, "name");

        there = name != NULL;
        if (there && strncmp(name, "package", 7) == 0) {
            x->uj[x->n] = counter_value(dir, "energy_uj");
            x->range[x->n] = counter_value(dir, "max_energy_range_uj");
            bad |= !isfinite(x->uj[x->n] + x->range[x->n]);
            x->n++;
        }
        free(name);
        free(dir);
    }
    x->n = bad ? 0 : x->n;
}

double
energy_between(const struct energy *a, const struct energy *b)
{
    double sum = 0.0;

    if (a->n == 0 || a->n != b->n)
        return NAN;
    for (size_t i = 0; i < a->n; i++)
        sum += b->uj[i] - a->uj[i] + (b->uj[i] < a->uj[i] ? a->range[i] : 0.0);
    return 1e-6 * sum;
}
