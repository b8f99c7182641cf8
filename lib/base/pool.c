/* A pool of threads: see pool.h */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/pool.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/profile.h"
#include "base/quota.h"
#include "base/thread.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* A waiting thread checks SPIN times before it sleeps.  That is few: the other
 * programs of a pipeline need the processors. */
enum { SPIN = 2000 };

struct worker {
    struct pool *pool;
    size_t number;
    pthread_t thread;
};

struct pool {
    /* Used by the caller only; a thread reads its own `worker`. */
    size_t n;              /* threads, the caller included */
    struct worker *worker; /* [n]; worker 0 is the caller of pool_run */
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    /* run: number of the current run.  quit: 1, when the pool is freed.  Both
     * are written under the lock, but workers look at them without it. */
    _Atomic uint32_t run;
    atomic_int quit;
    /* The job, written and read under the lock. */
    void (*fn)(void *ctx, size_t task, size_t worker);
    void *ctx;
    size_t ntasks;
    /* run << 32 | number of the next task.  So a worker that comes late, with
     * an old job, cannot take a task of the new one. */
    _Atomic uint64_t next;
    /* Finished tasks of this run.  Each worker adds to it after its task, so
     * the caller that reads ntasks sees what all tasks have written. */
    atomic_size_t finished;
};

size_t
pool_cpus(void)
{
    const size_t quota = quota_cpus("");
    cpu_set_t set;
    long n;

    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        n = CPU_COUNT(&set);
    else
        n = sysconf(_SC_NPROCESSORS_ONLN);
    n = n > 0 ? n : 1;
    return quota > 0 && quota < (size_t)n ? quota : (size_t)n;
}

struct pool_job {
    uint32_t run;
    size_t ntasks;
    void (*fn)(void *ctx, size_t task, size_t worker);
    void *ctx;
};

/* Take and run tasks of the job until none is left. */
static void
run_worker(struct pool *p, const struct pool_job *j, size_t worker)
{
    uint64_t next = atomic_load(&p->next);

    while (next >> 32 == j->run && (next & UINT32_MAX) < j->ntasks) {
        if (!atomic_compare_exchange_weak(&p->next, &next, next + 1))
            continue;
        j->fn(j->ctx, (size_t)(next & UINT32_MAX), worker);
        if (atomic_fetch_add(&p->finished, 1) + 1 == j->ntasks) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
        next = atomic_load(&p->next);
    }
}

static void *
worker_main(void *arg)
{
    const struct worker *w = arg;
    struct pool *p = w->pool;
    struct pool_job j = { 0 };

    for (;;) {
        const double t = profile_begin();

        for (int i = 0; i < SPIN && atomic_load(&p->run) == j.run; i++)
            cpu_pause();
        pthread_mutex_lock(&p->lock);
        while (p->run == j.run && !p->quit)
            pthread_cond_wait(&p->start, &p->lock);
        j = (struct pool_job){ (uint32_t)p->run, p->ntasks, p->fn, p->ctx };
        pthread_mutex_unlock(&p->lock);
        profile_end("waiting for tasks", t, 0.0, 0.0);
        if (p->quit)
            return NULL;
        run_worker(p, &j, w->number);
    }
}

struct pool *
pool_new(size_t n, struct err *e)
{
    struct pool *p = xcalloc(1, sizeof *p);
    size_t made = 1;

    p->n = n > 0 ? n : pool_cpus();
    profile_init(p->n);
    p->worker = xcalloc(p->n, sizeof *p->worker);
    pthread_mutex_init(&p->lock, NULL); /* these never fail on Linux */
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    for (; made < p->n; made++) {
        struct worker *w = &p->worker[made];

        *w = (struct worker){ .pool = p, .number = made };
        if (thread_start(&w->thread, worker_main, w) < 0)
            break;
    }
    if (made < p->n) {
        err_set(e, EX_SYS, "cannot make thread %zu of %zu", made + 1, p->n);
        p->n = made;
        pool_free(p);
        return NULL;
    }
    return p;
}

void
pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->quit = 1;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 1; i < p->n; i++)
        pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

size_t
pool_size(const struct pool *p)
{
    return p->n;
}

void
pool_run(struct pool *p, size_t ntasks,
    void (*fn)(void *ctx, size_t task, size_t worker), void *ctx)
{
    struct pool_job j;
    double t;

    assert(ntasks < UINT32_MAX);
    if (p->n == 1 || ntasks <= 1) {
        for (size_t i = 0; i < ntasks; i++)
            fn(ctx, i, 0);
        return;
    }
    t = profile_begin();
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->ctx = ctx;
    p->ntasks = ntasks;
    p->finished = 0;
    j = (struct pool_job){ (uint32_t)(p->run + 1), ntasks, fn, ctx };
    p->next = (uint64_t)j.run << 32;
    p->run = j.run;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);

    profile_end("waking threads", t, 0.0, 0.0);
    run_worker(p, &j, 0);
    t = profile_begin();
    for (int i = 0; i < SPIN && atomic_load(&p->finished) < ntasks; i++)
        cpu_pause();
    pthread_mutex_lock(&p->lock);
    while (p->finished < ntasks)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
    profile_end("waiting for threads", t, 0.0, 0.0);
}
