/*
 * Merging of many symbols in linear time: rank after rank, all its places in
 * one sweep.
 *
 * The next merge is the one of the lowest rank, of equals the leftmost.  Where
 * every merge ranks behind those that make its parts, a merge of rank r brings
 * up ranks above r only, so all places of r come before anything else, and the
 * ranks are visited upwards.  Places of one pair overlap only if its two
 * symbols are the same: such a run is merged from its left end.  Otherwise
 * their order is of no consequence.
 *
 * Vocabularies whose merges were derived from the tokens hold merges whose
 * result can be part of a pair of lower rank.  The places of those few ranks
 * wait in a heap and are merged one by one.
 */
#include "data/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

#define KEEP ((size_t)1 << 16)  /* symbols; larger memory is given back */

/* A symbol of the piece; by is the number of the step that made it. */
struct sweep_node {
    uint32_t id, prev, next, by;
};

/* A place where a rank was seen; next is 0 at the end of the list. */
struct sweep_place {
    uint32_t at, next;
};

/* The places of a rank; of meaning where its bit is set. */
struct sweep_list {
    uint32_t first, last;
};

/* Whether a merge of a and b to c by rank r, with x before it (or after it, if
 * back), can be what brings the pair of c and x up: not where a merge of lower
 * rank had taken x and its neighbour before. */
static int
can_follow(const struct tokenizer *t, uint32_t x, uint32_t a, uint32_t b,
    uint32_t c, uint32_t r, int back)
{
    const struct merge m = back ? pair_find(t, b, x) : pair_find(t, x, a);

    return m.rank >= r || (x == c && pair_find(t, b, a).rank >= r);
}

/* The merges of one result, as slots of the table. */
struct makers {
    uint32_t *start, *slot;     /* slot[start[c]] .. slot[start[c + 1] - 1] */
};

static struct makers
makers_of(const struct tokenizer *t)
{
    struct makers k;
    uint32_t n = 0;

    k.start = xcalloc(t->nid + 2, sizeof *k.start);
    k.slot = xreallocarray(NULL, t->nmerge + 1, sizeof *k.slot);
    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair[i].m.rank != TOK_NONE)
            k.start[t->pair[i].m.id + 2]++;
    for (size_t i = 0; i < t->nid + 2; i++)
        k.start[i] = n += k.start[i];
    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair[i].m.rank != TOK_NONE)
            k.slot[k.start[t->pair[i].m.id + 1]++] = (uint32_t)i;
    return k;
}

/* Mark the merges that make c = a part of pair p and can bring it up while its
 * rank is lower than theirs. */
static void
mark(struct tokenizer *t, const struct makers *k, const struct pair_slot *p,
    int back)
{
    const uint32_t left = (uint32_t)(p->key >> 32), right = (uint32_t)p->key;
    const uint32_t c = back ? left : right, x = back ? right : left;

    for (uint32_t i = k->start[c]; i < k->start[c + 1]; i++) {
        const struct pair_slot *const q = &t->pair[k->slot[i]];
        const uint32_t r = q->m.rank;

        if (r >= p->m.rank && can_follow(t, x, (uint32_t)(q->key >> 32),
            (uint32_t)q->key, c, r, back))
            t->single[r >> 6] |= UINT64_C(1) << (r & 63);
    }
}

void
sweep_index(struct tokenizer *t)
{
    struct makers k = makers_of(t);

    t->single = xcalloc(t->nmerge / 64 + 1, sizeof *t->single);
    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair[i].m.rank != TOK_NONE) {
            mark(t, &k, &t->pair[i], 0);
            mark(t, &k, &t->pair[i], 1);
        }
    t->sweep = 1;
    free(k.start);
    free(k.slot);
}

static void
reserve(const struct tokenizer *t, struct sweep *s, size_t n)
{
    if (!s->list) {
        s->list = xreallocarray(NULL, t->nmerge, sizeof *s->list);
        s->bit = xcalloc(t->nmerge / 64 + 1, sizeof *s->bit);
        s->top = xcalloc(t->nmerge / 4096 + 1, sizeof *s->top);
    }
    if (s->cap >= n)
        return;
    s->cap = n;
    s->node = xreallocarray(s->node, n + 2, sizeof *s->node);
    s->place = xreallocarray(s->place, n + 1, 3 * sizeof *s->place);
}

static void
trim(struct sweep *s)
{
    if (s->cap <= KEEP)
        return;
    free(s->node);
    free(s->place);
    free(s->heap);
    s->node = NULL;
    s->place = NULL;
    s->heap = NULL;
    s->cap = s->heap_cap = 0;
}

void
sweep_release(struct sweep *s)
{
    free(s->node);
    free(s->place);
    free(s->heap);
    free(s->list);
    free(s->bit);
    free(s->top);
}

/* Put down that the symbol at place `at` and the next one merge by rank r. */
static inline void
put(const struct tokenizer *t, struct sweep *s, uint32_t r, uint32_t at)
{
    const uint32_t k = s->nplace;

    if (t->single[r >> 6] >> (r & 63) & 1) {
        s->heap = xgrow(s->heap, s->nheap, &s->heap_cap, sizeof *s->heap);
        s->nheap = heap_push(s->heap, s->nheap, (uint64_t)r << 32 | at);
        return;
    }
    s->nplace++;
    s->place[k] = (struct sweep_place){ at, 0 };
    if (s->bit[r >> 6] >> (r & 63) & 1) {
        s->place[s->list[r].last].next = k;
    } else {
        s->bit[r >> 6] |= UINT64_C(1) << (r & 63);
        s->top[r >> 12] |= UINT64_C(1) << (r >> 6 & 63);
        s->from = r >> 12 < s->from ? r >> 12 : s->from;
        s->list[r].first = k;
    }
    s->list[r].last = k;
}

/* The lowest rank that is put down in a list; s->from: no word of top before
 * it is set. */
static uint32_t
lowest(const struct tokenizer *t, struct sweep *s)
{
    const size_t n = t->nmerge / 4096 + 1;
    size_t k;

    while (s->from < n && !s->top[s->from])
        s->from++;
    if (s->from == n)
        return TOK_NONE;
    k = s->from << 6 | (size_t)__builtin_ctzll(s->top[s->from]);
    return (uint32_t)(k << 6) | (uint32_t)__builtin_ctzll(s->bit[k]);
}

static void
unset(struct sweep *s, uint32_t r)
{
    s->bit[r >> 6] &= ~(UINT64_C(1) << (r & 63));
    if (!s->bit[r >> 6])
        s->top[r >> 12] &= ~(UINT64_C(1) << (r >> 6 & 63));
}

/* Merge symbol i with the next one. */
static inline void
join(struct sweep_node *v, uint32_t i, uint32_t c, uint32_t step)
{
    const uint32_t k = v[i].next, after = v[k].next;

    v[k].id = TOK_NONE;
    v[i].id = c;
    v[i].by = step;
    v[i].next = after;
    v[after].prev = i;
}

/* All merges of a and b at the places of a list. */
static void
join_all(struct sweep *s, uint32_t k, uint32_t a, uint32_t b, uint32_t c)
{
    struct sweep_node *const v = s->node;

    for (; k; k = s->place[k].next) {
        uint32_t i = s->place[k].at;

        if (v[i].id != a || v[v[i].next].id != b)
            continue;
        if (a != b) {
            join(v, i, c, s->step);
            continue;
        }
        while (v[v[i].prev].id == a)
            i = v[i].prev;
        for (; v[i].id == a && v[v[i].next].id == a; i = v[i].next)
            join(v, i, c, s->step);
    }
}

/* What was looked up last: x before, y behind. */
struct seen {
    uint32_t x, y, rx, ry;
};

/* Put down the pairs that came up by the merge of symbol i; the pair of two
 * such symbols of one step once, for the left one. */
static inline void
put_new(const struct tokenizer *t, struct sweep *s, uint32_t i,
    struct seen *seen)
{
    const struct sweep_node *const v = s->node;
    const struct sweep_node *const before = &v[v[i].prev];
    const struct sweep_node *const after = &v[v[i].next];

    if (before->by != s->step) {
        if (before->id != seen->x)
            seen->rx = pair_find(t, seen->x = before->id, v[i].id).rank;
        if (seen->rx != TOK_NONE)
            put(t, s, seen->rx, v[i].prev);
    }
    if (after->id != seen->y)
        seen->ry = pair_find(t, v[i].id, seen->y = after->id).rank;
    if (seen->ry != TOK_NONE)
        put(t, s, seen->ry, i);
}

/* id[n] as a list between two symbols that merge with nothing, and the places
 * of the pairs. */
static void
begin(const struct tokenizer *t, struct sweep *s, const uint32_t *id, size_t n)
{
    uint32_t a = TOK_NONE, b = TOK_NONE, r = TOK_NONE;

    s->nplace = 1;
    s->step = 0;
    s->from = t->nmerge / 4096 + 1;
    for (size_t i = 0; i < n + 2; i++) {
        const uint32_t at = (uint32_t)i;

        s->node[i] = (struct sweep_node){ i && i <= n ? id[i - 1] : TOK_NONE,
            at - 1, at + 1, 0 };
    }
    s->node[0].prev = 0;
    s->node[n + 1].next = (uint32_t)n + 1;
    for (size_t i = 0; i + 1 < n; i++) {
        if (id[i] != a || id[i + 1] != b)
            r = pair_find(t, a = id[i], b = id[i + 1]).rank;
        if (r != TOK_NONE)
            put(t, s, r, (uint32_t)i + 1);
    }
}

/* Merge all places of rank r. */
static void
sweep_rank(const struct tokenizer *t, struct sweep *s, uint32_t r)
{
    struct seen seen = { TOK_NONE, TOK_NONE, TOK_NONE, TOK_NONE };
    const uint32_t first = s->list[r].first;
    uint32_t a = TOK_NONE, b = TOK_NONE;
    struct merge m = { TOK_NONE, TOK_NONE };

    unset(s, r);
    /* The first place that is not out of date says which pair it is. */
    for (uint32_t k = first; k && m.rank != r; k = s->place[k].next) {
        const struct sweep_node *const v = &s->node[s->place[k].at];

        a = v->id;
        b = s->node[v->next].id;
        m = pair_find(t, a, b);
    }
    if (m.rank != r)
        return;
    s->step++;
    join_all(s, first, a, b, m.id);
    for (uint32_t k = first; k; k = s->place[k].next)
        if (s->node[s->place[k].at].by == s->step)
            put_new(t, s, s->place[k].at, &seen);
}

/* Merge the place on top of the heap. */
static void
single(const struct tokenizer *t, struct sweep *s)
{
    struct seen seen = { TOK_NONE, TOK_NONE, TOK_NONE, TOK_NONE };
    const uint32_t r = (uint32_t)(s->heap[0] >> 32), i = (uint32_t)s->heap[0];
    const struct sweep_node *const v = &s->node[i];
    struct merge m;

    s->nheap = heap_pop(s->heap, s->nheap);
    m = pair_find(t, v->id, s->node[v->next].id);
    if (m.rank != r)
        return;
    s->step++;
    join(s->node, i, m.id, s->step);
    put_new(t, s, i, &seen);
}

size_t
sweep_merge(const struct tokenizer *t, struct sweep *s, uint32_t *id, size_t n,
    uint32_t *start)
{
    size_t left = 0;

    reserve(t, s, n);
    begin(t, s, id, n);
    for (;;) {
        const uint32_t r = lowest(t, s);

        if (s->nheap > 0 && s->heap[0] >> 32 < r)
            single(t, s);
        else if (r != TOK_NONE)
            sweep_rank(t, s, r);
        else
            break;
    }
    for (uint32_t i = s->node[0].next; i <= n; i = s->node[i].next) {
        if (start)
            start[left] = i - 1;
        id[left++] = s->node[i].id;
    }
    trim(s);
    return left;
}
