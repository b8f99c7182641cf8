/* Calibration data: see calib.h. */
#include "calib.h"
#include "input.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/die.h"
#include "model/pass/compute.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "shard/source.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 4096 }; /* most tokens in a pass of several rows */

static void
read_calib_head(struct calib *c, struct msg_in *in, const struct st *head,
    const struct model *m, const char *tokenizer)
{
    struct stream_info info;
    struct err e;

    input_head(&info, in, head, "batch", tokenizer);
    if (msg_in_fit(in, &info, m->c.V, &e) < 0)
        die_err(&e);
    if (c->tokenizer == NULL)
        c->tokenizer = xstrdup(info.tokenizer);
    stream_info_release(&info);
}

static void
add_calib_rows(struct calib *c, const struct batch *b, size_t rows)
{
    const size_t from = c->R * b->T, n = rows * b->T;

    c->ids = xreallocarray(c->ids, from + n, sizeof(*c->ids));
    c->first = xreallocarray(c->first, from + n, sizeof(*c->first));
    c->at = xreallocarray(c->at, from + n, sizeof(*c->at));
    c->target = xreallocarray(c->target, from + n, sizeof(*c->target));
    memcpy(c->ids + from, b->ids, n * sizeof(*c->ids));
    memcpy(c->first + from, b->first, n * sizeof(*c->first));
    for (size_t t = 0; t < n; t++) {
        c->ntok += b->first[t] != BATCH_PAD;
        if (!b->scored[t])
            continue;
        c->at[c->n] = from + t;
        c->target[c->n++] = b->ids[t + 1];
    }
    c->R += rows;
}

void
calib_read(struct calib *c, const char *addr, size_t rows,
    const struct model *m, const char *tokenizer)
{
    struct batch b = { 0 };
    struct err e;
    struct msg_in *in = set_in_open(addr, 0, &e);
    struct msg msg;
    int r = 1;

    if (in == NULL)
        die_err(&e);
    memset(c, 0, sizeof(*c));
    while ((rows == 0 || c->R < rows) && (r = msg_read(in, &msg, &e)) > 0) {
        if (msg.kind == MSG_STREAM)
            read_calib_head(c, in, &msg.st, m, tokenizer);
        if (msg.kind != MSG_BATCH)
            continue;
        batch_unpack(&b, &msg);
        if (c->R > 0 && b.T != c->T)
            die(EX_INPUT,
                "%s: message %llu: rows of %zu tokens after rows of %zu",
                msg_in_name(in), (unsigned long long)msg.seq, b.T, c->T);
        if (c->R == 0 && config_check_positions(&m->c, b.T, m->path, &e) < 0)
            die_err(&e);
        c->T = b.T;
        add_calib_rows(c, &b,
            rows == 0 || b.B < rows - c->R ? b.B : rows - c->R);
    }
    if (r < 0)
        die_err(&e);
    if (c->n == 0)
        die(EX_INPUT, "%s: no scored tokens to calibrate on", msg_in_name(in));
    c->weight = xcalloc(c->R, sizeof(*c->weight));
    c->token_weight = xcalloc(c->R, sizeof(*c->token_weight));
    for (size_t r1 = 0; r1 < c->R; r1++)
        c->weight[r1] = c->token_weight[r1] = 1.0;
    batch_release(&b);
    msg_in_close(in);
}

void
calib_note(const struct calib *c, const struct model *m, struct pool *pool,
    int compute)
{
    const struct rows first = { 1, c->T, c->ids, c->first };

    compute_note(m, pool, &first, compute, m->path);
}

size_t
calib_scored(const struct calib *c, size_t rows)
{
    size_t lo = 0, hi = c->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (c->at[mid] < rows * c->T)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void
calib_first(const struct calib *c, size_t rows, struct calib *first)
{
    *first = *c;
    if (rows == 0 || rows >= c->R)
        return;
    first->R = rows;
    first->n = calib_scored(c, rows);
    if (first->n == 0)
        die(EX_INPUT,
            "the first %zu rows have no scored tokens to calibrate on", rows);
    first->ntok = 0;
    for (size_t t = 0; t < rows * c->T; t++)
        first->ntok += c->first[t] != BATCH_PAD;
}

/* ---- several sets ---- */

/* Return the address in "NAME=WEIGHT:ADDRESS", and set *weight. */
static const char *
parse_set(const char *text, double *weight)
{
    const char *eq = strchr(text, '='), *colon = eq ? strchr(eq, ':') : NULL;
    char *number;

    if (colon == NULL || eq == text || colon[1] == '\0')
        die(EX_USAGE, "--calib: '%s' is not NAME=WEIGHT:INPUT", text);
    number = xstrdup(eq + 1);
    number[colon - eq - 1] = '\0';
    if (number_real(number, 1e-9, 1e9, weight) < 0)
        die(EX_USAGE, "--calib: '%s': '%s' is not a weight", text, number);
    free(number);
    return colon + 1;
}

/* Append row r of s to c, except its weights. */
static void
take_row(struct calib *c, const struct calib *s, size_t r)
{
    const size_t T = s->T, to = c->R * T;

    memcpy(c->ids + to, s->ids + r * T, T * sizeof(*c->ids));
    memcpy(c->first + to, s->first + r * T, T * sizeof(*c->first));
    for (size_t t = 0; t < T; t++)
        c->ntok += c->first[to + t] != BATCH_PAD;
    for (size_t k = calib_scored(s, r); k < calib_scored(s, r + 1); k++) {
        c->at[c->n] = to + s->at[k] - r * T;
        c->target[c->n++] = s->target[k];
    }
    c->R++;
}

/* Index of the set of which the smallest share of rows has been taken (of
 * equals the first); n: all rows of all sets have been taken. */
static size_t
next_set(const struct calib *s, const size_t *taken, size_t n)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if (taken[i] < s[i].R &&
            (best == n || taken[i] * s[best].R < taken[best] * s[i].R))
            best = i;
    return best;
}

void
calib_sets(struct calib *c, char *const *sets, size_t n, size_t rows,
    const struct model *m, const char *tokenizer)
{
    struct calib *s = xcalloc(n, sizeof(*s));
    double *weight = xcalloc(n, sizeof(*weight)), sum = 0.0;
    size_t *taken = xcalloc(n, sizeof(*taken)), R = 0, N = 0, ntok = 0, i;

    for (i = 0; i < n; i++) {
        calib_read(&s[i], parse_set(sets[i], &weight[i]), rows, m, tokenizer);
        if (s[i].T != s[0].T)
            die(EX_INPUT,
                "--calib: '%s': rows of %zu tokens beside rows of "
                "%zu",
                sets[i], s[i].T, s[0].T);
        R += s[i].R;
        N += s[i].n;
        ntok += s[i].ntok;
        sum += weight[i];
    }
    memset(c, 0, sizeof(*c));
    c->T = s[0].T;
    c->ids = xcalloc(R * c->T, sizeof(*c->ids));
    c->first = xcalloc(R * c->T, sizeof(*c->first));
    c->at = xcalloc(N, sizeof(*c->at));
    c->target = xcalloc(N, sizeof(*c->target));
    c->weight = xcalloc(R, sizeof(*c->weight));
    c->token_weight = xcalloc(R, sizeof(*c->token_weight));
    while ((i = next_set(s, taken, n)) < n) {
        const double share = weight[i] / sum;

        c->weight[c->R] = share * ((double)N / (double)s[i].n);
        c->token_weight[c->R] = share * ((double)ntok / (double)s[i].ntok);
        take_row(c, &s[i], taken[i]++);
    }
    for (i = 0; i < n; i++)
        calib_release(&s[i]);
    free(s);
    free(weight);
    free(taken);
}

size_t
calib_chunk(const struct calib *c)
{
    const size_t n = c->T < TOKENS ? TOKENS / c->T : 1;

    return n < c->R ? n : c->R;
}

struct rows
calib_rows(const struct calib *c, size_t r0, size_t n)
{
    return (struct rows){ c->R - r0 < n ? c->R - r0 : n, c->T,
        c->ids + r0 * c->T, c->first + r0 * c->T };
}

void
calib_release(struct calib *c)
{
    free(c->ids);
    free(c->first);
    free(c->at);
    free(c->target);
    free(c->tokenizer);
    free(c->weight);
    free(c->token_weight);
    memset(c, 0, sizeof(*c));
}
