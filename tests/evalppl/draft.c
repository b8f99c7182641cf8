/* The speed-up of a draft against values of Python, which tried all numbers of
 * tokens: tests/golden/judge/draft.tsv. */
#include "../../evalppl/draft.h"
#include "../lib/tap.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static void
test_golden(FILE *f)
{
    char line[200];
    double off = 0.0;
    size_t rows = 0, others = 0;

    while (fgets(line, sizeof line, f) != NULL) {
        double accept, cost, speedup;
        size_t tokens;
        struct draft d;

        if (sscanf(line, "speedup %lf %lf %zu %lf", &accept, &cost, &tokens,
                &speedup) != 4)
            continue;
        d = draft_best(accept, cost);
        others += d.tokens != tokens;
        off = farther(off, fabs(d.speedup - speedup));
        rows++;
    }
    ok(rows == 56 && others == 0, "the best number of tokens is Python's (%zu)",
        rows);
    ok(off <= 1e-9, "the speed-up is Python's (%.2g)", off);
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP");
    char *path =
        xasprintf("%s/tests/golden/judge/draft.tsv", top != NULL ? top : ".");
    FILE *f = fopen(path, "r");
    struct draft d;

    if (f == NULL)
        return 1;
    test_golden(f);
    fclose(f);
    free(path);
    d = draft_best(0.9, NAN);
    ok(isnan(d.speedup) && d.tokens == 0, "an unknown cost gives no speed-up");
    d = draft_best(NAN, 0.1);
    ok(isnan(d.speedup) && d.tokens == 0,
        "an unknown acceptance gives no speed-up");
    return done_testing();
}
