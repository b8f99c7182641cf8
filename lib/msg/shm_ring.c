/* A ring of messages in shared memory: see shm_ring.h */
#define _GNU_SOURCE /* memfd_create, seals, futex */
#include "msg/shm_ring.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "msg/shm_name.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ALIGN = 64,  /* alignment of records and of a message's data */
    RECORD = 16, /* bytes: u64 length of the message, u64 its offset in the
                  * record */
    SPINS = 500,
    TICK = 100000000, /* nanoseconds between two checks of the other end (a
                       * tick) */
    PATIENCE = 20,    /* ticks that a writer waits for its reader after
                       * stop_asked */
    DEAD = 50,        /* checks that find no writer, after which a reader gives
                       * up */
    TRIES = 100       /* attempts to create a name that other processes also try
                       * to create */
};
enum { VERSION = 1, WRITER = 0, READER = 1 };
#define NEED_READER SIZE_MAX /* see is_ready */

static const char magic[8] = "retortSH";

/* The control words of one end, on cache lines of their own.  They are atomic,
 * in one order for both processes: whoever reads pos then sees the bytes that
 * were written before it, and of `watched` and pos one end sees the other's.
 * The data part is not atomic, since each byte has one user at a time: bytes
 * between the reader's pos and the writer's pos belong to the reader, all other
 * bytes to the writer. */
struct end {
    _Alignas(128) _Atomic uint64_t pos; /* bytes published (writer) or released
                                         * (reader) */
    _Atomic uint32_t change;  /* futex, on which the other end sleeps: raised to
                               * wake it after a change of pos or closed */
    _Atomic uint32_t watched; /* 1: the other end sleeps on `change`, or is
                               * about to */
    _Atomic uint32_t closed;  /* 1: this end reads or writes no more */
};

struct ring_head {
    char magic[8];
    uint32_t version;
    uint32_t uid;
    uint64_t size;             /* bytes of the segment */
    char boot[40];             /* the system's boot id */
    _Atomic uint32_t ready;    /* 1: the fields above are set; they stay so */
    _Atomic uint32_t attached; /* a reader has attached and removed the name */
    struct end end[2];
};

/* One end of the ring.  All functions are called by one thread, except
 * ring_release and ring_wake, which any thread may call: they only use `woken`
 * and members that do not change after the ring was opened. */
struct ring {
    int role;
    int fd;
    char *text; /* the address */
    char *name; /* name of the segment; NULL: it has none, or its name was
                 * removed */
    int place;  /* io_remember's number for its path */
    struct ring_head *h;
    unsigned char *data;    /* the data part, mapped twice in a row */
    size_t size;            /* bytes of the data part */
    size_t mapped;          /* bytes of the whole mapping */
    struct io_guard *guard; /* reports reads beyond a segment that was shrunk */
    uint64_t pos;           /* bytes reserved (writer) or given out (reader) */
    _Atomic int woken;      /* 1: another thread has asked to stop waiting */
    int told;           /* 1: a note has said that the other end is stopped or
                         * late */
    double began, wait; /* writer: clock_now() when it began; seconds that it
                         * waits for a reader, 0: for ever */
};

static size_t
page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void
boot_id(char id[40])
{
    const int fd =
        open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    memset(id, 0, 40);
    if (fd < 0)
        return;
    if (read(fd, id, 36) < 36)
        memset(id, 0, 40);
    close(fd);
}

/* ---- life ---- */

static const char *
peer(const struct ring *r)
{
    return r->role == WRITER ? "reader" : "writer";
}

/* Is the process stopped (by SIGSTOP, Ctrl-Z, a debugger)?  0 also if /proc
 * does not show it. */
static int
is_stopped(pid_t pid)
{
    char path[40], text[400], *p;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    p = strrchr(text, ')'); /* the command's name ends so; it may hold ')' */
    return p && p[1] == ' ' && (p[2] == 'T' || p[2] == 't');
}

/* Does the other end live, that is, does a process hold its lock?  A note says,
 * once, if that process is stopped. */
static int
peer_lives(struct ring *r)
{
    const pid_t pid = shm_holder(r->fd, !r->role);

    if (pid == 0)
        return 0;
    if (!r->told && is_stopped(pid)) {
        r->told = 1;
        note("%s: the %s (process %ld) is stopped: waiting for it", r->text,
            peer(r), (long)pid);
    }
    return 1;
}

/* ---- waiting ---- */

static void
futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void
futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    const struct timespec t = { .tv_nsec = TICK };

    syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

/* Call after a change of this end: wake the other end if it sleeps. */
static void
announce(struct ring *r)
{
    struct end *mine = &r->h->end[r->role];

    if (atomic_exchange(&mine->watched, 0)) {
        atomic_fetch_add(&mine->change, 1);
        futex_wake(&mine->change);
    }
}

/* Is the wait over?  A reader waits for a message; a writer for room for n
 * bytes, or (NEED_READER) for a reader to attach. */
static int
is_ready(const struct ring *r, size_t n)
{
    const uint64_t pos = atomic_load(&r->h->end[!r->role].pos);

    if (n == NEED_READER)
        return (int)atomic_load(&r->h->attached);
    return r->role == READER ? pos != r->pos : r->size - (r->pos - pos) >= n;
}

/*
 * Sleep until the other end announces a change, or for a tick.  No change is
 * missed: this end sets `watched` before it looks for the last time, and the
 * other end reads `watched` after its change.
 */
static void
sleep_on(struct ring *r, size_t n)
{
    struct end *other = &r->h->end[!r->role];
    const uint32_t was = atomic_load(&other->change);

    atomic_store(&other->watched, 1);
    if (!is_ready(r, n) && !atomic_load(&other->closed) &&
        !atomic_load(&r->woken))
        futex_wait(&other->change, was);
    atomic_store(&other->watched, 0);
}

/* Called after a tick without a change: check that the other end is still
 * there.  0: wait on; else as wait_ready. */
static int
look_around(struct ring *r)
{
    struct stat st;

    if (r->role == READER || atomic_load(&r->h->attached))
        return !peer_lives(r);
    /* No reader has attached.  (A reader that comes removes the name, under its
     * lock, a moment before it sets `attached`.) */
    if (fstat(r->fd, &st) == 0 && st.st_nlink == 0 && !peer_lives(r) &&
        !atomic_load(&r->h->attached))
        return 2;
    if (r->wait > 0.0 && clock_now() - r->began > r->wait)
        return 3;
    if (!r->told && clock_now() - r->began > 2.0) {
        r->told = 1;
        note("%s: waiting for a reader", r->text);
    }
    return 0;
}

/* Wait until is_ready.  0: it is; 1: the other end has left; 2: the segment was
 * removed; 3: no reader came in time; -1: ring_wake was called, or stop_asked
 * is set and the reader does not read. */
static int
wait_ready(struct ring *r, size_t n)
{
    const struct end *other = &r->h->end[!r->role];
    int ticks = 0;

    for (int i = 0; i < SPINS && !is_ready(r, n); i++)
        cpu_pause();
    while (!is_ready(r, n)) {
        const double t = clock_now();
        int k = 0;

        if (atomic_load(&r->woken))
            return -1;
        if (!atomic_load(&other->closed)) {
            sleep_on(r, n);
            if (r->role == WRITER && stop_asked && ++ticks > PATIENCE)
                return -1;
            if (clock_now() - t > 0.09)
                k = look_around(r);
        } else {
            k = 1;
        }
        if (k != 0) /* messages published before the other end left still
                     * count */
            return is_ready(r, n) ? 0 : k;
    }
    if (r->told) {
        r->told = 0;
        note("%s: the %s goes on", r->text, peer(r));
    }
    return 0;
}

/* ---- the segment ---- */

static struct ring *
new_ring(const struct addr *a, int role, int fd)
{
    struct ring *r = xcalloc(1, sizeof *r);

    r->role = role;
    r->fd = fd;
    r->text = xstrdup(a->text);
    r->began = clock_now();
    r->wait = a->wait;
    return r;
}

/* Map a segment of `size` bytes, its data part twice.  A reader maps it
 * read-only. */
static int
map_segment(struct ring *r, size_t size, struct err *e)
{
    const size_t head = page_size();
    const int prot = PROT_READ | (r->role == WRITER ? PROT_WRITE : 0);
    unsigned char *p;

    _Static_assert(sizeof(struct ring_head) <= 4096, "one page");
    r->size = size - head;
    r->mapped = head + 2 * r->size;
    p = mmap(NULL, r->mapped, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return err_set(e, EX_SYS, "%s: mmap:", r->text);
    r->data = p + head;
    if (mmap(p, head, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd,
            0) == MAP_FAILED ||
        mmap(r->data, r->size, prot, MAP_SHARED | MAP_FIXED, r->fd,
            (off_t)head) == MAP_FAILED ||
        mmap(r->data + r->size, r->size, prot, MAP_SHARED | MAP_FIXED, r->fd,
            (off_t)head) == MAP_FAILED) {
        err_set(e, EX_SYS, "%s: mmap:", r->text);
        munmap(p, r->mapped);
        return -1;
    }
    r->h = (struct ring_head *)(void *)p;
    r->guard = io_guard(p, r->mapped, r->text);
    return 0;
}

/* Allocate a new segment's memory now, since a page that the system cannot
 * provide later would cause a SIGBUS; then fill in its head. */
static int
fill_segment(struct ring *r, size_t want, struct err *e)
{
    const size_t page = page_size(), pages = (want + page - 1) / page;
    const size_t size = (pages < 2 ? 2 : pages) * page; /* the head has one */
    int k;

    do
        k = posix_fallocate(r->fd, 0, (off_t)size);
    while (k == EINTR && !stop_asked);
    if (k != 0) {
        errno = k;
        return err_set(e, EX_SYS,
            "%s: a ring of %zu bytes does not fit into shared memory "
            "(?size=BYTES makes it smaller):",
            r->text, size);
    }
    if (map_segment(r, size, e) < 0)
        return -1;
    memcpy(r->h->magic, magic, sizeof magic);
    r->h->version = VERSION;
    r->h->uid = (uint32_t)geteuid();
    r->h->size = size;
    boot_id(r->h->boot);
    atomic_store(&r->h->ready, 1);
    return 0;
}

/* Check that a named segment belongs to this user and only this user can write
 * it: another user could change or shrink it while it is in use. */
static int
check_owner(int fd, const struct addr *a, const char *name, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set(e, EX_SYS, "%s: /dev/shm%s:", a->text, name);
    if (st.st_uid != geteuid() || (st.st_mode & 0077) != 0 ||
        !S_ISREG(st.st_mode))
        return err_set(e, EX_INPUT,
            "%s: /dev/shm%s belongs to user %lu with mode %04o, not to this "
            "one alone: choose another name",
            a->text, name, (unsigned long)st.st_uid,
            (unsigned)st.st_mode & 07777);
    return 0;
}

/* Map a segment that another process has made.  Returns 1; 0: it is not ready
 * yet; -1. Its head is read by pread first: touching a mapped page that has no
 * memory would mean a SIGBUS. */
static int
open_segment(struct ring *r, struct err *e)
{
    struct ring_head h;
    struct stat st;
    char boot[40];
    size_t size;

    if (fstat(r->fd, &st) < 0)
        return err_set(e, EX_SYS, "%s: fstat:", r->text);
    size = (size_t)st.st_size;
    if (size == 0 || pread(r->fd, &h, sizeof h, 0) < (ssize_t)sizeof h ||
        !h.ready)
        return 0;
    /* Copy again, since the first copy may have read other fields before they
     * were set, and `ready` after that.  The fence keeps the second copy behind
     * the first. */
    atomic_thread_fence(memory_order_acquire);
    if (pread(r->fd, &h, sizeof h, 0) < (ssize_t)sizeof h)
        return 0;
    boot_id(boot);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.version != VERSION ||
        h.size != size || h.uid != (uint32_t)geteuid() ||
        memcmp(h.boot, boot, sizeof boot) != 0 || size < 2 * page_size() ||
        size % page_size() != 0)
        return err_set(e, EX_INPUT,
            "%s: the segment is none of this version, user and boot", r->text);
    return map_segment(r, size, e) < 0 ? -1 : 1;
}

size_t
ring_size(const struct ring *r)
{
    return r->size;
}

static int
has_name(const struct ring *r)
{
    struct stat st;

    return r->name && fstat(r->fd, &st) == 0 && st.st_nlink > 0;
}

static void
remove_name(struct ring *r)
{
    if (has_name(r))
        shm_unlink(r->name);
    io_forget(r->place);
    r->place = 0;
    free(r->name);
    r->name = NULL;
}

/*
 * Open the segment called `name` and, if it has no writer, remove it.  A
 * process may remove a segment only while the process holds the writer's lock
 * and the name is still the segment's.
 * 0: no segment has that name now.
 * 1: its writer lives; *fd, unless fd is NULL, is the segment's descriptor.
 * -1 and *e.
 */
static int
clear_stale(const struct addr *a, const char *name, int *fd, struct err *e)
{
    const int f = shm_open(name, O_RDWR, 0);
    struct stat st;
    int live;

    if (f < 0)
        return errno == ENOENT
            ? 0
            : err_set(e, EX_SYS, "%s: /dev/shm%s:", a->text, name);
    if (check_owner(f, a, name, e) < 0) {
        close(f);
        return -1;
    }
    live = shm_lock(f, WRITER) < 0;
    if (!live && fstat(f, &st) == 0 && st.st_nlink > 0) {
        if (shm_unlink(name) < 0 && errno != ENOENT) {
            err_set(e, EX_SYS, "%s: /dev/shm%s:", a->text, name);
            close(f);
            return -1;
        }
        vnote("%s: removed what a writer that died has left", a->text);
    }
    if (live && fd)
        *fd = f;
    else
        close(f);
    return live;
}

/* Create and lock a segment called name.  Returns its descriptor, or -1. */
static int
new_segment(const struct addr *a, const char *name, struct err *e)
{
    /* The segment has its name before we lock it: another program that starts
     * may take it for stale and remove it.  Then create it again. */
    for (int tries = 0; tries < TRIES; tries++) {
        struct stat st;
        int fd, live;

        if ((live = clear_stale(a, name, NULL, e)) != 0)
            return live < 0
                ? -1
                : err_set(e, EX_USAGE,
                      "%s: another program writes there: give another name",
                      a->text);
        fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 && errno != EEXIST)
            return err_set(e, EX_SYS, "%s: /dev/shm%s:", a->text, name);
        if (fd >= 0 && shm_lock(fd, WRITER) == 0 && fstat(fd, &st) == 0 &&
            st.st_nlink > 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return err_set(e, EX_SYS,
        "%s: /dev/shm%s is made and removed by somebody else all the time",
        a->text, name);
}

struct ring *
ring_create(const struct addr *a, struct err *e)
{
    char *name = shm_name(a);
    struct ring *r;
    char *path;
    int fd;

    shm_note_left(a);
    if ((fd = new_segment(a, name, e)) < 0) {
        free(name);
        return NULL;
    }
    r = new_ring(a, WRITER, fd);
    r->name = name;
    path = xasprintf("/dev/shm%s", name);
    r->place = io_remember(path);
    free(path);
    if (fill_segment(r, a->size, e) == 0)
        return r;
    ring_close(r);
    return NULL;
}

/* Attach as the reader: remove the name, then set `attached`.  Returns 1; 0:
 * another reader has come and gone; -1. */
static int
attach_reader(struct ring *r, struct err *e)
{
    if (shm_lock(r->fd, READER) < 0)
        return err_set(e, EX_USAGE,
            "%s: another program reads there: give another name", r->text);
    if (atomic_load(&r->h->attached))
        return 0;
    remove_name(r);
    atomic_store(&r->h->attached, 1);
    announce(r);
    return 1;
}

/* Attach to the segment at fd.  Returns 1; 0: it is not ready yet, or had
 * another reader; -1 and *e.  fd is closed unless 1 is returned.  *dead counts
 * the calls that found no writer. */
static int
try_attach(const struct addr *a, const char *name, int fd, struct ring **p,
    int *dead, struct err *e)
{
    struct ring *r = new_ring(a, READER, fd);
    int k;

    r->name = xstrdup(name);
    k = check_owner(fd, a, name, e);
    if (k == 0 && has_name(r))
        k = open_segment(r, e);
    if (k > 0)
        k = attach_reader(r, e);
    else if (k == 0 && has_name(r) && shm_holder(fd, WRITER) == 0 &&
        ++*dead > DEAD)
        k = err_set(e, EX_INPUT, "%s: its writer died before it wrote",
            a->text);
    if (k > 0) {
        *p = r;
        return 1;
    }
    free(r->name); /* not attached: ring_close must leave the name */
    r->name = NULL;
    ring_close(r);
    return k;
}

struct ring *
ring_attach(const struct addr *a, struct err *e)
{
    const double began = clock_now();
    char *name = shm_name(a);
    struct ring *r = NULL;
    int fd = -1, told = 0, k = 0, dead = 0;

    /* A segment that exists but has no writer was left by another run. */
    if (clear_stale(a, name, &fd, e) < 0) {
        free(name);
        return NULL;
    }
    while (k == 0) {
        if (fd < 0)
            fd = shm_open(name, O_RDWR, 0);
        if (fd >= 0)
            k = try_attach(a, name, fd, &r, &dead, e);
        else if (errno != ENOENT)
            k = err_set(e, EX_SYS, "%s: /dev/shm%s:", a->text, name);
        if (k == 0)
            k = addr_wait(a, began, "writer", &told, e);
        fd = -1;
    }
    free(name);
    return r;
}

struct ring *
ring_create_memfd(const struct addr *a, struct err *e)
{
    const int fd = memfd_create("retort-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct ring *r;

    if (fd < 0) {
        err_set(e, EX_SYS, "%s: memfd_create:", a->text);
        return NULL;
    }
    r = new_ring(a, WRITER, fd);
    if (shm_lock(fd, WRITER) < 0)
        err_set(e, EX_SYS, "%s: lock:", a->text);
    else if (fill_segment(r, a->size, e) == 0) {
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
            0)
            return r;
        err_set(e, EX_SYS, "%s: seals:", a->text);
    }
    ring_close(r);
    return NULL;
}

int
ring_fd(const struct ring *r)
{
    return r->fd;
}

struct ring *
ring_attach_fd(const struct addr *a, int fd, struct err *e)
{
    struct ring *r = new_ring(a, READER, fd);
    const int seals = fcntl(fd, F_GET_SEALS),
              want = F_SEAL_SHRINK | F_SEAL_GROW;
    int k;

    if (seals < 0 || (seals & want) != want)
        k = err_set(e, EX_INPUT,
            "%s: the memory that was handed over could shrink", a->text);
    else if ((k = open_segment(r, e)) == 0)
        k = err_set(e, EX_INPUT,
            "%s: the memory that was handed over is not ready", a->text);
    if (k > 0 && (k = attach_reader(r, e)) == 0)
        err_set(e, EX_USAGE,
            "%s: another program reads there: give another name", a->text);
    if (k > 0)
        return r;
    ring_close(r);
    return NULL;
}

/* ---- the writer ---- */

/* Bytes of a record in which a message of n bytes begins at offset `begin`. */
static uint64_t
record_size(uint64_t n, uint64_t begin)
{
    return (begin + n + ALIGN - 1) / ALIGN * ALIGN;
}

static int
wait_failed(const struct ring *r, int k, struct err *e)
{
    if (k < 0)
        return err_set(e, r->role == WRITER ? EX_STOP : EX_SYS,
            "%s: interrupted", r->text);
    if (k > 2)
        return err_set(e, EX_SYS, "%s: no reader has come in %g s", r->text,
            r->wait);
    if (k > 1)
        return err_set(e, EX_SYS,
            "%s: the segment was removed before a reader came", r->text);
    return k;
}

int
ring_reserve(struct ring *r, size_t n, size_t head, unsigned char **p,
    struct err *e)
{
    const uint64_t begin = RECORD + (ALIGN - (RECORD + head) % ALIGN) % ALIGN;
    const uint64_t mega = (uint64_t)1 << 20;
    uint64_t total, v[2] = { n, begin };
    int k;

    if (n >= r->size || (total = record_size(n, begin)) > r->size) {
        const uint64_t need = (2 * n + 2 * page_size() + mega - 1) / mega;

        return err_set(e, EX_USAGE,
            "%s: a message of %zu bytes does not fit into a ring of %zu: give "
            "the writer %.100s%csize=%lluM",
            r->text, n, r->size, r->text, strchr(r->text, '?') ? '&' : '?',
            (unsigned long long)need);
    }
    if (r->place && atomic_load(&r->h->attached)) {
        io_forget(r->place); /* the reader has removed the name */
        r->place = 0;
    }
    r->pos = atomic_load(&r->h->end[WRITER].pos); /* give up a message reserved
                                                   * but not published */
    k = atomic_load(&r->h->end[READER].closed) ? 1 : wait_ready(r, total);
    if (k != 0)
        return wait_failed(r, k, e);
    memcpy(r->data + r->pos % r->size, v, sizeof v);
    *p = r->data + r->pos % r->size + begin;
    r->pos += total;
    return 0;
}

void
ring_publish(struct ring *r)
{
    atomic_store(&r->h->end[WRITER].pos, r->pos);
    announce(r);
}

int
ring_handover(struct ring *r, struct err *e)
{
    return wait_failed(r, wait_ready(r, NEED_READER), e);
}

/* ---- the reader ---- */

/* Refuse a segment that has shrunk: a named one cannot be sealed against that.
 * If it shrinks after this check, r->guard reports the SIGBUS. */
static int
shrunken(const struct ring *r, struct err *e)
{
    struct stat st;

    if (fstat(r->fd, &st) == 0 && st.st_size >= 0 &&
        (size_t)st.st_size >= page_size() + r->size)
        return 0;
    return err_set(e, EX_INPUT, "%s: the segment has shrunk", r->text);
}

int
ring_next(struct ring *r, struct ring_msg *m, struct err *e)
{
    const int k = wait_ready(r, 0);
    const uint64_t limit = atomic_load(&r->h->end[WRITER].pos);
    uint64_t v[2];

    if (k != 0)
        return k > 0 ? 0 : wait_failed(r, k, e);
    if (shrunken(r, e) < 0)
        return -1;
    /* another process has written this: check all of it */
    memcpy(v, r->data + r->pos % r->size, sizeof v);
    if (limit - r->pos > r->size || v[1] < RECORD || v[1] > RECORD + ALIGN ||
        v[0] > r->size || record_size(v[0], v[1]) > limit - r->pos)
        return err_set(e, EX_INPUT, "%s: the ring is damaged", r->text);
    m->p = r->data + r->pos % r->size + v[1];
    m->n = (size_t)v[0];
    r->pos += record_size(v[0], v[1]);
    m->end = r->pos;
    return 1;
}

void
ring_release(struct ring *r, uint64_t end)
{
    atomic_store(&r->h->end[READER].pos, end);
    announce(r);
}

void
ring_wake(struct ring *r)
{
    struct end *other = &r->h->end[!r->role];

    atomic_store(&r->woken, 1);
    atomic_fetch_add(&other->change, 1);
    futex_wake(&other->change);
}

void
ring_close(struct ring *r)
{
    if (!r)
        return;
    if (r->h) {
        atomic_store(&r->h->end[r->role].closed, 1);
        announce(r);
        io_unguard(r->guard);
        munmap(r->h, r->mapped);
    }
    remove_name(r);
    if (r->fd >= 0)
        close(r->fd);
    free(r->text);
    free(r->name);
    free(r);
}
