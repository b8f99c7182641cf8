/* Memory: see mem.h */
#include "base/mem.h"
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { ARENA_ALIGN = 64, HUGE_PAGE = 2 << 20 };

void (*mem_handler)(const char *msg);

void
mem_exhausted(const char *what, ...)
{
    char msg[300] = "out of memory: ";
    const size_t n = strlen(msg);
    va_list ap;

    va_start(ap, what);
    err_format(msg + n, sizeof msg - n - 1, what, ap);
    va_end(ap);
    if (mem_handler != NULL)
        mem_handler(msg);
    memcpy(msg + strlen(msg), "\n", 2);
    if (write(STDERR_FILENO, msg, strlen(msg)) < 0) {
        /* Nothing else can be done. */
    }
    abort();
}

int
size_mul(size_t a, size_t b, size_t *r)
{
    if (b != 0 && a > SIZE_MAX / b)
        return -1;
    *r = a * b;
    return 0;
}

int
size_add(size_t a, size_t b, size_t *r)
{
    if (a > SIZE_MAX - b)
        return -1;
    *r = a + b;
    return 0;
}

static size_t
mul_checked(size_t n, size_t size)
{
    size_t r;

    if (size_mul(n, size, &r) < 0)
        mem_exhausted("%zu times %zu bytes", n, size);
    return r;
}

void *
xrealloc(void *p, size_t n)
{
    void *q = realloc(p, n > 0 ? n : 1);

    if (q == NULL)
        mem_exhausted("%zu bytes:", n);
    return q;
}

void *
xtable(size_t n, size_t size, int fill)
{
    const size_t want = mul_checked(n, size);
    const size_t unit = want >= HUGE_PAGE ? HUGE_PAGE : ARENA_ALIGN;
    const size_t all =
        want <= SIZE_MAX - unit ? (want + unit - 1) / unit * unit : want;
    void *p = all ? aligned_alloc(unit, all) : xmalloc(0);

    if (p == NULL)
        mem_exhausted("%zu bytes:", want);
#ifdef MADV_HUGEPAGE
    if (unit == HUGE_PAGE)
        (void)madvise(p, all, MADV_HUGEPAGE); /* advice only */
#endif
    return memset(p, fill, want);
}

void *
xmalloc(size_t n)
{
    return xrealloc(NULL, n);
}

void *
xcalloc(size_t n, size_t size)
{
    const size_t all = mul_checked(n, size);
    void *p = calloc(1, all > 0 ? all : 1);

    if (p == NULL)
        mem_exhausted("%zu bytes:", all);
    return p;
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
    return xrealloc(p, mul_checked(n, size));
}

void *
xgrow(void *p, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return p;
    if (*cap > SIZE_MAX / 2)
        mem_exhausted("twice %zu", *cap);
    *cap = *cap ? 2 * *cap : 16;
    return xreallocarray(p, *cap, size);
}

void *
xgrow_pow2(void *p, size_t n, size_t size)
{
    return (n & (n - 1)) == 0 ? xreallocarray(p, n ? 2 * n : 1, size) : p;
}

char *
xstrdup(const char *s)
{
    const size_t n = strlen(s) + 1;

    return memcpy(xmalloc(n), s, n);
}

/* Append the formatted text.  vsnprintf runs twice: to measure, then to
 * write. */
static void
buf_addv(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        mem_exhausted("text to be formatted:");
    buf_reserve(b, (size_t)n);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    b->n += (size_t)n;
}

char *
xasprintf(const char *fmt, ...)
{
    struct buf b = { 0 };
    va_list ap;

    va_start(ap, fmt);
    buf_addv(&b, fmt, ap);
    va_end(ap);
    return b.p;
}

void
buf_reserve(struct buf *b, size_t more)
{
    size_t need;

    if (size_add(b->n, more, &need) < 0 || need == SIZE_MAX)
        mem_exhausted("buffer of %zu bytes", b->n);
    need++; /* the NUL */
    if (need > b->cap) {
        size_t cap = b->cap + b->cap / 2;

        if (cap < need)
            cap = need;
        if (cap < 64)
            cap = 64;
        b->p = xrealloc(b->p, cap);
        b->cap = cap;
    }
    b->p[b->n] = '\0';
}

void
buf_add(struct buf *b, const void *p, size_t n)
{
    if (b->cap - b->n <= n)
        buf_reserve(b, n);
    if (n > 0)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void
buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void
buf_addc(struct buf *b, int c)
{
    if (b->cap - b->n <= 1)
        buf_reserve(b, 1);
    b->p[b->n++] = (char)c;
    b->p[b->n] = '\0';
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_addv(b, fmt, ap);
    va_end(ap);
}

void
buf_drop(struct buf *b, size_t n)
{
    if (n == 0)
        return;
    memmove(b->p, b->p + n, b->n - n + 1);
    b->n -= n;
}

void
buf_clear(struct buf *b)
{
    b->n = 0;
    if (b->cap == 0)
        buf_reserve(b, 0);
    b->p[0] = '\0';
}

void
buf_release(struct buf *b)
{
    free(b->p);
    *b = (struct buf){ 0 };
}

void
mem_settle(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    mallopt(M_ARENA_MAX, 1);
#endif
}

void
mem_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void
arena_plan(struct arena *a)
{
    *a = (struct arena){ 0 };
}

static int overcommit; /* arenas are made by the main thread only */

void
arena_overcommit(void)
{
    overcommit = 1;
}

void
arena_init(struct arena *a, size_t cap)
{
    void *p;

    if (cap == 0)
        cap = ARENA_ALIGN;
    p = mmap(NULL, cap, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | (overcommit ? MAP_NORESERVE : 0), -1, 0);
    if (p == MAP_FAILED)
        mem_exhausted("%zu bytes:", cap);
    /* Only advice: a kernel without huge pages gives small ones. */
    (void)madvise(p, cap, MADV_HUGEPAGE);
    *a = (struct arena){ p, cap, 0 };
}

void *
arena_alloc(struct arena *a, size_t n, size_t size)
{
    size_t all = mul_checked(n, size), used;
    void *p;

    if (size_add(all, ARENA_ALIGN - 1, &all) < 0)
        mem_exhausted("%zu times %zu bytes", n, size);
    all -= all % ARENA_ALIGN;
    if (size_add(a->used, all, &used) < 0)
        mem_exhausted("%zu times %zu bytes", n, size);
    if (a->base == NULL) {
        a->used = used;
        return NULL;
    }
    assert(used <= a->cap);
    p = a->base + a->used;
    a->used = used;
    return p;
}

size_t
arena_resident(const struct arena *a)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char in[4096];
    size_t n = 0;

    for (size_t at = 0; at < a->cap; at += sizeof in * page) {
        const size_t left = a->cap - at, pages = left / page + 1;
        const size_t k = pages < sizeof in ? pages : sizeof in;

        if (mincore(a->base + at, left < k * page ? left : k * page, in) != 0)
            return a->cap; /* mincore failed: count all pages */
        for (size_t i = 0; i < (left + page - 1) / page && i < k; i++)
            n += in[i] & 1;
    }
    return n * page;
}

void
arena_release(struct arena *a)
{
    if (a->base != NULL)
        munmap(a->base, a->cap);
    *a = (struct arena){ 0 };
}
