/*
 * A step of student grpo on given texts: loss, figures and the gradient of
 * every tensor against TRL's loss and PyTorch in double precision, of adapters
 * against PEFT's (scripts/oracle/policy.py).
 */
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/pool.h"
#include "cli/die.h"
#include "model/files/adapter_file.h"
#include "model/config/family.h"
#include "student/grpo_batch.h"

enum { TEXTS = 4, S = 10, L = 2, LONGEST = 12 };
static struct golden golden;

/* Texts, old and reference log probabilities of the goldens. */
static void
set_texts(struct grpo *g)
{
    static struct prompt prompt;

    for (size_t k = 0; k < TEXTS; k++) {
        const size_t start =
            (size_t)golden_at(golden_get(&golden, "step.start"), k);
        const size_t n =
            (size_t)golden_at(golden_get(&golden, "step.length"), k);
        struct text *t = &g->roll.text[k];

        text_begin(t, &prompt, k);
        for (size_t i = 0; i < start + n; i++)
            tok_ids_push(&t->ids,
                st_u16(golden_get(&golden, "step.ids"), k * S + i));
        t->start = start;
        g->told[k] = (double)n;
        g->advantage[k] = golden_at(golden_get(&golden, "step.advantage"), k);
        for (size_t i = 0; i < n; i++) {
            g->old[k * LONGEST + i] =
                (float)golden_at(golden_get(&golden, "step.old"), k * S + i);
            g->ref[k * LONGEST + i] =
                (float)golden_at(golden_get(&golden, "step.ref"), k * S + i);
        }
    }
}

/* The distance of a gradient from the golden one, relative to the golden one's
 * largest value. */
static double
tensor_off(const char *kind, const char *name, const float *got)
{
    char key[160];

    snprintf(key, sizeof key, "step.%s.%s", kind, name);
    return golden_off(got, golden_get(&golden, key));
}

/* As gradient_off, for a model with an adapter. */
static double
adapter_off(const struct tmodel *t, const char *kind)
{
    static const char *const parts[] = { "lora_A.weight", "lora_B.weight",
        "lora_magnitude_vector" };
    double worst = 0.0;

    for (size_t i = 0; i < L * W_N; i++) {
        const struct low_rank *l = &t->adapter->low[i];
        const char *module = block_tensor_name(&t->m.c, (int)(i % W_N));
        const struct group *g = &t->group[i / W_N];
        const float *const p[] = { l->a, l->b, l->m };

        for (size_t k = 0; k < 3 && l->rank > 0; k++) {
            char name[140];

            if (p[k] == NULL)
                continue;
            snprintf(name, sizeof name,
                "base_model.model.model.layers.%zu.%.*s.%s", i / W_N,
                (int)(strrchr(module, '.') - module), module, parts[k]);
            worst =
                farther(worst, tensor_off(kind, name, g->g + (p[k] - g->p)));
        }
    }
    return worst;
}

static double
gradient_off(const struct tmodel *t, const char *kind)
{
    static const char *const outside[] = { "model.embed_tokens.weight",
        "model.norm.weight", "lm_head.weight" };
    double worst = 0.0;

    if (t->adapter != NULL)
        return adapter_off(t, kind);
    for (size_t i = 0; i < L; i++)
        for (int w = 0; w <= W_DOWN; w++) {
            char name[100];

            snprintf(name, sizeof name, "model.layers.%zu.%s", i,
                block_tensor_name(&t->m.c, w));
            worst = farther(worst,
                tensor_off(kind, name, t->group[i].g + t->group[i].at[w]));
        }
    for (size_t k = 0; k < 3; k++)
        worst = farther(worst, tensor_off(kind, outside[k], t->group[L + k].g));
    return worst;
}

static void
check_figures(const char *set, const char *kind, const struct grpo *g,
    const struct loss_sum *sum)
{
    const double n = sum->own[GRPO_TOKENS];
    double want[6];
    char key[40];

    snprintf(key, sizeof key, "step.%s.value", kind);
    for (size_t i = 0; i < 6; i++)
        want[i] = golden_at(golden_get(&golden, key), i);
    ok(near(sum->own[GRPO_LOSS], want[0], 1e-6, 2e-6) &&
            near(sum->own[GRPO_KL] / n, want[1], 1e-6, 2e-6),
        "%s: loss and KL of %s are TRL's", set, kind);
    ok(near(sum->own[GRPO_LOW] / n, want[2], 1e-7, 0) &&
            near(g->figures.low_min, want[3], 1e-7, 0) &&
            near(sum->own[GRPO_HIGH] / n, want[4], 1e-7, 0) &&
            near(g->figures.high_max, want[5], 1e-7, 0),
        "%s: clipped shares of %s are TRL's", set, kind);
}

static void
test_kind(const char *set, struct student *s, int kind, size_t micro)
{
    static const char *const names[] = { "grpo", "bnpo", "dr_grpo", "dapo" };
    static const struct rollout_args a = { .rows = TEXTS,
        .length = LONGEST,
        .temperature = 0.8 };
    static const struct targets none;
    const struct grpo_opt o = { .group = TEXTS,
        .iterations = 3,
        .policy = { (enum policy_kind)kind, 0.2, 0.28, 0.04, 1, LONGEST } };
    struct text text[TEXTS];
    struct grpo g = { .roll = { .a = &a, .text = text, .n = TEXTS } };
    const struct ranks_opt r = { .group = &s->ranks,
        .rows = TEXTS,
        .messages = 1 };
    struct loss_sum sum;

    text_rows_init(&g.roll.rows, TEXTS, S);
    grpo_begin(&g, s, &o);
    set_texts(&g);
    grpo_keep(&g, s);
    g.iteration = 1; /* so that g.old counts */
    s->loss = (struct loss_opt){ .tau = a.temperature, .logp = &g.loss };
    s->step = step_new(&s->t, s->pool, &s->loss, micro, S, 0, &none, NULL);
    s->sum = ranks_new(&r, s->step, &s->t, s->opt, s->pool);
    tmodel_zero_grad(&s->t);
    grpo_step(&g, s, &sum);
    check_figures(set, names[kind], &g, &sum);
    ok(gradient_off(&s->t, names[kind]) <= 1e-4,
        "%s: the gradient of %s, %zu rows a pass, is PyTorch's", set,
        names[kind], micro);
    ranks_free(s->sum);
    step_free(s->step);
    g.iteration = 0;
    for (size_t k = 0; k < TEXTS; k++)
        text_release(&text[k]);
    grpo_release(&g);
    text_rows_release(&g.roll.rows);
}

/* Steps of all weights. */
static void
test_model(const char *set, struct student *s)
{
    struct model m;
    struct err e;

    golden_open(&golden, "tests/golden/grad/policy.safetensors");
    if (model_open(&m, s->a->model, &e) < 0)
        die_err(&e);
    tmodel_init(&s->t, &m);
    s->opt = adamw_new(&s->t, DT_F32);
    for (int kind = POLICY_GRPO; kind <= POLICY_DAPO; kind++)
        test_kind(set, s, kind, 1 + (size_t)kind);
    adamw_free(s->opt);
    tmodel_release(&s->t);
    model_close(&m);
    golden_close(&golden);
}

/* Steps of the adapter `name`. */
static void
test_adapter(const char *set, struct student *s, const char *name)
{
    char path[100], what[60];
    struct err e;

    snprintf(what, sizeof what, "%s, adapter %s", set, name);
    snprintf(path, sizeof path, "tests/golden/lora/policy-%s.safetensors",
        name);
    golden_open(&golden, path);
    snprintf(path, sizeof path, "tests/golden/lora/%s", name);
    if (model_open(&s->base, s->a->model, &e) < 0 ||
        adapter_open(&s->adapter, path, &s->base, s->pool, &e) < 0)
        die_err(&e);
    tmodel_init_adapter(&s->t, &s->base, &s->adapter);
    s->opt = adamw_new(&s->t, DT_F32);
    test_kind(what, s, POLICY_GRPO, 1);
    test_kind(what, s, POLICY_DAPO, 3);
    adamw_free(s->opt);
    tmodel_release(&s->t);
    adapter_close(&s->adapter);
    model_close(&s->base);
    golden_close(&golden);
}

int
main(void)
{
    static const struct args whole = { .model =
                                           "tests/golden/grad/untied-student" };
    static const struct args adapted = { .model = "tests/golden/lora/two" };
    struct student s = { .ranks = *dist_world() };

    s.pool = pool_new(2, NULL);
    for (int i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        s.a = &whole;
        test_model(kern_sets[i], &s);
        s.a = &adapted;
        test_adapter(kern_sets[i], &s, "start");
        test_adapter(kern_sets[i], &s, "start_dora");
    }
    pool_free(s.pool);
    return done_testing();
}
