/* Counters of energy, in folders that stand for /sys */
#include "plan/energy.h"
#include "base/mem.h"
#include "../lib/tap.h"

#include <string.h>
#include <sys/stat.h>

/* A file of domain i below `root`, with its folders. */
static void
put(const char *root, int i, const char *name, const char *value)
{
    char *path =
        xasprintf("%s/sys/class/powercap/intel-rapl:%d/%s", root, i, name);
    FILE *f;

    for (char *p = path; (p = strchr(p + 1, '/')) != NULL; *p = '/') {
        *p = '\0';
        mkdir(path, 0777);
    }
    f = fopen(path, "w");
    if (f == NULL || fprintf(f, "%s\n", value) < 0 || fclose(f) != 0)
        exit(1);
    free(path);
}

static void
domain(const char *root, int i, const char *name, const char *uj)
{
    put(root, i, "name", name);
    put(root, i, "energy_uj", uj);
    put(root, i, "max_energy_range_uj", "262143328850");
}

int
main(void)
{
    struct energy a, b;

    energy_read(&a, "none");
    ok(a.n == 0 && isnan(energy_between(&a, &a)), "no counters: no number");

    domain("two", 0, "package-0", "5000000");
    domain("two", 1, "psys", "1");
    domain("two", 2, "package-1", "262143000000");
    energy_read(&a, "two");
    domain("two", 0, "package-0", "7500000");
    domain("two", 1, "psys", "90000000");
    domain("two", 2, "package-1", "671150");
    energy_read(&b, "two");
    ok(a.n == 2, "packages, not what has them in it");
    ok(near(energy_between(&a, &a), 0.0, 0.0, 0.0), "nothing between");
    ok(near(energy_between(&a, &b), 3.5, 1e-9, 0.0),
        "of both, one of which began again");

    remove("two/sys/class/powercap/intel-rapl:2/energy_uj");
    energy_read(&b, "two");
    ok(b.n == 0 && isnan(energy_between(&a, &b)),
        "one that cannot be read: no number");
    return done_testing();
}
