/* The rules for a teacher's tensors in a batch: retort-stream(5). */
#include "msg/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set of the ids seen for one token: a hash table with open addressing.  Its
 * size is a power of two and at least twice the number of ids.  Entries left
 * from other tokens count as free. */
struct seen {
    struct entry {
        uint32_t id, token;
    } * at;
    size_t mask;
};

/* Add an id of token number `token` (from 1) to the set.  Returns 1 if it was
 * there already. */
static int
seen_put(struct seen *s, uint32_t id, uint32_t token)
{
    size_t i = id * UINT32_C(2654435761) & s->mask;

    for (; s->at[i].token == token; i = (i + 1) & s->mask)
        if (s->at[i].id == id)
            return 1;
    s->at[i] = (struct entry){ id, token };
    return 0;
}

/* Number of a token's k entries that are used; kind: teacher.kind, or NULL. */
static size_t
entry_count(const struct st_tensor *kind, size_t token, size_t k)
{
    const uint8_t *byte = kind ? kind->data : NULL;

    return !kind || byte[token] == 1 ? k : byte[token] == 2;
}

static int
check_top_ids(const struct st_tensor *ids, const struct st_tensor *kind,
    size_t vocab, struct err *e)
{
    const size_t k = ids->shape[2];
    struct seen s = { .mask = 1 };
    int r = 0;

    while (s.mask < 2 * k)
        s.mask *= 2;
    s.at = xcalloc(s.mask--, sizeof *s.at);
    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        const uint32_t id = st_u32(ids, i);

        if (i % k >= entry_count(kind, i / k, k)) {
            if (id != 0)
                r = err_set(e, EX_INPUT,
                    "teacher.top.ids[%zu] is %u in an entry that teacher.kind "
                    "leaves out",
                    i, id);
        } else if (vocab > 0 && id >= vocab)
            r = err_set(e, EX_INPUT,
                "teacher.top.ids[%zu] is %u, but the teacher's vocabulary ends "
                "at %zu",
                i, id, vocab);
        else if (seen_put(&s, id, (uint32_t)(i / k) + 1))
            r = err_set(e, EX_INPUT, "teacher.top.ids[%zu] is %u once more", i,
                id);
    }
    free(s.at);
    return r;
}

/* Check that each token's log-probabilities are at most 0 and do not rise;
 * entries that the kind leaves out are +0.  Bits are compared: as negative
 * half-precision numbers fall, their bits rise. */
static int
check_half(const struct st_tensor *t, const struct st_tensor *kind,
    struct err *e)
{
    const size_t k = t->shape[2];
    uint16_t before = 0;

    for (size_t i = 0; i < t->n; i++) {
        const uint16_t u = st_u16(t, i), v = u == 0 ? 0x8000 : u;

        if (i % k == 0)
            before = 0x8000;
        if (i % k >= entry_count(kind, i / k, k) ? u != 0
                                                 : !(v >= before && v < 0xfc00))
            return err_set(e, EX_INPUT,
                "teacher.top.logp[%zu] (bits %04x) is not finite, above 0 or "
                "above the one before it",
                i, u);
        before = v;
    }
    return 0;
}

static float
float_at(const struct st_tensor *t, size_t i)
{
    float f;

    memcpy(&f, (const char *)t->data + 4 * i, 4);
    return f;
}

static int
check_float(const struct st_tensor *t, const struct st_tensor *kind,
    struct err *e)
{
    const size_t k = t->shape[2];

    for (size_t i = 0; i < t->n; i++) {
        const float x = float_at(t, i);

        if (i % k >= entry_count(kind, i / k, k)
                ? x != 0.0f
                : !(isfinite(x) && x <= (i % k ? float_at(t, i - 1) : 0.0f)))
            return err_set(e, EX_INPUT,
                "teacher.top.logp[%zu] is %g: not finite, above 0 or above the "
                "one before it",
                i, (double)x);
    }
    return 0;
}

/* Check teacher.kind and teacher.rest, which stand in place of teacher.lse. */
static int
check_kinds(const struct st *s, const struct st_tensor *kind, const size_t *bt,
    struct err *e)
{
    const struct st_tensor *rest;
    const uint8_t *byte = kind->data;

    if (!(kind = st_need(s, "teacher.kind", DT_U8, 2, bt, e)) ||
        !(rest = st_need(s, "teacher.rest", DT_F32, 2, bt, e)))
        return -1;
    for (size_t i = 0; i < kind->n; i++) {
        const float x = float_at(rest, i);

        if (byte[i] > 2)
            return err_set(e, EX_INPUT, "teacher.kind[%zu] is %u", i, byte[i]);
        if (!(isfinite(x) && x <= 0.0f) || (byte[i] == 0 && x != 0.0f))
            return err_set(e, EX_INPUT, "teacher.rest[%zu] is %g", i,
                (double)x);
    }
    return 0;
}

/* Check teacher.lse. */
static int
check_lse(const struct st *s, const size_t *bt, struct err *e)
{
    const size_t two[3] = { bt[0], bt[1], 2 };
    const struct st_tensor *lse = st_need(s, "teacher.lse", DT_F32, 3, two, e);

    if (!lse)
        return -1;
    for (size_t i = 0; i < lse->n; i++)
        if (!isfinite(float_at(lse, i)))
            return err_set(e, EX_INPUT, "teacher.lse[%zu] is not finite", i);
    return 0;
}

int
batch_check_top(const struct st *s, size_t vocab, struct err *e)
{
    const size_t *bt = st_find(s, "ids")->shape;
    const struct st_tensor *ids = st_find(s, "teacher.top.ids");
    const struct st_tensor *logp = st_find(s, "teacher.top.logp");
    const struct st_tensor *kind = st_find(s, "teacher.kind");
    const enum dtype t = logp && logp->dtype == DT_F16 ? DT_F16 : DT_F32;
    size_t shape[3] = { bt[0], bt[1], SIZE_MAX };

    if (!ids && !logp && !kind)
        return 0;
    if (!(ids = st_need(s, "teacher.top.ids", DT_U32, 3, shape, e)))
        return -1;
    shape[2] = ids->shape[2];
    if (!(logp = st_need(s, "teacher.top.logp", t, 3, shape, e)) ||
        (kind ? check_kinds(s, kind, bt, e) : check_lse(s, bt, e)) < 0)
        return -1;
    if (shape[2] == 0)
        return err_set(e, EX_INPUT, "teacher.top.ids: 0 top tokens");
    return check_top_ids(ids, kind, vocab, e) < 0 ||
            (t == DT_F16 ? check_half(logp, kind, e)
                         : check_float(logp, kind, e)) < 0
        ? -1
        : 1;
}

static int
check_draws(const struct st_tensor *ids, const struct st_tensor *count,
    size_t i, size_t vocab, struct err *e)
{
    const size_t n = ids->shape[2], at = i * n;
    const uint8_t *byte = count->data;
    size_t sum = 0, before = n; /* count of the entry before; starts as any
                                 * number but 0 */

    for (size_t j = 0; j < n; j++) {
        const uint32_t id = st_u32(ids, at + j);
        const size_t c =
            count->dtype == DT_U8 ? byte[at + j] : st_u16(count, at + j);

        if (c > 0 ? before == 0 || (vocab > 0 && id >= vocab) ||
                    (j > 0 && id <= st_u32(ids, at + j - 1))
                  : id != 0)
            return err_set(e, EX_INPUT,
                "teacher.sample.ids[%zu] is %u, %zu times: it is out of order "
                "or not below %zu, the teacher's vocabulary",
                at + j, id, c, vocab);
        sum += c;
        before = c;
    }
    if (sum != n && sum != 0)
        return err_set(e, EX_INPUT,
            "teacher.sample.count: %zu of %zu draws of token %zu", sum, n, i);
    return 0;
}

int
batch_check_sample(const struct st *s, size_t vocab, struct err *e)
{
    const size_t *bt = st_find(s, "ids")->shape;
    const struct st_tensor *ids = st_find(s, "teacher.sample.ids");
    const struct st_tensor *count = st_find(s, "teacher.sample.count"), *self;
    const enum dtype t = count && count->dtype == DT_U8 ? DT_U8 : DT_U16;
    size_t shape[3] = { bt[0], bt[1], SIZE_MAX };

    if (!ids && !count)
        return 0;
    if (!(ids = st_need(s, "teacher.sample.ids", DT_U32, 3, shape, e)))
        return -1;
    shape[2] = ids->shape[2];
    if (!(count = st_need(s, "teacher.sample.count", t, 3, shape, e)) ||
        !(self = st_need(s, "teacher.sample.plogp", DT_F32, 2, bt, e)))
        return -1;
    if (shape[2] == 0)
        return err_set(e, EX_INPUT, "teacher.sample.ids: 0 draws");
    for (size_t i = 0; i < self->n; i++) {
        if (!(isfinite(float_at(self, i)) && float_at(self, i) <= 0.0f))
            return err_set(e, EX_INPUT, "teacher.sample.plogp[%zu] is %g", i,
                (double)float_at(self, i));
        if (check_draws(ids, count, i, vocab, e) < 0)
            return -1;
    }
    return 1;
}
