/* Routing of a mixture of experts, against scripts/oracle/router.py for every
 * combination of flags, and against DeepSeek-V3's rule computed by hand. */
#include "../lib/golden.h"
#include "model/pass/route.h"

static const struct router v3 = { .n = 8,
    .k = 2,
    .score = ROUTER_SIGMOID,
    .groups = 4,
    .keep = 2,
    .group = ROUTER_SUM2,
    .renorm = 1,
    .scale = 2.5 };

/* The values are Python's in double and those of transformers 5.24's
 * DeepseekV3TopkRouter.  Expert 7 has the highest score, but its group is not
 * among the best two. */
static void
test_v3(void)
{
    static const float z[] = { .2f, -1, 1.5f, .3f, -.5f, .9f, .1f, 2 };
    static const float bias[] = { 0, .8f, -.3f, .2f, .1f, 0, .6f, -.9f };
    uint32_t id[2];
    float w[2];

    router_choose(&v3, z, bias, id, w);
    ok(id[0] == 1 && id[1] == 3,
        "DeepSeek-V3's routing keeps to the best two groups");
    ok(near(w[0], 0.7972093, 1e-6, 0) && near(w[1], 1.7027907, 1e-6, 0),
        "its weights are scores without the bias, with sum 2.5");
}

static void
test_equal(void)
{
    static const float z[] = { 1, 3, 2, 3, 2, 2, 0, 1 };
    static const float none[8] = { 0 };
    const struct router plain = { .n = 8, .k = 4, .scale = 1 };
    struct router grouped = v3;
    uint32_t id[4];
    float w[4];

    router_choose(&plain, z, NULL, id, w);
    ok(id[0] == 1 && id[1] == 3 && id[2] == 2 && id[3] == 4,
        "a tie of experts goes to the lower number");
    grouped.keep = 1;
    router_choose(&grouped, none, NULL, id, w);
    ok(id[0] == 0 && id[1] == 1, "a tie of groups goes to the lower number");
}

static void
test_nan(void)
{
    static const float z[] = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    uint32_t id[2];
    float w[2];

    router_choose(&v3, z, NULL, id, w);
    ok(id[0] < 8 && id[1] < 8 && id[0] != id[1] && isnan(w[0]) && isnan(w[1]),
        "logits that are NaN give two experts and weights that are NaN");
}

/* Read the flags of a case. */
static struct router
case_router(const struct golden *g, const char *name)
{
    const struct st_tensor *t = golden_get(g, name);

    return (struct router){ .n = (size_t)golden_at(t, 0),
        .k = (size_t)golden_at(t, 1),
        .score = (enum router_score)golden_at(t, 2),
        .groups = (size_t)golden_at(t, 3),
        .keep = (size_t)golden_at(t, 4),
        .group = (enum router_group)golden_at(t, 5),
        .renorm = (int)golden_at(t, 6),
        .scale = golden_at(t, 7) };
}

static const struct st_tensor *
case_tensor(const struct golden *g, size_t i, const char *part)
{
    char name[40];

    snprintf(name, sizeof name, "%03zu.%s", i, part);
    return golden_get(g, name);
}

static const float *
case_floats(const struct golden *g, size_t i, const char *part)
{
    return (const float *)(const void *)case_tensor(g, i, part)->data;
}

/* Raise *w and *dz to the errors of case i's weights and gradients, if these
 * are larger.  Returns 1; 0: the router chooses other experts than torch. */
static int
case_off(const struct golden *g, size_t i, double *w, double *dz)
{
    char name[40];
    uint32_t id[ROUTER_USED];
    float got[ROUTER_USED], grad[ROUTER_EXPERTS];
    double dp[ROUTER_EXPERTS];
    struct router r;
    int same = 1;

    snprintf(name, sizeof name, "%03zu.flags", i);
    r = case_router(g, name);
    router_choose(&r, case_floats(g, i, "z"), case_floats(g, i, "bias"), id,
        got);
    for (size_t k = 0; k < r.k; k++)
        same &= id[k] == (uint32_t)golden_at(case_tensor(g, i, "id"), k);
    for (size_t k = 0; k < r.n; k++)
        dp[k] = golden_at(case_tensor(g, i, "dp"), k);
    router_backward(&r, case_floats(g, i, "z"), id, case_floats(g, i, "dw"), dp,
        grad);
    *w = farther(*w, golden_off(got, case_tensor(g, i, "w")));
    *dz = farther(*dz, golden_off(grad, case_tensor(g, i, "dz")));
    return same;
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/router.safetensors", top);
    struct golden g;
    double w = 0.0, dz = 0.0;
    int same = 1;
    size_t n;

    test_v3();
    test_equal();
    test_nan();
    golden_open(&g, path);
    n = g.st.nt / 8;
    for (size_t i = 0; i < n; i++)
        same &= case_off(&g, i, &w, &dz);
    ok(n == 96 && same, "each of %zu combinations of flags chooses its experts",
        n);
    ok(w <= 1e-6, "weights of all combinations are near torch's (%.2g)", w);
    ok(dz <= 1e-6, "gradients of all combinations are near torch's (%.2g)", dz);
    golden_close(&g);
    free(path);
    return done_testing();
}
