/* Experts measured and removed, against transformers in double
 * (scripts/oracle/experts.py). */
#include "base/dir.h"
#include "../lib/golden.h"
#include "../../prune/experts.h"
#include "model/files/export.h"
#include "model/pass/head.h"

enum { B = 2, T = 20, ROW = B * T, KEPT = 3 };

struct expert_case {
    const char *name;
    struct golden g;
    struct model m;
    uint32_t ids[ROW], first[ROW];
};

static char *
golden_path(const char *name, const char *end)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";

    return xasprintf("%s/tests/golden/experts/%s%s", top, name, end);
}

static void
open_or_stop(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) != 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

static void
case_open(struct expert_case *c, const char *name)
{
    char *data = golden_path(name, ".safetensors");
    char *model = golden_path(name, "");
    const unsigned char *ids, *first;

    c->name = name;
    golden_open(&c->g, data);
    open_or_stop(&c->m, model);
    ids = golden_get(&c->g, "ids")->data;
    first = golden_get(&c->g, "first")->data;
    for (size_t i = 0; i < ROW; i++) {
        c->ids[i] = ids[2 * i] + 256u * ids[2 * i + 1];
        memcpy(&c->first[i], first + 4 * i, 4);
    }
    free(data);
    free(model);
}

/* The golden tensor of block i, or NULL: it has no experts. */
static const struct st_tensor *
block_golden(const struct expert_case *c, const char *what, size_t i)
{
    char name[40];

    snprintf(name, sizeof name, "%s.%zu", what, i);
    return st_find(&c->g.st, name);
}

static void
test_measures(const struct expert_case *c, const struct expert_sums *s)
{
    double n = 0.0, mass = 0.0, reap = 0.0;

    for (size_t i = 0; i < s->L; i++) {
        const struct st_tensor *want = block_golden(c, "experts", i);

        for (size_t e = 0; want != NULL && e < s->E; e++) {
            n = farther(n, fabs(s->n[i * s->E + e] - golden_at(want, e)));
            mass = farther(mass,
                fabs(experts_value(s, RANK_MASS, i, e) -
                    golden_at(want, s->E + e)));
            reap = farther(reap,
                fabs(experts_value(s, RANK_REAP, i, e) -
                    golden_at(want, 2 * s->E + e)));
        }
    }
    ok(n == 0.0, "%s: each expert gets as many tokens as in transformers",
        c->name);
    ok(mass <= 1e-5, "%s: the routed mass is transformers' (%.2g)", c->name,
        mass);
    ok(reap <= 1e-4, "%s: REAP's criterion is transformers' (%.2g)", c->name,
        reap);
}

static int
same_kept(const struct expert_case *c, const uint32_t *kept)
{
    int same = 1;

    for (size_t i = 0; i < c->m.c.L; i++) {
        const struct st_tensor *want = block_golden(c, "kept", i);

        for (size_t k = 0; want != NULL && k < KEPT; k++)
            same &=
                kept[i * KEPT + k] == ((const unsigned char *)want->data)[k];
    }
    return same;
}

/* The largest distance of m's logits from the golden ones of the cut model,
 * relative to the largest. */
static double
cut_off(const struct expert_case *c, const struct model *m, struct pool *pool)
{
    const struct st_tensor *want = golden_get(&c->g, "cut");
    const struct rows r = { B, T, c->ids, c->first };
    const size_t d = m->c.d, V = m->c.V;
    struct fwd *f = fwd_new(m, pool, B, T);
    float *x = xcalloc(ROW * d, sizeof *x), *z = xcalloc(ROW * V, sizeof *z);
    double off;

    fwd_states(f, &r, x);
    for (size_t i = 0; i < ROW; i++)
        fwd_head(f, x + i * d, 1, z + i * V);
    off = golden_off(z, want);
    fwd_free(f);
    free(x);
    free(z);
    return off;
}

static void
test_case(const char *name, struct pool *pool)
{
    struct expert_case c;
    struct calib calib = { .R = B, .T = T, .ntok = ROW };
    struct expert_sums sums;
    struct expert_cut cut;
    struct model again;
    uint32_t kept[8 * KEPT];
    struct err e;
    double off;

    case_open(&c, name);
    calib.ids = c.ids;
    calib.first = c.first;
    experts_measure(&sums, &c.m, &calib, pool);
    test_measures(&c, &sums);
    experts_choose(&sums, RANK_REAP, KEPT, kept);
    ok(same_kept(&c, kept), "%s: the best experts are kept", name);
    experts_cut(&cut, &c.m, kept, KEPT);
    off = cut_off(&c, &cut.m, pool);
    ok(off <= 1e-5, "%s: without the others logits are transformers' (%.2g)",
        name, off);
    ok(model_export(&cut.m, "out", DT_BF16, NULL, NULL, &e) == 0,
        "%s: the model without them is written", name);
    open_or_stop(&again, "out");
    ok(again.c.router.n == KEPT && cut_off(&c, &again, pool) == off,
        "%s: what is read again is the same model", name);
    dir_remove("out", NULL);
    model_close(&again);
    experts_cut_free(&cut);
    experts_release(&sums);
    model_close(&c.m);
    golden_close(&c.g);
}

int
main(void)
{
    static const char *const names[] = { "mixtral", "qwen2_moe",
        "qwen3_moe-dense", "olmoe", "qwen3_next-dense", "qwen3_5_moe",
        "deepseek_v2", "deepseek_v3-one" };
    struct pool *pool = pool_new(2, NULL);

    tap_scratch();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_case(names[i], pool);
    pool_free(pool);
    return done_testing();
}
