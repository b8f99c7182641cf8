/* Scores the requests of all tasks by a model.
 *
 * Stem: the tokens with which all requests of an item begin.  They are computed
 * once, and predictions inside the stem are scored once.  If RoPE's angles
 * depend on the length of a text, the requests of an item share their stem only
 * if the whole requests have the same angles as the stem.
 *
 * Attention takes a row's keys in groups that end at multiples of 256 tokens.
 * An item begins at such a multiple or crosses none.  So its keys are always
 * grouped in the same way, and its figures do not depend on the items beside
 * it. */
#include "task_score.h"
#include "task_ids.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "model/pass/angles.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 512, TOKENS = 4096, BORDER = 256 };

/* A prediction.  Its log probability is added to nto consecutive requests. */
struct guess {
    size_t at; /* index in [B,T] of the state that predicts */
    uint32_t target;
    struct request_score *to;
    size_t nto;
};

/* Rows that are filled, then scored. */
struct bundle {
    struct eval_model *j;
    struct resume *resume;
    struct fwd *f;
    size_t B, T, rows;
    uint32_t *ids, *first, *stem, *nstem; /* [B,T] as for fwd_stems */
    size_t *used;                         /* [B] */
    struct guess *guess;
    size_t n;       /* number of guesses */
    size_t cap;     /* guesses that h, nll, goal and top have room for */
    float *x;       /* [B,T,d] final states */
    float *h;       /* [cap,d] final states that predict a guess */
    double *nll;    /* [cap] */
    uint32_t *goal; /* [cap] targets */
    uint32_t *top;  /* [cap] */
    double fed;     /* tokens computed */
    double of;      /* tokens if no stem were shared */
};

static void
bundle_init(struct bundle *b, struct eval *e, struct eval_model *j,
    size_t longest)
{
    size_t n;

    memset(b, 0, sizeof(*b));
    b->j = j;
    b->resume = e->resume;
    b->T = longest > LEAST ? (longest + BORDER - 1) / BORDER * BORDER : LEAST;
    b->B = e->rows > 0 ? e->rows : b->T < TOKENS ? TOKENS / b->T : 1;
    if (size_mul(b->B, b->T, &n) < 0)
        die(EX_USAGE, "%zu rows of %zu tokens are too many", b->B, b->T);
    b->f = fwd_new(&j->m, e->pool, b->B, b->T);
    b->ids = xcalloc(n, sizeof(*b->ids));
    b->first = xcalloc(n, sizeof(*b->first));
    b->stem = xcalloc(n, sizeof(*b->stem));
    b->nstem = xcalloc(n, sizeof(*b->nstem));
    memset(b->first, 0xff, n * sizeof(*b->first));
    b->used = xcalloc(b->B, sizeof(*b->used));
    b->x = xreallocarray(NULL, n, j->m.c.d * sizeof(*b->x));
    fwd_stems(b->f, b->stem, b->nstem);
}

static void
bundle_release(struct bundle *b)
{
    fwd_free(b->f);
    free(b->ids);
    free(b->first);
    free(b->stem);
    free(b->nstem);
    free(b->used);
    free(b->guess);
    free(b->x);
    free(b->h);
    free(b->nll);
    free(b->goal);
    free(b->top);
}

/* Make room for the results of b->n guesses. */
static void
grow_guesses(struct bundle *b)
{
    if (b->n <= b->cap)
        return;
    b->cap = b->n;
    b->h = xreallocarray(b->h, b->cap, b->j->m.c.d * sizeof(*b->h));
    b->nll = xreallocarray(b->nll, b->cap, sizeof(*b->nll));
    b->goal = xreallocarray(b->goal, b->cap, sizeof(*b->goal));
    b->top = xreallocarray(b->top, b->cap, sizeof(*b->top));
}

/* Compute the loss and the most probable token of each guess. */
static void
compute_guesses(struct bundle *b)
{
    const struct rows r = { b->rows, b->T, b->ids, b->first };
    const size_t d = b->j->m.c.d;

    fwd_states(b->f, &r, b->x);
    for (size_t k = 0; k < b->n; k++)
        memcpy(b->h + k * d, b->x + b->guess[k].at * d, d * sizeof(*b->h));
    head_score(b->f, b->h, b->goal, b->n, b->nll, NULL, b->top);
}

static void
bundle_flush(struct bundle *b)
{
    const size_t n = b->B * b->T;
    struct err err;
    int known;

    if (b->rows == 0)
        return;
    grow_guesses(b);
    for (size_t k = 0; k < b->n; k++)
        b->goal[k] = b->guess[k].target;
    if ((known = resume_begin(b->resume, &err)) < 0)
        die_err(&err);
    resume_same(b->resume, b->ids, n * sizeof(*b->ids));
    resume_same(b->resume, b->first, n * sizeof(*b->first));
    resume_same(b->resume, b->goal, b->n * sizeof(*b->goal));
    if (!known)
        compute_guesses(b);
    resume_pass(b->resume, b->nll, b->n * sizeof(*b->nll));
    resume_pass(b->resume, b->top, b->n * sizeof(*b->top));
    if (resume_end(b->resume, &err) < 0)
        die_err(&err);
    for (size_t k = 0; k < b->n; k++) {
        const struct guess *g = &b->guess[k];

        for (size_t i = 0; i < g->nto; i++) {
            g->to[i].logp -= b->nll[k];
            g->to[i].greedy &= b->top[k] == g->target;
        }
    }
    memset(b->first, 0xff, n * sizeof(*b->first));
    memset(b->nstem, 0, n * sizeof(*b->nstem));
    memset(b->used, 0, b->B * sizeof(*b->used));
    b->rows = b->n = 0;
    progress_at(b->of, NULL);
}

/* Reserve n tokens of a row; returns the index of the first in [B,T]. */
static size_t
reserve_tokens(struct bundle *b, size_t n)
{
    for (;;) {
        for (size_t row = 0; row < b->B; row++) {
            size_t at = b->used[row];

            if (at % BORDER + n > BORDER)
                at = (at + BORDER - 1) / BORDER * BORDER;
            if (at + n > b->T)
                continue;
            b->used[row] = at + n;
            b->rows = row + 1 > b->rows ? row + 1 : b->rows;
            b->fed += (double)n;
            return row * b->T + at;
        }
        bundle_flush(b);
    }
}

/* Add a piece of n tokens at index `at` of [B,T].  Its context is nstem tokens
 * of the same row, from index `stem` of [B,T] on. */
static void
put_piece(struct bundle *b, size_t at, const uint32_t *ids, size_t n,
    size_t stem, size_t nstem)
{
    for (size_t i = 0; i < n; i++) {
        b->ids[at + i] = ids[i];
        b->first[at + i] = (uint32_t)(at % b->T);
        b->stem[at + i] = (uint32_t)(stem % b->T);
        b->nstem[at + i] = (uint32_t)nstem;
    }
}

static void
add_guess(struct bundle *b, size_t at, uint32_t target,
    struct request_score *to, size_t nto)
{
    b->guess = xgrow_pow2(b->guess, b->n, sizeof(*b->guess));
    b->guess[b->n++] = (struct guess){ at, target, to, nto };
}

/* Number of tokens that the model computes for a request: all but the last. */
static size_t
fed_tokens(const struct task_ids *r)
{
    return r->n - 1;
}

/* Number of computed tokens with which all n requests begin. */
static size_t
common_tokens(const struct task_ids *r, size_t n)
{
    size_t same = fed_tokens(&r[0]);

    for (size_t i = 1; i < n; i++) {
        size_t k = 0;

        while (k < same && k < fed_tokens(&r[i]) && r[i].ids[k] == r[0].ids[k])
            k++;
        same = k;
    }
    return same;
}

/* Put n requests into a row.  They begin with the same nstem tokens, which are
 * stored once, so that all take `total` tokens. */
static void
add_requests(struct bundle *b, const struct task_ids *r, size_t n, size_t nstem,
    size_t total, struct request_score *to)
{
    const size_t stem = reserve_tokens(b, total);
    size_t at = stem + nstem, from = r[0].from;

    put_piece(b, stem, r[0].ids, nstem, stem, 0);
    /* With several contexts, continuations may begin at different tokens. */
    for (size_t i = 1; i < n; i++)
        from = r[i].from > from ? r[i].from : from;
    for (size_t i = 0; i < n; i++)
        for (size_t k = r[i].from; k < nstem && k < from; k++)
            add_guess(b, stem + k - 1, r[i].ids[k], to + i, 1);
    for (size_t k = from; k < nstem; k++)
        add_guess(b, stem + k - 1, r[0].ids[k], to, n);
    for (size_t i = 0; i < n; i++) {
        const size_t begin = r[i].from > nstem ? r[i].from : nstem;

        put_piece(b, at, r[i].ids + nstem, fed_tokens(&r[i]) - nstem, stem,
            nstem);
        for (size_t k = begin; k < r[i].n; k++)
            add_guess(b, k == nstem ? stem + nstem - 1 : at + k - 1 - nstem,
                r[i].ids[k], to + i, 1);
        at += fed_tokens(&r[i]) - nstem;
    }
}

/* Do the n requests have the same RoPE angles as their stem of nstem tokens? */
static int
angles_same(const struct config *c, const struct task_ids *r, size_t n,
    size_t nstem)
{
    for (size_t i = 0; i < n; i++)
        if (angles_set(c, fed_tokens(&r[i])) != angles_set(c, nstem))
            return 0;
    return 1;
}

static void
add_item(struct bundle *b, const struct task_ids *r, size_t n,
    struct request_score *to)
{
    size_t nstem = common_tokens(r, n), total = nstem;

    for (size_t i = 0; i < n; i++) {
        to[i] = (struct request_score){ 0.0, 1, r[i].n - r[i].from };
        total += fed_tokens(&r[i]) - nstem;
        b->of += (double)fed_tokens(&r[i]);
    }
    if (nstem > 0 && total <= b->T && angles_same(&b->j->m.c, r, n, nstem)) {
        add_requests(b, r, n, nstem, total, to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        add_requests(b, r + i, 1, fed_tokens(r + i), fed_tokens(r + i), to + i);
}

/* Encode all requests of a task; returns them, [nrequest].  Raise *longest to
 * the largest number of tokens computed for a request, and add the tokens of
 * all requests to *total. */
static struct task_ids *
encode_task(const struct task *t, struct lmeval *s, size_t *longest,
    double *total)
{
    struct task_ids *r = xcalloc(t->nrequest, sizeof(*r));

    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->item[i].n; k++) {
            struct task_ids *one = &r[t->at[i] + k];

            request_ids(s, t, i, k, one);
            *longest = fed_tokens(one) > *longest ? fed_tokens(one) : *longest;
            *total += (double)fed_tokens(one);
        }
    return r;
}

static void
check_scores(const struct task *t, const struct request_score *score,
    const char *label)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->item[i].n; k++)
            if (!isfinite(score[t->at[i] + k].logp))
                die(EX_NUM,
                    "%s: %s: line %zu: the log probability of choice "
                    "%zu is not finite",
                    label, t->path, t->item[i].line, k);
}

void
tasks_score(struct eval *e, struct task *t, size_t nt, size_t j)
{
    struct task_ids **r = xcalloc(nt, sizeof(*r));
    struct lmeval s;
    struct bundle b;
    struct err err;
    size_t longest = 0;
    double total = 0.0;

    if (lmeval_open(&s, &e->j[j], e->j[j].m.c.V, &err) < 0)
        die_err(&err);
    for (size_t i = 0; i < nt; i++)
        r[i] = encode_task(&t[i], &s, &longest, &total);
    lmeval_close(&s);
    bundle_init(&b, e, &e->j[j], longest);
    progress_begin("scoring", total, "tokens");
    for (size_t i = 0; i < nt; i++) {
        struct request_score *score = t[i].score + j * t[i].nrequest;

        for (size_t k = 0; k < t[i].n; k++)
            add_item(&b, r[i] + t[i].at[k], t[i].item[k].n, score + t[i].at[k]);
    }
    bundle_flush(&b);
    progress_end();
    e->nfed += (size_t)b.fed;
    e->ntokens += (size_t)b.of;
    for (size_t i = 0; i < nt; i++) {
        check_scores(&t[i], t[i].score + j * t[i].nrequest, e->j[j].label);
        for (size_t k = 0; k < t[i].nrequest; k++)
            free(r[i][k].ids);
        free(r[i]);
    }
    free(r);
    bundle_release(&b);
}
