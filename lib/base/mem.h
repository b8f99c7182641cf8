/*
 * Memory: checked sizes, allocation that ends the program when it fails, a
 * growable byte buffer, and the arena.
 *
 * An arena is one mapped region.  Pieces of it are allocated one after another,
 * aligned to 64 bytes, and freed together.  An arena whose base is NULL
 * (arena_plan) only counts: the code that will allocate is first run with such
 * an arena, so that peak memory is known before the first step.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Set *r to a*b, or to a+b.  0; -1: overflow, *r is unchanged. */
int size_mul(size_t a, size_t b, size_t *r);
int size_add(size_t a, size_t b, size_t *r);

/* End the program because memory is exhausted: call mem_handler with "out of
 * memory: WHAT" (a trailing ':' adds the text of errno).  Programs set a
 * handler that prints the message and exits (cli/prog.h), before threads start.
 * Without a handler, or if it returns, print the message on stderr and
 * abort(). */
extern void (*mem_handler)(const char *msg);
void mem_exhausted(const char *what, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

/* These never return NULL: if there is no memory, or n*size overflows, they
 * call mem_exhausted().  n = 0 gives a unique pointer.  The caller frees with
 * free(). */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
void *xreallocarray(void *p, size_t n, size_t size);
/* Allocate n elements of `size` bytes for random access: aligned to a cache
 * line, in huge pages if large, every byte set to `fill`. */
void *xtable(size_t n, size_t size, int fill);
char *xstrdup(const char *s);
/* Make room for one more element of `size` bytes in the array p, which holds n
 * and has room for *cap.  If it is full, *cap doubles.  Returns the array. */
void *xgrow(void *p, size_t n, size_t *cap, size_t size);
/* xgrow for an array that never shrinks.  The caller need not store a capacity:
 * it is the power of two that holds n. */
void *xgrow_pow2(void *p, size_t n, size_t size);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A growable buffer; { 0 } is empty and valid.  After every buf_ call p ends
 * with a NUL, which n does not count. */
struct buf {
    char *p;
    size_t n, cap;
};
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, int c);
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_drop(struct buf *b, size_t n); /* remove the first n bytes */
void buf_clear(struct buf *b);          /* n = 0, memory kept */
void buf_release(struct buf *b);

/* For programs that plan their peak memory.  From here on, freed blocks of a
 * megabyte or more go back to the system (the C library by itself keeps up to
 * twice the largest it has seen), and all threads share one heap. */
void mem_settle(void);
/* Return freed memory of the heap to the system. */
void mem_trim(void);

struct arena {
    unsigned char *base; /* NULL: counting only */
    size_t cap, used;    /* bytes */
};
/* Make *a an arena that only counts: arena_alloc returns NULL, and `used`
 * grows. */
void arena_plan(struct arena *a);
/* Map cap bytes, which are zero when first touched.  Calls mem_exhausted() if
 * the system refuses. */
void arena_init(struct arena *a, size_t cap);
/* From here on arenas may be larger than memory.  Only plan(1) calls this: its
 * arenas are never touched. */
void arena_overcommit(void);
/* Allocate n*size bytes, 64-byte aligned, zero when the arena is fresh.
 * Asserts that they fit, since the arena's size comes from a plan.  NULL while
 * only counting. */
void *arena_alloc(struct arena *a, size_t n, size_t size);
/* Bytes of the arena that are in memory now. */
size_t arena_resident(const struct arena *a);
void arena_release(struct arena *a);

#endif
