/* Ranks that watch one another; see watch.h. */
#include "dist/watch.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/median.h"
#include "base/note.h"
#include "base/thread.h"
#include "dist/dist.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEPS = 63, ADDRESSES = 8, FIRST = 10 };

/* The packet in which a rank sends its state.  All ranks run the same program,
 * so the packet's bytes are sent as they lie in memory. */
struct beat {
    uint64_t key;
    uint32_t rank, busy;
    double inside;  /* seconds that the rank has waited in a collective */
    double outside; /* seconds since its last collective; 0: it waits in one
                     * now */
};

/* Rank 0 sends all ranks its addresses, and the key of packets. */
struct meeting {
    uint64_t key;
    struct in_addr at[ADDRESSES];
    size_t n;
    in_port_t port; /* in network byte order */
};
/* A rank as messages name it. */
struct person {
    long process;
    char host[100];
};

/* All members are written before the thread starts.  After that the thread
 * changes last, heard and begun, and the main thread changes step and nstep. */
static struct {
    int on, fd, wake[2];
    pthread_t thread;
    struct meeting meet;
    struct person *who; /* [n] by rank */
    struct beat *last;  /* [n] last packet of each rank; ranks other than 0 have
                         * only rank 0's */
    double *heard;      /* [n] clock_now() when that packet came; 0: never */
    /* begun: clock_now() when watching began; 0 once unheard ranks were warned
     * of.  least: shortest limit, seconds.  interval: seconds between
     * packets. */
    double begun, least, interval;
    int steps; /* the program calls watch_step */
    const char *advice;
    double step[STEPS]; /* seconds of the last steps, a ring buffer */
    size_t nstep;
} watch;

/* Set by the threads that compute, and read by the thread that sends packets.
 * depth: collectives in which this rank waits.  Writers set `since` first and
 * depth second; the reader reads depth first and `since` second.  So it never
 * takes the time at which a computation began for that of a wait.
 * busy: see watch_busy. */
static _Atomic int depth, busy;
static _Atomic double since; /* clock_now() when this rank began to wait in a
                               * collective (depth > 0) or, if it does not wait,
                               * when it left the last one */
static _Atomic double usual; /* median seconds of the last steps; 0: none is
                               * done */

void
watch_enter(void)
{
    if (atomic_load(&depth) == 0)
        atomic_store(&since, clock_now());
    atomic_fetch_add(&depth, 1);
}

void
watch_leave(void)
{
    if (atomic_load(&depth) == 1)
        atomic_store(&since, clock_now());
    atomic_fetch_sub(&depth, 1);
}

void
watch_busy(int change)
{
    /* a busy time that has just ended must not count as slow */
    if (change < 0 && atomic_load(&depth) == 0)
        atomic_store(&since, clock_now());
    atomic_fetch_add(&busy, change);
}

void
watch_step(double seconds)
{
    double sorted[STEPS];
    size_t n;

    watch.step[watch.nstep++ % STEPS] = seconds;
    n = watch.nstep < STEPS ? watch.nstep : STEPS;
    memcpy(sorted, watch.step, n * sizeof *sorted);
    atomic_store(&usual, median(sorted, n));
}

static struct beat
own_beat(void)
{
    const int waits = atomic_load(&depth) > 0;
    const double began = atomic_load(&since), age = clock_now() - began;

    return (struct beat){ .key = watch.meet.key,
        .rank = (uint32_t)dist_world()->rank,
        .busy = atomic_load(&busy) > 0,
        .inside = waits ? age : 0.0,
        .outside = waits ? 0.0 : age };
}

static double
limit(void)
{
    return fmax(watch.least, 3.0 * atomic_load(&usual));
}

/* Seconds that ranks may wait in a collective, or be out of one: more until the
 * first step is done, since ranks also read models and start their inputs in
 * that time. */
static double
longest_wait(void)
{
    return atomic_load(&usual) > 0.0 ? limit() : FIRST * watch.least;
}

static void
name_rank(char *out, size_t size, size_t rank)
{
    snprintf(out, size, "rank %zu (process %ld on %s)", rank,
        watch.who[rank].process, watch.who[rank].host);
}

/* Warn with `why`, and have the launcher end all ranks: this rank may wait in a
 * collective, which it cannot leave. */
static void
end_lost(const char *why)
{
    warn("%s%s", why, watch.advice);
    io_remove_temporaries();
    dist_abort(EX_RANK);
}

static void
end_silent(size_t rank, double seconds)
{
    char who[200], why[400];

    name_rank(who, sizeof who, rank);
    snprintf(why, sizeof why,
        "%s has not been heard of for %.1f s: stopped, killed or cut off", who,
        seconds);
    end_lost(why);
}

static void
end_slow(size_t rank, double inside, double outside)
{
    char who[200], why[400];

    name_rank(who, sizeof who, rank);
    snprintf(why, sizeof why,
        "%s is slow: others have waited %.1f s for it, while it computed or "
        "waited for its input for %.1f s",
        who, inside, outside);
    end_lost(why);
}

static void
end_stuck(double seconds)
{
    char why[400];

    snprintf(why, sizeof why,
        "all ranks have waited for one another for %.1f s: a message is lost, "
        "or they wait in different calls",
        seconds);
    end_lost(why);
}

/* On rank 0: look for a lost rank.  1: there is one, and the job is being
 * ended. */
static int
judge_all(double now)
{
    const size_t n = dist_world()->n;
    const double most = longest_wait();
    double inside = 0.0, outside = 0.0, least = INFINITY;
    size_t last = 0;

    watch.last[0] = own_beat();
    watch.heard[0] = now;
    for (size_t r = 0; r < n; r++) {
        const struct beat *b = &watch.last[r];

        least = watch.heard[r] > 0.0 ? fmin(least, b->inside) : 0.0;
        if (!(watch.heard[r] > 0.0))
            continue;
        if (now - watch.heard[r] > limit()) {
            end_silent(r, now - watch.heard[r]);
            return 1;
        }
        inside = fmax(inside, b->inside);
        if (!b->busy && b->outside > outside) {
            outside = b->outside;
            last = r;
        }
    }
    if (watch.steps && inside > most && outside > most) {
        end_slow(last, inside, outside);
        return 1;
    }
    if (least > most) {
        end_stuck(least);
        return 1;
    }
    return 0;
}

/* On other ranks: is rank 0 lost?  Rank 1 is the first to report it, and the
 * others follow two seconds later. */
static int
judge_first(double now)
{
    const double more = dist_world()->rank > 1 ? 2.0 : 0.0;

    if (!(watch.heard[0] > 0.0) || now - watch.heard[0] <= limit() + more)
        return 0;
    end_silent(0, now - watch.heard[0]);
    return 1;
}

/* Warn, once, about ranks from which no packet has ever come. */
static void
warn_unheard(double now)
{
    const size_t n = dist_world()->rank == 0 ? dist_world()->n : 1;
    char who[200];

    if (!(watch.begun > 0.0) || now - watch.begun < watch.least)
        return;
    watch.begun = 0.0;
    for (size_t r = 0; r < n; r++) {
        if (watch.heard[r] > 0.0 || r == dist_world()->rank)
            continue;
        name_rank(who, sizeof who, r);
        warn("no packet of %s arrives by UDP: it is not watched", who);
    }
}

/* Read the packets that have come; rank 0 also answers them. */
static void
read_packets(double now)
{
    const size_t n = dist_world()->n;
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    struct beat b;

    for (; recvfrom(watch.fd, &b, sizeof b, MSG_DONTWAIT,
               (struct sockaddr *)&from, &len) == (ssize_t)sizeof b;
         len = sizeof from) {
        if (b.key != watch.meet.key || b.rank >= n)
            continue;
        watch.last[b.rank] = b;
        watch.heard[b.rank] = now;
        if (dist_world()->rank > 0)
            continue;
        b = own_beat();
        (void)sendto(watch.fd, &b, sizeof b, 0, (struct sockaddr *)&from, len);
    }
}

static void
send_beat(void)
{
    const struct beat b = own_beat();
    struct sockaddr_in to = { .sin_family = AF_INET,
        .sin_port = watch.meet.port };

    /* an address at which rank 0 cannot be reached brings no answer */
    for (size_t i = 0; i < watch.meet.n; i++) {
        to.sin_addr = watch.meet.at[i];
        (void)sendto(watch.fd, &b, sizeof b, 0, (const struct sockaddr *)&to,
            sizeof to);
    }
}

/* Forgive the last `seconds`, in which this process did not run: it was
 * stopped, alone or with the whole job, or had no processor.  They count
 * neither as its own wait nor as silence of other ranks. */
static void
forgive(double seconds, double now)
{
    const size_t n = dist_world()->rank == 0 ? dist_world()->n : 1;
    double was = atomic_load(&since);

    /* if this fails, `since` has just been set and needs no change */
    (void)atomic_compare_exchange_strong(&since, &was,
        fmin(was + seconds, now));
    for (size_t r = 0; r < n; r++)
        if (watch.heard[r] > 0.0)
            watch.heard[r] = fmin(watch.heard[r] + seconds, now);
    if (watch.begun > 0.0)
        watch.begun += seconds;
}

static void *
watch_ranks(void *arg)
{
    struct pollfd p[2] = { { .fd = watch.fd, .events = POLLIN },
        { .fd = watch.wake[0], .events = POLLIN } };
    double before = clock_now(), next = 0.0;

    (void)arg;
    for (;;) {
        double now;

        (void)poll(p, 2, (int)(1e3 * watch.interval));
        if (p[1].revents != 0)
            return NULL;
        now = clock_now();
        if (now - before > 2.0 * watch.interval)
            forgive(now - before - watch.interval, now);
        before = now;
        read_packets(now);
        if (now < next)
            continue;
        next = now + watch.interval;
        if (dist_world()->rank > 0)
            send_beat();
        if (dist_world()->rank > 0 ? judge_first(now) : judge_all(now))
            return NULL;
        warn_unheard(now);
    }
}

/* Collect this machine's IPv4 addresses, at most ADDRESSES. */
static int
addresses(struct meeting *m)
{
    struct ifaddrs *all;

    if (getifaddrs(&all) < 0)
        return -1;
    for (const struct ifaddrs *i = all; i && m->n < ADDRESSES; i = i->ifa_next)
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET)
            memcpy(&m->at[m->n++],
                &((const struct sockaddr_in *)(const void *)i->ifa_addr)
                     ->sin_addr,
                sizeof *m->at);
    freeifaddrs(all);
    return 0;
}

/* Open the UDP socket; on rank 0 *m gets its addresses, port and key. */
static int
meet(struct meeting *m)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t len = sizeof at;

    watch.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (watch.fd < 0 || pipe(watch.wake) < 0 ||
        bind(watch.fd, (struct sockaddr *)&at, sizeof at) < 0 ||
        getsockname(watch.fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    m->port = at.sin_port;
    return dist_world()->rank == 0 &&
            (getentropy(&m->key, sizeof m->key) < 0 || addresses(m) < 0)
        ? -1
        : 0;
}

int
watch_begin(double least, int steps, const char *advice, struct err *e)
{
    const struct dist_group *g = dist_world();
    int r;

    if (g->n == 1)
        return 0;
    r = meet(&watch.meet);
    if (r < 0)
        err_set(e, EX_SYS, "a socket to watch ranks by:");
    /* even after an error on this rank: the others wait for it */
    dist_broadcast(g, &watch.meet, sizeof watch.meet, 0);
    watch.who = xcalloc(g->n, sizeof *watch.who);
    watch.last = xcalloc(g->n, sizeof *watch.last);
    watch.heard = xcalloc(g->n, sizeof *watch.heard);
    watch.who[g->rank].process = (long)getpid();
    (void)gethostname(watch.who[g->rank].host,
        sizeof watch.who[g->rank].host - 1);
    dist_all_gather_one(g, watch.who, sizeof *watch.who);
    watch.least = least;
    watch.steps = steps;
    watch.interval = fmax(0.05, fmin(1.0, least / 10.0));
    watch.advice = advice;
    watch.begun = clock_now();
    atomic_store(&since, watch.begun);
    if (r == 0 && thread_start(&watch.thread, watch_ranks, NULL) < 0)
        r = err_set(e, EX_SYS, "cannot start a thread");
    watch.on = r == 0;
    return r;
}

void
watch_end(void)
{
    if (!watch.on)
        return;
    (void)io_write(watch.wake[1], "", 1);
    pthread_join(watch.thread, NULL);
    close(watch.wake[0]);
    close(watch.wake[1]);
    close(watch.fd);
    free(watch.who);
    free(watch.last);
    free(watch.heard);
    watch.on = 0;
}
