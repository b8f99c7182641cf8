/*
 * A student that is not cut from its teacher (other depth, width, padding of
 * the vocabulary): which blocks are compared; losses and every gradient against
 * PyTorch in double precision (scripts/oracle/flex.py); and that bits do not
 * depend on how rows are grouped.
 */
#include "../lib/golden.h"
#include "../lib/sorted.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/pass/depth_map.h"
#include "model/config/family.h"
#include "train/head_loss.h"

#include <math.h>

#define DIR "tests/golden/grad/"
enum { L = 2, TOKENIZER = 59 };

struct data {
    struct golden g;
    const char *name;
    struct model student;
    struct weight head;
    struct targets targets;
    struct targets_tensor hidden[L];
    size_t B, T;
    uint32_t *ids, *first;
    const uint8_t *scored;
};

static const struct st_tensor *
get(const struct data *x, const char *name)
{
    char key[160];

    snprintf(key, sizeof(key), "%s.%s", x->name, name);
    return golden_get(&x->g, key);
}

static void
pieces(struct data *x)
{
    const struct st_tensor *row = get(x, "piece_row");
    const struct st_tensor *len = get(x, "piece_len");
    size_t at = 0;

    memset(x->first, 0xff, x->B * x->T * sizeof(*x->first));
    for (size_t i = 0; i < row->n; i++) {
        const uint32_t r = st_u32(row, i);

        at = i > 0 && r == st_u32(row, i - 1) ? at : 0;
        for (uint32_t k = 0; k < st_u32(len, i); k++)
            x->first[r * x->T + at + k] = (uint32_t)at;
        at += st_u32(len, i);
    }
}

static void
data_open(struct data *x, const char *name, size_t depth)
{
    const struct st_tensor *t;
    size_t map[L];
    const char *how;
    struct err e;

    memset(x, 0, sizeof(*x));
    x->name = name;
    golden_open(&x->g, DIR "flex.safetensors");
    if (model_open(&x->student, DIR "untied-student", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    t = get(x, "ids");
    x->B = t->shape[0];
    x->T = t->shape[1];
    x->ids = xreallocarray(NULL, t->n, sizeof(*x->ids));
    x->first = xreallocarray(NULL, t->n, sizeof(*x->first));
    for (size_t i = 0; i < t->n; i++)
        x->ids[i] = st_u16(t, i);
    pieces(x);
    x->scored = get(x, "scored")->data;
    t = get(x, "teacher.head");
    x->head = (struct weight){ .data = t->data,
        .dtype = DT_F32,
        .rows = t->shape[0],
        .cols = t->shape[1],
        .stride = t->shape[1] * sizeof(float) };
    x->targets = (struct targets){ .kind = TARGETS_FINAL,
        .width = t->shape[1],
        .nblock = L,
        .depth = t->shape[1],
        .vocab = t->shape[0] == x->student.c.V ? 0 : TOKENIZER,
        .T = x->T,
        .part = { { get(x, "teacher.final")->data, DT_F32, t->shape[1] } },
        .hidden = x->hidden };
    ok(depth_map(&x->student, depth, t->shape[1], map, &how, &e) == 0,
        "%s %s: blocks are matched %s", kern_name(), name, how);
    for (size_t l = 0; l < L; l++) {
        char key[40];

        snprintf(key, sizeof(key), "teacher.hidden.%zu", map[l]);
        x->hidden[l] =
            (struct targets_tensor){ get(x, key)->data, DT_F32, t->shape[1] };
    }
}

static void
data_close(struct data *x)
{
    free(x->ids);
    free(x->first);
    model_close(&x->student);
    golden_close(&x->g);
}

static struct loss_sum
run(struct data *x, struct tmodel *t, struct pool *pool, size_t rows, int how)
{
    static const struct loss_opt o = { .w_ce = 0.25,
        .w_kl = 1,
        .w_sh = 1,
        .tau = 3 };
    struct step *s =
        step_new(t, pool, &o, rows, x->T, how, &x->targets, &x->head);
    struct loss_sum sum = { 0 };

    step_add(s, &(struct rows){ x->B, x->T, x->ids, x->first }, x->scored,
        &x->targets, &sum);
    step_flush(s);
    step_free(s);
    return sum;
}

/* The largest difference of a tensor's gradient, g / by, from the golden one,
 * relative to the golden one's largest value. */
static double
off(const struct data *x, const char *name, const float *g, size_t n, double by)
{
    char key[120];
    const struct st_tensor *want;
    double top = 0.0, worst = 0.0;

    snprintf(key, sizeof(key), "grad.LOSS.%s", name);
    want = get(x, key);
    for (size_t i = 0; i < n; i++)
        top = fmax(top, fabs(golden_at(want, i)));
    for (size_t i = 0; i < n; i++)
        worst = farther(worst, fabs(g[i] / by - golden_at(want, i)));
    return want->n == n && top > 0.0 ? worst / top : INFINITY;
}

static double
off_all(const struct data *x, const struct tmodel *t, double by)
{
    static const char *const rest[] = { "model.embed_tokens.weight",
        "model.norm.weight", "lm_head.weight" };
    double worst = 0.0;

    for (size_t i = 0; i < L; i++)
        for (int w = 0; w <= W_DOWN; w++) {
            const struct group *g = &t->group[i];
            char name[100];

            snprintf(name, sizeof(name), "model.layers.%zu.%s", i,
                block_tensor_name(&t->m.c, w));
            worst = farther(worst,
                off(x, name, g->g + g->at[w], g->at[w + 1] - g->at[w], by));
        }
    for (size_t i = 0; i < 3; i++)
        worst = farther(worst,
            off(x, rest[i], t->group[L + i].g, t->group[L + i].n, by));
    return worst;
}

static void
compare(const char *set, const char *name, size_t depth)
{
    static const struct {
        size_t threads, rows;
        int how;
        const char *what;
    } ways[] = { { 1, 3, 0, "" }, { 3, 1, 0, "3 threads, a row at a time" },
        { 2, 2, BWD_RECOMPUTE, "recomputed" } };
    struct data x;
    struct tmodel t[3];

    data_open(&x, name, depth);
    for (size_t k = 0; k < 3; k++) {
        struct pool *pool = pool_new(ways[k].threads, NULL);
        struct loss_sum s;
        double n;
        size_t differ = 0;

        tmodel_init(&t[k], &x.student);
        s = run(&x, &t[k], pool, ways[k].rows, ways[k].how);
        n = (double)s.n;
        for (size_t i = 0; i < t[k].ngroup; i++)
            differ += memcmp(t[k].group[i].g, t[0].group[i].g,
                          t[0].group[i].n * sizeof(float)) != 0;
        if (k == 0) {
            const double worst = off_all(&x, &t[0], n);

            ok(near(s.ce / n, golden_at(get(&x, "CE"), 0), 0, 2e-6) &&
                    near(s.kl / n, golden_at(get(&x, "KL"), 0), 0, 2e-6) &&
                    near(s.sh / n, golden_at(get(&x, "SH"), 0), 0, 2e-6),
                "%s %s, %s: CE, KL and SquareHead are PyTorch's", set, name,
                ways[k].what);
            ok(worst <= 1e-4, "%s %s, %s: gradients are off by %.2g", set, name,
                ways[k].what, worst);
        } else {
            ok(differ == 0, "%s %s, %s: no bit changes", set, name,
                ways[k].what);
        }
        pool_free(pool);
    }
    for (size_t k = 0; k < 3; k++)
        tmodel_release(&t[k]);
    data_close(&x);
}

/* Blocks of a student are matched with its teacher's: 24 with 28, 28 with 24,
 * 28 with 28, and those of cut models. */
static void
maps(void)
{
    struct block b[28] = { 0 };
    struct model m = { .block = b };
    size_t map[28], bad = 0;
    const char *how;
    struct err e;

    m.c.d = 896;
    m.c.L = 24;
    (void)depth_map(&m, 28, 1536, map, &how, &e);
    for (size_t i = 0; i < 24; i++)
        bad += map[i] != (size_t)lround(floor((i + 1) * 28 / 24.0 + 0.5)) - 1;
    ok(bad == 0 && map[0] == 0 && map[23] == 27 && map[11] == 13,
        "24 blocks are matched with 28");
    m.c.L = 28;
    (void)depth_map(&m, 24, 896, map, &how, &e);
    for (size_t i = 1; i < 28; i++)
        bad += map[i] < map[i - 1] || map[i] > map[i - 1] + 1;
    ok(bad == 0 && map[0] == 0 && map[27] == 23,
        "28 blocks are matched with 24");
    (void)depth_map(&m, 28, 896, map, &how, &e);
    for (size_t i = 0; i < 28; i++)
        bad += map[i] != i;
    ok(bad == 0, "a block of as many is matched with its own");
    m.c.L = 2;
    m.c.cut = 1;
    b[1].source = 1;
    (void)depth_map(&m, 28, 896, map, &how, &e);
    ok(map[0] == 0 && map[1] == 1,
        "the first two blocks of a cut model are matched with themselves");
    (void)depth_map(&m, 28, 1536, map, &how, &e);
    ok(map[0] == 13 && map[1] == 27,
        "a model cut from a narrower one is matched by depth");
    b[1].source = 28;
    ok(depth_map(&m, 28, 896, map, &how, &e) == -1 &&
            strstr(e.msg, "block 1 was cut from block 28"),
        "a block cut from one that is not there is refused: %s", e.msg);
}

/* The teacher has probabilities for the first N of V ids only: all of the first
 * slice of the vocabulary, part of the second, none of the third.  Both models'
 * heads are the identity. */
static void
cut_off(const char *set, struct pool *pool)
{
    enum { V = 600, N = 259, TARGET = 599 };
    static const struct loss_opt o = { .w_ce = 0.25, .w_kl = 1, .tau = 2 };
    const uint32_t zero = 0, target = TARGET;
    float *eye = xcalloc(V * V, sizeof(float)), z[2][V], g[V];
    float *dw = xcalloc(V * V, sizeof(float));
    const struct weight wt = { .data = (void *)eye,
        .dtype = DT_F32,
        .rows = V,
        .cols = V,
        .stride = V * sizeof(float) };
    const struct targets targets = { .kind = TARGETS_FINAL,
        .width = V,
        .vocab = N,
        .part = { { (void *)z[1], DT_F32, V } } };
    double all = 0.0, soft[2] = { 0 }, kl = 0.0, worst = 0.0;
    struct loss_sum sum = { 0 };
    struct arena plan, a;
    struct head_loss *h;

    fill(z[0], V, 8.0, 1);
    fill(z[1], V, 8.0, 5);
    for (size_t v = 0; v < V; v++) {
        eye[v * V + v] = 1.0f;
        all += exp(z[0][v]);
        for (size_t k = 0; k < 2 && v < N; k++)
            soft[k] += exp(z[k][v] / o.tau);
    }
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, pool, V, V, &targets, 1, 0));
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, V, V, &targets, 1, 0);
    head_loss_rows(h, &o, &wt, &wt, z[0], &targets, &zero, &target, 1, dw, g,
        &sum);
    for (size_t v = 0; v < V; v++) {
        double want = o.w_ce * (exp(z[0][v]) / all - (v == TARGET));

        if (v < N) {
            const double q = exp(z[0][v] / o.tau) / soft[0];
            const double p = exp(z[1][v] / o.tau) / soft[1];

            kl += o.tau * o.tau * p * log(p / q);
            want += o.tau * (q - p);
        }
        worst = farther(worst, fabs(g[v] - want));
    }
    ok(near(sum.kl, kl, 0, 1e-6), "%s: KL over %d of %d ids", set, N, V);
    ok(worst <= 1e-6, "%s: the gradient over %d of %d ids is off by %.2g", set,
        N, V, worst);
    head_loss_free(h);
    arena_release(&a);
    free(eye);
    free(dw);
}

int
main(void)
{
    struct pool *pool = pool_new(2, NULL);

    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        compare(kern_sets[i], "wide", 5);
        compare(kern_sets[i], "narrow", 1);
        cut_off(kern_sets[i], pool);
    }
    maps();
    pool_free(pool);
    return done_testing();
}
