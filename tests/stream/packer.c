/* stream: mixture, packing and cursor of streams */
#include "base/mem.h"
#include "base/rng.h"
#include "stream/cursor.h"
#include "stream/mix.h"
#include "stream/packer.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#define HASH "0123456789abcdef0123456789abcdef"

/* Without a window, sources stay within two of the longest pieces of their
 * share. */
static void
test_mix(void)
{
    const double share[4] = { 5.0, 0.01, 2.0, 0.0 };
    uint64_t w[4], had[4] = { 0 }, all = 0;
    struct mix m;
    double worst = 0.0;
    size_t early = SIZE_MAX;
    int64_t sum = 0;

    ok(mix_quantise(w, share, 4) == 0 && w[3] == 0 && w[1] > 0,
        "shares become weights");
    ok(mix_quantise(w, share + 3, 1) < 0, "none at all");
    mix_init(&m, w, 4);
    ok(mix_next(&m) == 0, "the heaviest comes first");
    mix_release(&m);
    mix_quantise(w, share, 4);
    mix_init(&m, w, 4);
    for (size_t i = 0; i < 200000; i++) {
        const size_t k = mix_next(&m);
        const uint64_t n = 1 + rng_u64(3, i) % 1000;

        if (k == 1 && early == SIZE_MAX)
            early = i;
        had[k] += n;
        all += n;
        mix_took(&m, k, n);
        for (size_t j = 0; j < 4; j++)
            worst = fmax(worst,
                fabs((double)had[j] - (double)all * share[j] / 7.01));
    }
    for (size_t j = 0; j < 4; j++)
        sum += mix_owed(&m, j);
    ok(sum == 0, "debts sum to 0");
    ok(had[3] == 0, "weight 0 is never chosen");
    ok(worst <= 2000.0, "never more than two pieces off: %.0f", worst);
    mix_drop(&m, 0);
    ok(mix_next(&m) != 0 && m.w[0] == 0, "a source leaves");
    mix_release(&m);
}

/* The tournament against a search through all sources, with draws, sources that
 * leave, debts that are set and weights that turn. */
static void
test_tournament(void)
{
    enum { N = 300, STEPS = 60000 };
    static uint64_t w[N], sum;
    static int64_t owed[N];
    struct mix m;
    size_t wrong = 0;

    for (size_t i = 0; i < N; i++)
        sum += w[i] = i % 7 == 0 ? 1000 : rng_u64(5, i) % 3000000;
    mix_init(&m, w, N);
    for (size_t s = 0; s < STEPS; s++) {
        const uint64_t n = 1 + rng_u64(9, s) % 1024;
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < N; i++)
            if (w[i] > 0 &&
                (best == SIZE_MAX || owed[i] > owed[best] ||
                    (owed[i] == owed[best] && w[i] > w[best])))
                best = i;
        wrong += mix_next(&m) != best || mix_owed(&m, best) != owed[best];
        mix_took(&m, best, n);
        for (size_t i = 0; i < N; i++)
            owed[i] += (int64_t)(w[i] * n);
        owed[best] -= (int64_t)(sum * n);
        if (s % 900 == 899) {
            mix_drop(&m, best);
            sum -= w[best];
            w[best] = 0;
            owed[best] = 0;
        }
        if (s % 5000 == 0)
            mix_owe(&m, s / 5000, owed[s / 5000] = -(int64_t)s * 1000000);
        if (s == STEPS / 2) {
            sum = 0;
            for (size_t i = 0; i < N; i++) {
                sum += w[i] = i < 10 ? 0 : rng_u64(6, i) % 5000;
                owed[i] = 0;
            }
            mix_turn(&m, w);
        }
    }
    ok(wrong == 0, "%d sources, %d draws: %zu not the one that is due", N,
        STEPS, wrong);
    mix_release(&m);
}

/* UniMax: what small sources cannot take of the budget goes to the others. */
static void
test_unimax(void)
{
    const double has[4] = { 100.0, 0.0, 1000.0, 10.0 };
    double share[4];

    ok(mix_unimax(share, has, 4, 2.0, 900.0) == 0,
        "UniMax shares out a budget");
    ok(share[3] == 20.0 && share[0] == 200.0 && share[1] == 0.0 &&
            share[2] == 680.0,
        "capped: %g %g %g", share[0], share[2], share[3]);
    ok(mix_unimax(share, has, 4, 100.0, 900.0) == 0 && share[0] == 300.0 &&
            share[2] == 300.0 && share[3] == 300.0,
        "even without a cap");
    ok(mix_unimax(share, has, 4, 1.0, 1111.0) < 0, "more than there is");
}

/* 10^9 tokens of 24 sources in rows of T: after every batch each source is
 * within (window + 1) T tokens of its share, and a source whose share is 1 % is
 * in every batch of 256 rows. */
struct mixture {
    struct mix m;
    uint64_t i[24];
    size_t rest[24];
};

static int
draw_mixed(void *ctx, size_t max, struct piece *p, struct err *e)
{
    struct mixture *x = ctx;
    const size_t k = mix_next(&x->m);

    (void)e;
    if (x->rest[k] == 0)
        x->rest[k] =
            1 + (size_t)exp(log(823.0) - 0.5 + rng_normal(k, x->i[k]++));
    p->source = (uint32_t)k;
    p->len = (uint32_t)(x->rest[k] < max ? x->rest[k] : max);
    p->masked = 0;
    x->rest[k] -= p->len;
    mix_took(&x->m, k, p->len);
    return 1;
}

static void
test_bound(void)
{
    enum { T = 2048, B = 256, BATCHES = 1908 };
    struct mixture x = { 0 };
    const struct pack_from from = { draw_mixed, &x };
    double share[24], had[24] = { 0 }, all = 0.0, worst = 0.0, sum = 0.0;
    size_t missing = 0;
    uint64_t w[24];
    struct packer p;
    struct pack_rows r;
    struct err e;

    for (size_t i = 0; i < 24; i++)
        sum += share[i] = i == 0 ? 1.0 : 99.0 * 2.0 * (double)i / (23.0 * 24.0);
    mix_quantise(w, share, 24);
    mix_init(&x.m, w, 24);
    packer_init(&p, PACK_BEST, T, 1);
    pack_rows_init(&r, T, 1);
    for (size_t b = 0; b < BATCHES; b++) {
        size_t rare = 0;

        pack_rows_clear(&r);
        for (size_t i = 0; i < B; i++)
            if (packer_row(&p, &from, b * B + i, &r, &e) <= 0)
                missing++;
        for (size_t i = 0; i < r.P; i++) {
            had[r.source[i]] += r.len[i];
            rare += r.source[i] == 0;
        }
        all += (double)r.tokens;
        missing += rare == 0;
        for (size_t i = 0; i < 24; i++)
            worst = fmax(worst, fabs(had[i] - all * share[i] / sum));
    }
    ok(all > 0.999e9 && worst <= (PACK_WINDOW + 1) * T,
        "%.0f tokens: %.2f rows off its share at most", all, worst / T);
    ok(missing == 0, "one in a hundred is in every batch of 256 rows");
    packer_release(&p);
    pack_rows_release(&r);
    mix_release(&x.m);
}

static void
fill_cursor(struct cursor *c, struct place *place, int64_t *owed)
{
    memset(c, 0, sizeof *c);
    strcpy(c->algorithm, CURSOR_DOCS);
    c->seq = 123456;
    c->rows = 987654;
    c->tokens = 1011358000;
    c->spec = (struct cursor_spec){ .B = 8,
        .T = 1024,
        .seed = 77,
        .shuffle = 1,
        .length = LENGTH_BATCHES,
        .limit = 200000,
        .pack = PACK_BEST,
        .open = 256,
        .natural = 1 };
    chain_parse(&c->data, HASH);
    chain_parse(&c->chain, HASH);
    c->nsource = 26;
    c->place = place;
    c->owed = owed;
    for (uint64_t i = 0; i < 26; i++) {
        place[i] = (struct place){ 3 + i, 12345, 234567, i ? 0 : 7654321 };
        owed[i] = (i % 2 ? -1 : 1) * 1234567890123;
    }
    c->nwindow = PACK_WINDOW;
    for (uint32_t i = 0; i < PACK_WINDOW; i++)
        c->window[i] = (struct piece){ .source = i % 26,
            .frame = 123456,
            .doc = 1234,
            .off = i % 8 ? 0 : 123456,
            .len = 1000,
            .born = c->rows - i };
}

static void
test_cursor(void)
{
    static struct place place[26];
    static int64_t owed[26];
    struct cursor c, r;
    struct err e = { 0 };
    struct buf a = { 0 }, b = { 0 };
    size_t bad = 0, crash = 0;

    fill_cursor(&c, place, owed);
    cursor_write(&a, &c);
    ok(a.n < 4096, "26 sources, a full window: %zu bytes", a.n);
    ok(cursor_read(&r, a.p, &e) == 0, "the cursor reads back %s", e.msg);
    cursor_write(&b, &r);
    ok(a.n == b.n && memcmp(a.p, b.p, a.n) == 0, "the same text");
    ok(r.place[0].off == 7654321 && r.owed[1] == -1234567890123 &&
            r.window[5].born == c.rows - 5,
        "the same values");
    cursor_release(&r);
    /* A text cut anywhere is no cursor, or one with a shorter list, and causes
     * no crash. */
    for (size_t i = 0; i < a.n; i++) {
        char *cut = xstrdup(a.p);

        cut[i] = '\0';
        if (cursor_read(&r, cut, &e) < 0) {
            bad++;
        } else {
            crash +=
                r.nwindow == PACK_WINDOW && r.window[63].born == c.rows - 63;
            cursor_release(&r);
        }
        cut[i] = '~';
        cut[i + 1 < a.n ? i + 1 : i] = '~';
        if (cursor_read(&r, cut, &e) == 0) {
            crash++;
            cursor_release(&r);
        }
        free(cut);
    }
    ok(crash == 0 && bad > 600, "damaged ones are refused");
    c.spec.rank = 1;
    c.spec.ranks = 4;
    c.own = 250000000;
    c.spec.staged = 1;
    c.spec.curriculum = c.data;
    buf_clear(&b);
    cursor_write(&b, &c);
    ok(cursor_read(&r, b.p, &e) == 0 && r.spec.rank == 1 && r.spec.ranks == 4 &&
            r.own == 250000000 && r.spec.staged && b.n < 4096,
        "rank and curriculum: %zu bytes", b.n);
    cursor_release(&r);
    c.spec.rank = 4;
    buf_clear(&b);
    cursor_write(&b, &c);
    ok(cursor_read(&r, b.p, &e) < 0, "rank 4 of 4: %s", e.msg);
    c.spec.ranks = 1;
    c.spec.staged = 0;
    buf_clear(&b);
    buf_adds(&b, "cursor=3 x");
    ok(cursor_read(&r, b.p, &e) < 0 && e.code == EX_INPUT &&
            strstr(e.msg, "of version 3"),
        "%s", e.msg);
    buf_clear(&b);
    buf_adds(&b, "in=17");
    ok(cursor_read(&r, b.p, &e) < 0 && e.code == EX_INPUT, "%s", e.msg);
    buf_clear(&b);
    strcpy(c.algorithm, "docs-0");
    cursor_write(&b, &c);
    ok(cursor_read(&r, b.p, &e) < 0 && strstr(e.msg, "docs-0"), "%s", e.msg);
    strcpy(c.algorithm, CURSOR_ROWS);
    buf_clear(&b);
    cursor_write(&b, &c);
    ok(cursor_read(&r, b.p, &e) == 0 && r.nwindow == 0, "rows: %zu bytes", b.n);
    cursor_release(&r);
    buf_release(&a);
    buf_release(&b);
}

struct lengths {
    uint64_t key, n, i;
    size_t rest; /* of document i, 0: not begun */
};

/* Pieces of lognormal documents, whose number is their key. */
static int
draw(void *ctx, size_t max, struct piece *p, struct err *e)
{
    struct lengths *l = ctx;
    const double x = exp(log(823.0) - 0.5 + rng_normal(l->key, l->i));

    (void)e;
    if (l->i == l->n)
        return 0;
    if (l->rest == 0)
        l->rest = x < 1.0 ? 1 : (size_t)x;
    memset(p->mask, 1, max);
    memset(p->ids, 7, 2 * max);
    p->len = (uint32_t)(l->rest < max ? l->rest : max);
    p->key = l->i;
    p->masked = 0;
    p->off = (uint32_t)l->rest;
    l->rest -= p->len;
    l->i += l->rest == 0;
    return 1;
}

static void
test_packer(size_t T, double most)
{
    struct lengths l = { 9, 30000, 0, 0 };
    const struct pack_from from = { draw, &l };
    struct packer p;
    struct pack_rows r;
    struct err e;
    size_t *seen = xcalloc(l.n, sizeof *seen);
    size_t rows = 0, wrong = 0, old = 0;
    uint64_t tokens = 0;

    packer_init(&p, PACK_BEST, T, 2);
    pack_rows_init(&r, T, 2);
    for (;; rows++) {
        pack_rows_clear(&r);
        if (packer_row(&p, &from, rows, &r, &e) <= 0)
            break;
        tokens += r.tokens;
        for (size_t i = 0; i < r.P; i++)
            seen[r.key[i]] += r.len[i];
        for (size_t i = 0; i < p.n; i++)
            old += rows - p.piece[i].born > PACK_AGE + PACK_WINDOW;
    }
    for (size_t i = 0; i < l.n; i++) {
        const double x = exp(log(823.0) - 0.5 + rng_normal(9, i));

        wrong += seen[i] != (x < 1.0 ? 1 : (size_t)x);
    }
    ok(wrong == 0, "T %zu: every token once", T);
    ok(old == 0, "T %zu: none waits for ever", T);
    ok(100.0 - 100.0 * (double)tokens / (double)(rows * T) <= most,
        "T %zu: %.3f %% padding", T,
        100.0 - 100.0 * (double)tokens / (double)(rows * T));
    packer_release(&p);
    pack_rows_release(&r);
    free(seen);
}

int
main(void)
{
    test_mix();
    test_tournament();
    test_unimax();
    test_bound();
    test_cursor();
    test_packer(2048, 0.1);
    test_packer(1024, 0.5);
    return done_testing();
}
