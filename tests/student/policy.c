/*
 * Advantages, losses and gradients of GRPO and its variants: against TRL in
 * double precision (scripts/oracle/policy.py), and against numbers that were
 * worked out by hand from its formulas.
 */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "student/policy.h"

enum { MOST = 64, B = 6, T = 9, LONGEST = 12 };
static struct golden golden;

static void
doubles_of(const char *name, double *to)
{
    const struct st_tensor *t = golden_get(&golden, name);

    for (size_t i = 0; i < t->n; i++)
        to[i] = golden_at(t, i);
}

static void
test_advantages(const char *name, size_t groups, size_t n)
{
    static const char *const scale[] = { "group", "batch", "none" };
    double reward[MOST], want[MOST], got[MOST], figures[3];
    char key[80];

    snprintf(key, sizeof key, "%s.reward", name);
    doubles_of(key, reward);
    for (int s = POLICY_GROUP; s <= POLICY_NONE; s++) {
        struct policy_rewards r;
        int good = 1;

        snprintf(key, sizeof key, "%s.%s.advantage", name, scale[s]);
        doubles_of(key, want);
        snprintf(key, sizeof key, "%s.%s.figures", name, scale[s]);
        doubles_of(key, figures);
        policy_advantages(reward, groups, n, (enum policy_scale)s, got, &r);
        for (size_t i = 0; i < groups * n; i++)
            good &= near(got[i], want[i], 1e-12, 1e-10);
        ok(good, "advantages of the rewards '%s', scale %s, are TRL's", name,
            scale[s]);
        ok(near(r.mean, figures[0], 1e-12, 1e-12) &&
                near(r.std, figures[1], 1e-12, 1e-12) &&
                near(r.zero, figures[2], 1e-12, 1e-12),
            "figures of the rewards '%s', scale %s, are TRL's", name, scale[s]);
    }
}

struct texts {
    float logp[B * T], old[B * T], ref[B * T];
    double advantage[B];
    size_t length[B], tokens;
};

static void
texts_read(struct texts *x)
{
    const struct st_tensor *n = golden_get(&golden, "length");

    memcpy(x->logp, golden_get(&golden, "logp")->data, sizeof x->logp);
    memcpy(x->old, golden_get(&golden, "old")->data, sizeof x->old);
    memcpy(x->ref, golden_get(&golden, "ref")->data, sizeof x->ref);
    doubles_of("advantage", x->advantage);
    x->tokens = 0;
    for (size_t b = 0; b < B; b++) {
        x->length[b] = (size_t)golden_at(n, b);
        x->tokens += x->length[b];
    }
}

/* The losses of all texts, added text by text or in two parts. */
static struct policy_sum
texts_loss(const struct texts *x, const struct policy_opt *o, int aged,
    int parts, float *grad)
{
    struct policy_sum sum[2] = { { .texts = 0 }, { .texts = 0 } };

    for (size_t b = 0; b < B; b++) {
        const struct policy_text t = { .n = x->length[b],
            .advantage = x->advantage[b],
            .weight = policy_weight(o, B, x->tokens, x->length[b]),
            .logp = x->logp + b * T,
            .old = aged ? x->old + b * T : NULL,
            .ref = x->ref + b * T };

        policy_loss(o, &t, &sum[parts && b >= 2], grad + b * T);
    }
    policy_sum_add(&sum[0], &sum[1]);
    return sum[0];
}

/* Compare the loss, the KL and the gradient with those of the case `name`;
 * value gets all figures of the case. */
static void
test_sums(const char *name, const struct policy_sum *s, const float *grad,
    double *value)
{
    double want[B * T];
    char key[80];

    snprintf(key, sizeof key, "%s.value", name);
    doubles_of(key, value);
    snprintf(key, sizeof key, "%s.grad", name);
    doubles_of(key, want);
    ok(near(s->loss, value[0], 1e-12, 1e-10) &&
            near(s->kl / (double)s->tokens, value[1], 1e-12, 1e-10),
        "loss and KL of %s are TRL's", name);
    ok(farthest(grad, want, B * T) < 1e-7, "the gradient of %s is TRL's", name);
}

static void
test_case(const struct texts *x, const char *name, const struct policy_opt *o,
    int aged)
{
    float grad[B * T] = { 0 }, other[B * T] = { 0 };
    double value[6];
    const struct policy_sum s = texts_loss(x, o, aged, 0, grad);
    const struct policy_sum parts = texts_loss(x, o, aged, 1, other);
    const double n = (double)s.tokens;

    test_sums(name, &s, grad, value);
    ok(near(s.low / n, value[2], 1e-7, 0) &&
            near(s.low_min, value[3], 1e-7, 0) &&
            near(s.high / n, value[4], 1e-7, 0) &&
            near(s.high_max, value[5], 1e-7, 0),
        "the clipped shares of %s are TRL's", name);
    ok(near(parts.loss, s.loss, 1e-14, 0) && parts.low_min == s.low_min &&
            parts.high_max == s.high_max && parts.tokens == s.tokens &&
            memcmp(grad, other, sizeof grad) == 0,
        "texts of %s that are added in two parts give the same sums", name);
}

/* A loss for which TRL has fewer figures. */
static void
test_soft_case(const struct texts *x, const char *name,
    const struct policy_opt *o, int aged)
{
    float grad[B * T] = { 0 };
    double value[3];
    const struct policy_sum s = texts_loss(x, o, aged, 0, grad);
    const double n = (double)s.tokens;

    test_sums(name, &s, grad, value);
    ok(near(s.high / n, value[2], 1e-7, 0) && s.low == 0.0,
        "the clipped share of %s is TRL's", name);
}

static void
test_losses(void)
{
    static const char *const kind[] = { "grpo", "bnpo", "dr_grpo", "dapo",
        "cispo", "sapo" };
    static const char *const age[] = { "fresh", "old" };
    static const char *const kl[] = { "0p", "0.04p", "0.04c" };
    struct texts x;

    texts_read(&x);
    for (int k = POLICY_GRPO; k <= POLICY_SAPO; k++)
        for (int aged = 0; aged < 2; aged++)
            for (int i = 0; i < 3; i++) {
                const struct policy_opt o = { .kind = (enum policy_kind)k,
                    .low = 0.2,
                    .high = 0.28,
                    .beta = i > 0 ? 0.04 : 0.0,
                    .corrected = i == 2,
                    .longest = LONGEST };
                char name[40];

                snprintf(name, sizeof name, "%s.%s.%s", kind[k], age[aged],
                    kl[i]);
                if (k <= POLICY_DAPO)
                    test_case(&x, name, &o, aged);
                else
                    test_soft_case(&x, name, &o, aged);
            }
}

/* One token: logp -1.2, old -1.5, reference -1. */
static void
test_by_hand(void)
{
    static const float logp = -1.2f, old = -1.5f, ref = -1.0f;
    struct policy_opt o = { POLICY_DAPO, 0.2, 0.2, 0.0, 0, 1 };
    struct policy_text t = { 1, 1.0, 1.0, &logp, &old, &ref };
    struct policy_sum s = { .texts = 0 };
    double sum = 0.0;
    float g;

    policy_loss(&o, &t, &s, &g);
    ok(near(s.loss, -1.2, 1e-6, 0) && g == 0.0f && s.high == 1.0,
        "a token above the clip with advantage 1 has no gradient");
    t.advantage = -1.0;
    s = (struct policy_sum){ .texts = 0 };
    policy_loss(&o, &t, &s, &g);
    ok(near(s.loss, 1.3498588, 1e-6, 0) && near(g, 1.3498588, 1e-6, 0) &&
            s.high == 0.0,
        "a token above the clip with advantage -1 is not clipped");
    o.beta = 0.04;
    o.corrected = 1;
    t.advantage = 1.0;
    s = (struct policy_sum){ .texts = 0 };
    policy_loss(&o, &t, &s, &g);
    ok(near(s.loss, -1.1988444, 1e-6, 0),
        "a corrected KL is multiplied by the ratio");
    for (int i = 0; i < 3; i++) {
        t.old = NULL;
        t.advantage = 0.5 * i - 0.5;
        o.beta = 0.0;
        policy_loss(&o, &t, &s, &g);
        sum += fabs(g + t.advantage);
    }
    ok(sum == 0.0, "a fresh text has REINFORCE's gradient");
}

static void
test_equal(void)
{
    static const double one[] = { 1, NAN, 1, 1 }, two[] = { NAN, 1, 0, 1 },
                        none[] = { NAN, NAN };

    ok(policy_equal(one, 4) && policy_equal(none, 2),
        "rewards of one value are equal, without those that are missing");
    ok(!policy_equal(two, 4), "rewards of two values are not equal");
}

int
main(void)
{
    golden_open(&golden, "tests/golden/grad/policy.safetensors");
    test_advantages("eight", 1, 8);
    test_advantages("equal", 3, 4);
    test_advantages("missing", 3, 4);
    test_advantages("random", 5, 6);
    test_losses();
    test_by_hand();
    test_equal();
    golden_close(&golden);
    return done_testing();
}
