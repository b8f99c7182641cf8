/* A frozen model; see reference.h. */
#include "reference.h"
#include "base/mem.h"
#include "cli/die.h"
#include "model/files/model.h"
#include "model/files/open.h"
#include "train/head_logp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct reference {
    struct model m;
    struct fwd *f;
    struct arena arena;
    struct head_logp *head;
    float *x;         /* [T,d] final states */
    float *hs;        /* [T,d] final states of scored tokens */
    float *logp;      /* [T] */
    uint32_t *target; /* [T] */
    size_t T;
};

static void
lay_reference(struct reference *r, struct arena *a, struct pool *pool)
{
    const struct config *c = &r->m.c;

    r->head = head_logp_new(a, pool, c->V, c->d, r->T);
    head_logp_cap(r->head, a, c->final_cap);
    r->x = arena_alloc(a, r->T * c->d, sizeof(float));
    r->hs = arena_alloc(a, r->T * c->d, sizeof(float));
    r->logp = arena_alloc(a, r->T, sizeof(float));
    r->target = arena_alloc(a, r->T, sizeof(uint32_t));
}

struct reference *
reference_open(const char *path, size_t V, size_t T, struct pool *pool)
{
    struct reference *r = xcalloc(1, sizeof *r);
    struct arena plan;
    struct err e;

    if (model_open(&r->m, path, &e) < 0)
        die_err(&e);
    if (r->m.c.V != V)
        die(EX_INPUT,
            "%s: has %zu ids, the student %zu: name a reference of "
            "the student's vocabulary",
            path, r->m.c.V, V);
    if (config_check_positions(&r->m.c, T, path, &e) < 0)
        die_err(&e);
    r->T = T;
    r->f = fwd_new_blocks(&r->m, pool, 1, T);
    arena_plan(&plan);
    lay_reference(r, &plan, pool);
    head_logp_free(r->head);
    arena_init(&r->arena, plan.used);
    lay_reference(r, &r->arena, pool);
    return r;
}

void
reference_close(struct reference *r)
{
    if (r == NULL)
        return;
    head_logp_free(r->head);
    arena_release(&r->arena);
    fwd_free(r->f);
    model_close(&r->m);
    free(r);
}

size_t
reference_bytes(const struct reference *r)
{
    return r->arena.cap + fwd_bytes(r->f);
}

void
reference_row(struct reference *r, const struct rows *row,
    const uint8_t *scored, double tau, float *logp)
{
    const size_t d = r->m.c.d;
    size_t n = 0;

    assert(row->B == 1 && row->T <= r->T);
    fwd_states(r->f, row, r->x);
    for (size_t i = 0; i < row->T; i++)
        if (scored[i]) {
            memcpy(r->hs + n * d, r->x + i * d, d * sizeof(float));
            r->target[n++] = row->ids[i + 1];
        }
    head_logp_rows(r->head, &r->m.head, r->hs, r->target, n, tau,
        &(struct logp_out){ .logp = r->logp });
    for (size_t i = row->T; i-- > 0;)
        logp[i] = scored[i] ? r->logp[--n] : 0.0f;
}
