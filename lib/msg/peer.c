/* The process at the other end of a stream: see peer.h */
#include "msg/peer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2, SILENCE = 10 }; /* seconds */

/* The file /proc/... as text; 0 when there is none. */
static size_t
proc_text(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    if (fd >= 0) {
        n = read(fd, text, size - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

int
peer_is_stopped(pid_t pid)
{
    char path[40], text[400];
    const char *p;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (pid <= 0 || proc_text(path, text, sizeof text) == 0)
        return 0;
    p = strrchr(text, ')'); /* the name may hold anything */
    return p && p[1] == ' ' && (p[2] == 'T' || p[2] == 't');
}

/* Process pid holds an end of the pipe for writing, or for reading. */
static int
holds(pid_t pid, const struct stat *pipe, int writing)
{
    char path[64], text[200];
    const struct dirent *d;
    DIR *dir;
    int found = 0;

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    if (!(dir = opendir(path)))
        return 0;
    while (!found && (d = readdir(dir))) {
        const long n = strtol(d->d_name, NULL, 10);
        struct stat st;
        const char *p;

        snprintf(path, sizeof path, "/proc/%ld/fd/%ld", (long)pid, n);
        if (*d->d_name == '.' || stat(path, &st) < 0 ||
            st.st_ino != pipe->st_ino || st.st_dev != pipe->st_dev)
            continue;
        snprintf(path, sizeof path, "/proc/%ld/fdinfo/%ld", (long)pid, n);
        if (proc_text(path, text, sizeof text) && (p = strstr(text, "flags:")))
            found = (strtol(p + 6, NULL, 8) & O_ACCMODE) ==
                (writing ? O_WRONLY : O_RDONLY);
    }
    closedir(dir);
    return found;
}

/* A stopped process that holds the other end of the pipe fd; 0: none. */
static pid_t
stopped_holder(int fd, int writing)
{
    struct stat st;
    const struct dirent *d;
    pid_t found = 0;
    DIR *dir;

    if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) ||
        !(dir = opendir("/proc")))
        return 0;
    while (!found && (d = readdir(dir))) {
        const long pid = strtol(d->d_name, NULL, 10);

        if (pid > 0 && peer_is_stopped((pid_t)pid) &&
            holds((pid_t)pid, &st, writing))
            found = (pid_t)pid;
    }
    closedir(dir);
    return found;
}

void
peer_waits(struct peer_watch *w, double seconds)
{
    struct stat st;
    pid_t pid;

    if (w->told || seconds < PATIENCE)
        return;
    if ((pid = stopped_holder(w->fd, w->whom[0] == 'w')) > 0) {
        w->told = 1;
        note("%s: the %s (process %ld) is stopped: waiting for it", w->name,
            w->whom, (long)pid);
    } else if (seconds >= SILENCE && fstat(w->fd, &st) == 0 &&
        S_ISSOCK(st.st_mode)) {
        w->told = 1;
        note("%s: the %s has been silent for %.0f s: waiting for it", w->name,
            w->whom, seconds);
    }
}

void
peer_goes_on(struct peer_watch *w)
{
    if (w->told)
        note("%s: the %s goes on", w->name, w->whom);
    w->told = 0;
}

/* ---- a thread that looks on ---- */

struct peer_guard {
    struct peer_watch watch;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    double since; /* the wait began; 0: there is none */
    int end;
};

static void *
look_on(void *p)
{
    struct peer_guard *g = p;

    pthread_mutex_lock(&g->lock);
    while (!g->end) {
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec++;
        pthread_cond_timedwait(&g->over, &g->lock, &t);
        if (g->since > 0.0)
            peer_waits(&g->watch, clock_now() - g->since);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

struct peer_guard *
peer_guard_new(const char *name, const char *whom, int fd)
{
    struct peer_guard *g = xcalloc(1, sizeof *g);

    g->watch = (struct peer_watch){ name, whom, fd, 0 };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->over, NULL);
    if (thread_start(&g->thread, look_on, g) == 0)
        return g;
    free(g);
    return NULL;
}

void
peer_guard_begin(struct peer_guard *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->since = clock_now();
    pthread_mutex_unlock(&g->lock);
}

void
peer_guard_end(struct peer_guard *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->since = 0.0;
    peer_goes_on(&g->watch);
    pthread_mutex_unlock(&g->lock);
}

void
peer_guard_free(struct peer_guard *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->end = 1;
    pthread_cond_signal(&g->over);
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
    pthread_cond_destroy(&g->over);
    pthread_mutex_destroy(&g->lock);
    free(g);
}
