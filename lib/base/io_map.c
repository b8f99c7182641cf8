/* Mapped files, and what happens when they cannot be read: see io.h */
#include "base/io.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * One mapped file.  These structs form a list, which the SIGBUS handler may
 * read at any moment.
 *   The structs are therefore never freed.  io_unmap sets n to 0, and
 *   a file that is mapped later takes a struct whose n is 0.
 *   p and n are atomic because one thread may set them while another is in the
 *   handler.  p is set before n, and the handler reads n before p.
 *   name need not be atomic: the handler only reads the name of the file that
 *   its own thread was reading, and a file that is being read stays mapped.
 */
struct io_guard {
    _Atomic(const unsigned char *) p;
    _Atomic size_t n;
    char *name;
    struct io_guard *next;   /* next in the list of all; never changes */
    struct io_guard *unused; /* next in the list of unused ones; under lock */
};
static _Atomic(struct io_guard *) guards; /* written under lock */
static struct io_guard *spare;            /* under lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Write to stderr; async-signal-safe. */
static void
write_stderr(const char *s)
{
    if (write(STDERR_FILENO, s, strlen(s)) < 0) {
        /* Nothing else can be done. */
    }
}

static int
guards_address(struct io_guard *g, uintptr_t at)
{
    const size_t n = atomic_load(&g->n);
    const uintptr_t p = (uintptr_t)atomic_load(&g->p);

    return at >= p && at - p < n;
}

static void
on_bus(int sig, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    struct io_guard *g = atomic_load(&guards);
    char digits[24], *d = digits + sizeof(digits) - 1;
    size_t offset;

    (void)context;
    while (g != NULL && !guards_address(g, at))
        g = g->next;
    if (g == NULL) { /* the address is not in our mappings: die of the signal */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    offset = at - (uintptr_t)atomic_load(&g->p);
    *d = '\0';
    do
        *--d = (char)('0' + offset % 10);
    while ((offset /= 10) != 0);
    write_stderr(progname);
    write_stderr(": ");
    write_stderr(g->name);
    write_stderr(": offset ");
    write_stderr(d);
    write_stderr(
        ": cannot be read any more: the file has shrunk, or the disk has "
        "failed\n");
    io_remove_temporaries();
    _exit(EX_INPUT);
}

struct io_guard *
io_guard(const void *p, size_t n, const char *name)
{
    static int armed;
    struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
    struct io_guard *g;

    pthread_mutex_lock(&lock);
    if (!armed++) {
        sigemptyset(&sa.sa_mask);
        sigaction(SIGBUS, &sa, NULL);
    }
    g = spare;
    if (g != NULL) {
        spare = g->unused;
    } else {
        g = xcalloc(1, sizeof(*g));
        g->next = atomic_load(&guards);
        atomic_store(&guards, g);
    }
    g->name = xstrdup(name);
    atomic_store(&g->p, p);
    atomic_store(&g->n, n);
    pthread_mutex_unlock(&lock);
    return g;
}

void
io_unguard(struct io_guard *g)
{
    if (g == NULL)
        return;
    pthread_mutex_lock(&lock);
    atomic_store(&g->n, 0);
    free(g->name);
    g->unused = spare;
    spare = g;
    pthread_mutex_unlock(&lock);
}

int
io_map(struct io_map *m, const char *path, struct err *e)
{
    uint64_t size;
    const int fd = io_open_file(path, &size, e);
    void *p = NULL;
    int why;

    *m = (struct io_map){ .p = (const unsigned char *)"" };
    if (fd < 0)
        return -1;
    if ((uint64_t)(size_t)size != size) {
        errno = EFBIG;
        p = MAP_FAILED;
    } else if (size > 0)
        p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    why = errno;
    io_close_in(fd);
    errno = why;
    if (p == MAP_FAILED)
        return err_set(e, EX_SYS, "%s:", io_in_name(path));
    if (p != NULL)
        *m = (struct io_map){ p, (size_t)size,
            io_guard(p, (size_t)size, io_in_name(path)) };
    return 0;
}

static void
advise(const struct io_map *m, size_t at, size_t n, int what)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), from = at - at % page;

    if (m->n > 0)
        (void)madvise((void *)(uintptr_t)(m->p + from), n + at - from, what);
}

void
io_map_forget(const struct io_map *m, size_t at, size_t n)
{
    advise(m, at, n, MADV_DONTNEED);
}

void
io_map_fetch(const struct io_map *m, size_t at, size_t n)
{
    advise(m, 0, m->n, MADV_RANDOM);
    advise(m, at, n, MADV_WILLNEED);
}

void
io_unmap(struct io_map *m)
{
    io_unguard(m->guard);
    if (m->n > 0)
        munmap((void *)(uintptr_t)m->p, m->n);
    *m = (struct io_map){ .p = (const unsigned char *)"" };
}
