/* Memory and operations of a run; see plan.h. */
#include "train/plan.h"
#include "model/pass/panels.h"
#include "base/io.h"
#include "base/note.h"
#include "base/quota.h"
#include "kern/kern.h"
#include "train/effective.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"
#include "train/adamw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The work for a token in a forward pass.  products: parameters in matrix
 * products (not the embedding, which is looked up); norms: numbers normed;
 * biases: biases added; attention: operations of attention and of the states of
 * linear blocks. */
struct ops {
    double products, norms, biases, attention;
};

static struct ops
count_token(const struct config *c, const struct block_shape *b, size_t T)
{
    struct ops o = { (double)c->V * (double)c->d, (double)c->d, 0.0, 0.0 };

    for (size_t i = 0; i < c->L; i++) {
        const size_t window = config_window(c, i);
        const double w = (double)(window > 0 && window < T ? window : T);
        const struct block_shape is =
            b != NULL ? b[i] : config_whole_block(c, i);
        const size_t KV = is.groups;
        /* share of the experts that a token goes through */
        const double used =
            is.experts == 0 ? 1.0 : (double)c->router.k / (double)is.experts;
        const size_t H = KV * (c->H / c->KV);

        for (int k = 0; k < W_N; k++) {
            size_t rows, cols;

            if (block_tensor_name(c, k) == NULL)
                continue;
            block_dims(c, k, &is, &rows, &cols);
            if (block_is_bias(k))
                o.biases += (double)rows * (double)cols *
                    (block_is_of_experts(k) && rows > 1 ? used : 1.0);
            else if (!block_is_vector(k))
                o.products += (double)rows * (double)cols *
                    (experts_apart(k) ? used : 1.0);
            else /* norms of Q and K: one for each head, if cols is D */
                o.norms += (double)cols *
                    (double)(k == W_DELTA_NORM ? c->delta.values
                            : cols > c->D      ? 1
                            : k == W_NQ        ? H
                            : k == W_NK        ? KV
                                               : 1);
        }
        if (is.linear)
            o.attention +=
                8.0 * (double)(c->delta.values * c->delta.dk * c->delta.dv);
        /* scores and weighted sums of values, over the keys that a query sees
         * on average */
        o.attention += 4.0 * (double)(H * c->D) *
            (w * (w + 1.0) / 2.0 + ((double)T - w) * w) / (double)T;
    }
    return o;
}

double
plan_flop_forward(const struct config *c, const struct block_shape *b, size_t T)
{
    const struct ops o = count_token(c, b, T);

    return 2.0 * o.products + o.attention + 4.0 * o.norms + o.biases;
}

double
plan_flop_train(const struct config *c, const struct block_shape *b, size_t T)
{
    const struct ops o = count_token(c, b, T);

    return 6.0 * o.products + 3.5 * o.attention + 16.0 * o.norms +
        2.0 * o.biases;
}

int
plan_holds(const struct model *m)
{
    size_t n = 0;

    if (kern.pack == NULL)
        return 0;
    for (size_t i = 0; i < m->c.L; i++)
        for (int k = 0; k < W_N; k++)
            n += panels_bytes(&m->block[i].w[k], PANELS_OUT, k);
    return n <= plan_limit() / 16;
}

size_t
plan_micro(size_t micro, size_t rows, size_t T)
{
    const size_t most = kern_rounds() ? 1024 : 512;
    const size_t n = micro > 0 ? micro : T >= most ? 1 : 1024 / T;

    return n < rows ? n : rows;
}

size_t
plan_teacher_micro(size_t micro, size_t rows, size_t T)
{
    const size_t n = micro > 0 ? micro : T >= 1024 ? 1 : 1024 / T;

    return n < rows ? n : rows;
}

size_t
plan_program(size_t now, size_t threads)
{
    return now + threads * kern.panels;
}

size_t
plan_window(const struct model *m, size_t tokens, int head)
{
    size_t most = head ? m->head.rows * m->head.stride : 0;
    size_t all = m->norm.stride + most;

    for (size_t i = 0; i < m->c.L; i++) {
        size_t n = 0;

        for (size_t k = 0; k < W_N; k++)
            n += weight_bytes(&m->block[i].w[k]);
        most = n > most ? n : most;
        all += n;
    }
    return tokens < PLAN_WINDOW_TOKENS ? all : most;
}

size_t
plan_states(const struct model *m, size_t tokens)
{
    return tokens * m->c.d * sizeof(float);
}

void
plan_make(struct plan *p, const struct tmodel *t, const struct step *s,
    const struct plan_load *l)
{
    struct block_shape *b = xcalloc(t->m.c.L, sizeof(*b));

    model_shape(&t->m, b);
    memset(p, 0, sizeof(*p));
    p->params = t->nparam;
    p->weights =
        tmodel_weight_bytes(t) + tmodel_mask_bytes(t) + effective_bytes(t);
    if (t->adapter != NULL)
        p->weights += plan_window(&t->m, 1, 1);
    p->gradients = tmodel_grad_bytes(t);
    p->buffers = tmodel_room_bytes(t) + l->buffers;
    p->moments = (adamw_bytes(t, l->moments) +
                     (l->average ? adamw_bytes(t, DT_F32) / 2 : 0)) /
        (l->parts + !l->parts);
    p->program = l->program;
    p->work = step_bytes(s, l->tokens) + l->judge + l->ranks;
    p->teacher_head = l->head;
    p->input = l->input;
    p->total = p->program + p->weights + p->gradients + p->moments +
        p->buffers + p->work + p->teacher_head + p->input;
    p->flop = plan_flop_train(&t->m.c, b, l->T);
    if (t->adapter != NULL) /* no gradients of the weights */
        p->flop += 6.0 * (double)t->nparam -
            2.0 * count_token(&t->m.c, b, l->T).products;
    free(b);
}

void
plan_note(const struct plan *p)
{
    const double mb = 1e-6;

    note("%zu parameters, %.4g GFLOP a token, memory in all %.1f MB", p->params,
        p->flop * 1e-9, (double)p->total * mb);
    vnote("memory in MB: program %.1f, weights %.1f, gradients %.1f, moments "
          "%.1f, buffers %.1f, work %.1f, teacher head %.1f, input %.1f",
        (double)p->program * mb, (double)p->weights * mb,
        (double)p->gradients * mb, (double)p->moments * mb,
        (double)p->buffers * mb, (double)p->work * mb,
        (double)p->teacher_head * mb, (double)p->input * mb);
}

size_t
plan_limit(void)
{
    return quota_memory("").all;
}

int
plan_fits(size_t total, const char *how, struct err *e)
{
    const size_t limit = plan_limit();

    if (total > limit)
        return err_set(e, EX_SYS,
            "%.1f GB are needed and this machine (or its "
            "cgroup) has %.1f GB: use %s",
            (double)total * 1e-9, (double)limit * 1e-9, how);
    return 0;
}
