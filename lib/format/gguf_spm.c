/* SentencePiece's BPE as a list of merges; see gguf_spm.h. */
#include "format/gguf_spm.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "format/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define LONGEST 512 /* bytes of a token that merges make, at most */
#define NONE UINT32_MAX

struct spm {
    const struct spm_token *tok;
    uint32_t *slot; /* hash table of texts: token + 1; 0: empty */
    size_t mask;
};

/* A token and the last merge that makes it, which joins its first `cut` bytes
 * and the rest. */
struct made {
    const struct spm_token *t;
    size_t cut;
};

/* The token with the text p[n], or NONE. */
static uint32_t
find_token(const struct spm *v, const char *p, size_t n)
{
    size_t i = (size_t)XXH3_64bits(p, n) & v->mask;

    for (; v->slot[i]; i = (i + 1) & v->mask) {
        const struct spm_token *t = &v->tok[v->slot[i] - 1];

        if (t->n == n && memcmp(t->p, p, n) == 0)
            return v->slot[i] - 1;
    }
    return NONE;
}

static void
index_tokens(struct spm *v, size_t n)
{
    for (v->mask = 1023; v->mask < 2 * n; v->mask = 2 * v->mask + 1)
        ;
    v->slot = xcalloc(v->mask + 1, sizeof *v->slot);
    for (size_t k = 0; k < n; k++) {
        size_t i;

        if (!v->tok[k].used)
            continue;
        i = (size_t)XXH3_64bits(v->tok[k].p, v->tok[k].n) & v->mask;
        while (v->slot[i])
            i = (i + 1) & v->mask;
        v->slot[i] = (uint32_t)k + 1;
    }
}

/* The token with the text p[n], if merging can make that token; else NULL. */
static const struct spm_token *
made_of(const struct spm *v, const char *p, size_t n)
{
    const uint32_t k = find_token(v, p, n);

    return k != NONE && v->tok[k].made ? &v->tok[k] : NULL;
}

/* Merge the text of t by itself.  Returns the bytes of the left part of the
 * last merge, or 0: merging does not end in t. */
static size_t
derive(const struct spm *v, const struct spm_token *t)
{
    const struct spm_token *pair[LONGEST]; /* [i] what parts i and i + 1 merge
                                            * to; NULL: nothing */
    size_t from[LONGEST + 1], m = 0;       /* part i begins at from[i] */

    for (size_t at = 0; at < t->n;
         at += utf8_len((const unsigned char *)t->p + at, t->n - at))
        from[m++] = at;
    from[m] = t->n;
    for (size_t i = 0; i + 1 < m; i++)
        pair[i] = made_of(v, t->p + from[i], from[i + 2] - from[i]);
    while (m > 1) {
        size_t best = m;

        for (size_t i = 0; i + 1 < m; i++)
            if (pair[i] && (best == m || pair[i]->score > pair[best]->score))
                best = i;
        if (best == m)
            return 0;
        if (m == 2)
            return from[1];
        m--;
        memmove(from + best + 1, from + best + 2, (m - best) * sizeof *from);
        memmove(pair + best, pair + best + 1, (m - 1 - best) * sizeof *pair);
        if (best > 0)
            pair[best - 1] = made_of(v, t->p + from[best - 1],
                from[best + 1] - from[best - 1]);
        if (best + 1 < m)
            pair[best] =
                made_of(v, t->p + from[best], from[best + 2] - from[best]);
    }
    return 0;
}

static int
by_score(const void *a, const void *b)
{
    const struct spm_token *x = ((const struct made *)a)->t;
    const struct spm_token *y = ((const struct made *)b)->t;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

static int
longest_first(const void *a, const void *b)
{
    const size_t x = ((const struct made *)a)->t->n;
    const size_t y = ((const struct made *)b)->t->n;

    return (x < y) - (x > y);
}

/* Is t a run of one character, the first character of `of`? */
static int
is_run(const struct spm_token *t, const struct spm_token *of)
{
    const size_t k = utf8_len((const unsigned char *)of->p, of->n);

    return t->n % k == 0 && memcmp(t->p, of->p, k) == 0 &&
        memcmp(t->p, t->p + k, t->n - k) == 0;
}

static int
check_made(const struct spm *v, const struct made *m, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct spm_token *t = m[i].t;

        if (find_token(v, t->p, m[i].cut) == NONE ||
            find_token(v, t->p + m[i].cut, t->n - m[i].cut) == NONE)
            return err_set(e, EX_INPUT,
                "tokenizer.ggml.tokens: token %zu "
                "holds a character that is no token",
                (size_t)(t - v->tok));
    }
    return 0;
}

/* For each group of merges of equal score: if all make runs of the same
 * character, sort the longest first; else add [first, number] to the list that
 * is returned (NULL: it would be empty). */
static json_t *
find_ties(struct made *m, size_t n)
{
    json_t *ties = NULL;

    for (size_t i = 0, k; i < n; i = k) {
        int runs = is_run(m[i].t, m[i].t);

        for (k = i + 1; k < n && m[k].t->score == m[i].t->score; k++)
            runs = runs && is_run(m[k].t, m[i].t);
        if (runs) {
            qsort(m + i, k - i, sizeof *m, longest_first);
        } else if (k > i + 1) {
            if (!ties)
                ties = json_array();
            json_array_append_new(ties,
                json_pack("[I,I]", (json_int_t)i, (json_int_t)(k - i)));
        }
    }
    return ties;
}

json_t *
spm_merges(const struct spm_token *tok, size_t n, json_t **ties, struct err *e)
{
    struct spm v = { .tok = tok };
    struct made *m = xreallocarray(NULL, n + 1, sizeof *m);
    json_t *j = NULL;
    size_t k = 0;

    index_tokens(&v, n);
    for (size_t i = 0; i < n; i++) {
        m[k].t = &tok[i];
        m[k].cut = tok[i].made && tok[i].n <= LONGEST ? derive(&v, &tok[i]) : 0;
        k += m[k].cut > 0;
        if (tok[i].made && tok[i].n > LONGEST) {
            err_set(e, EX_INPUT,
                "tokenizer.ggml.tokens: token %zu has more than %d bytes", i,
                LONGEST);
            goto done;
        }
    }
    qsort(m, k, sizeof *m, by_score);
    if (check_made(&v, m, k, e) < 0)
        goto done;
    *ties = find_ties(m, k);
    j = json_array();
    for (size_t i = 0; i < k; i++)
        json_array_append_new(j,
            json_pack("[o,o]", json_stringn(m[i].t->p, m[i].cut),
                json_stringn(m[i].t->p + m[i].cut, m[i].t->n - m[i].cut)));
done:
    free(v.slot);
    free(m);
    return j;
}
