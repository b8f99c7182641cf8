/*
 * Jobs of scripts/bench that no program of retort offers.
 *
 *   bench cpu                      processor, kernels, flags: comment lines
 *   bench sgemm THREADS KERNELS    GF/s of a cube; threads 0: all processors
 *   bench read THREADS             GB/s of reading memory, by all threads
 *   bench fast COMPUTE             exit status 1 if products of that kind
 *                                  (kern_compute) are in plain C, else 0
 *   bench model CONFIG.json DIR [bf16]
 *                                  a model of that shape with random weights
 *   bench docs V TOKENS MEAN S [F] `docs` stream of S sources, the first of
 *                                  them number F (0), on standard output
 *   bench ipc pipe|ADDR BYTES N    N messages of that size from one process to
 *                                  another, which reads every line: GB/s
 *   bench sip RATE                 read standard input, RATE bytes a second
 *   bench apart DIR                mean distance, in documents, of neighbours
 *                                  on disk in the stream of an epoch, which is
 *                                  standard input; DIR has one source
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "model/files/export.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "msg/addr.h"
#include "msg/backend.h"
#include "msg/shm_ring.h"
#include "kern/kern.h"
#include "model/files/random.h"
#include "blas.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
kernels(void)
{
    const char *why = kern_init();

    if (why != NULL)
        die(EX_SYS, "%s", why);
}

static void
cpu(void)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[300];

    kernels();
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "model name", 10) == 0) {
            printf("# processor%s", strchr(line, ':'));
            break;
        }
    if (f != NULL)
        fclose(f);
    printf("# retort: %s\n# cores: %zu\n# kernels: %s\n"
           "# built by: %s\n",
        prog_version(), pool_cpus(), kern_name(), prog_build());
}

/* ---- sgemm: a 2048 cube, its rows shared out among the threads ---- */

enum { CUBE = 2048, ROWS = 256, REPEAT = 4 };

static void
product(void *ctx, size_t task, size_t worker)
{
    float *const *x = ctx;

    (void)worker;
    task %= CUBE / ROWS;
    kern.gemm_nt(ROWS, CUBE, CUBE, x[0] + task * ROWS * CUBE, CUBE, x[1], CUBE,
        GEMM_SET, x[2] + task * ROWS * CUBE, CUBE);
}

static int
smaller(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
sgemm(size_t threads, const char *set)
{
    struct pool *pool;
    float *x[3];
    double t[7];

    use_kernels(set);
    pool = pool_new(threads, NULL);
    for (size_t k = 0; k < 3; k++) {
        x[k] = xreallocarray(NULL, (size_t)CUBE * CUBE, sizeof(float));
        for (size_t i = 0; i < (size_t)CUBE * CUBE; i++)
            x[k][i] = (float)rng_unit(k, i) - 0.5f;
    }
    pool_run(pool, CUBE / ROWS, product, x);
    for (size_t r = 0; r < 7; r++) {
        const double start = clock_now();

        pool_run(pool, CUBE / ROWS * REPEAT, product, x);
        t[r] = clock_now() - start;
    }
    qsort(t, 7, sizeof(*t), smaller);
    printf("%.2f\n", REPEAT * 2.0 * CUBE * CUBE * CUBE / t[3] / 1e9);
    for (size_t k = 0; k < 3; k++)
        free(x[k]);
    pool_free(pool);
}

/* ---- read: 512 MiB, the fastest of 9 times ---- */

enum { READ_TASKS = 512, READ_FLOATS = 1 << 18 };

static void
read_task(void *ctx, size_t task, size_t worker)
{
    float *x = ctx;

    (void)worker;
    x += task * READ_FLOATS;
    x[0] = kern.max(x, READ_FLOATS);
}

static void
read_memory(size_t threads)
{
    const size_t bytes = (size_t)READ_TASKS * READ_FLOATS * sizeof(float);
    struct pool *pool;
    struct arena a;
    double best = 0.0;

    use_kernels("");
    pool = pool_new(threads, NULL);
    arena_init(&a, bytes);
    memset(a.base, 0, bytes);
    for (size_t r = 0; r < 9; r++) {
        const double start = clock_now();

        pool_run(pool, READ_TASKS, read_task, a.base);
        best = fmax(best, (double)bytes / (clock_now() - start));
    }
    printf("%.2f\n", best / 1e9);
    arena_release(&a);
    pool_free(pool);
}

static int
fast(const char *compute)
{
    kernels();
    kern_compute(compute);
    return kern_slow();
}

/* ---- a model and documents ---- */

static void
model(const char *path, const char *dir, const char *type)
{
    struct arena a = { 0 };
    struct config c;
    struct model m;
    struct err e;

    if (config_load(&c, NULL, path, &e) < 0)
        die_err(&e);
    model_random(&m, &c, NULL, 1, &a);
    if (model_export(&m, dir, strcmp(type, "bf16") == 0 ? DT_BF16 : DT_F32,
            NULL, NULL, &e) < 0)
        die_err(&e);
    model_random_free(&m);
    arena_release(&a);
}

enum { MESSAGE = 1 << 16, LONGEST = 1 << 15 };

/* Ids by Zipf's law: a draw takes one of 2^16 quantiles, then any id between
 * this quantile and the next. */
static uint32_t quantile[65537];

static void
docs_quantiles(size_t V)
{
    for (size_t i = 0; i <= 65536; i++)
        quantile[i] = (uint32_t)exp(log((double)V) * (double)i / 65536.0) - 1;
}

/*
 * Make ids of n tokens that compress about as well as those of prose.  One draw
 * in four copies 2 to 9 tokens in a row from up to 2^14 tokens before, near
 * places more often than far ones.  zstd -3 compresses these ids 2.0 times,
 * ids of English prose of the same vocabulary 2.0 to 2.5 times.
 */
static void
docs_ids(uint32_t *ids, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n;) {
        const uint64_t u = rng_u64(key, i);
        const size_t most = i < 16384 ? i : 16384;
        const size_t run = 2 + (u >> 16 & 7),
                     back = 1 +
            (size_t)((double)most * (double)(u >> 48) *
                (double)(u >> 32 & 65535) * 0x1p-32);

        if ((u >> 19 & 7) < 2 && i > 64) {
            for (size_t k = 0; k < run && i < n; k++, i++)
                ids[i] = ids[i - back];
        } else {
            const uint32_t lo = quantile[u & 65535];
            const uint32_t hi = quantile[(u & 65535) + 1];

            ids[i++] = lo + (hi > lo ? (uint32_t)(u >> 22) % (hi - lo) : 0);
        }
    }
}

/* Fill a message with documents whose lengths are lognormal (deviation 1).
 * Returns the tokens in it. */
static size_t
docs_message(struct msg_out *w, size_t V, size_t left, double mean,
    size_t nsource, uint64_t seed, uint64_t k)
{
    static uint16_t ids16[MESSAGE], source[MESSAGE];
    static uint32_t ids32[MESSAGE], len[MESSAGE];
    static uint64_t key[MESSAGE];
    const size_t room = left < MESSAGE ? left : MESSAGE;
    const double mu = log(mean) - 0.5;
    struct st_out *o = msg_begin(w, MSG_DOCS);
    size_t D = 0, n = 0;

    for (; n < room; D++) {
        const uint64_t id = k * MESSAGE + D;
        const double x = exp(mu + rng_normal(rng_key(1, seed), id));
        size_t want = x < 1.0 ? 1 : x > LONGEST ? LONGEST : (size_t)x;

        want = want < room - n ? want : room - n;
        len[D] = (uint32_t)want;
        source[D] = (uint16_t)(rng_u64(2, id) % nsource);
        key[D] = rng_u64(rng_key(3, seed), id);
        n += want;
    }
    docs_ids(ids32, n, rng_key(rng_key(4, seed), k));
    for (size_t i = 0; i < n; i++)
        ids16[i] = (uint16_t)ids32[i];
    st_out_tensor(o, "ids", V <= 65536 ? DT_U16 : DT_U32, 1, &n,
        V <= 65536 ? (const void *)ids16 : ids32);
    st_out_tensor(o, "doc_len", DT_U32, 1, &D, len);
    st_out_tensor(o, "doc_source", DT_U16, 1, &D, source);
    st_out_tensor(o, "doc_key", DT_U64, 1, &D, key);
    msg_out_tokens(w, n);
    return n;
}

static void
docs(size_t V, size_t tokens, double mean, size_t nsource, size_t first)
{
    struct stream_info i = {
        .content = "docs",
        .tokenizer = "00000000000000000000000000000000",
        .vocab = V,
        .bos = -1,
        .eos = -1,
        .nsource = nsource,
    };
    struct msg_out *w;
    struct err e;
    int r;

    if (V < 2 || nsource < 1 || nsource > 65536 || !(mean >= 1.0))
        die(EX_USAGE, "docs: V >= 2, MEAN >= 1, 1 to 65536 sources");
    docs_quantiles(V);
    i.source = xcalloc(nsource, sizeof(*i.source));
    for (size_t k = 0; k < nsource; k++)
        i.source[k] = xasprintf("source%zu", first + k);
    if ((w = msg_out_open(NULL, &e)) == NULL)
        die_err(&e);
    stream_info_put(msg_begin(w, MSG_STREAM), &i);
    r = msg_send(w, &e);
    for (uint64_t k = 0; r == 0 && tokens > 0; k++) {
        tokens -= docs_message(w, V, tokens, mean, nsource, first, k);
        r = msg_send(w, &e);
    }
    if (r == 0)
        r = msg_end(w, &e);
    if (r < 0)
        die_err(&e);
    msg_out_close(w);
    for (size_t k = 0; k < nsource; k++)
        free((char *)(uintptr_t)i.source[k]);
    free(i.source);
}

/* ---- between processes ---- */

/* Memory that is written anew for each message, as a producer does. */
static void
ipc_fill(unsigned char *p, size_t n, uint64_t k)
{
    memset(p, (int)(k & 127), n);
}

/* The sum of one word of each cache line: all of p is read. */
static uint64_t
ipc_look(const unsigned char *p, size_t n)
{
    uint64_t sum = 0, v;

    for (size_t i = 0; i + 8 <= n; i += 64) {
        memcpy(&v, p + i, 8);
        sum += v;
    }
    return sum;
}

/* Through shared memory: each message is made in the ring itself. */
static void
ipc_write_ring(const struct addr *a, size_t n, size_t count)
{
    struct err e;
    struct ring *r = ring_create(a, &e);
    unsigned char *p;

    if (r == NULL)
        die_err(&e);
    for (size_t k = 0; k < count; k++) {
        if (ring_reserve(r, n, 0, &p, &e) != 0)
            die(EX_SYS, "the reader has left");
        ipc_fill(p, n, k);
        ring_publish(r);
    }
    if (ring_handover(r, &e) != 0)
        die(EX_SYS, "no reader");
    ring_close(r);
}

static void
ipc_write(const char *addr, size_t n, size_t count)
{
    unsigned char *p = xmalloc(n);
    struct iovec v = { p, n };
    struct addr a;
    struct err e;
    struct msg_sink *s;

    if (addr_parse(&a, addr, &e) < 0)
        die_err(&e);
    if (a.kind == ADDR_SHM) {
        ipc_write_ring(&a, n, count);
    } else {
        if ((s = msg_sink_open(addr, &e)) == NULL)
            die_err(&e);
        for (size_t k = 0; k < count; k++) {
            ipc_fill(p, n, k);
            if (msg_sink_send(s, &v, 1, &e) != 0)
                die(EX_SYS, "the reader has left");
        }
        if (msg_sink_end(s, &e) != 0)
            die(EX_SYS, "the reader has left");
        msg_sink_close(s);
    }
    free(p);
}

/* Read everything.  Returns the seconds from the first bytes to the last. */
static double
ipc_read(const char *addr, size_t n, uint64_t *bytes)
{
    unsigned char *buf = xmalloc(n);
    const unsigned char *p;
    struct err e;
    struct msg_src *s = msg_src_open(addr, &e);
    uint64_t end, sum = 0;
    double start = 0.0;
    ptrdiff_t got;
    size_t k = 0;

    if (s == NULL)
        die_err(&e);
    for (*bytes = 0;; *bytes += k) {
        if (s->backend->next) {
            if ((got = s->backend->next(s, &p, &k, &end, &e)) > 0) {
                sum += ipc_look(p, k);
                s->backend->release(s, end);
            }
        } else if ((got = s->backend->read(s, buf, n, &e)) > 0) {
            sum += ipc_look(buf, k = (size_t)got);
        }
        if (got < 0)
            die_err(&e);
        if (got == 0)
            break;
        start = *bytes == 0 ? clock_now() : start;
    }
    start = clock_now() - start;
    if (sum == 1) /* a use of sum, so that sum is computed */
        puts("");
    msg_src_close(s);
    free(buf);
    return start;
}

static void
ipc(const char *addr, size_t n, size_t count)
{
    uint64_t bytes;
    double t;
    int fd[2] = { -1, -1 };
    pid_t pid;

    if (n == 0 || count < 2)
        die(EX_USAGE, "ipc: BYTES >= 1, N >= 2");
    if (strcmp(addr, "pipe") == 0) {
        addr = "-";
        if (pipe(fd) < 0)
            die(EX_SYS, "pipe:");
    }
    if ((pid = fork()) < 0)
        die(EX_SYS, "fork:");
    if (pid == 0) {
        if (fd[1] >= 0 && dup2(fd[1], STDOUT_FILENO) < 0)
            die(EX_SYS, "dup2:");
        if (fd[0] >= 0)
            close(fd[0]);
        if (fd[1] >= 0)
            close(fd[1]);
        ipc_write(addr, n, count);
        _exit(0);
    }
    if (fd[0] >= 0 && dup2(fd[0], STDIN_FILENO) < 0)
        die(EX_SYS, "dup2:");
    if (fd[0] >= 0)
        close(fd[0]);
    if (fd[1] >= 0)
        close(fd[1]);
    t = ipc_read(addr, n, &bytes);
    if (bytes != (uint64_t)n * count)
        die(EX_SYS, "ipc: the writer failed");
    waitpid(pid, NULL, 0);
    printf("%.3f\n", (double)bytes / t / 1e9);
}

/* ---- consumers of streams ---- */

static void
sip(size_t rate)
{
    static char buf[1 << 16];
    const double start = clock_now();
    double done = 0.0;
    ssize_t n;

    while ((n = read(STDIN_FILENO, buf, sizeof buf)) > 0) {
        const double late =
            (done += (double)n) / (double)rate - (clock_now() - start);
        const struct timespec t = { (time_t)late,
            (long)(1e9 * (late - floor(late))) };

        if (late > 0.0)
            nanosleep(&t, NULL);
    }
}

struct seen {
    uint64_t key;
    size_t at;
};

static int
by_key(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

/* Keys of the documents that begin in the messages of one kind, in order of
 * arrival. */
static struct seen *
read_keys(const char *from, enum msg_kind kind, size_t *n)
{
    const char *name = kind == MSG_DOCS ? "doc_key" : "piece_key";
    struct err e;
    struct msg_in *in = set_in_open(from, 0, &e);
    struct seen *r = NULL;
    size_t cap = 0;
    struct msg m;
    int k;

    if (in == NULL)
        die_err(&e);
    for (*n = 0; (k = msg_read(in, &m, &e)) > 0;) {
        const struct st_tensor *t = st_find(&m.st, name);
        const struct st_tensor *off = st_find(&m.st, "piece_off");

        for (size_t i = 0; m.kind == kind && i < t->n; i++) {
            if (off != NULL && st_u32(off, i) > 0)
                continue;
            r = xgrow(r, *n, &cap, sizeof(*r));
            memcpy(&r[*n].key, (const char *)t->data + 8 * i, 8);
            r[*n].at = *n;
            ++*n;
        }
    }
    if (k < 0)
        die_err(&e);
    msg_in_close(in);
    return r;
}

static void
apart(const char *dir)
{
    size_t n, m, last = SIZE_MAX;
    struct seen *disk = read_keys(dir, MSG_DOCS, &n);
    struct seen *order = read_keys("-", MSG_BATCH, &m);
    double sum = 0.0, pairs = 0.0;

    qsort(order, m, sizeof(*order), by_key);
    for (size_t i = 0; i < n; i++) {
        const struct seen *p = bsearch(&disk[i], order, m, sizeof(*p), by_key);

        if (p != NULL && last != SIZE_MAX) {
            sum += fabs((double)p->at - (double)last);
            pairs++;
        }
        last = p != NULL ? p->at : SIZE_MAX;
    }
    printf("%.1f\n", sum / pairs);
    free(disk);
    free(order);
}

int
main(int argc, char **argv)
{
    const char *job = argc > 1 ? argv[1] : "";

    progname = "bench";
    if (strcmp(job, "cpu") == 0 && argc == 2)
        cpu();
    else if (strcmp(job, "sgemm") == 0 && argc == 4)
        sgemm(number(argv[2], 0), argv[3]);
    else if (strcmp(job, "read") == 0 && argc == 3)
        read_memory(number(argv[2], 0));
    else if (strcmp(job, "fast") == 0 && argc == 3)
        return fast(argv[2]);
    else if (strcmp(job, "model") == 0 && (argc == 4 || argc == 5))
        model(argv[2], argv[3], argc == 5 ? argv[4] : "f32");
    else if (strcmp(job, "docs") == 0 && (argc == 6 || argc == 7))
        docs(number(argv[2], 0), number(argv[3], 0), (double)number(argv[4], 0),
            number(argv[5], 0), argc == 7 ? number(argv[6], 0) : 0);
    else if (strcmp(job, "ipc") == 0 && argc == 5)
        ipc(argv[2], number(argv[3], 0), number(argv[4], 0));
    else if (strcmp(job, "sip") == 0 && argc == 3)
        sip(number(argv[2], 0));
    else if (strcmp(job, "apart") == 0 && argc == 3)
        apart(argv[2]);
    else
        die(EX_USAGE,
            "cpu, sgemm, read, fast, model, docs, ipc, sip or apart: see "
            "tests/bench/bench.c");
    out_done();
    return 0;
}
