/* Makes layers sparse block by block: see sparsify_walk.h. */
#include "sparsify_walk.h"
#include "model/pass/head.h"
#include "profile_read.h"
#include "base/clock.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KL_TOKENS = 2048 };

/* ---- clocks ---- */

struct lap {
    double wall, cpu;
};

static struct lap
lap_begin(void)
{
    return (struct lap){ clock_now(), clock_cpu() };
}

static void
lap_end(struct sparsify *s, int what, struct lap l)
{
    s->spent[what] += clock_now() - l.wall;
    s->cpu[what] += clock_cpu() - l.cpu;
}

/* ---- Hessians ---- */

static void
pass_block(struct sparsify *s, size_t block,
    void (*go)(struct hess_walk *, size_t))
{
    const struct lap l = lap_begin();

    go(&s->on, block);
    lap_end(s, SPENT_PASSES, l);
}

static void
read_hessian(struct sparsify *s, size_t block, int input, size_t n)
{
    struct err e;
    const float *h =
        profile_hessian(s->profile, block, (enum fwd_input)input, &e);

    if (h == NULL)
        die_err(&e);
    for (size_t i = 0; i < n * n; i++)
        s->on.H[input][i] = h[i];
}

/* Make the Hessians of the inputs that the layers in `want` (bits of W_...)
 * read. */
static void
make_hessians(struct sparsify *s, size_t block, unsigned want)
{
    for (int k = 0; k < FWD_INPUTS; k++) {
        const size_t n = input_width(s->m, block, k);

        s->on.H[k] = NULL;
        if (!(input_readers[k] & want))
            continue;
        s->on.H[k] = xcalloc(n * n, sizeof(double));
        if (s->profile != NULL)
            read_hessian(s, block, k, n);
    }
    if (s->profile == NULL && want != 0)
        pass_block(s, block, hess_walk_look);
}

/* ---- layers ---- */

/* Count the zeros of l, and measure its error; dense becomes dense - sparse. */
static void
judge_layer(struct sparsify *s, struct layer *l, const struct hess *h,
    float *dense, const float *sparse)
{
    const size_t n = l->rows * l->cols;
    const double all = layer_energy(dense, l->rows, h, s->pool);

    l->zeros = 0;
    for (size_t i = 0; i < n; i++) {
        l->zeros += sparse[i] == 0.0f;
        dense[i] -= sparse[i];
    }
    l->error = layer_energy(dense, l->rows, h, s->pool);
    l->error = all > 0.0 ? l->error / all : 0.0;
    l->dead = h->dead;
    l->damp = h->damp;
    if (!isfinite(l->error))
        die(EX_NUM, "block %zu, %s: its error is not finite", l->block,
            layer_name(l->t));
}

/* Make the sparse matrix of l: [rows,cols], malloc'd. */
static float *
make_layer(struct sparsify *s, struct layer *l, const struct hess *h)
{
    const struct weight *w = &s->m->block[l->block].w[l->t];
    const struct lap lap = lap_begin();
    float *dense = xreallocarray(NULL, l->rows * l->cols, sizeof *dense);
    float *sparse = xreallocarray(NULL, l->rows * l->cols, sizeof *sparse);

    weight_rows(w, 0, l->rows, dense);
    model_forget(s->m, w);
    memcpy(sparse, dense, l->rows * l->cols * sizeof *dense);
    layer_sparsify(sparse, l->rows, l->cols, h, s->method, &s->pattern,
        s->pool);
    judge_layer(s, l, h, dense, sparse);
    free(dense);
    l->seconds += clock_now() - lap.wall;
    lap_end(s, SPENT_LAYERS, lap);
    return sparse;
}

static struct weight
layer_weight(const struct layer *l, const float *data)
{
    return (struct weight){ .data = (const unsigned char *)data,
        .dtype = DT_F32,
        .rows = l->rows,
        .cols = l->cols,
        .stride = l->cols * sizeof *data };
}

/* ---- sensitivity by KL ---- */

struct kl {
    size_t R, n;          /* number of rows used, of predictions scored there */
    struct fwd *f, *base; /* base: applies the dense model's head */
    float *x;             /* [R,T,d] work space */
    float *h;             /* [n,d] final states of the model with one layer
                           * sparse */
    float *hp;            /* [n,d] final states of the dense model */
};

/* h [n,d] = the final states of the scored predictions, computed from x
 * [R,T,d], the input of block i. */
static void
states_from(struct sparsify *s, size_t i, const float *x, float *h)
{
    const struct kl *k = s->kl;
    const size_t d = s->m->c.d;
    const struct rows r = { k->R, s->c->T, s->c->ids, s->c->first };

    memcpy(k->x, x, k->R * s->c->T * d * sizeof *x);
    for (; i < s->m->c.L; i++)
        fwd_block(k->f, i, &r, k->x, k->x);
    fwd_norm(k->f, &r, k->x, k->x);
    for (size_t j = 0; j < k->n; j++)
        memcpy(h + j * d, k->x + s->c->at[j] * d, d * sizeof *h);
}

static double
kl_of(struct sparsify *s, const struct layer *l, const float *sparse)
{
    const struct kl *k = s->kl;
    struct weight *w = &s->m->block[l->block].w[l->t];
    const struct weight dense = *w;
    struct pair_score *p = xcalloc(k->n, sizeof *p);
    double sum = 0.0;

    *w = layer_weight(l, sparse);
    states_from(s, l->block, s->on.x, k->h);
    *w = dense;
    head_score_pair(k->f, k->h, k->base, k->hp, s->m->c.V, s->c->target, k->n,
        1.0, p);
    for (size_t i = 0; i < k->n; i++)
        sum += p[i].kl;
    free(p);
    return sum / (double)k->n;
}

static void
kl_begin(struct sparsify *s, struct kl *k)
{
    const size_t T = s->c->T, d = s->m->c.d;
    const size_t most = KL_TOKENS / T > 0 ? KL_TOKENS / T : 1;

    memset(k, 0, sizeof *k);
    k->R = most < s->c->R ? most : s->c->R;
    while (k->n < s->c->n && s->c->at[k->n] < k->R * T)
        k->n++;
    if (k->n == 0)
        die(EX_INPUT, "the first %zu rows have no scored tokens", k->R);
    k->f = fwd_new(s->m, s->pool, k->R, T);
    k->base = fwd_new(s->m, s->pool, 1, 1);
    k->x = xreallocarray(NULL, k->R * T, d * sizeof(float));
    k->h = xreallocarray(NULL, k->n, d * sizeof(float));
    k->hp = xreallocarray(NULL, k->n, d * sizeof(float));
    s->kl = k;
    hess_walk_begin(&s->on);
    states_from(s, 0, s->on.x, k->hp);
}

static void
kl_end(struct sparsify *s, struct kl *k)
{
    fwd_free(k->f);
    fwd_free(k->base);
    free(k->x);
    free(k->h);
    free(k->hp);
    s->kl = NULL;
}

/* ---- blocks ---- */

/* Replace the model's matrix by the sparse one. */
static void
install_layer(struct sparsify *s, struct layer *l, float *sparse)
{
    struct block *b = &s->m->block[l->block];

    l->data = sparse;
    b->w[l->t] = layer_weight(l, sparse);
    b->sparse |= 1u << l->t;
    vnote("block %zu, %s: relative error %.4g", l->block, layer_name(l->t),
        l->error);
}

/* Measure the sensitivity of a layer, and free the sparse matrix. */
static void
measure_layer(struct sparsify *s, struct layer *l, float *sparse)
{
    l->alone = s->kl != NULL ? kl_of(s, l, sparse) : l->error;
    l->error = NAN;
    free(sparse);
}

static void
sparsify_input(struct sparsify *s, size_t block, int input, unsigned want,
    void (*use)(struct sparsify *, struct layer *, float *))
{
    char *name = xasprintf("block %zu, input %s", block, profile_inputs[input]);
    const struct lap lap = lap_begin();
    double factor = 0.0;
    struct hess h;
    struct err e;

    if (hess_init(&h, s->on.H[input], input_width(s->m, block, input), name,
            &e) < 0 ||
        (s->method == METHOD_OBS && hess_factor(&h, s->damp, name, &e) < 0))
        die_err(&e);
    factor = clock_now() - lap.wall;
    lap_end(s, SPENT_LAYERS, lap);
    for (size_t i = 0; i < s->list.n; i++) {
        struct layer *l = &s->list.l[i];

        if (l->block != block || !(input_readers[input] & want & 1u << l->t))
            continue;
        l->seconds = factor;
        factor = 0.0;
        use(s, l, make_layer(s, l, &h));
    }
    hess_release(&h);
    free(name);
}

static void
sparsify_block(struct sparsify *s, size_t block, int all,
    void (*use)(struct sparsify *, struct layer *, float *))
{
    unsigned want = 0;

    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.l[i].block == block && (all || s->list.l[i].taken))
            want |= 1u << s->list.l[i].t;
    make_hessians(s, block, want);
    for (int k = 0; k < FWD_INPUTS; k++)
        if (input_readers[k] & want)
            sparsify_input(s, block, k, want, use);
}

static void
walk_blocks(struct sparsify *s, const char *what, int all,
    void (*use)(struct sparsify *, struct layer *, float *))
{
    const size_t L = s->m->c.L;

    progress_begin(what, (double)L, "blocks");
    if (s->c != NULL)
        hess_walk_begin(&s->on);
    for (size_t i = 0; i < L; i++) {
        sparsify_block(s, i, all, use);
        if (s->c != NULL && i + 1 < L)
            pass_block(s, i, hess_walk_on);
        model_forget(s->m, NULL);
        progress_at((double)(i + 1), NULL);
    }
    progress_end();
}

void
sparsify_run(struct sparsify *s)
{
    walk_blocks(s, "blocks", 0, install_layer);
}

void
sparsify_measure(struct sparsify *s, int kl)
{
    struct kl k;

    if (kl)
        kl_begin(s, &k);
    walk_blocks(s, "measuring", 1, measure_layer);
    if (kl)
        kl_end(s, &k);
}

/* ---- memory ---- */

size_t
sparsify_bytes(const struct sparsify *s)
{
    size_t sparse = 0, largest = 0, most = 0;

    for (size_t i = 0; i < s->list.n; i++) {
        const size_t n = s->list.l[i].rows * s->list.l[i].cols;

        sparse += n;
        largest = n > largest ? n : largest;
    }
    for (size_t i = 0; i < s->m->c.L; i++) {
        size_t n = 0;

        for (int k = 0; k < FWD_INPUTS; k++) {
            const size_t width = input_width(s->m, i, k);

            n += width * width;
        }
        most = n > most ? n : most;
    }
    /* one layer at a time is in memory thrice: dense, sparse, and in double */
    sparse = (sparse + 2 * largest) * sizeof(float) +
        (largest + most) * sizeof(double);
    return s->c != NULL ? sparse + hess_walk_bytes(s->m, s->c) : sparse;
}

void
sparsify_begin(struct sparsify *s)
{
    if (s->c != NULL)
        hess_walk_init(&s->on, s->m, s->c, s->pool);
}

void
sparsify_end(struct sparsify *s)
{
    layers_release(&s->list);
    hess_walk_release(&s->on);
}
