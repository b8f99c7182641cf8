/* Training of adapters against PEFT and torch.optim.AdamW in double precision
 * (scripts/oracle/lora.py), and properties of dropout. */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "kern/kern.h"
#include "model/files/adapter_file.h"
#include "model/pass/dropout.h"
#include "model/config/family.h"
#include "train/adamw.h"
#include "train/step.h"

#include <math.h>

#define DIR "tests/golden/lora/"
enum { B = 2, T = 20, V = 64, STEPS = 5 };

static struct golden g;
static struct pool *pool;
static uint32_t ids[B * T], first[B * T];
static uint8_t scored[B * T];

/* A model, its adapter, and what trains it. */
struct trained {
    struct model m;
    struct adapter a;
    struct tmodel t;
    struct step *step;
    struct adamw *opt;
};

static void
bail(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(1);
}

static const struct loss_opt ce = { .w_ce = 1.0, .tau = 1.0 };
static const struct targets none = { .kind = TARGETS_NONE };

static void
trained_open(struct trained *x, const char *name, size_t micro, int how,
    double dropout)
{
    char path[100];
    struct err e;

    if (model_open(&x->m, DIR "two", &e) < 0)
        bail(&e);
    snprintf(path, sizeof path, DIR "%s", name);
    if (adapter_open(&x->a, path, &x->m, pool, &e) < 0)
        bail(&e);
    x->a.dropout = dropout;
    tmodel_init_adapter(&x->t, &x->m, &x->a);
    x->step = step_new(&x->t, pool, &ce, micro, T, how, &none, NULL);
    x->opt = adamw_new(&x->t, DT_F32);
}

static void
trained_close(struct trained *x)
{
    adamw_free(x->opt);
    step_free(x->step);
    tmodel_release(&x->t);
    adapter_close(&x->a);
    model_close(&x->m);
}

/* Make a step; returns the mean loss before it. */
static double
one_step(struct trained *x, const uint64_t *key)
{
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8 };
    const struct rows r = { B, T, ids, first };
    struct loss_sum sum = { 0 };
    struct err e;
    double norm;

    step_dropout(x->step, key);
    step_add(x->step, &r, scored, &none, &sum);
    step_flush(x->step);
    if (adamw_step(x->opt, &x->t, pool, &o, sum.n, &norm, &e) < 0)
        bail(&e);
    adapter_norms(&x->a, &x->m, pool);
    return sum.ce / (double)sum.n;
}

/* The largest distance of the adapter's tensors from those after PEFT's
 * steps. */
static double
off_after(const struct trained *x, const char *name)
{
    static const char *const parts[] = { "lora_A.weight", "lora_B.weight",
        "lora_magnitude_vector" };
    double most = 0.0;

    for (size_t i = 0; i < x->a.L * W_N; i++) {
        const struct low_rank *l = &x->a.low[i];
        const float *const p[] = { l->a, l->b, l->m };

        for (size_t k = 0; k < 3 && l->rank > 0; k++) {
            const char *tensor = block_tensor_name(&x->m.c, (int)(i % W_N));
            const struct st_tensor *want;
            char key[200];

            if (p[k] == NULL)
                continue;
            snprintf(key, sizeof key,
                "after.%s.base_model.model.model.layers.%zu.%.*s.%s", name,
                i / W_N, (int)(strrchr(tensor, '.') - tensor), tensor,
                parts[k]);
            want = golden_get(&g, key);
            for (size_t j = 0; j < want->n; j++)
                most = farther(most, fabs(p[k][j] - golden_at(want, j)));
        }
    }
    return most;
}

static void
steps_are_pefts(const char *name, size_t micro, int how, const char *what)
{
    const struct st_tensor *want;
    struct trained x;
    double most = 0.0, off;
    char key[60];

    snprintf(key, sizeof key, "loss.%s", name);
    want = golden_get(&g, key);
    trained_open(&x, name, micro, how, 0.0);
    for (size_t i = 0; i < STEPS; i++)
        most = farther(most, fabs(one_step(&x, NULL) - golden_at(want, i)));
    off = off_after(&x, name);
    ok(most < 1e-5, "%s%s: five steps have PEFT's losses (off by %.1e)", name,
        what, most);
    ok(off < 1e-4, "%s%s: after them the tensors are PEFT's (off by %.1e)",
        name, what, off);
    trained_close(&x);
}

/* Copy the adapter's gradients to *out, which the caller frees; returns their
 * number. */
static size_t
gradients(struct trained *x, const uint64_t *key, float **out)
{
    const struct rows r = { B, T, ids, first };
    struct loss_sum sum = { 0 };
    size_t n = 0;

    tmodel_zero_grad(&x->t);
    step_dropout(x->step, key);
    step_add(x->step, &r, scored, &none, &sum);
    *out = xreallocarray(NULL, x->t.nparam, sizeof **out);
    for (size_t i = 0; i < x->t.ngroup; i++) {
        const struct group *of = &x->t.group[i];

        if (of->n > 0)
            memcpy(*out + n, of->g, of->n * sizeof *of->g);
        n += of->n;
    }
    return n;
}

/* With dropout the gradients are those of a loss: central differences agree. */
static void
dropout_has_gradients(void)
{
    const uint64_t key = 7, other = 8;
    const struct rows r = { B, T, ids, first };
    struct trained x, y;
    float *grad, *again, *apart, *rows;
    size_t n, wrong = 0;

    trained_open(&x, "start", 2, 0, 0.25);
    trained_open(&y, "start", 1, BWD_RECOMPUTE, 0.25);
    n = gradients(&x, &key, &grad);
    gradients(&x, &key, &again);
    gradients(&x, &other, &apart);
    gradients(&y, &key, &rows);
    ok(memcmp(grad, again, n * sizeof *grad) == 0,
        "a step's key determines what is dropped");
    ok(memcmp(grad, apart, n * sizeof *grad) != 0,
        "another key drops other elements");
    ok(memcmp(grad, rows, n * sizeof *grad) == 0,
        "rows apart, recomputed, drop the same elements");
    for (size_t i = 3; i < n; i += 97) {
        float *p = x.t.group[i < x.t.group[0].n ? 0 : 1].p;
        const size_t at = i < x.t.group[0].n ? i : i - x.t.group[0].n;
        const float was = p[at];
        double loss[2];

        for (int side = 0; side < 2; side++) {
            struct loss_sum sum = { 0 };

            p[at] = was + (side ? 0.01f : -0.01f);
            step_dropout(x.step, &key);
            step_add(x.step, &r, scored, &none, &sum);
            loss[side] = sum.ce;
        }
        p[at] = was;
        wrong += !near(grad[i], (loss[1] - loss[0]) / 0.02, 0.01, 0.02);
    }
    ok(wrong == 0, "with dropout the gradients are those of differences");
    free(grad);
    free(again);
    free(apart);
    free(rows);
    trained_close(&x);
    trained_close(&y);
}

/* About a quarter of the elements is dropped, and the others grow to keep the
 * mean. */
static void
dropout_keeps_the_mean(void)
{
    uint64_t row;
    struct dropout d = { .p = 0.25, .key = 3, .row = &row };
    const struct rows r = { 1, T, ids, first };
    static float x[T * V], y[T * V], part[T * 4];
    size_t zero = 0, wrong = 0;
    double sum = 0.0;

    for (size_t i = 0; i < T * V; i++)
        x[i] = 1.0f;
    dropout_rows(&d, &r);
    dropout_copy(&d, dropout_key(&d, 0, 1, W_V), V, 0, T, 0, V, x, V, y);
    for (size_t i = 0; i < T * V; i++) {
        zero += y[i] == 0.0f;
        sum += y[i];
    }
    ok(near((double)zero / (T * V), 0.25, 0.04, 0.0),
        "the probability is the share that is dropped");
    ok(near(sum / (T * V), 1.0, 0.05, 0.0), "dropout keeps the mean");
    dropout_copy(&d, dropout_key(&d, 0, 1, W_V), V, 5, 2, 8, 4, x, V, part);
    for (size_t i = 0; i < 8; i++)
        wrong += part[i] != y[(5 + i / 4) * V + 8 + i % 4];
    ok(wrong == 0, "a part of a matrix drops what the whole does");
}

int
main(void)
{
    struct err e;

    golden_open(&g, DIR "lora.safetensors");
    for (size_t i = 0; i < B * T; i++) {
        ids[i] = st_u16(golden_get(&g, "ids"), i);
        first[i] = st_u32(golden_get(&g, "first"), i);
    }
    for (size_t i = 0; i < B * T; i++)
        scored[i] = i % T + 1 < T && first[i + 1] == first[i];
    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL)
        bail(&e);
    steps_are_pefts("start", 2, 0, "");
    steps_are_pefts("start_dora", 2, 0, "");
    steps_are_pefts("start_dora", 1, BWD_RECOMPUTE, ", recomputed by rows");
    dropout_has_gradients();
    dropout_keeps_the_mean();
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
