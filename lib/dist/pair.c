/* Messages between two ranks; see dist.h. */
#include "base/clock.h"
#include "base/timeline.h"
#include "dist/over_mpi.h"
#include "dist/call.h"
#include "dist/watch.h"
#include "kern/kern.h"

enum { SOME = 1 << 14 }; /* numbers received and added at a time */

static int
has_part(const struct dist_group *g, size_t from, size_t to)
{
    return from != to && (g->rank == from || g->rank == to);
}

/* Copy p of rank `from` to p of rank `to`; called by these two. */
static void
copy_over(const struct dist_group *g, size_t from, size_t to, void *p,
    size_t bytes)
{
    mpi_exchange(g, to, p, g->rank == from ? bytes : 0, from, p,
        g->rank == to ? bytes : 0);
}

void
dist_pass(const struct dist_group *g, size_t from, size_t to, void *p,
    size_t bytes)
{
    struct call s;

    if (!has_part(g, from, to))
        return;
    s = call_begin_pair();
    copy_over(g, from, to, p, bytes);
    call_end(g, &s, COMM_OTHER, g->rank == from ? "send" : "recv", bytes,
        bytes);
}

void
dist_pass_sum(const struct dist_group *g, size_t from, size_t to, float *x,
    size_t n)
{
    struct call s;
    float came[SOME];

    if (!has_part(g, from, to))
        return;
    s = call_begin_pair();
    for (size_t i = 0; i < n; i += SOME) {
        const size_t k = n - i < SOME ? n - i : SOME;

        copy_over(g, from, to, g->rank == from ? x + i : came, k * sizeof *x);
        if (g->rank == to)
            kern.add(x + i, x + i, came, k);
    }
    call_end(g, &s, COMM_OTHER, "reduce", n * sizeof *x, n * sizeof *x);
}

struct posted
dist_post(const struct dist_group *g, size_t to, size_t channel, const float *x,
    size_t n)
{
    const struct call s = call_begin_pair();
    struct posted p = { mpi_send(g, to, channel, x, n), n, 0.0 };

    watch_leave();
    if (s.begin > 0.0) {
        timeline_add("gather", "send", s.begin);
        p.seconds = clock_now() - s.begin;
    }
    return p;
}

void
dist_posted(const struct dist_group *g, const struct posted *p)
{
    const size_t bytes = p->n * sizeof(float);
    struct call s = call_begin_pair();

    s.before = p->seconds;
    s.sent -= bytes;
    mpi_finish(p->sending);
    call_end(g, &s, COMM_OTHER, "send", bytes, bytes);
}

void
dist_receive(const struct dist_group *g, size_t from, size_t channel, float *x,
    size_t n)
{
    struct call s = call_begin_pair();
    const double t = s.begin;

    mpi_wait_for(g, from, channel);
    if (t > 0.0) {
        timeline_add("wait", "wait for another stage", t);
        s.begin = clock_now();
        s.wait = s.begin - t;
    }
    mpi_finish(mpi_receive(g, from, channel, x, n));
    call_end(g, &s, COMM_OTHER, "recv", n * sizeof *x, n * sizeof *x);
}
