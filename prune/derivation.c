/* The merges that make a token; see derivation.h. */
#include "derivation.h"

#include "tok/bpe.h"
#include "tok/pairs.h"
#include "tok/tokenizer.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

int
tok_text(const struct tokenizer *t, uint32_t id, const char **s, size_t *n)
{
    if (id >= t->nid || !t->text[id].known)
        return 0;
    *s = t->pool.p + t->text[id].off;
    *n = t->text[id].n;
    return 1;
}

int
tok_is_added(const struct tokenizer *t, uint32_t id)
{
    return id < t->nid && t->text[id].added;
}

static int64_t
or_none(uint32_t id)
{
    return id == TOK_NONE ? -1 : (int64_t)id;
}

int64_t
tok_byte(const struct tokenizer *t, unsigned byte)
{
    return or_none(t->sp ? t->sp->byte[byte] : t->byte_id[byte]);
}

int64_t
tok_unknown(const struct tokenizer *t)
{
    return t->sp ? or_none(t->sp->unk) : -1;
}

/* Write the symbols of the text p .. end, not merged, to id[end - p]; returns
 * their number.  Unknown characters are left out, so merging will not end in
 * one token. */
static size_t
symbols_of(const struct tokenizer *t, const unsigned char *p,
    const unsigned char *end, uint32_t *id)
{
    size_t n = 0, k;

    for (; p < end; p += k) {
        uint32_t whole = TOK_NONE;

        k = 1;
        if (t->sp) {
            utf8_next(p, end, &k);
            whole = vocab_id_of(t, p, k);
        }
        if (whole != TOK_NONE)
            id[n++] = whole;
        for (size_t i = 0; whole == TOK_NONE && i < k; i++) {
            const int64_t b = tok_byte(t, p[i]);

            if (b >= 0)
                id[n++] = (uint32_t)b;
        }
    }
    return n;
}

/* Merge the pair of the lowest rank in id[n] (if several have it, the
 * leftmost); returns its index, or n: no pair merges. */
static size_t
merge_best(const struct tokenizer *t, uint32_t *id, size_t n)
{
    struct merge best = { TOK_NONE, TOK_NONE };
    size_t at = n;

    for (size_t i = 0; i + 1 < n; i++) {
        const struct merge m = pair_find(t, id[i], id[i + 1]);

        if (m.rank < best.rank) {
            best = m;
            at = i;
        }
    }
    if (at < n) {
        id[at] = best.id;
        memmove(id + at + 1, id + at + 2, (n - at - 2) * sizeof *id);
    }
    return at;
}

int
tok_derivation(const struct tokenizer *t, uint32_t id, struct tok_ids *out)
{
    const size_t start = out->n;
    const char *s;
    uint32_t *a;
    size_t n, at;
    int made;

    if (!tok_text(t, id, &s, &n))
        return 0;
    a = xreallocarray(NULL, n + 1, sizeof *a);
    n = symbols_of(t, (const unsigned char *)s, (const unsigned char *)s + n,
        a);
    for (size_t i = 0; i < n; i++)
        tok_ids_push(out, a[i]);
    while ((at = merge_best(t, a, n)) < n) {
        tok_ids_push(out, a[at]);
        n--;
    }
    made = n == 1 && a[0] == id;
    if (!made)
        out->n = start;
    free(a);
    return made;
}
