/*
 * Finding added tokens in linear time, for texts in which a search at each byte
 * takes too long, such as aaaa... with the tokens ab, aab, aaab, ...  The
 * automaton of Aho and Corasick (1975) is made of the reversed tokens and reads
 * a block of text backwards.  So it knows at each byte the longest token that
 * begins there.
 */
#include "tok/aho_corasick.h"

#include <stdlib.h>
#include <string.h>

struct edge {
    uint64_t key; /* 1 + (node << 8 | byte); 0: empty */
    uint32_t to;
};

/* Node 0 is the root.  A node comes after its parent. */
struct aho {
    size_t n;
    uint32_t *fail;    /* [n] node of the longest proper suffix */
    uint32_t *token;   /* [n] 1 + number of the longest token that ends here; 0:
                        * none */
    struct edge *edge; /* [mask + 1] hash table by key */
    size_t mask;
    size_t longest; /* bytes of the longest token */
};

static struct edge *
edge_of(const struct aho *f, uint32_t node, unsigned char byte)
{
    const uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20);

    for (;; i++) {
        struct edge *const e = &f->edge[i & f->mask];

        if (e->key == key || e->key == 0)
            return e;
    }
}

static inline uint32_t
next_node(const struct aho *f, uint32_t node, unsigned char byte)
{
    const struct edge *e;

    while ((e = edge_of(f, node, byte))->key == 0 && node != 0)
        node = f->fail[node];
    return e->key ? e->to : 0;
}

/* Add nodes for token `number`, s[n] backwards; from[] and by[]: each node's
 * parent, and the byte that leads to it. */
static void
add_token(struct aho *f, const char *s, size_t n, size_t number, uint32_t *from,
    unsigned char *by)
{
    uint32_t node = 0;

    while (n-- > 0) {
        const unsigned char c = (unsigned char)s[n];
        struct edge *const e = edge_of(f, node, c);

        if (e->key == 0) {
            e->key = ((uint64_t)node << 8 | c) + 1;
            e->to = (uint32_t)f->n;
            from[f->n] = node;
            by[f->n++] = c;
        }
        node = e->to;
    }
    f->token[node] = (uint32_t)number + 1;
}

/* Set `fail` of all nodes, and `token` where a shorter token ends; order[f->n]:
 * the nodes by depth. */
static void
link_nodes(struct aho *f, const uint32_t *order, const uint32_t *from,
    const unsigned char *by)
{
    for (size_t i = 1; i < f->n; i++) {
        const uint32_t node = order[i], up = from[node];

        f->fail[node] = up == 0 ? 0 : next_node(f, f->fail[up], by[node]);
        if (f->token[node] == 0)
            f->token[node] = f->token[f->fail[node]];
    }
}

/* Sort the nodes by depth, a counting sort. */
static void
sort_nodes(const struct aho *f, const uint32_t *from, uint32_t *order)
{
    uint32_t *const depth = xcalloc(f->n, sizeof *depth);
    size_t *const start = xcalloc(f->longest + 2, sizeof *start);

    for (size_t i = 1; i < f->n; i++)
        depth[i] = depth[from[i]] + 1;
    for (size_t i = 0; i < f->n; i++)
        start[depth[i] + 1]++;
    for (size_t d = 0; d <= f->longest; d++)
        start[d + 1] += start[d];
    for (size_t i = 0; i < f->n; i++)
        order[start[depth[i]]++] = (uint32_t)i;
    free(depth);
    free(start);
}

struct aho *
aho_new(const struct added_set *set)
{
    struct aho *const f = xcalloc(1, sizeof *f);
    size_t all = 1, slots = 64;
    uint32_t *from, *order;
    unsigned char *by;

    for (size_t i = 0; i < set->n; i++) {
        all += set->a[i].n;
        if (set->a[i].n > f->longest)
            f->longest = set->a[i].n;
    }
    while (slots < 2 * all)
        slots *= 2;
    f->edge = xcalloc(slots, sizeof *f->edge);
    f->mask = slots - 1;
    f->fail = xcalloc(all, sizeof *f->fail);
    f->token = xcalloc(all, sizeof *f->token);
    from = xcalloc(all, sizeof *from);
    order = xcalloc(all, sizeof *order);
    by = xcalloc(all, 1);
    f->n = 1;
    for (size_t i = 0; i < set->n; i++)
        add_token(f, set->a[i].s, set->a[i].n, i, from, by);
    sort_nodes(f, from, order);
    link_nodes(f, order, from, by);
    free(from);
    free(order);
    free(by);
    return f;
}

void
aho_free(struct aho *f)
{
    if (!f)
        return;
    free(f->edge);
    free(f->fail);
    free(f->token);
    free(f);
}

void
aho_read(const struct aho *f, const unsigned char *p, size_t n, size_t room,
    uint32_t *token)
{
    const size_t more = room - n < f->longest ? room - n : f->longest;
    uint32_t node = 0;

    for (size_t i = n + more; i-- > 0;) {
        node = next_node(f, node, p[i]);
        if (i < n)
            token[i] = f->token[node];
    }
}
