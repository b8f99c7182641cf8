/* Anchors: see anchor.h */
#include "anchor.h"
#include "predict.h"
#include "sweep.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int
anchor_set(struct job *j, const char *text, struct err *e)
{
    const size_t n = strcspn(text, ",");
    struct job measured = *j;
    struct figures f;
    double seconds;
    char *first;
    int r = 0;

    first = xasprintf("%.*s", (int)n, text);
    if (strncmp(first, "step=", 5) != 0 ||
        number_real(first + 5, 1e-6, 1e6, &seconds) < 0)
        r = err_set(e, EX_USAGE,
            "--anchor %s: write step=SECONDS,key=value,... of a measured run",
            SHOWN(text));
    free(first);
    if (r < 0 ||
        job_change(&measured, "--anchor", text + n + (text[n] == ','), e) < 0)
        return -1;
    measured.anchor = 0.0;
    predict(&f, &measured);
    j->anchor = seconds / figure_of(&f, "step");
    return 0;
}
