/* Counted keys that spill to disk; see keys.h. */
#include "keys.h"

#include "base/io.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST 10      /* log2 of the home slots of a new table */
#define SLACK 1024    /* slots after the last home slot */
#define FAN 8         /* sorted runs that are merged into one longer run */
#define BLOOM_BITS 12 /* bits for each key: about 1 in 200 false positives */
#define AROUND ((size_t)64 << 10) /* bytes that a page fault maps */
#define ROOM ((size_t)8 << 20)    /* bytes; keys.room is at least this */
#define CHUNK ((size_t)1 << 17)   /* entries merged between two trims */

struct sorted_run {
    const struct key *v; /* [n] sorted; low 16 bits of lo: the count */
    size_t n;
    const uint64_t *bloom; /* [blocks,8] */
    size_t blocks;
    void *map;
    size_t size; /* bytes mapped */
    unsigned level;
};

struct keys {
    struct key *slot; /* [cap]; lo == 0: the slot is free */
    unsigned bits;    /* log2 of the number of home slots */
    unsigned most;    /* maximum of `bits` */
    size_t n, cap;    /* number of entries, of slots */
    struct sorted_run *run;
    size_t nrun, spills;
    size_t mapped;   /* bytes of all runs */
    size_t resident; /* upper bound on the bytes of runs in memory */
    size_t room;     /* trim_runs is called when resident exceeds this */
};

static int
key_before(struct key a, struct key b)
{
    return a.hi != b.hi ? a.hi < b.hi : a.lo >> 16 < b.lo >> 16;
}

static int
keys_equal(struct key a, struct key b)
{
    return a.hi == b.hi && a.lo >> 16 == b.lo >> 16;
}

static uint32_t
count_of(struct key a)
{
    return (uint32_t)(a.lo & 0xffff);
}

/* The table: linear probing in sorted order.  A key's highest bits are the
 * number of its home slot.  The key's entry is in that slot or a later one with
 * no free slot between.  All entries are in the order of their keys. */

static void
table_new(struct keys *k, unsigned bits)
{
    k->bits = bits;
    k->cap = ((size_t)1 << bits) + SLACK;
    k->slot = xcalloc(k->cap, sizeof *k->slot);
}

/* Index of the slot that has the key, or into which it would be inserted;
 * k->cap if there is neither. */
static size_t
slot_place(const struct keys *k, struct key key)
{
    size_t i = (size_t)(key.hi >> (64 - k->bits));

    while (i < k->cap && k->slot[i].lo != 0 && key_before(k->slot[i], key))
        i++;
    return i;
}

/* Insert the key in slot i, and shift the entries from this slot on to the next
 * free slot.  0, or -1: no later slot is free. */
static int
table_put(struct keys *k, size_t i, struct key key)
{
    size_t end = i;

    while (end < k->cap && k->slot[end].lo != 0)
        end++;
    if (end == k->cap)
        return -1;
    memmove(k->slot + i + 1, k->slot + i, (end - i) * sizeof *k->slot);
    k->slot[i] = key;
    k->n++;
    return 0;
}

static void
table_grow(struct keys *k)
{
    struct key *old = k->slot;
    const size_t cap = k->cap;
    size_t next = 0;

    table_new(k, k->bits + 1);
    for (size_t i = 0; i < cap; i++) {
        size_t home;

        if (old[i].lo == 0)
            continue;
        home = (size_t)(old[i].hi >> (64 - k->bits));
        next = home > next ? home : next;
        assert(next < k->cap); /* the smaller table had SLACK too */
        k->slot[next++] = old[i];
    }
    free(old);
}

struct keys *
keys_new(size_t mem)
{
    struct keys *k = xcalloc(1, sizeof *k);

    /* A table that grows needs its old table too: 3/2 of its new size. */
    k->most = FIRST;
    while (k->most < 40 && (((size_t)2 << k->most) + SLACK) * 24 <= mem / 2)
        k->most++;
    k->room = mem / 2 > ROOM ? mem / 2 : ROOM;
    table_new(k, FIRST);
    return k;
}

static void
run_release(struct keys *k, struct sorted_run *r)
{
    munmap(r->map, r->size);
    k->mapped -= r->size;
}

void
keys_free(struct keys *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->nrun; i++)
        run_release(k, &k->run[i]);
    free(k->run);
    free(k->slot);
    free(k);
}

size_t
keys_spills(const struct keys *k)
{
    return k->spills;
}

/* Drop the runs' pages from this process's memory.  The files stay mapped, and
 * the page cache may keep the pages. */
static void
trim_runs(struct keys *k)
{
    for (size_t i = 0; i < k->nrun; i++)
        madvise(k->run[i].map, k->run[i].size, MADV_DONTNEED);
    k->resident = 0;
}

static void
touch(struct keys *k, size_t pages)
{
    k->resident += pages * AROUND;
    if (k->resident > k->room && k->mapped > k->room)
        trim_runs(k);
}

/* Blocked Bloom filter: six bits of one block of 512. */

static size_t
bloom_block(size_t blocks, struct key key)
{
    const uint64_t h = (key.hi ^ key.lo >> 16) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)((h >> 32) * blocks >> 32);
}

static uint64_t
bloom_bits(struct key key)
{
    return (key.lo >> 16 ^ key.hi << 7) * UINT64_C(0xd6e8feb86659fd93) >> 10;
}

static void
bloom_set(uint64_t *bloom, size_t blocks, struct key key)
{
    uint64_t *b = bloom + 8 * bloom_block(blocks, key);
    uint64_t h = bloom_bits(key);

    for (int i = 0; i < 6; i++, h >>= 9)
        b[h >> 6 & 7] |= UINT64_C(1) << (h & 63);
}

static int
bloom_has(const struct sorted_run *r, struct key key)
{
    const uint64_t *b = r->bloom + 8 * bloom_block(r->blocks, key);
    uint64_t h = bloom_bits(key);

    for (int i = 0; i < 6; i++, h >>= 9)
        if (!(b[h >> 6 & 7] >> (h & 63) & 1))
            return 0;
    return 1;
}

/* Interpolation search: keys are uniform, so guess the key's position, then
 * widen the range until it holds the key. */
static uint32_t
run_count(const struct sorted_run *r, struct key key)
{
    const size_t guess =
        (size_t)((double)key.hi / 18446744073709551616.0 * (double)r->n);
    size_t lo = guess < r->n ? guess : r->n - 1, hi = lo + 1, step;

    for (step = 64; lo > 0 && key_before(key, r->v[lo]); step *= 2)
        lo = lo > step ? lo - step : 0;
    for (step = 64; hi < r->n && !key_before(key, r->v[hi]); step *= 2)
        hi = r->n - hi > step ? hi + step : r->n;
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;

        if (key_before(key, r->v[mid]))
            hi = mid;
        else
            lo = mid;
    }
    return keys_equal(r->v[lo], key) ? count_of(r->v[lo]) : 0;
}

uint32_t
keys_count(struct keys *k, struct key key)
{
    const size_t i = slot_place(k, key);
    uint32_t n = 0;

    if (i < k->cap && k->slot[i].lo != 0 && keys_equal(k->slot[i], key))
        n = count_of(k->slot[i]);
    for (size_t r = 0; r < k->nrun && n < KEYS_MOST; r++) {
        touch(k, 1);
        if (bloom_has(&k->run[r], key)) {
            touch(k, 3);
            n += run_count(&k->run[r], key);
        }
    }
    return n < KEYS_MOST ? n : KEYS_MOST;
}

/* Map a nameless file for n entries and their filter.  No other process maps
 * it. */
static int
run_new(struct keys *k, struct sorted_run *r, size_t n, struct err *e)
{
    const int fd = io_unnamed(e);
    int bad;

    if (fd < 0)
        return -1;
    r->blocks = n * BLOOM_BITS / 512 + 1;
    r->size = n * sizeof *r->v + 64 * (r->blocks + 1);
    bad = posix_fallocate(fd, 0, (off_t)r->size);
    r->map = bad
        ? MAP_FAILED
        : mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (r->map == MAP_FAILED)
        return err_set(e, EX_SYS, "TMPDIR: %zu bytes for keys: %s", r->size,
            strerror(bad ? bad : errno));
    madvise(r->map, r->size, MADV_RANDOM);
    r->bloom = (uint64_t *)r->map;
    r->v = (struct key *)((char *)r->map + 64 * r->blocks);
    r->n = 0;
    k->mapped += r->size;
    k->spills++;
    return 0;
}

static void
run_add(struct sorted_run *r, struct key key)
{
    struct key *v = (struct key *)((char *)r->map + 64 * r->blocks);

    v[r->n++] = key;
    bloom_set(r->map, r->blocks, key);
}

static void
run_keep(struct keys *k, struct sorted_run r)
{
    k->run = xreallocarray(k->run, k->nrun + 1, sizeof *k->run);
    k->run[k->nrun++] = r;
}

/* Find the run with the smallest key left among the runs from `first` on, of
 * which run i has its keys from at[i - first] on left.  k->nrun: none has. */
static size_t
smallest_run(const struct keys *k, size_t first, const size_t *at)
{
    size_t best = k->nrun;

    for (size_t i = first; i < k->nrun; i++)
        if (at[i - first] < k->run[i].n &&
            (best == k->nrun ||
                key_before(k->run[i].v[at[i - first]],
                    k->run[best].v[at[best - first]])))
            best = i;
    return best;
}

/* Merge the last FAN runs, which are of one level, into a run of the next
 * level. */
static int
merge_runs(struct keys *k, struct err *e)
{
    const size_t first = k->nrun - FAN;
    struct sorted_run out = { .level = k->run[first].level + 1 };
    struct key last = { 0, 0 };
    size_t at[FAN] = { 0 }, n = 0, i, since = 0;

    for (i = first; i < k->nrun; i++)
        n += k->run[i].n;
    if (run_new(k, &out, n, e) < 0)
        return -1;
    while ((i = smallest_run(k, first, at)) < k->nrun) {
        const struct key key = k->run[i].v[at[i - first]++];

        if (last.lo != 0 && keys_equal(last, key)) {
            const uint32_t sum = count_of(last) + count_of(key);

            last.lo = (last.lo & ~UINT64_C(0xffff)) |
                (sum < KEYS_MOST ? sum : KEYS_MOST);
        } else {
            if (last.lo != 0)
                run_add(&out, last);
            last = key;
        }
        if (++since == CHUNK && k->mapped > k->room) {
            trim_runs(k);
            madvise(out.map, out.size, MADV_DONTNEED);
            since = 0;
        }
    }
    run_add(&out, last);
    for (i = first; i < k->nrun; i++)
        run_release(k, &k->run[i]);
    k->nrun = first;
    run_keep(k, out);
    return 0;
}

/* Merge runs until fewer than FAN have the same level.  Runs are ordered by
 * level, the highest first. */
static int
merge_full(struct keys *k, struct err *e)
{
    while (k->nrun >= FAN &&
        k->run[k->nrun - FAN].level == k->run[k->nrun - 1].level)
        if (merge_runs(k, e) < 0)
            return -1;
    return 0;
}

static int
spill(struct keys *k, struct err *e)
{
    struct sorted_run r = { .level = 0 };

    if (run_new(k, &r, k->n, e) < 0)
        return -1;
    for (size_t i = 0; i < k->cap; i++)
        if (k->slot[i].lo != 0)
            run_add(&r, k->slot[i]);
    memset(k->slot, 0, k->cap * sizeof *k->slot);
    k->n = 0;
    run_keep(k, r);
    touch(k, r.size / AROUND + 1);
    return merge_full(k, e);
}

static int
make_key_room(struct keys *k, struct err *e)
{
    if (k->bits < k->most) {
        table_grow(k);
        return 0;
    }
    return spill(k, e);
}

int
keys_put(struct keys *k, struct key key, struct err *e)
{
    size_t i = slot_place(k, key);

    key.lo = (key.lo & ~UINT64_C(0xffff)) | 1;
    if (i < k->cap && k->slot[i].lo != 0 && keys_equal(k->slot[i], key)) {
        if (count_of(k->slot[i]) < KEYS_MOST)
            k->slot[i].lo++;
        return 0;
    }
    if (k->n >= ((size_t)1 << k->bits) / 4 * 3) {
        if (make_key_room(k, e) < 0)
            return -1;
        i = slot_place(k, key);
    }
    while (table_put(k, i, key) < 0) {
        if (make_key_room(k, e) < 0)
            return -1;
        i = slot_place(k, key);
    }
    return 0;
}
