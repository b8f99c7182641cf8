/* Reading vocabulary and merges of a tokenizer.json, from a tree or from text.
 * Text takes a fraction of the time and memory. */

#include "tok/vocab_json.h"
#include "tok/bpe.h"
#include <stdlib.h>
#include <string.h>

/* The slot of s[n], or the empty slot where it belongs. */
static uint64_t *
name_slot(const struct names *k, const char *s, size_t n, uint64_t hash)
{
    size_t i = (size_t)hash & k->mask;

    for (; k->slot[i]; i = (i + 1) & k->mask) {
        const struct name *x = &k->v[(uint32_t)k->slot[i] - 1];

        if (k->slot[i] >> 32 == hash >> 32 && x->n == n &&
            memcmp(x->s, s, n) == 0)
            break;
    }
    return &k->slot[i];
}

static void
name_add(struct names *k, const char *s, size_t n, uint64_t id)
{
    k->v[k->n++] = (struct name){ s, (uint32_t)n,
        id < UINT32_MAX ? (uint32_t)id : UINT32_MAX };
}

static int
names_text(struct names *k, size_t most)
{
    struct js_in *const in = &k->in;

    if (!js_in_mark(in, '{'))
        return TOK_UNPLAIN;
    while (k->n < most) {
        const char *s;
        uint64_t id;
        size_t n;

        if ((k->n > 0 && !js_in_mark(in, ',')) || !js_in_text(in, &s, &n) ||
            !js_in_mark(in, ':') || !js_in_number(in, &id))
            return TOK_UNPLAIN;
        name_add(k, s, n, id);
    }
    return js_in_mark(in, '}') && js_in_done(in) ? 0 : TOK_UNPLAIN;
}

/* Put all names into their slots, prefetching the slots of later names.
 * TOK_UNPLAIN: a name occurs twice. */
static int
names_index(struct names *k)
{
    enum { AHEAD = 16 };
    uint64_t hash[AHEAD];

    for (k->mask = 15; k->mask < 2 * k->n; k->mask = 2 * k->mask + 1)
        ;
    k->slot = xtable(k->mask + 1, sizeof *k->slot, 0);
    for (size_t i = 0; i < k->n + AHEAD; i++) {
        if (i >= AHEAD) {
            const struct name *const x = &k->v[i - AHEAD];
            const uint64_t h = hash[i % AHEAD];
            uint64_t *const slot = name_slot(k, x->s, x->n, h);

            if (*slot)
                return TOK_UNPLAIN;
            *slot = h >> 32 << 32 | (i - AHEAD + 1);
        }
        if (i < k->n) {
            hash[i % AHEAD] = vocab_hash(k->v[i].s, k->v[i].n);
            names_fetch(k, hash[i % AHEAD], -1);
        }
    }
    return 0;
}

int
names_load(struct names *k, const struct tok_source *src)
{
    const struct js_part *const part = &src->part[PART_VOCAB];
    const json_t *vocab =
        json_object_get(json_object_get(src->j, "model"), "vocab");
    const size_t most = part->n ? part->count : json_object_size(vocab);
    const char *key;
    json_t *v;

    memset(k, 0, sizeof *k);
    if (most >= UINT32_MAX)
        return TOK_UNPLAIN;
    k->v = xreallocarray(NULL, most + 1, sizeof *k->v);
    if (part->n) {
        js_in_begin(&k->in, part->p, part->n);
        return names_text(k, most) ? TOK_UNPLAIN : names_index(k);
    }
    json_object_foreach((json_t *)(uintptr_t)vocab, key, v)
        name_add(k, key, strlen(key),
            json_is_integer(v) && json_integer_value(v) >= 0
                ? (uint64_t)json_integer_value(v)
                : UINT64_MAX);
    return names_index(k);
}

void
names_free(struct names *k)
{
    js_in_end(&k->in);
    free(k->v);
    free(k->slot);
}

const struct name *
names_find(const struct names *k, const char *s, size_t n, uint64_t hash)
{
    const uint64_t x = *name_slot(k, s, n, hash);

    return x ? &k->v[(uint32_t)x - 1] : NULL;
}

int
names_id(const struct names *k, const char *s, size_t n, uint32_t *id)
{
    const struct name *x = names_find(k, s, n, vocab_hash(s, n));

    *id = x ? x->id : 0;
    return x ? 0 : -1;
}

int
merges_begin(struct merges *m, const struct tok_source *src, struct err *e)
{
    const struct js_part *const part = &src->part[PART_MERGES];
    const json_t *list =
        json_object_get(json_object_get(src->j, "model"), "merges");

    memset(m, 0, sizeof *m);
    if (part->n) {
        m->n = part->count;
        js_in_begin(&m->in, part->p, part->n);
        return 0;
    }
    if (!json_is_array(list))
        return tok_bad(e, "model.merges: is no list");
    m->list = list;
    m->n = json_array_size(list);
    return 0;
}

void
merges_end(struct merges *m)
{
    js_in_end(&m->in);
}

/* Split "x y" into its two words; -1: s has another form. */
static int
two_words(const char *s, size_t n, struct merge_parts *p)
{
    const char *const space = memchr(s, ' ', n);

    if (!space || memchr(space + 1, ' ', n - (size_t)(space + 1 - s)))
        return -1;
    p->x = s;
    p->nx = (size_t)(space - s);
    p->y = space + 1;
    p->ny = n - p->nx - 1;
    return 0;
}

/* Split merge number i of a tree into its two words. */
static int
of_tree(const json_t *v, size_t i, struct merge_parts *p, struct err *e)
{
    const json_t *a = json_array_get(v, 0), *b = json_array_get(v, 1);

    if (json_is_string(v))
        return two_words(json_string_value(v), json_string_length(v), p)
            ? tok_bad(e, "model.merges.%zu: is not two words", i)
            : 1;
    if (json_array_size(v) != 2 || !json_is_string(a) || !json_is_string(b))
        return tok_bad(e, "model.merges.%zu: is not two texts", i);
    p->x = json_string_value(a);
    p->nx = json_string_length(a);
    p->y = json_string_value(b);
    p->ny = json_string_length(b);
    return 1;
}

int
merges_next(struct merges *m, struct merge_parts *p, struct err *e)
{
    struct js_in *const in = &m->in;
    const char *s;
    size_t n;

    if (m->list) {
        const size_t i = m->i;

        return i < m->n ? of_tree(json_array_get(m->list, m->i++), i, p, e) : 0;
    }
    if (m->i == 0 && !js_in_mark(in, '['))
        return TOK_UNPLAIN;
    if (m->i == m->n)
        return js_in_mark(in, ']') && js_in_done(in) ? 0 : TOK_UNPLAIN;
    if (m->i++ > 0 && !js_in_mark(in, ','))
        return TOK_UNPLAIN;
    if (js_in_mark(in, '['))
        return js_in_text(in, &p->x, &p->nx) && js_in_mark(in, ',') &&
                js_in_text(in, &p->y, &p->ny) && js_in_mark(in, ']')
            ? 1
            : TOK_UNPLAIN;
    return js_in_text(in, &s, &n) && two_words(s, n, p) == 0 ? 1 : TOK_UNPLAIN;
}
