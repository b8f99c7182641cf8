/* Training of adapters of phi3, whose Q, K and V have one A, as gate and up
 * have, of cohere2, whose branches read one norm, and of Apertus, whose MLP
 * has no gate, against PEFT and torch.optim.AdamW
 * (scripts/oracle/lora_kinds.py). */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "kern/kern.h"
#include "model/config/family.h"
#include "model/files/adapter_file.h"
#include "train/adamw.h"
#include "train/step.h"

#include <math.h>
#include <sys/stat.h>

#define PHI3 "tests/golden/family/phi3"

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

static void
steps_are_pefts(const char *name, const char *base, size_t micro, int how)
{
    static const struct loss_opt ce = { .w_ce = 1.0, .tau = 1.0 };
    static const struct targets none = { .kind = TARGETS_NONE };
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8 };
    const struct rows r = { B, T, ids, first };
    const struct st_tensor *want = of_case("loss", name);
    char *path = xasprintf("tests/golden/lora/%s", name);
    struct model m;
    struct adapter a;
    struct tmodel t;
    struct step *step;
    struct adamw *opt;
    struct err e;
    const char *what = how ? ", recomputed by rows," : "";
    double most = 0.0, off, norm;

    read_rows(name);
    if (model_open(&m, base, &e) < 0 ||
        adapter_open(&a, path, &m, pool, &e) < 0)
        bail(&e);
    a.dropout = 0.0;
    tmodel_init_adapter(&t, &m, &a);
    step = step_new(&t, pool, &ce, micro, T, how, &none, NULL);
    opt = adamw_new(&t, DT_F32);
    for (size_t i = 0; i < STEPS; i++) {
        struct loss_sum sum = { 0 };

        step_add(step, &r, scored, &none, &sum);
        step_flush(step);
        if (adamw_step(opt, &t, pool, &o, sum.n, &norm, &e) < 0)
            bail(&e);
        adapter_norms(&a, &m, pool);
        most = farther(most, fabs(sum.ce / (double)sum.n - golden_at(want, i)));
    }
    mkdir("after", 0777);
    if (adapter_save(&a, &m, "after", &e) < 0)
        bail(&e);
    off = off_after(name, "after/adapter_model.safetensors");
    ok(most < 1e-5, "five steps of %s%s have PEFT's losses (off by %.1e)", name,
        what, most);
    ok(off < 1e-4,
        "after five steps the tensors of %s%s are PEFT's (off by %.1e)", name,
        what, off);
    adamw_free(opt);
    step_free(step);
    tmodel_release(&t);
    adapter_close(&a);
    model_close(&m);
    free(path);
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
    adapter_detach(&m);
    ok(adapter_new(&a, &o, &m, pool, &e) == 0 && a.low[W_Q].a == a.low[W_V].a &&
            a.low[W_GATE].a == a.low[W_UP].a && a.low[W_Q].b != a.low[W_V].b &&
            a.low[W_Q].a[0] != 0.0f,
        "Q, K and V of a new adapter of phi3 have one A");
    ok(adapter_params(&a) == adapter_params(&old) &&
            json_equal(json_object_get(a.config, "r"),
                json_object_get(old.config, "r")) &&
            json_array_size(json_object_get(a.config, "target_modules")) == 4,
        "its parameters and modules are PEFT's");
    adapter_detach(&m);
    adapter_close(&a);
    adapter_close(&old);
    dropped.dropout = 0.1;
    ok(adapter_new(&a, &dropped, &m, pool, &e) < 0 &&
            strstr(e.msg, "lora_dropout") != NULL,
        "dropout of a new adapter of phi3 is refused: %s", e.msg);
    model_close(&m);
}

int
main(void)
{
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
    new_adapter();
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
