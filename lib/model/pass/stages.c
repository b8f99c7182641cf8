/* Stages of a pipeline, and the order of work in it; see stages.h. */
#include "model/pass/stages.h"
#include "model/config/family.h"

int
stages_any(const struct pipeline *s)
{
    return s->n > 1;
}

int
stages_last(const struct pipeline *s)
{
    return s->n <= 1 || s->rank + 1 == s->n;
}

size_t
stages_cut(const struct pipeline *s, size_t L, size_t k)
{
    return L * k / (s->n * s->per);
}

size_t
stages_owner(const struct pipeline *s, size_t L, size_t group)
{
    size_t k = 0;

    if (group >= L)
        return group == L || group == L + OUTER_POSITIONS ? 0 : s->n - 1;
    while (stages_cut(s, L, k + 1) <= group)
        k++;
    return k % s->n;
}

/* The number of forward passes that a rank does; it does as many backward
 * passes. */
static size_t
passes(const struct pipeline *s, size_t pieces)
{
    return s->per * (s->per > 1 ? (pieces + s->n - 1) / s->n * s->n : pieces);
}

size_t
stages_ops(const struct pipeline *s, size_t pieces)
{
    return 2 * passes(s, pieces);
}

/* Forward (back: backward) pass i of a rank: n pieces go through one stage of
 * the rank, then through its next stage. */
static struct stage_op
nth_pass(const struct pipeline *s, size_t i, int back)
{
    const size_t round = i / s->n % s->per;
    const size_t turn = back ? s->per - 1 - round : round;

    return (struct stage_op){ turn * s->n + s->rank,
        i / (s->n * s->per) * s->n + i % s->n, back };
}

size_t
stages_lead(const struct pipeline *s)
{
    const size_t after = s->n - 1 - s->rank;

    return s->per > 1 ? 2 * after + (s->per - 1) * s->n : after;
}

struct stage_op
stages_op(const struct pipeline *s, size_t pieces, size_t i)
{
    const size_t all = passes(s, pieces), lead = stages_lead(s);
    const size_t ahead = lead < all ? lead : all;

    if (i < ahead)
        return nth_pass(s, i, 0);
    if (i < 2 * all - ahead)
        return nth_pass(s, (i - ahead) / 2 + ((i - ahead) % 2 ? 0 : ahead),
            (i - ahead) % 2);
    return nth_pass(s, i - all, 1);
}

size_t
stages_ahead(const struct pipeline *s, size_t stage)
{
    const size_t pieces = 4 * s->n; /* enough that passes alternate */
    size_t now = 0, most = 0;

    for (size_t i = 0; i < stages_ops(s, pieces); i++) {
        const struct stage_op op = stages_op(s, pieces, i);

        if (op.stage != stage)
            continue;
        now = op.back ? now - 1 : now + 1;
        most = now > most ? now : most;
    }
    return most;
}
