/* The thread that reads requests; see reader.h. */
#include "reader.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>

struct reader {
    struct api *api;
    void (*wake)(struct reading *g);
    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below, and struct reading's
                           * answer and next; its other members are set before
                           * reader_put */
    pthread_cond_t came;
    struct reading *first, **last; /* requests that wait */
    int stops;
};

/* Wait for a request and take it; NULL: the reader stops. */
static struct reading *
next_reading(struct reader *r)
{
    struct reading *g;

    pthread_mutex_lock(&r->lock);
    while (r->first == NULL && !r->stops)
        pthread_cond_wait(&r->came, &r->lock);
    if ((g = r->first) != NULL && (r->first = g->next) == NULL)
        r->last = &r->first;
    pthread_mutex_unlock(&r->lock);
    return g;
}

static int
has_stopped(struct reader *r)
{
    int stops;

    pthread_mutex_lock(&r->lock);
    stops = r->stops;
    pthread_mutex_unlock(&r->lock);
    return stops;
}

/* Answer a request, by reading it or, if reads is 0, by a refusal. */
static void
end_reading(struct reader *r, struct reading *g, int reads)
{
    struct api_answer a = { 0 };

    if (reads)
        api_answer(r->api, g->path, "", g->body, g->n, g->arrived, &a);
    else
        refuse(&a.why, 503, NULL, "shutting_down", "The server is stopping.");
    pthread_mutex_lock(&r->lock);
    g->answer = a;
    pthread_mutex_unlock(&r->lock);
    queue_reading_end(r->api->queue);
    r->wake(g);
}

static void *
read_requests(void *ctx)
{
    struct reader *r = ctx;
    struct reading *g;

    while ((g = next_reading(r)) != NULL)
        end_reading(r, g, !has_stopped(r));
    return NULL;
}

struct reader *
reader_new(struct api *api, void (*wake)(struct reading *g), struct err *e)
{
    struct reader *r = xcalloc(1, sizeof *r);

    r->api = api;
    r->wake = wake;
    r->last = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->came, NULL);
    if (thread_start(&r->thread, read_requests, r) == 0)
        return r;
    err_set(e, EX_SYS, "no thread can be started:");
    reader_free(r);
    return NULL;
}

void
reader_put(struct reader *r, struct reading *g)
{
    int stops;

    pthread_mutex_lock(&r->lock);
    if (!(stops = r->stops)) {
        g->next = NULL;
        *r->last = g;
        r->last = &g->next;
        pthread_cond_signal(&r->came);
    }
    pthread_mutex_unlock(&r->lock);
    if (stops)
        end_reading(r, g, 0);
}

struct api_answer
reader_answer(struct reader *r, const struct reading *g)
{
    struct api_answer a;

    pthread_mutex_lock(&r->lock);
    a = g->answer;
    pthread_mutex_unlock(&r->lock);
    return a;
}

void
reader_stop(struct reader *r)
{
    pthread_mutex_lock(&r->lock);
    r->stops = 1;
    pthread_cond_signal(&r->came);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
}

void
reader_free(struct reader *r)
{
    pthread_cond_destroy(&r->came);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
