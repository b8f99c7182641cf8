/* lib/base: errors, notes, memory, random numbers, pool, processors granted,
 * text as it is shown, clocks */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/note.h"
#include "base/pool.h"
#include "base/quota.h"
#include "base/rng.h"
#include "base/text.h"
#include "cli/die.h"
#include "../lib/tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
test_err(void)
{
    struct err e;

    errno = ENOENT;
    ok(err_set(&e, EX_SYS, "file:") == -1 && e.code == EX_SYS &&
            strcmp(e.msg, "file: No such file or directory") == 0,
        "a trailing colon adds the text of errno");
    err_prefix(&e, "%s %d", "part", 7);
    ok(strcmp(e.msg, "part 7: file: No such file or directory") == 0,
        "err_prefix puts a text before the error");
    ok(err_set(NULL, EX_SYS, "x") == -1 && err_prefix(NULL, "x") == -1,
        "an error that nobody wants is left out");
    err_set(&e, EX_INPUT, "%700s", "long");
    ok(strlen(e.msg) == sizeof e.msg - 1, "a long message is cut");
    err_prefix(&e, "%700s", "x");
    ok(strlen(e.msg) == sizeof e.msg - 1, "a long prefix is cut");
}

static void
test_mem(void)
{
    struct buf b = { 0 };
    struct arena a;
    size_t r = 7;
    char *s;
    size_t cap = 0, *v = NULL, *w = NULL;
    int good = 1;

    for (size_t i = 0; i < 5000; i++) {
        v = xgrow(v, i, &cap, sizeof *v);
        w = xgrow_pow2(w, i, sizeof *w);
        v[i] = w[i] = i;
    }
    for (size_t i = 0; i < 5000; i++)
        good &= v[i] == i && w[i] == i;
    ok(good && cap == 8192, "xgrow and xgrow_pow2 grow arrays");
    for (size_t k = 0; k < 3; k++) {
        static const size_t size[] = { 3, 1 << 20, (2 << 20) + 5 };
        unsigned char *p = xtable(size[k], 1, 0x5a);

        good &= (uintptr_t)p % 64 == 0;
        for (size_t i = 0; i < size[k]; i++)
            good &= p[i] == 0x5a;
        free(p);
    }
    ok(good, "tables are lines, filled, of any size");
    free(v);
    free(w);
    ok(size_mul(SIZE_MAX / 2, 3, &r) < 0 && r == 7,
        "size_mul refuses an overflow");
    ok(size_mul(SIZE_MAX, 1, &r) == 0 && r == SIZE_MAX,
        "size_mul accepts the largest size");
    ok(size_mul(SIZE_MAX, 0, &r) == 0 && r == 0, "size_mul of zero is zero");
    ok(size_add(SIZE_MAX, 1, &r) < 0 && r == 0, "size_add refuses an overflow");
    for (int i = 0; i < 1000; i++)
        buf_addf(&b, "%d,", i);
    buf_addc(&b, 0);
    buf_add(&b, NULL, 0);
    buf_adds(&b, "end");
    ok(b.n == 3890 + 4 && strcmp(b.p + b.n - 3, "end") == 0 &&
            memcmp(b.p, "0,1,2,", 6) == 0,
        "buffer grows, holds NULs");
    buf_drop(&b, 3891);
    ok(b.n == 3 && strcmp(b.p, "end") == 0, "buf_drop removes first bytes");
    buf_clear(&b);
    buf_drop(&b, 0);
    ok(b.n == 0 && b.p[0] == '\0', "buf_clear empties the buffer");
    buf_release(&b);
    s = xasprintf("%s-%d", "a", 5);
    ok(strcmp(s, "a-5") == 0, "xasprintf makes a string");
    free(s);

    arena_plan(&a);
    ok(arena_alloc(&a, 3, 5) == NULL && arena_alloc(&a, 1, 64) == NULL &&
            a.used == 128,
        "a plan counts aligned bytes");
    r = a.used;
    arena_init(&a, r);
    s = arena_alloc(&a, 3, 5);
    ok(s != NULL && (uintptr_t)s % 64 == 0 && s[0] == 0 && s[14] == 0,
        "arena memory is aligned and zero");
    ok((char *)arena_alloc(&a, 1, 64) == s + 64 && a.used == r,
        "the plan was right");
    arena_release(&a);
    ok(a.base == NULL && a.used == 0, "arena_release forgets the memory");
}

/* Is rng_perm(key, n, .) onto 0..n-1? */
static int
is_permutation(uint64_t key, size_t n)
{
    unsigned char *seen = xcalloc(n, 1);
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t j = rng_perm(key, n, i);

        if (j < n && !seen[j]) {
            seen[j] = 1;
            hits++;
        }
    }
    free(seen);
    return hits == n;
}

/* Chi squared of "element i comes to place j" over many keys: (n - 1)^2
 * degrees of freedom. */
static double
places(size_t n)
{
    const size_t keys = 1000 * n;
    size_t *count = xcalloc(n * n, sizeof *count);
    double chi = 0.0;

    for (uint64_t key = 0; key < keys; key++)
        for (size_t i = 0; i < n; i++)
            count[i * n + rng_perm(key, n, i)]++;
    for (size_t i = 0; i < n * n; i++) {
        const double d = (double)count[i] - 1000.0;

        chi += d * d / 1000.0;
    }
    free(count);
    return chi;
}

/* Chi squared of the distance between the places of i and i + 1, which is
 * uniform over 1..n-1 modulo n: about n * (n - 2) degrees of freedom. */
static double
pairs(size_t n)
{
    const size_t keys = 1000 * (n - 1);
    size_t *count = xcalloc(n * n, sizeof *count);
    double chi = 0.0;

    for (uint64_t key = 0; key < keys; key++)
        for (size_t i = 0; i < n; i++) {
            const size_t a = rng_perm(key, n, i);
            const size_t b = rng_perm(key, n, (i + 1) % n);

            count[i * n + (b + n - a) % n]++;
        }
    for (size_t i = 0; i < n * n; i++) {
        const double d = (double)count[i] - 1000.0;

        chi += i % n == 0 ? 0.0 : d * d / 1000.0;
    }
    free(count);
    return chi;
}

static void
test_perm(void)
{
    static const size_t large[] = { 4095, 4096, 4097, 65535, 65536, 65537,
        99991, 1 << 20, (1 << 20) + 1 };
    size_t bad = 0, orders[24] = { 0 };
    int far = 1;
    double chi = 0.0;

    for (size_t n = 1; n <= 1100; n++)
        for (uint64_t key = 0; key < 3; key++)
            bad += !is_permutation(key, n);
    ok(bad == 0, "rng_perm is a bijection for n = 1..1100");
    bad = 0;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        bad += !is_permutation(rng_key(9, i), large[i]);
    ok(bad == 0, "rng_perm is a bijection for large n around powers of two");
    for (uint64_t i = 0; i < 1000; i++)
        far &= rng_perm(1, UINT64_MAX, i) != i &&
            rng_perm(1, (uint64_t)1 << 63, i) < (uint64_t)1 << 63;
    ok(far, "n of 63 and 64 bits");

    /* Every element reaches every place equally often over the keys, in a
     * shuffled table (n = 5) and in the network (n = 40). */
    chi = places(5);
    ok(chi < 45.0, "places of n = 5 are uniform over keys (chi2 %.1f, 16 dof)",
        chi);
    chi = places(40);
    ok(chi < 1521.0 + 5 * 55.2, "places of n = 40 (chi2 %.0f, 1521 dof)", chi);
    chi = pairs(40);
    ok(chi < 1521.0 + 5 * 55.2, "differences of neighbours, n = 40 (chi2 %.0f)",
        chi);
    /* All 24 orders of four occur, equally often. */
    for (uint64_t key = 0; key < 24000; key++) {
        size_t p[4], order = 0;

        for (size_t i = 0; i < 4; i++)
            p[i] = (size_t)rng_perm(rng_key(key, 1), 4, i);
        for (size_t i = 0; i < 4; i++) {
            size_t less = 0;

            for (size_t j = i + 1; j < 4; j++)
                less += p[j] < p[i];
            order = order * (4 - i) + less;
        }
        orders[order]++;
    }
    chi = 0.0;
    for (int i = 0; i < 24; i++) {
        const double d = (double)orders[i] - 1000.0;

        chi += d * d / 1000.0;
    }
    ok(chi < 60.0, "orders of n = 4 are uniform (chi2 %.1f, 23 dof)", chi);
}

static void
test_rng(void)
{
    double sum = 0, sq = 0, nsum = 0, nsq = 0, n4 = 0;
    const int N = 200000;
    int differ = 0, range = 1;

    for (int i = 0; i < N; i++) {
        const double u = rng_unit(3, (uint64_t)i);
        const double z = rng_normal(4, (uint64_t)i);

        range &= u >= 0.0 && u < 1.0 && isfinite(z);
        sum += u;
        sq += u * u;
        nsum += z;
        nsq += z * z;
        n4 += z * z * z * z;
    }
    ok(range, "rng_unit is in [0,1), rng_normal finite");
    ok(near(sum / N, 0.5, 0.004, 0) && near(sq / N, 1.0 / 3, 0.004, 0),
        "moments of rng_unit");
    ok(near(nsum / N, 0, 0.012, 0) && near(nsq / N, 1, 0.015, 0) &&
            near(n4 / N, 3, 0.12, 0),
        "moments of rng_normal");
    /* A change of one bit in key or index, or a derived key, changes half of
     * the bits. */
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t x = rng_u64(5, i);

        differ += __builtin_popcountll(x ^ rng_u64(5, i ^ 1));
        differ += __builtin_popcountll(x ^ rng_u64(4, i));
        differ += __builtin_popcountll(x ^ rng_u64(rng_key(5, 0), i));
        differ += __builtin_popcountll(rng_key(i, 0) ^ rng_key(i, 1));
    }
    ok(near(differ / 4000.0, 32.0, 0.5, 0), "neighbours share no bits");
    /* From scripts/oracle/rng.py: saved streams depend on these values. */
    ok(rng_u64(0xe220a8397b1dcdafu ^ 0x9e3779b97f4a7c15u, 0) ==
            0xe220a8397b1dcdafu,
        "the published first value of SplitMix64");
    ok(rng_u64(1, 2) == 0xf2826f98653e9e57u &&
            rng_key(1, 2) == 0x5d80506a3c5e7520u,
        "rng_u64 and rng_key give the golden values");
    ok(rng_perm(7, 10, 0) == 5 && rng_perm(7, 10, 4) == 0 &&
            rng_perm(7, 1000, 0) == 296 && rng_perm(7, 1000, 4) == 123 &&
            rng_perm(7, 1000000000000, 4) == 604033978018,
        "rng_perm gives the golden permutations");
}

struct sums {
    size_t n;
    unsigned char *ran; /* [n]: how often each task ran */
    atomic_size_t worker_too_large;
    size_t workers;
};

static void
add_task(void *ctx, size_t task, size_t worker)
{
    struct sums *s = ctx;

    s->ran[task]++;
    if (worker >= s->workers)
        atomic_fetch_add(&s->worker_too_large, 1);
}

/* Tasks but the first sleep for 20 ms: longer than an idle thread spins. */
static void
slow_task(void *ctx, size_t task, size_t worker)
{
    const struct timespec t = { 0, 20000000 };

    if (task > 0)
        nanosleep(&t, NULL);
    add_task(ctx, task, worker);
}

static void
test_pool(size_t threads)
{
    struct pool *p = pool_new(threads, NULL);
    struct sums s = { .n = 1000, .workers = pool_size(p) };
    size_t bad = 0;

    ok(threads == 0 ? pool_size(p) == pool_cpus() : pool_size(p) == threads,
        "a pool of %zu threads has %zu", threads, pool_size(p));
    s.ran = xcalloc(s.n, 1);
    for (size_t run = 0; run < 3000; run++) {
        const size_t n = run * 7 % 60;

        memset(s.ran, 0, n + 1);
        pool_run(p, n, add_task, &s);
        for (size_t i = 0; i <= n; i++)
            bad += s.ran[i] != (i < n);
    }
    ok(bad == 0 && s.worker_too_large == 0,
        "every task runs once, before pool_run of %zu threads returns",
        pool_size(p));
    bad = 0;
    for (size_t run = 0; run < 3; run++) {
        memset(s.ran, 0, s.n);
        pool_run(p, 4, slow_task, &s);
        for (size_t i = 0; i < 4; i++)
            bad += s.ran[i] != 1;
    }
    ok(bad == 0, "slow tasks run once too, by %zu threads", pool_size(p));
    free(s.ran);
    pool_free(p);
}

/* With stacks of 2^47 bytes the second thread cannot be made. */
static void
test_pool_refused(void)
{
    pthread_attr_t was, huge;
    struct pool *p;
    struct err e = { 0 };

    pthread_getattr_default_np(&was);
    pthread_attr_init(&huge);
    ok(pthread_attr_setstacksize(&huge, (size_t)1 << 47) == 0 &&
            pthread_setattr_default_np(&huge) == 0,
        "threads are to be huge");
    p = pool_new(3, &e);
    ok(p == NULL && e.code == EX_SYS &&
            strcmp(e.msg, "cannot make thread 2 of 3") == 0,
        "a refused thread is an error: %s", e.msg);
    pthread_setattr_default_np(&was);
    pthread_attr_destroy(&huge);
    pool_free(p);
}

static char heard[200];
static int times;

static void
hear(const char *msg)
{
    snprintf(heard, sizeof heard, "%s", msg);
    times++;
}

static void
test_note(void)
{
    ok(note_sink == NULL, "nobody hears notes at first");
    note("nothing");
    warn("nothing");
    note_sink = hear;
    note("%d things", 3);
    ok(times == 1 && strcmp(heard, "3 things") == 0, "note_sink gets notes");
    vnote("unasked");
    ok(times == 1, "vnote says nothing without -v");
    verbosity = -1;
    note("unasked");
    ok(times == 1, "note says nothing with -q");
    errno = ENOENT;
    warn("file:");
    ok(times == 2 && strcmp(heard, "file: No such file or directory") == 0,
        "warn speaks with -q, with the text of errno");
    verbosity = 0;
    note_sink = NULL;
}

static void
leave(const char *msg)
{
    _exit(strcmp(msg, "out of memory: 18446744073709551615 times 4 bytes") == 0
            ? 7
            : 8);
}

/* The wait status of a child that asks for too much memory; its standard error
 * goes to the file `said`. */
static int
ended(void (*handler)(const char *msg))
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (freopen("said", "w", stderr) == NULL)
            _exit(99);
        signal(SIGABRT, SIG_DFL);
        mem_handler = handler;
        free(xcalloc(SIZE_MAX, 4));
        _exit(98);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}

/* Is the text one line, equal to `line`?  An emulator adds lines of its own, so
 * with EMULATOR set only the first line counts. */
static int
first_line(const char *text, const char *line)
{
    const size_t n = strlen(line);

    return strncmp(text, line, n) == 0 && text[n] == '\n' &&
        (text[n + 1] == '\0' || getenv("EMULATOR") != NULL);
}

static void
test_exhausted(void)
{
    int status = ended(leave);
    char *said = NULL;
    size_t n;

    ok(WIFEXITED(status) && WEXITSTATUS(status) == 7,
        "the handler is told what there is no memory for");
    status = ended(NULL);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
            io_slurp("said", 1000, &said, &n, NULL) == 0 &&
            first_line(said,
                "out of memory: 18446744073709551615 times 4 bytes"),
        "without one the program aborts and says why");
    free(said);
}

/* Write `text` to the file `name` below `root`, and make the folders it
 * needs. */
static void
put(const char *root, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", root, name);
    struct err e;

    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0777);
        *p = '/';
    }
    if (io_put_file(path, text, strlen(text), &e) < 0)
        die_err(&e);
    free(path);
}

/* With `own` in /proc/self/cgroup and, below /sys/fs/cgroup, `ta` in the file
 * `a` and `tb` in the file `b` (b NULL: one file only), quota_cpus must return
 * `want`. */
static void
quota(const char *what, const char *own, const char *a, const char *ta,
    const char *b, const char *tb, size_t want)
{
    static int n;
    char *root = xasprintf("quota%d", n++), *x;
    size_t got;

    mkdir(root, 0777);
    put(root, "proc/self/cgroup", own);
    x = xasprintf("sys/fs/cgroup/%s", a);
    put(root, x, ta);
    free(x);
    if (b) {
        x = xasprintf("sys/fs/cgroup/%s", b);
        put(root, x, tb);
        free(x);
    }
    got = quota_cpus(root);
    ok(got == want, "quota: %s: %zu", what, got);
    free(root);
}

static void
test_quota(void)
{
    const size_t n = quota_cpus(""), cpus = pool_cpus();

    quota("two processors", "0::/\n", "cpu.max", "200000 100000\n", NULL, NULL,
        2);
    quota("a part counts as one", "0::/job\n", "job/cpu.max", "150000 100000\n",
        NULL, NULL, 2);
    quota("less than one too", "0::/job\n", "job/cpu.max", "1000 100000\n",
        NULL, NULL, 1);
    quota("no limit", "0::/\n", "cpu.max", "max 100000\n", NULL, NULL, 0);
    quota("the least on the way up", "0::/a/b/c\n", "a/cpu.max",
        "300000 100000\n", "a/b/c/cpu.max", "500000 100000\n", 3);
    quota("a container's own mount", "0::/docker/0123\n", "cpu.max",
        "400000 100000\n", NULL, NULL, 4);
    quota("version 1", "5:cpu,cpuacct:/job\n4:memory:/\n",
        "cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n",
        "cpu,cpuacct/job/cpu.cfs_period_us", "50000\n", 5);
    quota("version 1 without a limit", "5:cpu:/\n", "cpu/cpu.cfs_quota_us",
        "-1\n", "cpu/cpu.cfs_period_us", "100000\n", 0);
    quota("version 1: processors bound, not time", "5:cpuset:/\n",
        "cpu/cpu.cfs_quota_us", "100000\n", "cpu/cpu.cfs_period_us", "100000\n",
        0);
    quota("both versions", "1:cpu:/x\n0::/y\n", "unified/y/cpu.max",
        "700000 100000\n", "cpu/x/cpu.max", "max 100000\n", 7);
    quota("no number", "0::/\n", "cpu.max", "many 0\n", NULL, NULL, 0);
    quota("a period of nothing", "0::/\n", "cpu.max", "100000 0\n", NULL, NULL,
        0);
    quota("NaN", "0::/\n", "cpu.max", "nan nan\n", NULL, NULL, 0);
    quota("no group", "", "cpu.max", "100000 100000\n", NULL, NULL, 0);
    ok(quota_cpus("nowhere") == 0, "quota: no control groups");
    ok(cpus > 0 && (n == 0 || cpus <= n), "threads by themselves: %zu", cpus);
}

/* Files below /sys/fs/cgroup, and what quota_memory must return for them on a
 * machine of 1000 kB, of which 500 are free. */
static const struct {
    const char *what, *own, *files[5][2];
    struct memory want;
} memories[] = {
    { "of the machine", "0::/\n", { { NULL, NULL } }, { 1024000, 512000 } },
    { "a job's group", "0::/slurm/job_7/step_0\n",
        { { "slurm/job_7/memory.max", "800000\n" },
            { "slurm/job_7/memory.current", "500000\n" },
            { "slurm/job_7/memory.stat",
                "anon 1\ninactive_file 50000\nactive_file 9\n" } },
        { 800000, 350000 } },
    { "a group that may use all", "0::/\n",
        { { "memory.max", "max\n" }, { "memory.current", "500000\n" } },
        { 1024000, 512000 } },
    { "a full group", "0::/\n",
        { { "memory.max", "1000\n" }, { "memory.current", "1001\n" } },
        { 1000, 0 } },
    { "a group larger than what is free", "0::/\n",
        { { "memory.max", "900000\n" }, { "memory.current", "100\n" } },
        { 900000, 512000 } },
    { "version 1", "4:memory:/a\n",
        { { "memory/a/memory.limit_in_bytes", "700000\n" },
            { "memory/a/memory.usage_in_bytes", "600000\n" },
            { "memory/a/memory.stat",
                "inactive_file 7\ntotal_inactive_file 1000\n" } },
        { 700000, 101000 } },
    { "version 1 without a limit", "4:memory:/a\n",
        { { "memory/a/memory.limit_in_bytes", "9223372036854771712\n" },
            { "memory/a/memory.usage_in_bytes", "600000\n" } },
        { 1024000, 512000 } },
};

static void
test_memory(void)
{
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        char *root = xasprintf("memory%zu", i);
        struct memory got;

        mkdir(root, 0777);
        put(root, "proc/self/cgroup", memories[i].own);
        put(root, "proc/meminfo",
            "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    500 "
            "kB\n");
        for (size_t j = 0; j < 5 && memories[i].files[j][0] != NULL; j++) {
            char *name = xasprintf("sys/fs/cgroup/%s", memories[i].files[j][0]);

            put(root, name, memories[i].files[j][1]);
            free(name);
        }
        got = quota_memory(root);
        ok(got.all == memories[i].want.all, "memory, %s: %zu bytes",
            memories[i].what, got.all);
        ok(got.available == memories[i].want.available,
            "memory available, %s: %zu bytes", memories[i].what, got.available);
        free(root);
    }
    ok(quota_memory("nowhere").all == SIZE_MAX,
        "memory: unknown without files");
}

static void
test_text(void)
{
    static const char *const shown[][2] = {
        { "", "" },
        { "a\\b \303\251 \320\266 \344\270\255 \360\237\230\200",
            "a\\b \303\251 \320\266 \344\270\255 \360\237\230\200" },
        { "\001\t\n\033[2J\177", "\\x01\\x09\\x0a\\x1b[2J\\x7f" },
        { "\302\200\302\237\302\240", "\\xc2\\x80\\xc2\\x9f\302\240" },
        { "\342\200\256\342\201\246\330\234",
            "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xd8\\x9c" },
        { "\342\200\250\357\273\277\363\240\201\201",
            "\\xe2\\x80\\xa8\\xef\\xbb\\xbf\\xf3\\xa0\\x81\\x81" },
        { "\340\244\225\342\200\215", "\340\244\225\342\200\215" },
        { "\377\300\257\355\240\200\342\202",
            "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x82" },
    };
    char out[12];

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        ok(strcmp(SHOWN(shown[i][0]), shown[i][1]) == 0,
            "text %zu is shown as: %s", i, shown[i][1]);
    ok(strcmp(text_show(out, sizeof out, "12345678901"), "12345678901") == 0,
        "what fits is whole");
    ok(strcmp(text_show(out, sizeof out, "123456789012"), "12345678...") == 0,
        "what does not ends with dots");
    ok(strcmp(text_show(out, sizeof out, "123456\344\270\255\033"),
           "123456...") == 0,
        "no character is cut");
    ok(text_is_plain("A text,\r\n\tof \303\244.", 16) &&
            !text_is_plain("a\033b", 3),
        "a text has no control characters but tabs and ends of lines");
    ok(text_fit("abc", 3, 2) == 2 && text_fit("abc", 3, 9) == 3 &&
            text_fit("", 0, 9) == 0,
        "columns of ASCII");
    ok(text_fit("\303\251\303\251", 4, 1) == 2, "a letter of two bytes");
    ok(text_fit("\344\270\255\344\270\255", 6, 3) == 3, "wide characters");
}

static void
test_count(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = { { "84M", 84e6 }, { "1.5G", 1.5e9 }, { "7", 7.0 },
        { "2.9", 2.0 }, { "1T", 1e12 }, { "0.5K", 500.0 }, { "41k", 41e3 } };
    static const char *const bad[] = { "", "M", "84m", "84MM", "0.5", "nan",
        "-1", "2000T", " 1", "1 M", "inf" };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double v = -1.0;

        ok(number_count(good[i].text, 1.0, 1e15, &v) == 0 &&
                v >= good[i].value && v <= good[i].value,
            "the count %s is %g", good[i].text, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double v = -1.0;

        ok(number_count(bad[i], 1.0, 1e15, &v) < 0 && v < 0.0,
            "the text \"%s\" is no count", bad[i]);
    }
}

int
main(void)
{
    tap_scratch();
    test_text();
    test_count();
    test_quota();
    test_memory();
    test_err();
    test_note();
    test_mem();
    test_exhausted();
    test_rng();
    test_perm();
    test_pool(1);
    test_pool(2);
    test_pool(5);
    test_pool(0);
    test_pool_refused();
    pool_free(NULL);
    ok(clock_cpu() > 0 && clock_now() > 0, "clocks");
    return done_testing();
}
