/*
 * Collectives against what each rank works out alone, in plain loops.  Run by
 * itself it is one rank, by ranks.sh under mpirun it is one of many: rank 0
 * says what all have found.
 */
#include "base/clock.h"
#include "base/note.h"
#include "dist/dist.h"
#include "kern/kern.h"
#include "../lib/tap.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* LONG: several messages of a sum, the last one shorter */
enum { MOST = 5000, LONG = 3 * (1 << 16) + 5, RANKS = 16 };

static const struct dist_group *g;
static float x[LONG], want[LONG], part[RANKS][LONG];
static int failed;

/* Check that all ranks found `good`; rank 0 prints the result. */
static int
all_ok(int good, const char *what, size_t n)
{
    unsigned char found[RANKS] = { 0 };
    int all = 1;

    found[g->rank] = good != 0;
    dist_all_gather_one(g, found, 1);
    for (size_t r = 0; r < g->n; r++)
        all = all && found[r];
    failed += !all;
    if (g->rank == 0)
        ok(all, "%s, %zu elements, %zu ranks of %s", what, n, g->n, g->name);
    return all;
}

/* A number of element i and rank r, with random bits. */
static float
number(size_t r, size_t i)
{
    uint64_t h = (r + 1) * 0x9e3779b97f4a7c15u ^ (i + 1) * 0xbf58476d1ce4e5b9u;

    h ^= h >> 31;
    h *= 0x94d049bb133111ebu;
    return (float)((double)(int64_t)h * 1e-19);
}

static float
to_bf16(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* S(i,k) of dist.h, as it is defined there. */
static float
tree(size_t n, size_t i, size_t k, size_t element)
{
    return i + k < n
        ? tree(n, i, 2 * k, element) + tree(n, i + k, 2 * k, element)
        : part[i][element];
}

static void
reduce(size_t n, const size_t *at, enum dist_sum how, const char *what)
{
    const size_t a = at[g->rank], b = at[g->rank + 1];

    for (size_t r = 0; r < g->n; r++)
        for (size_t i = 0; i < n; i++)
            part[r][i] = how == DIST_BF16 && r != g->rank
                ? to_bf16(number(r, i))
                : number(r, i);
    for (size_t i = a; i < b; i++) {
        want[i] = part[(g->rank + 1) % g->n][i];
        for (size_t k = 2; k <= g->n && g->n > 1; k++)
            want[i] += part[(g->rank + k) % g->n][i];
        if (how != DIST_RING)
            want[i] = tree(g->n, 0, 1, i);
    }
    for (size_t i = 0; i < n; i++)
        x[i] = number(g->rank, i);
    dist_reduce_scatter(g, x, at, how);
    all_ok(memcmp(x + a, want + a, (b - a) * sizeof *x) == 0, what, n);
}

/* An all-reduce is a reduce-scatter of even parts, and then a gather. */
static void
all_reduce(size_t n)
{
    for (size_t r = 0; r < g->n; r++)
        for (size_t i = 0; i < n; i++)
            part[r][i] = number(r, i);
    for (size_t i = 0; i < n; i++) {
        want[i] = tree(g->n, 0, 1, i);
        x[i] = number(g->rank, i);
    }
    dist_all_reduce(g, x, n, DIST_TREE);
    all_ok(memcmp(x, want, n * sizeof *x) == 0, "an all-reduce sums", n);
}

static void
gather(size_t n, const size_t *at, const char *parts)
{
    int good = 1;
    char what[80];

    for (size_t i = 0; i < n; i++)
        x[i] = i >= at[g->rank] && i < at[g->rank + 1] ? number(0, i) : -1.0f;
    dist_gather_begin(g, x, sizeof *x, at);
    dist_broadcast(g, want, sizeof want, 0);
    dist_gather_end();
    for (size_t i = 0; i < n; i++)
        good = good && x[i] == number(0, i);
    snprintf(what, sizeof what, "a gather of %s parts begun is whole", parts);
    all_ok(good, what, n);
    for (size_t i = 0; i < n; i++)
        x[i] = i >= at[g->rank] && i < at[g->rank + 1] ? number(0, i) : -1.0f;
    dist_all_gather(g, x, sizeof *x, at);
    for (size_t i = 0; i < n; i++)
        good = good && x[i] == number(0, i);
    snprintf(what, sizeof what, "an all-gather of %s parts is whole", parts);
    all_ok(good, what, n);
}

static void
broadcast(size_t n)
{
    int good = 1;

    for (size_t root = 0; root < g->n; root++) {
        for (size_t i = 0; i < n; i++)
            x[i] = g->rank == root ? number(root, i) : 0.0f;
        dist_broadcast(g, x, n * sizeof *x, root);
        for (size_t i = 0; i < n; i++)
            good = good && x[i] == number(root, i);
    }
    all_ok(good, "a broadcast comes from each", n);
}

/* Pass numbers from each rank to each; then add passed numbers to those of the
 * receiver. */
static void
pass(size_t n)
{
    int good = 1, sum = 1;

    for (size_t k = 0; k < g->n * g->n; k++) {
        const size_t from = k / g->n, to = k % g->n;
        const int came = g->rank == to && from != to;

        for (size_t i = 0; i < n; i++)
            x[i] = number(g->rank, i);
        dist_pass(g, from, to, x, n * sizeof *x);
        for (size_t i = 0; i < n; i++)
            good = good && x[i] == number(came ? from : g->rank, i);
        for (size_t i = 0; i < n; i++)
            x[i] = number(g->rank, i);
        dist_pass_sum(g, from, to, x, n);
        for (size_t i = 0; i < n; i++)
            sum = sum &&
                x[i] == number(g->rank, i) + (came ? number(from, i) : 0.0f);
    }
    all_ok(good, "numbers pass from each to each", n);
    all_ok(sum, "numbers passed are added there", n);
}

/* Each rank sends to the next in the background, by three channels, which are
 * received in another order than they were sent in. */
static void
channels(size_t n)
{
    const size_t to = (g->rank + 1) % g->n, from = (g->rank + g->n - 1) % g->n;
    struct posted sending[6];
    int good = 1;

    if (g->n == 1)
        return;
    for (size_t k = 0; k < 6; k++) {
        for (size_t i = 0; i < n; i++)
            part[k][i] = number(g->rank + 16 * k, i);
        sending[k] = dist_post(g, to, k % 3, part[k], n);
    }
    for (size_t k = 6; k-- > 0;) {
        const size_t is = k % 3 + (k < 3 ? 3 : 0); /* messages of one channel
                                                    * keep their order */

        dist_receive(g, from, k % 3, x, n);
        for (size_t i = 0; i < n; i++)
            good = good && x[i] == number(from + 16 * is, i);
    }
    for (size_t k = 0; k < 6; k++)
        dist_posted(g, &sending[k]);
    all_ok(good, "channels keep their order", n);
}

static void
reductions(size_t n)
{
    static const struct {
        enum dist_sum how;
        const char *what;
    } sums[] = { { DIST_RING, "in a ring" }, { DIST_TREE, "in a tree" },
        { DIST_BF16, "in bf16" } };
    size_t at[RANKS + 1], last[RANKS + 1] = { 0 };
    char what[80];

    dist_split(n, g->n, 1, at);
    last[g->n] = n; /* all elements are the last rank's */
    for (size_t i = 0; i < 3; i++) {
        snprintf(what, sizeof what, "a reduce-scatter %s sums even parts",
            sums[i].what);
        reduce(n, at, sums[i].how, what);
        snprintf(what, sizeof what, "a reduce-scatter %s sums uneven parts",
            sums[i].what);
        reduce(n, last, sums[i].how, what);
    }
}

static void
sizes(size_t n)
{
    size_t at[RANKS + 1], last[RANKS + 1] = { 0 };

    dist_split(n, g->n, 1, at);
    last[g->n] = n;
    gather(n, at, "even");
    gather(n, last, "uneven");
    reductions(n);
    all_reduce(n);
    broadcast(n);
    pass(n);
    channels(n);
}

static void
add_units(void *ctx, size_t i, size_t j)
{
    ((float *)ctx)[i] += ((float *)ctx)[j];
}

/* Units added by one tree have the same bits as when each rank adds its own
 * units by a tree, and another tree adds the ranks' sums. */
static void
trees(void)
{
    int defined = 1, same = 1;

    for (size_t n = 1; n <= RANKS; n++) {
        float whole[RANKS], sums[RANKS];

        for (size_t i = 0; i < n; i++)
            whole[i] = part[i][0] = number(1, i);
        dist_tree(n, add_units, whole);
        defined = defined && whole[0] == tree(n, 0, 1, 0);
        for (size_t ranks = 1; ranks <= n; ranks *= 2) {
            for (size_t r = 0; r < ranks; r++) {
                float own[RANKS];
                size_t k = 0;

                for (size_t i = r; i < n; i += ranks)
                    own[k++] = number(1, i);
                dist_tree(k, add_units, own);
                sums[r] = own[0];
            }
            dist_tree(ranks, add_units, sums);
            same = same && sums[0] == whole[0];
        }
    }
    if (g->rank == 0) {
        ok(defined, "the tree of up to 16 units is as defined");
        ok(same,
            "the tree is that of its ranks' trees, for 1, 2, 4, 8 and 16 "
            "ranks");
    }
    failed += !defined || !same;
}

static void
splits(void)
{
    int good = 1;

    for (size_t n = 1; n <= RANKS; n++) {
        for (size_t total = 0; total < 300; total += 7) {
            size_t at[RANKS + 1];

            dist_split(total, n, 8, at);
            good = good && at[0] == 0 && at[n] == total;
            for (size_t i = 0; i < n; i++)
                good = good && at[i] <= at[i + 1] &&
                    (i + 1 == n || at[i + 1] % 8 == 0 || at[i + 1] == total) &&
                    at[i + 1] - at[i] <= total / n + 8;
        }
    }
    if (g->rank == 0)
        ok(good, "splits are even but for the alignment");
    failed += !good;
}

/* Milliseconds of sends that were not hidden by other work, from a log's table
 * at `tsv`. */
static double
exposed(const char *tsv)
{
    FILE *f = fopen(tsv, "r");
    char line[500];
    double ms = NAN;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "send\t", 5) == 0)
            sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lf",
                &ms);
    if (f != NULL)
        fclose(f);
    return ms;
}

/* The log counts the time for which a sender waits for a receiver that comes
 * late. */
static void
late(void)
{
    const size_t rank = g->rank;
    char prefix[20], tsv[30];
    double t;
    int good = 1;
    struct err e;

    /* no two runs of this test write the same file */
    snprintf(prefix, sizeof prefix, "late-of-%zu", g->n);
    snprintf(tsv, sizeof tsv, "%s.tsv", prefix);
    if (g->n == 1 || dist_log(prefix, 0, &e) < 0)
        return;
    dist_barrier(g);
    t = clock_now();
    if (rank == 0) {
        const struct posted p = dist_post(g, 1, 0, x, MOST);

        dist_posted(g, &p);
    }
    t = clock_now() - t;
    if (rank == 1) {
        nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
        dist_receive(g, 0, 0, x, MOST);
    }
    if (dist_log_end(&e) < 0)
        good = 0;
    else if (rank == 0)
        good = exposed(tsv) >= 1e3 * t - 250.0;
    all_ok(good, "a late receiver is told", MOST);
}

/* Collectives within pairs of ranks. */
static void
pairs(void)
{
    const struct dist_group *world = dist_world();
    struct dist_group pair;

    if (world->n % 2 != 0)
        return;
    dist_part(&pair, world, 2, "pair");
    g = &pair;
    all_ok(g->n == 2 && g->rank == world->rank % 2, "a pair", 0);
    sizes(100);
    dist_part_free(&pair);
}

/* Is g this rank's node, if nodes have `most` ranks and the last may have
 * fewer? */
static int
is_node(size_t most)
{
    const struct dist_group *world = dist_world();
    const size_t first = world->rank / most * most, left = world->n - first;

    return g->n == (left < most ? left : most) &&
        g->rank == world->rank - first;
}

int
main(int argc, char **argv)
{
    const char *others = getenv("WANT_OTHERS");
    const char *want_n = getenv("WANT_RANKS");
    const char *node = getenv("RETORT_NODE");
    struct err e;

    progname = argv[argc > 1];
    if (kern_init() != NULL || dist_begin(&e) < 0) {
        printf("Bail out! no kernels, or %s\n", e.msg);
        return 1;
    }
    g = dist_world();
    if (g->rank == 0 && want_n != NULL)
        ok(g->n == strtoull(want_n, NULL, 10), "%s ranks", want_n);
    if (g->rank == 0 && others != NULL)
        ok(dist_others() == strtoull(others, NULL, 10), "%s others", others);
    failed += g->n > RANKS;
    if (g->n > RANKS)
        return 1;
    trees();
    splits();
    for (size_t n = 0; n < 12; n += 5)
        sizes(n);
    sizes(MOST);
    reductions(LONG);
    reductions(2 << 16);
    late();
    if (!all_ok(dist_overlap(&e) == 0, "a thread", 0))
        return 1;
    sizes(100);
    g = dist_node();
    if (node != NULL)
        all_ok(is_node(strtoull(node, NULL, 10)), "a node", g->n);
    sizes(100);
    g = dist_across();
    sizes(100);
    pairs();
    dist_barrier(dist_world());
    g = dist_world();
    if (g->rank == 0)
        failed += done_testing();
    dist_end();
    return failed > 0;
}
