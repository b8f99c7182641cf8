/* The influence of blocks, by which prune chooses candidates. */
#include "prune/judge.h"
#include "kern/kern.h"
#include "../lib/choice_whole.h"
#include "../lib/tap.h"
#include "../lib/golden.h"

#include <stdlib.h>
#include <string.h>

#define FAMILY "tests/golden/family/gemma3"

/* scripts/oracle/influence.py tests/golden/family gemma3, with torch 2.13.0 and
 * transformers 5.23.0 in double */
static const double want[] = { 0.403090723, 0.228110543, 0.152590809,
    0.137221764, 0.085263278, 0.078872482 };

enum { B = 2, T = 20, L = sizeof want / sizeof *want };

int
main(void)
{
    static uint32_t ids[B * T], first[B * T];
    static double weight[B] = { 1.0, 1.0 };
    struct calib c = { .R = B,
        .T = T,
        .ids = ids,
        .first = first,
        .ntok = B * T,
        .weight = weight,
        .token_weight = weight };
    struct golden g;
    struct model m;
    struct judge j;
    struct choice all;
    struct err e;
    struct pool *pool = pool_new(2, &e);

    golden_open(&g, FAMILY ".safetensors");
    if (kern_init() != NULL || pool == NULL || model_open(&m, FAMILY, &e) < 0) {
        printf("Bail out! the golden model cannot be read\n");
        return 1;
    }
    for (size_t t = 0; t < B * T; t++)
        ids[t] = ((const uint16_t *)golden_get(&g, "ids")->data)[t];
    memcpy(first, golden_get(&g, "first")->data, sizeof first);
    choice_whole(&all, &m);
    judge_init(&j, &m, &c, pool);
    judge_set(&j, &all, 1);
    for (size_t i = 0; i < L; i++)
        ok(near(j.at[i].influence, want[i], 0.0, 1e-5),
            "block %zu: as transformers says", i);
    judge_release(&j);
    choice_release(&all);
    model_close(&m);
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
