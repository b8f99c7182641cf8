/*
 * Training on rounded and masked weights against PyTorch and gguf-py
 * (scripts/oracle/qat.py): effective weights, and gradients of the masked
 * model, at the first of three steps; losses of all steps, and the weights
 * after each, from which the next one starts.  Gradients have the same bits as
 * those of a model whose weights are the effective ones.
 */
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/pool.h"
#include "train/effective.h"
#include "model/config/family.h"
#include "train/adamw.h"
#include "train/step.h"

#include <math.h>

#define DIR "tests/golden/qat"
enum { B = 2, T = 12, STEPS = 3, REMASK = 2 };

static struct golden g;
static struct pool *pool;

static const struct {
    const char *name, *rounding, *mask;
} cases[] = {
    { "q4_0", "q4_0", NULL },
    { "q8_0", "q8_0", NULL },
    { "int8", "int8", NULL },
    { "mask", "q4_0", "2:4" },
};
enum { CASES = 4, MASK = 3 };

static struct effective
how_of(size_t c)
{
    struct effective how;
    struct err e;
    int as = 0;

    while (strcmp(rounding_names[as], cases[c].rounding) != 0)
        as++;
    if (effective_parse(&how, as, cases[c].mask, &e) < 0)
        printf("Bail out! %s\n", e.msg);
    return how;
}

static void
begin(struct tmodel *t, struct effective how)
{
    struct model m;
    struct err e;
    int r = model_open(&m, DIR, &e);

    if (r == 0) {
        tmodel_init(t, &m);
        r = effective_begin(t, &how, &e);
    }
    if (r < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    model_close(&m);
    effective_choose(t, pool);
    effective_make(t, pool);
}

/* Set t's gradient sums to those of step s.  Returns the sums of losses. */
static struct loss_sum
gradients(struct tmodel *t, size_t s)
{
    const struct st_tensor *all = golden_get(&g, "ids");
    const struct loss_opt o = { .w_ce = 1.0, .tau = 1.0 };
    const struct targets nothing = { .kind = TARGETS_NONE };
    uint32_t ids[B * T], first[B * T] = { 0 };
    struct loss_sum sum = { 0 };
    uint8_t scored[B * T];
    struct step *step = step_new(t, pool, &o, B, T, 0, &nothing, NULL);

    for (size_t i = 0; i < B * T; i++) {
        ids[i] = ((const uint32_t *)all->data)[s * B * T + i];
        scored[i] = i % T + 1 < T;
    }
    tmodel_zero_grad(t);
    step_add(step, &(struct rows){ B, T, ids, first }, scored, &nothing, &sum);
    step_flush(step);
    step_free(step);
    return sum;
}

/* The largest difference of t's tensors from the goldens WHAT.NAME.  grads: of
 * gradients, divided by `by`; else of parameters, which are then set to the
 * goldens. */
static double
off(struct tmodel *t, const char *what, int grads, double by)
{
    const size_t L = t->m.c.L;
    double most = 0.0;
    char key[120];

    for (size_t i = 0; i < L + 2; i++)
        for (int k = 0; k < (i < L ? W_DOWN + 1 : 1); k++) {
            const struct group *r = &t->group[i];
            const struct st_tensor *want;
            float x[1024];

            if (i < L)
                snprintf(key, sizeof key, "%s.model.layers.%zu.%s", what, i,
                    block_tensor_name(&t->m.c, k));
            else
                snprintf(key, sizeof key, "%s.model.%s.weight", what,
                    i == L ? "embed_tokens" : "norm");
            want = golden_get(&g, key);
            for (size_t j = 0; j < want->n; j++) {
                x[j] = (float)((grads ? r->g : r->p)[r->at[k] + j] / by);
                if (!grads)
                    r->p[r->at[k] + j] = (float)golden_at(want, j);
            }
            most = farther(most, golden_off(x, want));
        }
    return most;
}

/* How many effective weights of some matrices are not the oracle's to the
 * bit? */
static size_t
differ(const struct tmodel *t, const char *name)
{
    const struct {
        const char *tensor;
        const struct weight *w;
    } shown[] = {
        { "model.embed_tokens.weight", &t->m.embed },
        { "model.layers.0.mlp.up_proj.weight", &t->m.block[0].w[W_UP] },
        { "model.layers.1.mlp.down_proj.weight", &t->m.block[1].w[W_DOWN] },
        { "model.layers.1.self_attn.o_proj.weight", &t->m.block[1].w[W_O] },
    };
    size_t wrong = 0;
    char key[120];

    for (size_t i = 0; i < 4; i++) {
        const float *x = weight_f32(shown[i].w);
        const struct st_tensor *want;

        snprintf(key, sizeof key, "%s.seen.%s", name, shown[i].tensor);
        want = golden_get(&g, key);
        for (size_t j = 0; j < want->n; j++)
            wrong += !((double)x[j] == golden_at(want, j));
        wrong += shown[i].w->rows * shown[i].w->cols != want->n;
    }
    return wrong;
}

/* A model u whose weights are t's effective ones has t's gradients.  Rounding
 * u's weights again changes none of them, so an export changes nothing (int8 is
 * not tried). */
static void
straight_through(struct tmodel *t, const struct effective *how, const char *set,
    const char *name)
{
    struct tmodel u;
    struct err e;
    size_t n = 0, m = 0, p = 0;

    tmodel_init(&u, &t->m);
    gradients(&u, 0);
    for (size_t i = 0; i < t->ngroup; i++) {
        n += memcmp(t->group[i].g, u.group[i].g,
                 t->group[i].n * sizeof(float)) != 0;
        p += memcmp(t->group[i].p, u.group[i].p,
                 t->group[i].n * sizeof(float)) != 0;
    }
    ok(n == 0 && p >= 2, "%s %s: the gradient is that at the effective weights",
        set, name);
    if (how->as == ROUND_INT8) {
        tmodel_release(&u);
        return;
    }
    if (effective_begin(&u, how, &e) < 0)
        ok(0, "%s", e.msg);
    effective_choose(&u, pool);
    effective_make(&u, pool);
    for (size_t i = 0; i < t->m.c.L * W_N; i++) {
        const struct weight *w = &u.m.block[i / W_N].w[i % W_N];
        const size_t at = u.group[i / W_N].at[i % W_N];

        m += memcmp(w->data, u.group[i / W_N].p + at, w->rows * w->stride) != 0;
    }
    ok(m == 0 &&
            memcmp(u.m.embed.data, u.group[u.m.c.L].p,
                u.m.embed.rows * u.m.embed.stride) == 0,
        "%s %s: rounding again changes no effective weight", set, name);
    tmodel_release(&u);
}

static void
three_steps(const char *set, size_t c)
{
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 0.01,
        .decay = 0.1,
        .clip = 1.0,
        .mask_decay = 0.02 };
    const char *name = cases[c].name;
    struct adamw *a;
    struct tmodel t;
    struct err e;
    char key[40];
    double far = 0.0, moved = 0.0, norm;

    begin(&t, how_of(c));
    a = adamw_new(&t, DT_F32);
    ok(differ(&t, name) == 0,
        "%s %s: effective weights are the oracle's to the bit", set, name);
    for (size_t s = 0; s < STEPS; s++) {
        const struct loss_sum sum = gradients(&t, s);

        snprintf(key, sizeof key, "%s.loss", name);
        far = farther(far,
            fabs(sum.ce / (double)sum.n - golden_at(golden_get(&g, key), s)));
        if (s == 0)
            straight_through(&t, &t.effective, set, name);
        if (s == 0 && c == MASK) {
            const double d = off(&t, "mask.grad", 1, (double)sum.n);

            ok(d <= 1e-5, "%s %s: the gradient is PyTorch's, off by %.2g", set,
                name, d);
        }
        if (adamw_step(a, &t, pool, &o, sum.n, &norm, &e) < 0)
            ok(0, "%s", e.msg);
        snprintf(key, sizeof key, "%s.%zu", name, s + 1);
        moved = farther(moved, off(&t, key, 0, 1.0));
        if ((s + 1) % REMASK == 0)
            effective_choose(&t, pool);
        effective_make(&t, pool);
    }
    ok(far <= 1e-6, "%s %s: losses of three steps are off by %.2g", set, name,
        far);
    ok(moved <= 1e-6, "%s %s: weights after each step are off by %.2g", set,
        name, moved);
    adamw_free(a);
    tmodel_release(&t);
}

/* Every effective matrix of a block keeps at most two weights of any four,
 * the same for any number of threads. */
static void
masks(void)
{
    struct tmodel t, u;
    struct pool *several = pool;
    struct err e;
    size_t wrong = 0, differs = 0;

    begin(&t, how_of(MASK));
    pool = pool_new(1, NULL);
    begin(&u, how_of(MASK));
    pool_free(pool);
    pool = several;
    for (size_t i = 0; i < t.m.c.L; i++)
        for (int k = 0; k < W_N; k++) {
            const struct group *r = &t.group[i];
            const struct weight *w = &t.m.block[i].w[k];
            const size_t n = w->rows * w->cols;

            if (block_is_vector(k))
                continue;
            wrong += group_mask_bytes(r, k) != (n + 7) / 8;
            for (size_t j = 0; j < n; j += 4) {
                size_t left = 0;

                for (size_t l = j; l < j + 4; l++)
                    left += weight_f32(w)[l] != 0.0f;
                wrong += left > 2;
            }
            differs += memcmp(r->mask[k], u.group[i].mask[k], n / 8) != 0 ||
                memcmp(w->data, u.m.block[i].w[k].data, n * 4) != 0;
        }
    ok(wrong == 0, "masks keep two of four (%zu)", wrong);
    ok(differs == 0, "one thread chooses the same masks");
    ok(effective_bytes(&t) == 4 * (t.group[0].n + t.group[1].n + t.group[2].n),
        "effective weights take 4 bytes a parameter");
    effective_end(&t);
    ok(strcmp(t.m.c.sparse, "2:4") == 0 &&
            t.m.block[1].sparse ==
                (1u << W_Q | 1u << W_K | 1u << W_V | 1u << W_O | 1u << W_GATE |
                    1u << W_UP | 1u << W_DOWN),
        "the finished model holds the effective weights");
    tmodel_release(&t);
    begin(&t, (struct effective){ 0 });
    ok(effective_bytes(&t) == 0 && t.group[0].e == NULL,
        "without --qat and --mask there are no effective weights");
    ok(effective_begin(&t, &(struct effective){ .keep = 2, .of = 3 }, &e) < 0 &&
            e.code == EX_USAGE &&
            strcmp(e.msg,
                "model.layers.0.self_attn.q_proj.weight: rows of 32 are no "
                "multiple of 3") == 0,
        "%s", e.msg);
    tmodel_release(&t);
    tmodel_release(&u);
}

int
main(void)
{
    pool = pool_new(3, NULL);
    golden_open(&g, DIR "/qat.safetensors");
    for (size_t i = 0; i < KERN_SETS; i++)
        for (size_t c = 0; c < CASES && kern_sets_use(kern_sets[i]); c++)
            three_steps(kern_sets[i], c);
    masks();
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
