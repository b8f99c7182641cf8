/* Completing the tables of a schema: the kinds of each place, and how deep the
 * shallowest values are; see schema_impl.h. */
#include "base/mem.h"
#include "gen/schema_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- the kinds of places ---- */

struct linker {
    struct schema *s;
    uint32_t *seen;  /* [places] the last place for which this one was visited,
                      * plus 1 */
    uint32_t *stack; /* [parts] parts to be visited */
    size_t visits;   /* of parts, for all places */
    struct err *e;
};
enum { VISITS = 1 << 22 }; /* at most */

static int
refuse_size(const struct linker *l)
{
    return err_set(l->e, EX_INPUT,
        "#: a value has more than %d alternatives, or all values together "
        "more than %d: give fewer",
        SCHEMA_KINDS, SCHEMA_CHOICES);
}

/* Collect the kinds of a place: those of its parts, also of places that are
 * parts.  A place that is a part of itself adds nothing. */
static int
collect_kinds(struct linker *l, uint32_t at)
{
    struct schema *s = l->s;
    struct schema_place *p = &s->place[at];
    size_t n = 0;

    p->first = (uint32_t)s->choices;
    l->seen[at] = at + 1;
    if (p->part > 0)
        l->stack[n++] = p->part - 1;
    while (n > 0) {
        const struct schema_part part = s->part[l->stack[--n]];

        if (l->visits++ == VISITS)
            return refuse_size(l);
        if (part.before > 0)
            l->stack[n++] = part.before - 1;
        if (part.is_place) {
            if (l->seen[part.id] != at + 1 && s->place[part.id].part > 0)
                l->stack[n++] = s->place[part.id].part - 1;
            l->seen[part.id] = at + 1;
            continue;
        }
        if (p->n++ == SCHEMA_KINDS || s->choices == SCHEMA_CHOICES)
            return refuse_size(l);
        s->choice = xgrow_pow2(s->choice, s->choices, sizeof *s->choice);
        s->choice[s->choices++] = part.id;
    }
    return 0;
}

static int
collect_all(struct schema *s, struct err *e)
{
    struct linker l = { s, xcalloc(s->places, sizeof *l.seen),
        xreallocarray(NULL, s->parts + 1, sizeof *l.stack), 0, e };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < s->places; i++)
        r = collect_kinds(&l, i);
    free(l.seen);
    free(l.stack);
    free(s->part);
    s->part = NULL;
    s->parts = 0;
    return r;
}

/* ---- texts in order ---- */

struct sorted_text {
    const char *p;
    struct schema_text t;
};

static int
compare_texts(const void *a, const void *b)
{
    const struct sorted_text *x = a, *y = b;
    const size_t n = x->t.n < y->t.n ? x->t.n : y->t.n;
    const int r = memcmp(x->p, y->p, n);

    return r != 0 ? r : (x->t.n > y->t.n) - (x->t.n < y->t.n);
}

/* Sort n texts, and remove all but one of equal ones.  Returns how many are
 * left. */
static uint32_t
sort_texts(const struct schema *s, struct schema_text *t, uint32_t n)
{
    struct sorted_text *a = xreallocarray(NULL, n, sizeof *a);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++)
        a[i] = (struct sorted_text){ s->bytes.p + t[i].off, t[i] };
    qsort(a, n, sizeof *a, compare_texts);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || compare_texts(&a[i - 1], &a[i]) != 0)
            t[kept++] = a[i].t;
    free(a);
    return kept;
}

static void
sort_all(struct schema *s)
{
    for (size_t i = 0; i < s->kinds; i++) {
        struct schema_kind *k = &s->kind[i];

        if (k->type == KIND_LITERALS)
            k->n = sort_texts(s, s->text + k->first, k->n);
        if (k->type != KIND_OBJECT || k->n == 0)
            continue;
        for (uint32_t j = 0, last = k->n - 1; j < k->n; j++) {
            const uint32_t at = k->n - 1 - j;

            last = s->property[k->first + at].required ? at : last;
            s->property[k->first + at].last = last;
            s->name[k->first + at].property = at;
        }
        (void)sort_texts(s, s->name + k->first, k->n);
    }
}

/* ---- depths ---- */

enum { NO_VALUE = SCHEMA_DEPTH + 1 };

static uint32_t
kind_depth(const struct schema *s, const struct schema_kind *k)
{
    uint32_t inner = 0;

    if (k->type == KIND_OBJECT)
        for (uint32_t i = 0; i < k->n; i++) {
            const struct schema_property *p = &s->property[k->first + i];

            if (p->required && s->place[p->place].depth > inner)
                inner = s->place[p->place].depth;
        }
    else if (k->type == KIND_ARRAY)
        inner = k->lo > 0 ? s->place[k->place].depth : 0;
    else if (k->type != KIND_MAP)
        return 0;
    return inner < NO_VALUE ? inner + 1 : NO_VALUE;
}

/* Set the depths of kinds by those of places, then of places by those of their
 * kinds.  Returns how many have become less. */
static size_t
lower_depths(struct schema *s)
{
    size_t changed = 0;

    for (size_t i = 0; i < s->kinds; i++)
        s->kind[i].depth = kind_depth(s, &s->kind[i]);
    for (size_t i = 0; i < s->places; i++) {
        struct schema_place *p = &s->place[i];
        const uint32_t was = p->depth;

        for (uint32_t j = 0; j < p->n; j++) {
            const uint32_t d = s->kind[s->choice[p->first + j]].depth;

            p->depth = d < p->depth ? d : p->depth;
        }
        changed += p->depth != was;
    }
    return changed;
}

int
schema_link(struct schema *s, struct err *e)
{
    if (collect_all(s, e) < 0)
        return -1;
    sort_all(s);
    for (size_t i = 0; i < s->places; i++)
        s->place[i].depth = NO_VALUE;
    /* A value of depth d is found in round d + 1. */
    while (lower_depths(s) > 0)
        ;
    if (s->place[s->root].depth > SCHEMA_DEPTH)
        return err_set(e, EX_INPUT,
            "#: no value is allowed, or none that has at most %d arrays and "
            "objects in each other",
            SCHEMA_DEPTH);
    return 0;
}
