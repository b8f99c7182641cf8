/* Merging adapters and writing them for llama.cpp; see adapter_out.h. */
#include "adapter_out.h"
#include "format/gguf_write.h"
#include "kern/kern.h"
#include "model/config/family.h"
#include "model/files/tensor_out.h"

#include <stdlib.h>
#include <string.h>

/* ---- into the weights ---- */

enum { MERGE_ROWS = 16 }; /* rows of a task */

struct merged_matrix {
    const struct weight *w;
    const struct low_rank *l;
    float *to; /* [rows,cols] */
};

static void
merge_task(void *ctx, size_t task, size_t worker)
{
    const struct merged_matrix *j = ctx;
    const size_t cols = j->w->cols, r0 = task * MERGE_ROWS;
    const size_t left = j->w->rows - r0;
    const size_t n = left < MERGE_ROWS ? left : MERGE_ROWS;

    (void)worker;
    weight_rows(j->w, r0, n, j->to + r0 * cols);
    for (size_t i = r0; i < r0 + n; i++) {
        for (size_t k = 0; k < j->l->rank; k++)
            kern.axpy(j->to + i * cols,
                j->l->scale * j->l->b[i * j->l->rank + k], j->l->a + k * cols,
                cols);
        if (j->l->by != NULL)
            kern.scale(j->to + i * cols, j->l->by[i], cols);
    }
}

/* Replace w by its changed matrix; while planning only count its memory. */
static void
merge_weight(struct weight *w, struct pool *pool, struct arena *room)
{
    const size_t tasks = (w->rows + MERGE_ROWS - 1) / MERGE_ROWS;
    struct merged_matrix j = { w, w->low, NULL };

    if (w->low == NULL)
        return;
    j.to = arena_alloc(room, w->rows * w->cols, sizeof *j.to);
    if (j.to == NULL)
        return;
    pool_run(pool, tasks, merge_task, &j);
    *w = (struct weight){ .data = (const unsigned char *)j.to,
        .dtype = DT_F32,
        .rows = w->rows,
        .cols = w->cols,
        .stride = w->cols * sizeof(float) };
}

static void
merge_all(struct model *m, struct pool *pool, struct arena *room)
{
    merge_weight(&m->embed, pool, room);
    for (size_t i = 0; i < m->c.L; i++)
        for (size_t k = 0; k < W_N; k++) {
            struct block *b = &m->block[i];

            if (b->w[k].low != NULL && room->base != NULL)
                b->sparse &= ~W_BIT(k);
            merge_weight(&b->w[k], pool, room);
        }
}

int
adapter_merge(struct adapter *a, struct model *m, struct pool *pool,
    struct arena *room)
{
    const int untied = m->c.tied && a->embed.rank > 0;
    struct arena plan;

    if (untied)
        m->c.tied = 0;
    arena_plan(&plan);
    merge_all(m, pool, &plan);
    arena_init(room, plan.used);
    merge_all(m, pool, room);
    return untied;
}

/* ---- for llama.cpp ---- */

/* Set *p to tensor i as in a GGUF; 0: the adapter does not change it. */
static int
changed_tensor(const struct model *m, size_t i, struct tensor_out *p)
{
    model_tensor_gguf(m, i, p);
    return p->ndim == 2 && p->w->low != NULL;
}

/* Rows of the stored tensor: of all matrices that it holds. */
static size_t
stored_rows(const struct tensor_out *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->parts; i++)
        n += p->w[i].rows;
    return n;
}

/* The alpha of the file: that of the first changed matrix. */
static float
file_alpha(const struct model *m)
{
    struct tensor_out p;

    for (size_t i = 0; i < model_ntensors_gguf(m); i++)
        if (changed_tensor(m, i, &p))
            return p.w->low->scale * (float)p.w->low->rank;
    return 0.0f;
}

static int
check_gguf(const struct adapter *a, const struct model *m, struct err *e)
{
    struct tensor_out p;

    if (a->dora || a->whole)
        return err_set(e, EX_INPUT,
            "%s, which a GGUF of an adapter cannot hold: give --into-weights",
            a->dora ? "the adapter is a DoRA, with magnitudes"
                    : "the adapter changes the embedding or the head");
    for (size_t i = 0; i < model_ntensors_gguf(m); i++)
        if (changed_tensor(m, i, &p) &&
            (p.shape[0] != stored_rows(&p) || p.shape[1] != p.w->cols))
            return err_set(e, EX_INPUT,
                "%s has other sizes than in the model's GGUF, which is padded: "
                "give --into-weights",
                p.name);
    return 0;
}

static void
describe_tensors(const struct model *m, struct gguf_out *g)
{
    const char *arch = family_of(&m->c)->gguf;
    struct tensor_out p;
    char name[100];

    gguf_out_str(g, "general.architecture", arch, strlen(arch));
    gguf_out_str(g, "general.type", "adapter", strlen("adapter"));
    gguf_out_str(g, "adapter.type", "lora", strlen("lora"));
    gguf_out_f32(g, "adapter.lora.alpha", (double)file_alpha(m));
    for (size_t i = 0; i < model_ntensors_gguf(m); i++) {
        if (!changed_tensor(m, i, &p))
            continue;
        snprintf(name, sizeof name, "%s.lora_a", p.name);
        gguf_out_tensor(g, name, DT_F32, 2,
            (const size_t[]){ p.w->low->rank, p.w->cols });
        snprintf(name, sizeof name, "%s.lora_b", p.name);
        gguf_out_tensor(g, name, DT_F32, 2,
            (const size_t[]){ stored_rows(&p), p.w->low->rank });
    }
}

/* Put B of matrix w at b, in the order of the file's rows, times the quotient
 * of its scale and alpha / rank. */
static void
put_b(const struct weight *w, size_t perm, float alpha, float *b)
{
    const struct low_rank *l = w->low;
    const float by = l->scale * (float)l->rank / alpha;
    const struct weight to = { .data = (const unsigned char *)b,
        .rows = w->rows,
        .stride = l->rank * sizeof *b,
        .perm = perm };

    for (size_t r = 0; r < w->rows; r++) {
        float *row = (float *)(uintptr_t)weight_row(&to, r);

        memcpy(row, l->b + r * l->rank, l->rank * sizeof *row);
        if (by != 1.0f)
            kern.scale(row, by, l->rank);
    }
}

/* B of all matrices of a stored tensor; the caller frees it. */
static float *
file_b(const struct tensor_out *p, float alpha)
{
    const size_t rank = p->w->low->rank;
    float *b = xreallocarray(NULL, stored_rows(p) * rank, sizeof *b), *at = b;

    for (size_t i = 0; i < p->parts; at += p->w[i++].rows * rank)
        put_b(&p->w[i], p->perm, alpha, at);
    return b;
}

static int
write_padded(struct io_out *o, const float *p, size_t n, struct err *e)
{
    static const char zero[GGUF_ALIGN];

    if (io_out_write(o, p, n * sizeof *p, e) < 0)
        return -1;
    return io_out_write(o, zero, (GGUF_ALIGN - o->n % GGUF_ALIGN) % GGUF_ALIGN,
        e);
}

static int
write_numbers(const struct model *m, struct io_out *o, struct err *e)
{
    struct tensor_out p;
    int r = 0;

    for (size_t i = 0; r == 0 && i < model_ntensors_gguf(m); i++) {
        float *b;

        if (!changed_tensor(m, i, &p))
            continue;
        b = file_b(&p, file_alpha(m));
        r = write_padded(o, p.w->low->a, p.w->low->rank * p.w->cols, e);
        if (r == 0)
            r = write_padded(o, b, stored_rows(&p) * p.w->low->rank, e);
        free(b);
    }
    return r;
}

int
adapter_export_gguf(const struct adapter *a, const struct model *m,
    const char *file, struct err *e)
{
    struct gguf_out g = { 0 };
    struct buf head = { 0 };
    struct io_out o;
    int r = check_gguf(a, m, e);

    if (r < 0)
        return r;
    describe_tensors(m, &g);
    gguf_out_head(&g, &head);
    if ((r = io_out_begin(&o, file, e)) == 0) {
        r = io_out_write(&o, head.p, head.n, e);
        if (r == 0)
            r = write_numbers(m, &o, e);
        if (r == 0)
            r = io_out_commit(&o, e);
        if (r < 0)
            io_out_abort(&o);
    }
    buf_release(&head);
    gguf_out_release(&g);
    return r;
}
