/* Threads that read frames ahead: see ahead.h */
#include "ahead.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

void
ahead_init(struct ahead *a, size_t threads,
    int (*step)(void *owner, size_t worker, struct err *e), void *owner)
{
    memset(a, 0, sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->done, NULL);
    pthread_cond_init(&a->room, NULL);
    a->nworker = 1 + threads;
    a->worker = xcalloc(a->nworker, sizeof *a->worker);
    for (size_t i = 0; i < a->nworker; i++)
        a->worker[i].a = a;
    a->step = step;
    a->owner = owner;
}

void
ahead_wait(struct ahead *a, pthread_cond_t *c, double *sum, size_t worker)
{
    double *const since = &a->worker[worker].since;

    *since = clock_now();
    pthread_cond_wait(c, &a->lock);
    *sum += clock_now() - *since;
    *since = 0.0;
}

static void *
read_ahead(void *arg)
{
    struct ahead_worker *w = arg;
    struct ahead *a = w->a;
    const size_t number = (size_t)(w - a->worker);
    struct err e;

    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        const double t = clock_now();
        const int r = a->step(a->owner, number, &e);

        if (r < 0)
            break;
        if (r > 0) {
            a->times.busy += clock_now() - t;
        } else {
            a->times.ahead = 1;
            ahead_wait(a, &a->room, &a->times.idle, number);
        }
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

void
ahead_start(struct ahead *a)
{
    while (a->running + 1 < a->nworker) {
        struct ahead_worker *w = &a->worker[a->running + 1];

        if (thread_start(&w->id, read_ahead, w) < 0)
            a->nworker = a->running + 1;
        else
            a->running++;
    }
}

void
ahead_stop(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->stop = 1;
    pthread_cond_broadcast(&a->room);
    pthread_mutex_unlock(&a->lock);
    for (; a->running > 0; a->running--)
        pthread_join(a->worker[a->running].id, NULL);
}

void
ahead_release(struct ahead *a)
{
    for (size_t i = 0; i < a->nworker; i++)
        shard_buf_release(&a->worker[i].buf);
    free(a->worker);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->done);
    pthread_cond_destroy(&a->room);
}

void
ahead_get_times(struct ahead *a, struct ahead_times *t)
{
    pthread_mutex_lock(&a->lock);
    *t = a->times;
    for (size_t i = 1; i <= a->running; i++)
        if (a->worker[i].since > 0.0)
            t->idle += clock_now() - a->worker[i].since;
    pthread_mutex_unlock(&a->lock);
}

double
ahead_near(size_t frames, size_t K, double docs)
{
    const double F = (double)frames, whole = (double)(frames / K) * (double)K;
    const double rest = F - whole,
                 border = docs > 1.0 ? (F - 1.0) / (docs - 1.0) : 0.0;
    const double same =
        frames <= K ? 1.0 : (whole * (double)K + rest * rest) / (F * F);

    return (1.0 - border) * same + border;
}

size_t
ahead_span(const uint64_t *upto, size_t n, uint64_t i)
{
    size_t lo = 0;

    for (size_t hi = n; hi - lo > 1;) {
        const size_t mid = lo + (hi - lo) / 2;

        if (upto[mid] <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}
