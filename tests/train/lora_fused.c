/* Training of adapters of many families, against PEFT and torch.optim.AdamW
 * (scripts/oracle/lora_kinds.py), and new adapters of phi3, whose Q, K and V
 * have one A, as gate and up have. */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "kern/kern.h"
#include "model/config/family.h"
#include "model/files/adapter_file.h"
#include "train/adamw.h"
#include "train/step.h"

#include <math.h>
#include <sys/stat.h>

#define GOLDEN "tests/golden/"
#define PHI3 GOLDEN "family/phi3"

enum { B = 2, T = 20, STEPS = 5 };

static struct golden g;
static struct pool *pool;
static uint32_t ids[B * T], first[B * T];
static uint8_t scored[B * T];

static void
bail(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(1);
}

static const struct st_tensor *
of_case(const char *what, const char *name)
{
    char key[60];

    snprintf(key, sizeof key, "%s.%s", what, name);
    return golden_get(&g, key);
}

static void
read_rows(const char *name)
{
    for (size_t i = 0; i < B * T; i++) {
        ids[i] = st_u16(of_case("ids", name), i);
        first[i] = st_u32(of_case("first", name), i);
    }
    for (size_t i = 0; i < B * T; i++)
        scored[i] = i % T + 1 < T && first[i + 1] == first[i];
}

/* The largest distance of the tensors in the file from those after PEFT's
 * steps. */
static double
off_after(const char *name, const char *file)
{
    struct golden is;
    double most = 0.0;

    golden_open(&is, file);
    for (size_t i = 0; i < is.st.nt; i++) {
        const struct st_tensor *t = &is.st.t[i], *want;
        char key[200];

        snprintf(key, sizeof key, "after.%s.%s", name, t->name);
        want = golden_get(&g, key);
        for (size_t k = 0; k < t->n; k++)
            most = farther(most, fabs(golden_at(t, k) - golden_at(want, k)));
    }
    golden_close(&is);
    return most;
}

/* Train the adapter a of m for `steps` steps on rows of one case; losses go to
 * loss [steps]. */
static void
train(const char *name, struct model *m, struct adapter *a, size_t micro,
    int how, size_t steps, double *loss)
{
    static const struct loss_opt ce = { .w_ce = 1.0, .tau = 1.0 };
    static const struct targets none = { .kind = TARGETS_NONE };
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8 };
    const struct rows r = { B, T, ids, first };
    struct tmodel t;
    struct step *step;
    struct adamw *opt;
    struct err e;
    double norm;

    read_rows(name);
    a->dropout = 0.0;
    tmodel_init_adapter(&t, m, a);
    step = step_new(&t, pool, &ce, micro, T, how, &none, NULL);
    opt = adamw_new(&t, DT_F32);
    for (size_t i = 0; i < steps; i++) {
        struct loss_sum sum = { 0 };

        step_add(step, &r, scored, &none, &sum);
        step_flush(step);
        if (adamw_step(opt, &t, pool, &o, sum.n, &norm, &e) < 0)
            bail(&e);
        adapter_norms(a, m, pool);
        loss[i] = sum.ce / (double)sum.n;
    }
    adamw_free(opt);
    step_free(step);
    tmodel_release(&t);
}

static void
open_case(const char *name, const char *base, struct model *m,
    struct adapter *a)
{
    char *path = xasprintf("tests/golden/lora/%s", name);
    struct err e;

    if (model_open(m, base, &e) < 0 || adapter_open(a, path, m, pool, &e) < 0)
        bail(&e);
    free(path);
}

static void
steps_are_pefts(const char *name, const char *base, size_t micro, int how)
{
    const struct st_tensor *want = of_case("loss", name);
    const char *what = how ? ", recomputed by rows," : "";
    double loss[STEPS], most = 0.0, off;
    struct model m;
    struct adapter a;
    struct err e;

    open_case(name, base, &m, &a);
    train(name, &m, &a, micro, how, STEPS, loss);
    for (size_t i = 0; i < STEPS; i++)
        most = farther(most, fabs(loss[i] - golden_at(want, i)));
    mkdir("after", 0777);
    if (adapter_save(&a, &m, "after", &e) < 0)
        bail(&e);
    off = off_after(name, "after/adapter_model.safetensors");
    ok(most < 1e-5, "five steps of %s%s have PEFT's losses (off by %.1e)", name,
        what, most);
    ok(off < 1e-4,
        "after five steps the tensors of %s%s are PEFT's (off by %.1e)", name,
        what, off);
    adapter_close(&a);
    model_close(&m);
}

/* Replace the weights of m's blocks by their first 16 bits, which are bfloat16:
 * stored as such, or (widened 1) as fp32 with zeros behind.  The new weights
 * are never freed. */
static void
cut_to_halves(struct model *m, int widened)
{
    for (size_t i = 0; i < m->c.L * W_N; i++) {
        struct weight *w = &m->block[i / W_N].w[i % W_N];
        const size_t n = w->rows * w->cols;
        float *wide = xcalloc(n + 1, sizeof *wide);
        uint16_t *half = xcalloc(n + 1, sizeof *half);

        if (n == 0)
            continue;
        weight_rows(w, 0, w->rows, wide);
        for (size_t k = 0; k < n; k++) {
            uint32_t bits;

            memcpy(&bits, &wide[k], sizeof bits);
            half[k] = (uint16_t)(bits >> 16);
            bits &= 0xffff0000u;
            memcpy(&wide[k], &bits, sizeof bits);
        }
        w->part = NULL;
        w->data = (const unsigned char *)(widened ? (void *)wide : half);
        w->dtype = widened ? DT_F32 : DT_BF16;
        w->stride = w->cols * (widened ? sizeof *wide : sizeof *half);
    }
}

/* An adapter of weights stored in bfloat16 trains as beside the same weights in
 * fp32. */
static void
stored_halves(const char *name, const char *base)
{
    struct model m[2];
    struct adapter a[2];
    double loss[2][STEPS];
    int same = 1;

    for (int k = 0; k < 2; k++) {
        open_case(name, base, &m[k], &a[k]);
        cut_to_halves(&m[k], k);
        train(name, &m[k], &a[k], 2, 0, STEPS, loss[k]);
    }
    for (size_t i = 0; i < a[0].L * W_N; i++) {
        const struct low_rank *l = &a[0].low[i], *o = &a[1].low[i];

        if (l->rank > 0)
            same &= memcmp(l->b, o->b,
                        m[0].block[i / W_N].w[i % W_N].rows * l->rank *
                            sizeof *l->b) == 0;
    }
    ok(same && memcmp(loss[0], loss[1], sizeof loss[0]) == 0 &&
            isfinite(loss[0][STEPS - 1]),
        "an adapter of %s beside weights in bfloat16 has the bits of those in "
        "fp32 (loss %.4f)",
        name, loss[0][STEPS - 1]);
    for (int k = 0; k < 2; k++) {
        adapter_close(&a[k]);
        model_close(&m[k]);
    }
}

/* A new adapter has one A for Q, K and V, and only what is trained counts. */
static void
new_adapter(void)
{
    const struct adapter_opt o = { .rank = 3,
        .alpha = 6,
        .targets = "qkv_proj,o_proj,gate_up_proj,down_proj",
        .seed = 1 };
    struct adapter_opt dropped = o;
    struct model m;
    struct adapter a, old;
    struct err e;

    if (model_open(&m, PHI3, &e) < 0 ||
        adapter_open(&old, "tests/golden/lora/phi3", &m, pool, &e) < 0)
        bail(&e);
    ok(adapter_new(&a, &o, &m, pool, &e) == 0 && a.low[W_Q].a == a.low[W_V].a &&
            a.low[W_GATE].a == a.low[W_UP].a && a.low[W_Q].b != a.low[W_V].b &&
            a.low[W_Q].a[0] != 0.0f,
        "Q, K and V of a new adapter of phi3 have one A");
    ok(adapter_params(&a) == adapter_params(&old) &&
            json_equal(json_object_get(a.config, "r"),
                json_object_get(old.config, "r")) &&
            json_array_size(json_object_get(a.config, "target_modules")) == 4,
        "its parameters and modules are PEFT's");
    adapter_close(&a);
    dropped.dropout = 0.1;
    ok(adapter_new(&a, &dropped, &m, pool, &e) < 0 &&
            strstr(e.msg, "lora_dropout") != NULL,
        "dropout of a new adapter of phi3 is refused: %s", e.msg);
    adapter_close(&old);
    model_close(&m);
}

int
main(void)
{
    static const char *const plain[] = { GOLDEN "family/llama",
        GOLDEN "family/mistral", GOLDEN "family/qwen2", GOLDEN "family/qwen3",
        GOLDEN "family/gemma3", GOLDEN "family/gemma2", GOLDEN "family/gemma",
        GOLDEN "family/olmo2", GOLDEN "family/olmo3", GOLDEN "family/smollm3",
        GOLDEN "family/granite", GOLDEN "family/ministral3",
        GOLDEN "family/seed_oss", GOLDEN "family/ministral",
        GOLDEN "experts/mixtral", GOLDEN "experts/qwen2_moe",
        GOLDEN "experts/olmoe" };
    struct err e;

    tap_scratch();
    golden_open(&g, "tests/golden/lora/kinds.safetensors");
    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL)
        bail(&e);
    steps_are_pefts("phi3", PHI3, 2, 0);
    steps_are_pefts("phi3", PHI3, 1, BWD_RECOMPUTE);
    steps_are_pefts("phi3-dora", PHI3, 2, 0);
    steps_are_pefts("cohere2", "tests/golden/family/cohere2", 2, 0);
    steps_are_pefts("lfm2", "tests/golden/family/lfm2", 2, 0);
    steps_are_pefts("lfm2", "tests/golden/family/lfm2", 1, BWD_RECOMPUTE);
    steps_are_pefts("apertus", "tests/golden/family/apertus", 2, 0);
    steps_are_pefts("gpt_neox", "tests/golden/family/gpt_neox", 2, 0);
    steps_are_pefts("gpt2", "tests/golden/family/gpt2", 2, 0);
    steps_are_pefts("starcoder2", "tests/golden/family/starcoder2", 2, 0);
    steps_are_pefts("phi", "tests/golden/family/phi", 2, 0);
    steps_are_pefts("glm4", "tests/golden/family/glm4", 2, 0);
    steps_are_pefts("exaone4", "tests/golden/family/exaone4", 2, 0);
    steps_are_pefts("qwen3_moe", "tests/golden/experts/qwen3_moe", 2, 0);
    steps_are_pefts("qwen3_moe", "tests/golden/experts/qwen3_moe", 1,
        BWD_RECOMPUTE);
    steps_are_pefts("gpt_oss", "tests/golden/experts/gpt_oss", 2, 0);
    steps_are_pefts("qwen3_5", "tests/golden/family/qwen3_5", 2, 0);
    steps_are_pefts("qwen3_next", "tests/golden/experts/qwen3_next", 2, 0);
    steps_are_pefts("qwen3_5_moe", "tests/golden/experts/qwen3_5_moe", 2, 0);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        steps_are_pefts(strrchr(plain[i], '/') + 1, plain[i], 2, 0);
    stored_halves("qwen3_moe", "tests/golden/experts/qwen3_moe");
    stored_halves("gpt_oss", "tests/golden/experts/gpt_oss");
    stored_halves("qwen3_5", "tests/golden/family/qwen3_5");
    new_adapter();
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
