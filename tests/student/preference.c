/*
 * Losses of preferences: values that TRL 1.16's own code gives in double
 * precision (scripts/oracle/dpo.py losses), and gradients by differences.
 */
#include "../lib/tap.h"
#include "student/preference.h"

/* Losses of one pair with beta 0.1: chosen 0.5, rejected -0.3, of 5 and 8
 * tokens. */
static const struct {
    enum preference loss;
    double smoothing, value;
} golden[] = {
    { PREFERENCE_SIGMOID, 0.0, 0.6539470 },
    { PREFERENCE_SIGMOID_NORM, 0.0, 0.6862958 },
    { PREFERENCE_HINGE, 0.0, 0.92 },
    { PREFERENCE_IPO, 0.0, 23.6439062 },
    { PREFERENCE_ROBUST, 0.1, 0.6439470 },
    { PREFERENCE_EXO_PAIR, 1e-3, 2.6239686 },
    { PREFERENCE_NCA_PAIR, 0.0, 1.3668193 },
    { PREFERENCE_APO_ZERO, 0.0, 0.9800032 },
    { PREFERENCE_APO_DOWN, 0.0, 0.9925081 },
    { PREFERENCE_SPPO_HARD, 0.0, 42.34 },
    { PREFERENCE_DISCOPOP, 0.0, 0.8779008 },
};

static double
value_at(enum preference loss, double smoothing, double c, double r)
{
    struct preference_grad g = { 0, 0 };

    return preference_loss(loss, 0.3, smoothing,
        &(struct preference_pair){ c, r, 5, 8 }, 1.0, &g);
}

/* Compare the gradient with central differences. */
static void
gradients(enum preference loss, double c, double r)
{
    const double e =
        loss == PREFERENCE_ROBUST || loss == PREFERENCE_EXO_PAIR ? 0.1 : 0.0;
    const double step = 1e-5;
    const double dc =
        (value_at(loss, e, c + step, r) - value_at(loss, e, c - step, r)) /
        (2.0 * step);
    const double dr =
        (value_at(loss, e, c, r + step) - value_at(loss, e, c, r - step)) /
        (2.0 * step);
    struct preference_grad g = { 0, 0 };

    preference_loss(loss, 0.3, e, &(struct preference_pair){ c, r, 5, 8 }, 2.0,
        &g);
    ok(near(g.chosen / 2.0, dc, 1e-8, 1e-7) &&
            near(g.rejected / 2.0, dr, 1e-8, 1e-7),
        "the gradient of %s at %g and %g is its slope", preference_names[loss],
        c, r);
}

int
main(void)
{
    struct preference_grad g = { 0, 0 };

    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const double got =
            preference_loss(golden[i].loss, 0.1, golden[i].smoothing,
                &(struct preference_pair){ 0.5, -0.3, 5, 8 }, 1.0, &g);

        ok(near(got, golden[i].value, 5e-8, 1e-8), "%s is TRL's: %.7f",
            preference_names[golden[i].loss], got);
    }
    for (int k = 0; k < PREFERENCE_N; k++) {
        gradients((enum preference)k, 0.5, -0.3);
        gradients((enum preference)k, -2.0, 1.5);
    }
    ok(near(preference_loss(PREFERENCE_SIGMOID, 0.1, 0.0,
                &(struct preference_pair){ 0, 0, 3, 4 }, 1.0, &g),
           log(2.0), 1e-15, 0),
        "a policy equal to its reference has the loss log 2");
    return done_testing();
}
