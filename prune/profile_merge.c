/* Adds up profiles: see profile_merge.h. */
#include "profile_merge.h"
#include "profile_write.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
load_input(const struct profile *p, size_t i, enum fwd_input k,
    struct input_sums *s)
{
    struct input_tensor t[INPUT_TENSORS];
    const struct st_tensor *at[INPUT_TENSORS];
    void *copy[INPUT_TENSORS] = { 0 };

    *s = (struct input_sums){ .n = profile_width(p, i, k) };
    if (s->n == 0)
        return;
    input_tensors(t, i, k, s);
    for (size_t j = 0; j < INPUT_TENSORS; j++)
        if ((at[j] = st_find(&p->sums, t[j].name)) != NULL && j != T_FROM) {
            copy[j] = xmalloc(at[j]->nbytes);
            memcpy(copy[j], at[j]->data, at[j]->nbytes);
        }
    s->grad = copy[T_GRADIENT];
    s->sum = copy[T_SUMS];
    s->max = copy[T_MAX];
    s->count = copy[T_COUNTS];
    s->bins = at[T_COUNTS]->shape[2] - 1;
    s->from = st_u32(at[T_FROM], 0);
}

static void
add_block_sums(const struct profile *p, size_t i, struct block_sums *b,
    int first)
{
    double turn[CLASSES][TURNS];
    char name[64];

    snprintf(name, sizeof name, "%zu.turn", i);
    memcpy(turn, st_find(&p->sums, name)->data, sizeof turn);
    for (size_t k = 0; k < CLASSES * TURNS; k++)
        b->turn[k / TURNS][k % TURNS] += turn[k / TURNS][k % TURNS];
    for (size_t k = 0; k < FWD_INPUTS; k++) {
        struct input_sums s;

        load_input(p, i, k, first ? &b->in[k] : &s);
        if (first)
            continue;
        if (s.n > 0)
            sums_add(&b->in[k], &s);
        sums_release(&s);
    }
}

/* Fail if profile q cannot be added to p. */
static int
check_mergeable(const struct profile *p, const struct profile *q, struct err *e)
{
    const char *why = NULL;

    if (p->L != q->L ||
        strcmp(js_text_of(p->json, "model_hash"),
            js_text_of(q->json, "model_hash")) != 0)
        why = "another model";
    for (size_t i = 0; why == NULL && i < p->L * FWD_INPUTS; i++)
        if (profile_width(p, i / FWD_INPUTS, i % FWD_INPUTS) !=
            profile_width(q, i / FWD_INPUTS, i % FWD_INPUTS))
            why = "another model";
    if (why == NULL &&
        strcmp(js_text_of(p->json, "compute"),
            js_text_of(q->json, "compute")) != 0)
        why = "another --compute";
    if (why == NULL &&
        strcmp(js_text_of(p->json, "tokenizer"),
            js_text_of(q->json, "tokenizer")) != 0)
        why = "another tokenizer";
    if (why == NULL && (p->hessian.nt > 0) != (q->hessian.nt > 0))
        why = "with Hessians, or without";
    if (why == NULL && p->gradients != q->gradients)
        why = "with gradients, or without";
    return why == NULL
        ? 0
        : err_set(e, EX_INPUT, "%s: is not of the kind of %s: %s", q->dir,
              p->dir, why);
}

/* h [n,n] = the sum of np profiles' Hessians of input k of block i, added in
 * double. */
static int
add_hessians(const struct profile *p, size_t np, size_t i, enum fwd_input k,
    float *h, struct err *e)
{
    enum { PIECE = 4096 };
    const size_t n = profile_width(p, i, k);
    double sum[PIECE];

    for (size_t at = 0; at < n * n; at += PIECE) {
        const size_t m = n * n - at < PIECE ? n * n - at : PIECE;

        memset(sum, 0, sizeof sum);
        for (size_t q = 0; q < np; q++) {
            const float *x = profile_hessian(&p[q], i, k, e);

            if (x == NULL)
                return -1;
            for (size_t c = 0; c < m; c++)
                sum[c] += x[at + c];
        }
        for (size_t c = 0; c < m; c++)
            h[at + c] = (float)sum[c];
    }
    return 0;
}

/* Add up n profiles' Hessians of block i into h.  width [FWD_INPUTS]: widths of
 * the block's inputs.  Raises s->hess_off to the largest hess_off here. */
static int
add_block_hessians(const struct profile *p, size_t n, size_t i,
    const size_t *width, float *h, struct profile_sums *s, struct err *e)
{
    for (size_t k = 0; k < FWD_INPUTS; h += width[k] * width[k], k++) {
        if (add_hessians(p, n, i, k, h, e) < 0)
            return -1;
        s->hess_off = fmax(s->hess_off, hess_off(h, &s->b[i].in[k]));
    }
    return 0;
}

static int
merge_hessians(const struct profile *p, size_t n, const char *path,
    struct profile_sums *s, struct err *e)
{
    size_t *width = xcalloc(s->L * FWD_INPUTS, sizeof *width);
    struct io_out o;
    int r;

    for (size_t i = 0; i < s->L * FWD_INPUTS; i++)
        width[i] = profile_width(p, i / FWD_INPUTS, i % FWD_INPUTS);
    r = hess_out_begin(&o, path, width, s->L, e);
    for (size_t i = 0; r == 0 && i < s->L; i++) {
        const size_t *w = width + i * FWD_INPUTS, floats = hess_floats(w);
        float *h = xreallocarray(NULL, floats, sizeof *h);

        r = add_block_hessians(p, n, i, w, h, s, e);
        r = r == 0 ? io_out_write(&o, h, floats * sizeof *h, e) : r;
        free(h);
    }
    r = r == 0 ? io_out_commit(&o, e) : r;
    if (r < 0)
        io_out_abort(&o);
    free(width);
    return r;
}

int
profile_merge(const struct profile *p, size_t n, const char *dir, struct err *e)
{
    struct profile_about a = { js_text_of(p->json, "model"),
        js_text_of(p->json, "model_hash"), js_text_of(p->json, "compute"),
        json_string_value(js_get(p->json, "tokenizer")), 0, p->hessian.nt > 0 };
    struct profile_sums s;
    char *path = profile_path(dir, PROFILE_HESSIAN);
    int r = 0;

    profile_sums_init(&s, p->L);
    for (size_t q = 0; r == 0 && q < n; q++) {
        r = check_mergeable(p, &p[q], e);
        s.rows += p[q].rows;
        a.parts += p[q].parts;
        for (size_t c = 0; c < CLASSES; c++)
            s.tokens[c] += p[q].tokens[c];
        for (size_t i = 0; r == 0 && i < p->L; i++)
            add_block_sums(&p[q], i, &s.b[i], q == 0);
    }
    if (r == 0 && (s.tokens[0] | s.tokens[1]) > UINT32_MAX)
        r = err_set(e, EX_INPUT, "more than 2^32 - 1 tokens in all");
    for (size_t i = 0; r == 0 && i < p->L * FWD_INPUTS; i++)
        if (!sums_finite(&s.b[i / FWD_INPUTS].in[i % FWD_INPUTS]))
            r = err_set(e, EX_INPUT, "%s: block %zu: sums that are not finite",
                dir, i / FWD_INPUTS);
    if (r == 0 && a.hessian)
        r = merge_hessians(p, n, path, &s, e);
    if (r == 0 && !(s.hess_off <= PROFILE_OFF_BF16))
        r = err_set(e, EX_INPUT,
            "%s: Hessians are not those of the sums beside them", dir);
    r = r == 0 ? profile_write(&s, &a, dir, e) : r;
    profile_sums_release(&s);
    free(path);
    return r;
}
