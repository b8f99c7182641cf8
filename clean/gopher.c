/* Rules of Gopher; see gopher.h. */
#include "gopher.h"

#include "base/mem.h"
#include "text/count.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct slot {
    uint64_t key;
    uint32_t round, count; /* the slot is free unless round is
                            * gopher_scratch.round */
};

struct gopher_scratch {
    const char *text;
    size_t n, chars;
    struct slot *slot;
    size_t nslot; /* a power of 2 */
    uint32_t round;
    uint64_t *word, *gram; /* [nword] hashes of words; hashes of word n-grams */
    uint32_t *len;         /* [nword] characters of each word */
    size_t nword, cap;
};

struct quality {
    size_t words, real, real_chars, alphabetic;
    size_t hashes, ellipses, lines, bullets, cut;
};

static double
part_of(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0.0;
}

static int
is_ellipsis(const char *p, size_t n)
{
    return n >= 3 &&
        (memcmp(p, "...", 3) == 0 || memcmp(p, "\xe2\x80\xa6", 3) == 0);
}

static const struct {
    const char *name;
    double limit;
    int least; /* 1: the limit is a minimum, 0: a maximum */
} rule[G_END] = {
    { "dup-paragraphs", 0.30, 0 },
    { "dup-paragraph-chars", 0.20, 0 },
    { "dup-lines", 0.30, 0 },
    { "dup-line-chars", 0.20, 0 },
    { "top-2-gram", 0.20, 0 },
    { "top-3-gram", 0.18, 0 },
    { "top-4-gram", 0.16, 0 },
    { "dup-5-gram", 0.15, 0 },
    { "dup-6-gram", 0.14, 0 },
    { "dup-7-gram", 0.13, 0 },
    { "dup-8-gram", 0.12, 0 },
    { "dup-9-gram", 0.11, 0 },
    { "dup-10-gram", 0.10, 0 },
    { "few-words", 50, 1 },
    { "many-words", 100000, 0 },
    { "short-words", 3, 1 },
    { "long-words", 10, 0 },
    { "hashes", 0.1, 0 },
    { "ellipses", 0.1, 0 },
    { "bullet-lines", 0.9, 0 },
    { "ellipsis-lines", 0.3, 0 },
    { "few-alphabetic", 0.8, 1 },
};

const char *
gopher_name(enum gopher g)
{
    return rule[g].name;
}

int
gopher_breaks(enum gopher g, double value)
{
    return rule[g].least ? value < rule[g].limit : value > rule[g].limit;
}

struct gopher_scratch *
gopher_new(void)
{
    return xcalloc(1, sizeof(struct gopher_scratch));
}

void
gopher_free(struct gopher_scratch *s)
{
    if (!s)
        return;
    free(s->slot);
    free(s->word);
    free(s->gram);
    free(s->len);
    free(s);
}

/* Empty the table and make room for n keys. */
static void
set_clear(struct gopher_scratch *s, size_t n)
{
    size_t want = 64;

    while (want < 2 * n)
        want *= 2;
    if (want > s->nslot) {
        free(s->slot);
        s->slot = xcalloc(want, sizeof *s->slot);
        s->nslot = want;
        s->round = 0;
    }
    if (++s->round == 0) {
        memset(s->slot, 0, s->nslot * sizeof *s->slot);
        s->round = 1;
    }
}

/* Find the counter of a key; a new key gets one that is 0. */
static uint32_t *
set_count(struct gopher_scratch *s, uint64_t key)
{
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20);

    for (;; i++) {
        struct slot *t = &s->slot[i & (s->nslot - 1)];

        if (t->round == s->round && t->key == key)
            return &t->count;
        if (t->round != s->round) {
            *t = (struct slot){ .key = key, .round = s->round };
            return &t->count;
        }
    }
}

static void
add_gopher_word(struct gopher_scratch *s, uint64_t hash, size_t length)
{
    if (s->nword == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->word = xreallocarray(s->word, s->cap, sizeof *s->word);
        s->gram = xreallocarray(s->gram, s->cap, sizeof *s->gram);
        s->len = xreallocarray(s->len, s->cap, sizeof *s->len);
    }
    s->word[s->nword] = hash;
    s->len[s->nword++] = (uint32_t)length;
}

void
gopher_begin(struct gopher_scratch *s, const char *text, size_t n)
{
    const char *p = text, *end = text + n;
    size_t k;

    s->nword = 0;
    while (s->nword < GOPHER_WORDS && (k = count_next_word(&p, end)) > 0) {
        add_gopher_word(s, XXH3_64bits(p, k), count_chars(p, k));
        p += k;
    }
    s->text = text;
    s->n = s->nword < GOPHER_WORDS ? n : (size_t)(p - text);
    s->chars = count_chars(text, s->n);
}

static size_t
line_ends(const char *p, const char *end)
{
    size_t n = 0;

    for (; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        n++;
    return n;
}

/* Split the text at runs of at least `least` newlines (1: into lines, 2: into
 * paragraphs).  Counts all parts, the parts that repeat an earlier one, and the
 * characters of these repeats. */
static void
count_parts(struct gopher_scratch *s, size_t least, size_t *all, size_t *dup,
    size_t *dup_chars)
{
    const char *p = s->text, *end = p + s->n, *from;

    *all = *dup = *dup_chars = 0;
    while (p < end && *p == '\n')
        p++;
    while (end > p && end[-1] == '\n')
        end--;
    set_clear(s, line_ends(p, end) / least + 1);
    for (from = p; from < end; from = p) {
        size_t n, breaks = 0;
        uint32_t *count;

        for (; p < end && breaks < least; p++)
            breaks = *p == '\n' ? breaks + 1 : 0;
        n = (size_t)(p - from) - (breaks < least ? 0 : least);
        while (p < end && *p == '\n')
            p++;
        count = set_count(s, XXH3_64bits(from, n));
        ++*all;
        if ((*count)++ > 0) {
            ++*dup;
            *dup_chars += count_chars(from, n);
        }
    }
}

/* Set gram[i] to the hash of words i..i+n-1.  Returns the number of grams. */
static size_t
grams(struct gopher_scratch *s, size_t n)
{
    for (size_t i = 0; i + n <= s->nword; i++) {
        uint64_t h = 0;

        for (size_t k = 0; k < n; k++)
            h = (h ^ s->word[i + k]) * UINT64_C(0xd6e8feb86659fd93) + (h >> 32);
        s->gram[i] = h;
    }
    return s->nword >= n ? s->nword - n + 1 : 0;
}

/* Characters in all occurrences of the most frequent n-gram (the first of
 * equally frequent ones): its length, with a blank between words, times its
 * count. */
static size_t
top_gram(struct gopher_scratch *s, size_t n)
{
    const size_t all = grams(s, n);
    size_t at = 0, length = n - 1;
    uint32_t best = 0;

    set_clear(s, all);
    for (size_t i = 0; i < all; i++)
        ++*set_count(s, s->gram[i]);
    for (size_t i = 0; i < all; i++) {
        const uint32_t c = *set_count(s, s->gram[i]);

        if (c > best) {
            best = c;
            at = i;
        }
    }
    for (size_t k = 0; k < n && all > 0; k++)
        length += s->len[at + k];
    return best * length;
}

/* Characters of the words in n-grams seen before, each word counted once. */
static size_t
repeated_grams(struct gopher_scratch *s, size_t n)
{
    const size_t all = grams(s, n);
    size_t sum = 0;

    set_clear(s, all);
    for (size_t i = 0; i < all;) {
        uint32_t *count = set_count(s, s->gram[i]);

        if (*count == 0) {
            *count = 1;
            i++;
            continue;
        }
        for (size_t k = 0; k < n; k++)
            sum += s->len[i++];
    }
    return sum;
}

double
gopher_measure(struct gopher_scratch *s, enum gopher g)
{
    size_t all, dup, dup_chars;

    if (g >= G_DUP_5)
        return part_of(repeated_grams(s, g - G_DUP_5 + 5), s->chars);
    if (g >= G_TOP_2)
        return part_of(top_gram(s, g - G_TOP_2 + 2), s->chars);
    count_parts(s, g < G_DUP_LINES ? 2 : 1, &all, &dup, &dup_chars);
    return g == G_DUP_PARAGRAPHS || g == G_DUP_LINES
        ? part_of(dup, all)
        : part_of(dup_chars, s->chars);
}

/* ---- quality ---- */

/* Union of the classes (text/unicode.h) of p[n]'s characters up to the first
 * letter. */
static unsigned
classes(const char *p, size_t n)
{
    const unsigned char *c = (const unsigned char *)p, *end = c + n;
    unsigned seen = 0;
    size_t k;

    for (; c < end && !(seen & U_L); c += k) {
        k = 1;
        seen |= uni_class(*c < 0x80 ? *c : utf8_next(c, end, &k));
    }
    return seen;
}

static void
judge_word(struct quality *q, unsigned seen, size_t length)
{
    q->words++;
    q->alphabetic += (seen & U_L) != 0;
    if (seen & (U_L | U_M | U_N)) {
        q->real++;
        q->real_chars += length;
    }
}

static void
judge_line(struct quality *q, const char *p, const char *end)
{
    const char *last = p;
    size_t k;

    q->lines++;
    while (p < end && (k = count_space(p, end)) > 0)
        p += k;
    if (p < end &&
        (*p == '-' || (end - p >= 3 && memcmp(p, "\xe2\x80\xa2", 3) == 0)))
        q->bullets++;
    last = p;
    for (const char *c = p; c < end;) {
        const size_t n = count_next_word(&c, end);

        if (n > 0)
            last = c + n;
        c += n;
        if (n == 0)
            break;
    }
    if (last - p >= 3 && is_ellipsis(last - 3, 3))
        q->cut++;
}

static void
shares(const struct quality *q, double value[G_END - G_REPETITION])
{
    value[G_FEW_WORDS - G_REPETITION] = value[G_MANY_WORDS - G_REPETITION] =
        (double)q->real;
    value[G_SHORT_WORDS - G_REPETITION] = value[G_LONG_WORDS - G_REPETITION] =
        part_of(q->real_chars, q->real);
    value[G_HASHES - G_REPETITION] = part_of(q->hashes, q->words);
    value[G_ELLIPSES - G_REPETITION] = part_of(q->ellipses, q->words);
    value[G_BULLETS - G_REPETITION] = part_of(q->bullets, q->lines);
    value[G_CUT_LINES - G_REPETITION] = part_of(q->cut, q->lines);
    value[G_FEW_ALPHABETIC - G_REPETITION] = part_of(q->alphabetic, q->words);
}

void
gopher_quality(const char *text, size_t n, double value[G_END - G_REPETITION])
{
    const char *end = text + n, *p = text;
    struct quality q = { 0 };
    size_t k;

    for (; (k = count_next_word(&p, end)) > 0; p += k)
        judge_word(&q, classes(p, k), count_chars(p, k));
    for (p = text; p < end; p += k) {
        k = is_ellipsis(p, (size_t)(end - p)) ? 3 : 1;
        q.ellipses += k == 3;
        q.hashes += *p == '#';
    }
    for (p = text; p < end; p++) {
        const char *line = p;

        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p : end;
        judge_line(&q, line, p);
    }
    shares(&q, value);
}
