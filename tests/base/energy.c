/* Counters of energy, below folders that stand for / */
#include "base/energy.h"
#include "base/mem.h"
#include "../lib/tap.h"

#include <string.h>
#include <sys/stat.h>

/* Write a file of domain i below `root`, with its folders. */
static void
write_counter(const char *root, int i, const char *name, const char *value)
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
    write_counter(root, i, "name", name);
    write_counter(root, i, "energy_uj", uj);
    write_counter(root, i, "max_energy_range_uj", "262143328850");
}

int
main(void)
{
    struct energy a, b;

    energy_read(&a, "none");
    ok(a.n == 0 && isnan(energy_between(&a, &a)),
        "without counters there is no number");

    domain("two", 0, "package-0", "5000000");
    domain("two", 1, "psys", "1");
    domain("two", 2, "package-1", "262143000000");
    energy_read(&a, "two");
    domain("two", 0, "package-0", "7500000");
    domain("two", 1, "psys", "90000000");
    domain("two", 2, "package-1", "671150");
    energy_read(&b, "two");
    ok(a.n == 2, "packages are counted without the whole machine");
    ok(near(energy_between(&a, &a), 0.0, 0.0, 0.0),
        "a reading and itself are 0 J apart");
    ok(near(energy_between(&a, &b), 3.5, 1e-9, 0.0),
        "joules of two packages are right when a counter began again");

    remove("two/sys/class/powercap/intel-rapl:2/energy_uj");
    energy_read(&b, "two");
    ok(b.n == 0 && isnan(energy_between(&a, &b)),
        "a counter that cannot be read gives no number");
    return done_testing();
}
