/* Three steps of AdamW that train all weights of a model of each type.  The
 * losses are those of transformers and torch.optim.AdamW in double (family.py,
 * renamed.py, experts.py, gpt_oss.py and deepseek.py of scripts/oracle). */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "kern/kern.h"
#include "model/config/family.h"
#include "model/files/model.h"
#include "train/adamw.h"
#include "train/step.h"

#include <math.h>

enum { B = 2, T = 20, STEPS = 3 };

static struct pool *pool;

static void
bail(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(1);
}

/* Are beta and eps of xIELU, which are no parameters, those of m? */
static int
constants_stay(const struct tmodel *t, const struct model *m)
{
    int same = 1;

    for (size_t i = 0; i < m->c.L; i++)
        for (int k = W_XIELU_BETA; k <= W_XIELU_EPS; k++) {
            float x;

            if (m->block[i].w[k].rows == 0)
                continue;
            weight_rows(&m->block[i].w[k], 0, 1, &x);
            same &= x == t->group[i].p[t->group[i].at[k]];
        }
    return same;
}

static void
steps_are_torchs(const char *name, size_t micro, int how)
{
    static const struct loss_opt ce = { .w_ce = 1.0, .tau = 1.0 };
    static const struct targets none = { .kind = TARGETS_NONE };
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8,
        .decay = 0.1 };
    char *path = xasprintf("tests/golden/%s", name);
    char *golden = xasprintf("%s.safetensors", path);
    uint32_t ids[B * T], first[B * T];
    const struct rows r = { B, T, ids, first };
    uint8_t scored[B * T];
    double most = 0.0, norm;
    struct golden g;
    struct model m;
    struct tmodel t;
    struct step *step;
    struct adamw *opt;
    struct err e;

    golden_open(&g, golden);
    for (size_t i = 0; i < B * T; i++) {
        ids[i] = st_u16(golden_get(&g, "ids"), i);
        first[i] = st_u32(golden_get(&g, "first"), i);
    }
    for (size_t i = 0; i < B * T; i++)
        scored[i] = i % T + 1 < T && first[i + 1] == first[i];
    if (model_open(&m, path, &e) < 0)
        bail(&e);
    tmodel_init(&t, &m);
    step = step_new(&t, pool, &ce, micro, T, how, &none, NULL);
    opt = adamw_new(&t, DT_F32);
    for (size_t i = 0; i <= STEPS; i++) {
        struct loss_sum sum = { 0 };

        step_add(step, &r, scored, &none, &sum);
        step_flush(step);
        most = farther(most,
            fabs(sum.ce / (double)sum.n -
                golden_at(golden_get(&g, "losses"), i)));
        if (i < STEPS && adamw_step(opt, &t, pool, &o, sum.n, &norm, &e) < 0)
            bail(&e);
    }
    ok(most < 1e-5 && constants_stay(&t, &m),
        "three steps of %s%s have torch's losses (off by %.1e)", name,
        how ? ", recomputed by rows," : "", most);
    adamw_free(opt);
    step_free(step);
    tmodel_release(&t);
    model_close(&m);
    golden_close(&g);
    free(golden);
    free(path);
}

int
main(void)
{
    static const char *const names[] = { "family/llama", "family/mistral",
        "family/qwen2", "family/qwen3", "family/gemma3", "family/gemma2",
        "family/gemma", "family/cohere", "family/cohere2", "family/olmo2",
        "family/olmo3", "family/smollm3", "family/granite", "family/phi3",
        "family/ministral3", "family/seed_oss", "family/ministral",
        "family/ernie4_5", "family/granitemoehybrid", "family/qwen2_5_vl",
        "family/qwen3_vl", "family/youtu", "family/qwen3_5", "family/lfm2",
        "family/apertus", "family/gpt_neox", "family/gpt2", "family/starcoder2",
        "family/phi", "family/glm4", "family/glm", "family/exaone4",
        "experts/mixtral-trained", "experts/qwen2_moe",
        "experts/qwen3_moe-trained", "experts/olmoe", "experts/gpt_oss",
        "experts/deepseek_v2", "experts/deepseek_v3", "experts/glm4_moe_lite",
        "experts/qwen3_next-dense", "experts/qwen3_5_moe" };
    struct err e;

    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL)
        bail(&e);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        steps_are_torchs(names[i], 2, 0);
        steps_are_torchs(names[i], 1, BWD_RECOMPUTE);
    }
    pool_free(pool);
    return done_testing();
}
