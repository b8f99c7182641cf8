/*
 * Traps of distillation that other projects fell into: direction of KL, T^2,
 * extra terms, KL(p,p), stability, NaN, padding, clamped count, packing,
 * teacher mode, final norm, tied head, width of heads.
 */
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "msg/batch.h"
#include "train/head_loss.h"
#include "train/adamw.h"
#include "train/step.h"

#include <math.h>

#define DIR "tests/golden/grad/"
enum { B = 2, T = 12, N = B * T };

static struct pool *pool;

static void
open_or_bail(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

/* ---- head and losses alone, on logits that are given: head = identity ---- */

enum { V = 6 };

struct head_result {
    struct loss_sum sum;
    float dh[V];
};

/* Make a prediction whose logits are zs (student) and zt (teacher). */
static struct head_result
one_prediction(const struct loss_opt *o, const float *zs, const float *zt,
    uint32_t target)
{
    float eye[V * V] = { 0 }, dw[V * V] = { 0 };
    const uint32_t place = 0;
    const struct targets targets = { .kind = TARGETS_FINAL,
        .width = V,
        .part = { { (const void *)zt, DT_F32, V } } };
    struct head_result r = { 0 };
    struct arena plan, a;
    const struct weight wt = { .data = (const unsigned char *)eye,
        .dtype = DT_F32,
        .rows = V,
        .cols = V,
        .stride = V * sizeof(float) };
    struct head_loss *h;

    for (size_t i = 0; i < V; i++)
        eye[i * V + i] = 1.0f;
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, pool, V, V, &targets, 1, 0));
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, V, V, &targets, 1, 0);
    head_loss_rows(h, o, &wt, &wt, zs, &targets, &place, &target, 1, dw, r.dh,
        &r.sum);
    head_loss_free(h);
    arena_release(&a);
    return r;
}

/* KL(softmax(a/tau) || softmax(b/tau)) in double. */
static double
kl_of(const float *a, const float *b, double tau)
{
    double la = 0, lb = 0, kl = 0;

    for (size_t i = 0; i < V; i++) {
        la += exp(a[i] / tau);
        lb += exp(b[i] / tau);
    }
    for (size_t i = 0; i < V; i++) {
        const double p = a[i] / tau - log(la), q = b[i] / tau - log(lb);

        kl += exp(p) * (p - q);
    }
    return kl;
}

static void
losses(void)
{
    static const float zs[V] = { 2, -1, 0.5f, 3, -2, 0 };
    static const float zt[V] = { -1, 1.5f, 4, 0, 0.5f, 2 };
    static const float far[V] = { 3e4f, -3e4f, 0, 1, 2, -1e4f };
    const struct loss_opt kl1 = { .w_kl = 1, .tau = 1 },
                          kl3 = { .w_kl = 1, .tau = 3 };
    const struct loss_opt ce = { .w_ce = 1, .tau = 3 },
                          both = { .w_ce = 0.25, .w_kl = 1, .tau = 3 };
    struct head_result r = one_prediction(&kl1, zs, zt, 2);
    double sum = 0;

    ok(near(r.sum.kl, kl_of(zt, zs, 1), 1e-6, 1e-6) &&
            fabs(kl_of(zt, zs, 1) - kl_of(zs, zt, 1)) > 0.1,
        "%s trap direction: KL(teacher || student), not the other way",
        kern_name());
    r = one_prediction(&kl3, zs, zt, 2);
    ok(near(r.sum.kl, 9 * kl_of(zt, zs, 3), 1e-6, 1e-6),
        "%s trap T^2: KL at temperature 3 is multiplied by 9", kern_name());
    for (size_t i = 0; i < V; i++) {
        double ls = 0, lt = 0;

        for (size_t k = 0; k < V; k++) {
            ls += exp(zs[k] / 3.0);
            lt += exp(zt[k] / 3.0);
        }
        sum +=
            fabs(r.dh[i] - 3 * (exp(zs[i] / 3.0) / ls - exp(zt[i] / 3.0) / lt));
    }
    ok(near(sum, 0, 1e-5, 0), "%s trap T^2: the gradient is T (p - q)",
        kern_name());
    ok(r.sum.ce != 0 &&
            near(one_prediction(&both, zs, zt, 2).dh[0],
                0.25 * one_prediction(&ce, zs, zt, 2).dh[0] + r.dh[0], 1e-6,
                1e-6),
        "%s trap extra terms: the gradient is 0.25 CE + KL and nothing else",
        kern_name());
    r = one_prediction(&kl3, zt, zt, 2);
    sum = 0;
    for (size_t i = 0; i < V; i++)
        sum += fabs(r.dh[i]);
    ok(r.sum.kl == 0 && sum == 0,
        "%s trap KL(p,p): it is 0 and so is its gradient", kern_name());
    r = one_prediction(&both, far, zt, 1);
    ok(isfinite(r.sum.ce) && isfinite(r.sum.kl) && isfinite(r.dh[0]),
        "%s trap stability: logits of +-30000 stay finite", kern_name());
    r = one_prediction(&both, zs, far, 1);
    ok(isfinite(r.sum.kl) && r.sum.kl >= 0,
        "%s trap stability: logits of a teacher stay finite", kern_name());
    {
        const float bad[V] = { 0, NAN, 0, 0, 0, 0 };

        ok(!isfinite(one_prediction(&both, bad, zt, 0).sum.ce) &&
                !isfinite(one_prediction(&both, zs, bad, 0).sum.kl),
            "%s trap NaN: a NaN logit shows in the loss", kern_name());
    }
}

/* ---- whole steps ---- */

struct data {
    uint32_t ids[N], first[N];
    uint8_t scored[N];
    float *final, *hidden[2];
    struct model student, teacher;
    struct tmodel t;
};

static const struct loss_opt all = { .w_ce = 0.25,
    .w_kl = 1,
    .w_sh = 1,
    .tau = 3 };

static void
data_make(struct data *x)
{
    const size_t d = 16;

    open_or_bail(&x->student, DIR "tied-student");
    open_or_bail(&x->teacher, DIR "tied-teacher");
    tmodel_init(&x->t, &x->student);
    x->final = xcalloc(N * d, sizeof(float));
    for (size_t l = 0; l < 2; l++)
        x->hidden[l] = xcalloc(N * d, sizeof(float));
    for (size_t i = 0; i < N * d; i++) {
        x->final[i] = (float)rng_normal(1, i);
        x->hidden[0][i] = (float)rng_normal(2, i);
        x->hidden[1][i] = (float)rng_normal(3, i);
    }
    /* row 0: pieces of 5 and 7; row 1: a piece of 8 and padding */
    for (size_t i = 0; i < N; i++) {
        const size_t b = i / T, t = i % T;

        x->ids[i] = (uint32_t)(rng_u64(4, i) % 61);
        x->first[i] = b == 0 ? (t < 5 ? 0 : 5) : t < 8 ? 0 : BATCH_PAD;
        x->scored[i] = b == 0 ? t != 4 && t != 11 : t < 7;
    }
}

static void
data_free(struct data *x)
{
    tmodel_release(&x->t);
    model_close(&x->student);
    model_close(&x->teacher);
    free(x->final);
    free(x->hidden[0]);
    free(x->hidden[1]);
}

static struct loss_sum
step(struct data *x, const struct loss_opt *o)
{
    struct targets_tensor hidden[2] = { { (const void *)x->hidden[0], DT_F32,
                                            16 },
        { (const void *)x->hidden[1], DT_F32, 16 } };
    const struct targets targets = { .kind = TARGETS_FINAL,
        .width = 16,
        .nblock = 2,
        .depth = 16,
        .T = T,
        .part = { { (const void *)x->final, DT_F32, 16 } },
        .hidden = hidden };
    struct step *s =
        step_new(&x->t, pool, o, B, T, 0, &targets, &x->teacher.head);
    const struct rows r = { B, T, x->ids, x->first };
    struct loss_sum sum = { 0 };

    tmodel_zero_grad(&x->t);
    step_add(s, &r, x->scored, &targets, &sum);
    step_flush(s);
    step_free(s);
    return sum;
}

static float *
gradients(const struct data *x)
{
    float *g = xcalloc(x->t.nparam, sizeof(*g));
    size_t n = 0;

    for (size_t i = 0; i < x->t.ngroup; i++) {
        if (x->t.group[i].n > 0) /* a group may be empty and NULL */
            memcpy(g + n, x->t.group[i].g, x->t.group[i].n * sizeof(*g));
        n += x->t.group[i].n;
    }
    return g;
}

static int
same_gradients(const struct data *x, const float *g)
{
    float *now = gradients(x);
    const int same = memcmp(now, g, x->t.nparam * sizeof(*g)) == 0;

    free(now);
    return same;
}

static void
padding(void)
{
    struct data x;
    struct loss_sum a, b;
    float *g;

    data_make(&x);
    a = step(&x, &all);
    g = gradients(&x);
    for (size_t i = T + 8; i < N; i++) {
        x.ids[i] = 60;
        for (size_t k = 0; k < 16; k++) {
            x.final[i * 16 + k] = 1e6f;
            x.hidden[0][i * 16 + k] = 1e6f;
            x.hidden[1][i * 16 + k] = NAN;
        }
    }
    b = step(&x, &all);
    ok(a.ce == b.ce && a.kl == b.kl && a.sh == b.sh && same_gradients(&x, g),
        "%s trap padding: what stands in padding changes no bit", kern_name());
    ok(a.n == 17 && a.tok == 20, "%s trap padding: counts are without it",
        kern_name());
    free(g);
    data_free(&x);
}

static void
no_scored_tokens(void)
{
    struct data x;
    struct loss_sum a;
    float *g;
    size_t other = 0;

    data_make(&x);
    memset(x.scored, 0, sizeof(x.scored));
    a = step(&x, &all);
    g = gradients(&x);
    for (size_t i = 0; i < x.t.nparam; i++)
        other += g[i] != 0.0f;
    ok(a.n == 0 && a.ce == 0 && a.kl == 0 && a.sh == 0 && other == 0,
        "%s trap clamped count: no scored tokens, no loss, no gradient",
        kern_name());
    free(g);
    data_free(&x);
}

static void
packing(void)
{
    struct data x;
    struct bwd *w;
    float before[T * 16];
    size_t differ = 0, moved = 0;

    data_make(&x);
    w = bwd_new(&x.t, pool, B, T, 0);
    {
        const struct rows r = { B, T, x.ids, x.first };

        bwd_forward(w, &r);
        memcpy(before, bwd_final(w), sizeof(before));
        for (size_t t = 0; t < 5; t++)
            x.ids[t] = (x.ids[t] + 7) % 61;
        bwd_forward(w, &r);
        for (size_t t = 0; t < T; t++)
            for (size_t k = 0; k < 16; k++) {
                const int same = before[t * 16 + k] == bwd_final(w)[t * 16 + k];

                differ += t >= 5 && !same;
                moved += t < 5 && !same;
            }
    }
    ok(differ == 0 && moved > 0,
        "%s trap packing: document 2 does not see "
        "document 1",
        kern_name());
    bwd_free(w);
    data_free(&x);
}

static void
frozen_teacher(void)
{
    struct data x;
    struct adamw_opt o = { .lr = 0.1,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8,
        .clip = 1 };
    struct adamw *opt;
    char before[33], after[33];
    struct loss_sum s;
    struct err e;
    double norm;

    data_make(&x);
    model_head_hash(&x.teacher, before);
    opt = adamw_new(&x.t, DT_F32);
    for (int i = 0; i < 3; i++) {
        s = step(&x, &all);
        ok(adamw_step(opt, &x.t, pool, &o, s.n, &norm, &e) == 0,
            "%s trap teacher mode: step %d is made", kern_name(), i + 1);
    }
    model_head_hash(&x.teacher, after);
    ok(strcmp(before, after) == 0,
        "%s trap teacher mode: steps leave the "
        "teacher as it is",
        kern_name());
    adamw_free(opt);
    data_free(&x);
}

static void
final_norm(void)
{
    struct golden g;
    struct data x;
    struct bwd *w;
    struct fwd *f;
    float last[N * 16], normed[N * 16];
    size_t differ = 0;

    data_make(&x);
    golden_open(&g, DIR "tied.safetensors");
    w = bwd_new(&x.t, pool, B, T, 0);
    f = fwd_new(&x.t.m, pool, B, T);
    {
        const struct rows r = { B, T, x.ids, x.first };

        bwd_forward(w, &r);
        memcpy(last, bwd_hidden(w, 1), sizeof(last));
        fwd_norm(f, &r, last, normed);
        for (size_t i = 0; i < N * 16; i++)
            differ += !near(normed[i], bwd_final(w)[i], 1e-6, 1e-6);
    }
    ok(differ == 0 && last[0] != normed[0],
        "%s trap final norm: the last "
        "hidden state is before the norm, the final one after it",
        kern_name());
    fwd_free(f);
    bwd_free(w);
    golden_close(&g);
    data_free(&x);
}

static void
tied_head(void)
{
    struct model tied, untied;

    open_or_bail(&tied, DIR "tied-student");
    open_or_bail(&untied, DIR "untied-student");
    ok(tied.head.data == tied.embed.data && tied.c.tied,
        "trap tied head: the head is the embedding");
    ok(untied.head.data != untied.embed.data && !untied.c.tied,
        "trap tied head: an untied head is its own");
    ok(tied.c.D == 6 && tied.c.D * tied.c.H != tied.c.d,
        "trap head_dim: read from the file, not hidden / heads");
    model_close(&tied);
    model_close(&untied);
}

int
main(void)
{
    pool = pool_new(2, NULL);
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        losses();
        padding();
        no_scored_tokens();
        packing();
        frozen_teacher();
        final_norm();
        ok(strcmp(kern_name(), kern_sets[i]) == 0,
            "%s: models keep the kernels that are forced", kern_sets[i]);
    }
    tied_head();
    pool_free(pool);
    return done_testing();
}
