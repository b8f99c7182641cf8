/* Added tokens, which are found before anything else looks at the text: first
 * tokens without the flag `normalized`, then, between their matches, tokens
 * with it.  Where several match, the leftmost is taken, and of several leftmost
 * ones the longest.  This follows added_vocabulary.rs of the tokenizers library
 * step by step.  The search goes on at the end of the match itself, also if the
 * token strips white space behind the match.  A token that is `single_word`
 * does not match next to a letter, digit or underscore.  White space before a
 * token is stripped back to the end of the previous token at most. */
#include "tok/added.h"
#include "tok/aho_corasick.h"
#include "tok/norm.h"
#include "tok/sp.h"
#include "tok/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#define KEEP ((size_t)1 << 20) /* bytes; a larger buffer is freed after use */
#define SHALLOW 8 /* longer tokens that share this many bytes: an automaton */
#define STEPS 4   /* steps of longest() per byte; after more comes aho_read */

int
added_compare(const void *a, const void *b)
{
    const struct added *x = a, *y = b;
    const int c = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);

    return c ? c : (x->n > y->n) - (x->n < y->n);
}

void
added_index(struct added_set *set)
{
    size_t i = 0;

    set->only = -1;
    set->all_special = 1;
    if (set->n == 0)
        return;
    qsort(set->a, set->n, sizeof *set->a, added_compare);
    for (size_t c = 0; c <= 256; c++) {
        while (i < set->n && (unsigned char)set->a[i].s[0] < c)
            i++;
        set->start[c] = i;
    }
    if (set->a[0].s[0] == set->a[set->n - 1].s[0])
        set->only = (unsigned char)set->a[0].s[0];
    for (i = 0; i < set->n; i++)
        set->all_special &= set->a[i].special;
    for (i = 1; i < set->n && !set->aho; i++)
        if (set->a[i].n > SHALLOW && set->a[i - 1].n > SHALLOW &&
            memcmp(set->a[i].s, set->a[i - 1].s, SHALLOW) == 0)
            set->aho = aho_new(set);
}

/* The longest token that begins at p, or NULL; adds the steps taken to
 * *work. */
static const struct added *
longest(const struct added_set *set, const unsigned char *p,
    const unsigned char *end, size_t *work)
{
    size_t lo = set->start[*p], hi = set->start[*p + 1];
    const struct added *best = NULL;

    /* a[lo..hi-1] share their first d bytes with p; shorter tokens first */
    for (size_t d = 1; lo < hi; d++) {
        size_t a, b;

        ++*work;
        if (hi - lo == 1) {
            const struct added *x = &set->a[lo];

            if (x->n <= (size_t)(end - p) && memcmp(x->s, p, x->n) == 0)
                best = x;
            break;
        }
        if (set->a[lo].n == d)
            best = &set->a[lo++];
        if (p + d == end)
            break;
        for (a = lo, b = hi; a < b;) {
            const size_t m = a + (b - a) / 2;

            if ((unsigned char)set->a[m].s[d] < p[d])
                a = m + 1;
            else
                b = m;
        }
        lo = a;
        for (b = hi; a < b;) {
            const size_t m = a + (b - a) / 2;

            if ((unsigned char)set->a[m].s[d] <= p[d])
                a = m + 1;
            else
                b = m;
        }
        hi = a;
    }
    return best;
}

/* The search through a text: at each place by longest(), until that has taken
 * too many steps (slow); then by the automaton. */
struct search {
    const struct added_set *set;
    const unsigned char *text, *end;
    size_t work;
    int slow;
    uint32_t *found; /* [FIND_BYTES] aho_read's result for from .. to */
    const unsigned char *from, *to;
};

/* The longest token at p, or NULL; p is not before the p of the last call. */
static const struct added *
token_at(struct search *s, const unsigned char *p)
{
    const struct added *a = NULL;
    uint32_t k;

    if (!s->slow) {
        a = longest(s->set, p, s->end, &s->work);
        s->slow =
            s->set->aho && s->work > FIND_BYTES + STEPS * (size_t)(p - s->text);
        return a;
    }
    if (!s->from || p >= s->to) {
        const size_t room = (size_t)(s->end - p);
        const size_t n = room < FIND_BYTES ? room : FIND_BYTES;

        aho_read(s->set->aho, p, n, room, s->found);
        s->from = p;
        s->to = p + n;
    }
    k = s->found[p - s->from];
    return k ? &s->set->a[k - 1] : NULL;
}

/* The first place from p on where a token may begin. */
static const unsigned char *
candidate(const struct added_set *set, const unsigned char *p,
    const unsigned char *end)
{
    if (p < end && set->only >= 0) {
        p = memchr(p, set->only, (size_t)(end - p));
        return p ? p : end;
    }
    while (p < end && set->start[*p] == set->start[*p + 1])
        p++;
    return p;
}

/* Do the flags exclude all tokens of the set? */
static int
added_none(const struct added_set *set, int flags)
{
    return set->n == 0 || (set->all_special && !(flags & TOK_SPECIAL));
}

/* Is there no word character right before `from` and right after `to`? */
static int
stands_alone(const unsigned char *text, const unsigned char *from,
    const unsigned char *to, const unsigned char *end)
{
    size_t k;

    if (from > text &&
        (uni_class_at(uni_before(from, text), from, &k) & U_WORD))
        return 0;
    return to == end || !(uni_class_at(to, end, &k) & U_WORD);
}

static const unsigned char *
strip_left(const unsigned char *p, const unsigned char *least)
{
    size_t k;

    while (p > least) {
        const unsigned char *q = uni_before(p, least);

        if (!(uni_class_at(q, p, &k) & U_S) || q + k != p)
            break;
        p = q;
    }
    return p;
}

static const unsigned char *
strip_right(const unsigned char *p, const unsigned char *end)
{
    size_t k;

    while (p < end && (uni_class_at(p, end, &k) & U_S))
        p += k;
    return p;
}

static void
encode_level(const struct tokenizer *t, struct tok_scratch *s, int level,
    const unsigned char *text, const unsigned char *end, int first, int flags,
    struct tok_ids *out)
{
    const struct added_set *set = level == 0 ? &t->raw : &t->norm;
    const int all_text = added_none(set, flags);
    const unsigned char *done, *p;
    struct search search;

    if (text == end)
        return;
    if (level == 1 && all_text && t->sp && t->sp->spaces) {
        sp_text(t, s, text, (size_t)(end - text), first, out);
        return;
    }
    if (level == 1 && t->nnorm > 0) {
        size_t n = (size_t)(end - text);

        norm_run(t, s->norm, &text, &n);
        end = text + n;
        if (n == 0)
            return;
    }
    if (level == 2) {
        pre_gap(t, s, text, (size_t)(end - text), first, out);
        return;
    }
    if (all_text) {
        encode_level(t, s, level + 1, text, end, first, flags, out);
        return;
    }
    search = (struct search){ .set = set,
        .text = text,
        .end = end,
        .found = s->found[level] };
    done = p = text;
    while ((p = candidate(set, p, end)) < end) {
        const struct added *a = token_at(&search, p);
        const unsigned char *from = p, *to;

        if (!a) {
            p++;
            continue;
        }
        p = to = p + a->n;
        if ((a->special && !(flags & TOK_SPECIAL)) ||
            (a->single_word && !stands_alone(text, from, to, end)))
            continue;
        if (a->lstrip && from > done)
            from = strip_left(from, done);
        else if (a->lstrip)
            from = done;
        if (a->rstrip)
            to = strip_right(to, end);
        if (done < from)
            encode_level(t, s, level + 1, done, from, done == text ? first : 0,
                flags, out);
        if (from < to) /* else the token before has stripped this one's text */
            tok_ids_push(out, a->id);
        done = to;
    }
    if (done < end)
        encode_level(t, s, level + 1, done, end, done == text ? first : 0,
            flags, out);
}

void
added_encode(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int flags, struct tok_ids *out)
{
    encode_level(t, s, 0, p, p + n, 1, flags, out);
    for (int i = 0; i < 3; i++) {
        struct buf *b = i < 2 ? &s->norm[i] : &s->pre;

        if (b->cap > KEEP)
            buf_release(b);
    }
}
