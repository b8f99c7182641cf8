/* Requests on their way between two threads; see queue.h. */
#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct queue {
    /* b, wake: set before threads start */
    struct queue_bounds b;
    void (*wake)(struct call *c);
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t came;
    struct call *first, **last; /* calls that have not been taken */
    size_t waiting;             /* texts of the calls that wait */
    size_t texts;               /* texts that run or wait */
    size_t bytes;               /* bytes held */
    size_t readings;            /* requests announced, see queue.h */
    int drains;
};

struct queue *
queue_new(const struct queue_bounds *b, void (*wake)(struct call *c))
{
    struct queue *w = xcalloc(1, sizeof *w);
    pthread_condattr_t a;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&w->came, &a);
    pthread_condattr_destroy(&a);
    w->b = *b;
    w->wake = wake;
    w->last = &w->first;
    return w;
}

void
queue_free(struct queue *w)
{
    if (w == NULL)
        return;
    pthread_cond_destroy(&w->came);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void
queue_lock(struct queue *w)
{
    pthread_mutex_lock(&w->lock);
}

void
queue_unlock(struct queue *w)
{
    pthread_mutex_unlock(&w->lock);
}

struct call *
call_new(void)
{
    struct call *c = xcalloc(1, sizeof *c);

    c->owners = 1;
    c->fd = -1;
    return c;
}

void
call_release(struct queue *w, struct call *c)
{
    int left;

    queue_lock(w);
    left = --c->owners;
    if (left == 0)
        w->bytes -= c->held;
    queue_unlock(w);
    if (left > 0)
        return;
    request_release(&c->q);
    buf_release(&c->out);
    teach_release(&c->targets);
    free(c);
}

int
queue_reading_begin(struct queue *w, struct refusal *why)
{
    int drains;

    queue_lock(w);
    drains = w->drains;
    w->readings += !drains;
    queue_unlock(w);
    return !drains
        ? 0
        : refuse(why, 503, NULL, "shutting_down", "The server is stopping.");
}

void
queue_reading_end(struct queue *w)
{
    queue_lock(w);
    w->readings--;
    queue_unlock(w);
}

size_t
queue_readings(struct queue *w)
{
    size_t n;

    queue_lock(w);
    n = w->readings;
    queue_unlock(w);
    return n;
}

int
queue_put(struct queue *w, struct call *c, struct refusal *why)
{
    int r = 0;

    queue_lock(w);
    if (w->texts + c->texts > w->b.texts) {
        r = refuse(why, 429, NULL, "queue_full",
            "The server has %zu texts to write, and no room for %zu more: try "
            "again later.",
            w->texts, c->texts);
    } else {
        w->texts += c->texts;
        w->waiting += c->texts;
        c->owners++;
        c->next = NULL;
        *w->last = c;
        w->last = &c->next;
        pthread_cond_signal(&w->came);
    }
    queue_unlock(w);
    return r;
}

void
queue_drain(struct queue *w)
{
    queue_lock(w);
    w->drains = 1;
    queue_unlock(w);
}

int
queue_drains(struct queue *w)
{
    int r;

    queue_lock(w);
    r = w->drains;
    queue_unlock(w);
    return r;
}

void
call_leave(struct queue *w, struct call *c)
{
    queue_lock(w);
    c->gone = 1;
    pthread_cond_signal(&w->came);
    queue_unlock(w);
}

static int
hold_bytes(struct queue *w, size_t *held, size_t bytes)
{
    if (bytes > *held && w->bytes - *held + bytes > w->b.bytes)
        return -1;
    w->bytes = w->bytes - *held + bytes;
    *held = bytes;
    return 0;
}

int
queue_hold(struct queue *w, size_t *held, size_t bytes)
{
    int r;

    queue_lock(w);
    r = hold_bytes(w, held, bytes);
    queue_unlock(w);
    return r;
}

/* Time that is `seconds` from now. */
static struct timespec
later_time(double seconds)
{
    struct timespec t;
    long ns;

    clock_gettime(CLOCK_MONOTONIC, &t);
    ns = t.tv_nsec + (long)((seconds - (double)(time_t)seconds) * 1e9);
    t.tv_sec += (time_t)seconds + ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    return t;
}

struct call *
queue_take(struct queue *w, double wait)
{
    const struct timespec until = later_time(wait);
    struct call *all;

    queue_lock(w);
    if (w->first == NULL && wait > 0)
        pthread_cond_timedwait(&w->came, &w->lock, &until);
    all = w->first;
    w->first = NULL;
    w->last = &w->first;
    w->waiting = 0;
    queue_unlock(w);
    return all;
}

void
queue_text_ended(struct queue *w, size_t texts)
{
    queue_lock(w);
    w->texts -= texts;
    queue_unlock(w);
}

size_t
queue_waiting(struct queue *w)
{
    size_t n;

    queue_lock(w);
    n = w->waiting;
    queue_unlock(w);
    return n;
}

static void
wake_call(struct queue *w, struct call *c)
{
    if (c->parked) {
        c->parked = 0;
        w->wake(c);
    }
}

int
call_write(struct queue *w, struct call *c, const struct buf *bytes, int status,
    int whole)
{
    int r;

    queue_lock(w);
    r = hold_bytes(w, &c->held, c->held + bytes->n);
    if (r < 0 && status >= 400) { /* an error is short: always add it */
        w->bytes += bytes->n;
        c->held += bytes->n;
        r = 0;
    }
    if (r == 0) {
        if (bytes->n > 0)
            buf_add(&c->out, bytes->p, bytes->n);
        c->status = c->status == 0 ? status : c->status;
        c->whole |= whole;
        wake_call(w, c);
    }
    queue_unlock(w);
    return r;
}

size_t
call_read(struct queue *w, struct call *c, char *to, size_t max)
{
    const char *p = c->out.p + c->sent, *end;
    size_t n = c->out.n - c->sent;

    if (n == 0)
        return 0;
    /* some clients take each chunk of the transfer for one event */
    if (c->q.stream && (end = strstr(p, "\n\n")) != NULL)
        n = (size_t)(end + 2 - p);
    n = n < max ? n : max;
    memcpy(to, p, n);
    c->sent += n;
    if (c->sent == c->out.n) {
        hold_bytes(w, &c->held, c->held - c->sent);
        buf_clear(&c->out);
        c->sent = 0;
    }
    return n;
}

/* Has the client closed its end?  If it sent another request before that, the
 * request's unread bytes hide the end, and the result is 0. */
static int
has_closed(int fd)
{
    char byte;
    const ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 ||
        (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

int
call_is_gone(struct queue *w, struct call *c, int probe)
{
    int r;

    queue_lock(w);
    if (probe && c->parked && c->fd >= 0 && has_closed(c->fd))
        c->gone = 1;
    r = c->gone;
    if (r)
        wake_call(w, c);
    queue_unlock(w);
    return r;
}
