/* Held-out text; see exclude.h. */
#include "exclude.h"

#include "base/note.h"
#include "text/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Words in a row for which a text, and for which a question, is excluded by
 * default.  Held-out texts of fewer than LEAST words are looked for in
 * questions only, and those of fewer than ASKED words are only compared with
 * whole questions. */
#define WORDS 13
#define LEAST 8
#define ASKED 5
#define DOC \
    ((size_t)64 << 20) /* held-out documents may have at least these bytes */
#define RING 128       /* > EXCLUDE_MOST, a power of two */
#define BASE UINT64_C(0x9e3779b97f4a7c15)

/* A held-out text. */
struct held {
    size_t word;     /* index of its first word in exclude.word; its last word
                      * is the one before the next text */
    size_t name;     /* index in exclude.name */
    uint64_t record; /* its number in the file */
    int is_item;     /* 1: a string of JSONL; 0: a document of text */
};

/* Hash table of grams, linear probing. */
struct gram_slot {
    uint32_t at;  /* index in exclude.word where the gram first occurs */
    uint32_t tag; /* low 7 bits: length in words; then ITEM and COMMON; rest:
                   * hash; 0: free */
};
/* Bits of a tag: an item holds the gram; more than `common` documents hold it,
 * so that it does not count. */
#define ITEM UINT32_C(0x80)
#define COMMON UINT32_C(0x100)
struct grams {
    struct gram_slot *slot;
    unsigned bits;
};

struct exclude {
    size_t n;      /* words in a row that a text must not share with a held-out
                    * text */
    size_t asked;  /* the same for a question */
    size_t least;  /* words of the shortest held-out text that is looked for in
                    * other texts than questions */
    size_t common; /* documents that may hold a gram that counts; 0: any
                    * number */
    int questions; /* 1: there will be questions */
    const struct fold *fold;
    struct words words;
    uint64_t *word; /* [nword] hashes of the words of all texts */
    size_t nword, cap;
    struct held *text;             /* [ntext] */
    size_t ntext, captext, nshort; /* nshort: number of texts that were too
                                    * short */
    char **name;                   /* [nname] files or members */
    size_t nname, capname;
    struct grams of_any; /* grams that a document must not contain */
    struct grams whole;  /* texts that a document must not consist of: all runs
                          * of `least` to n - 1 words */
    struct grams few;    /* held-out texts of fewer than `least` words: a
                          * question must not equal them, nor contain those of
                          * ASKED words or more */
    /* Bloom filter (one hash) of the first `least` words of the grams in
     * of_any: most positions of a document need only this lookup. */
    uint64_t *begins;
    unsigned begin_bits; /* log2 of the number of elements of begins */
    /* [nlength] lengths in words of the grams in of_any, rising */
    size_t length[EXCLUDE_MOST], nlength;
    uint64_t power[EXCLUDE_MOST + 1]; /* power[m] = BASE^m */
};

/* Rings with the last words of a text.  The rolling hash of a gram is computed
 * from the hashes of two prefixes of the text. */
struct tail {
    uint64_t word[RING], sum[RING]; /* hash of a word; hash of all words up to
                                     * it */
    size_t end[RING];               /* where the word ends in the text, bytes */
    size_t n;                       /* words so far */
    unsigned char begins[RING];     /* may a gram begin after this word? */
};

static void
push_word(struct tail *t, uint64_t word, size_t end)
{
    const uint64_t sum = t->sum[t->n % RING] * BASE + word;

    t->n++;
    t->word[t->n % RING] = word;
    t->sum[t->n % RING] = sum;
    t->end[t->n % RING] = end;
}

static int
grams_equal(const struct exclude *x, const struct tail *t, size_t m, size_t at)
{
    for (size_t i = 0; i < m; i++)
        if (x->word[at + i] != t->word[(t->n - m + 1 + i) % RING])
            return 0;
    return 1;
}

/* The hash of the last m words. */
static uint64_t
hash_last(const struct exclude *x, const struct tail *t, size_t m)
{
    uint64_t h = t->sum[t->n % RING] - t->sum[(t->n - m) % RING] * x->power[m];

    h = (h ^ h >> 32 ^ m) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* Find the filter's bit for the last `least` words: *mask of the element that
 * is returned. */
static uint64_t *
begin_bit(const struct exclude *x, const struct tail *t, uint64_t *mask)
{
    const uint64_t h = hash_last(x, t, x->least);

    *mask = UINT64_C(1) << (h & 63);
    return &x->begins[h >> (64 - x->begin_bits)];
}

/* Find the slot of t's last m words, or the free slot where they belong. */
static struct gram_slot *
gram_place(const struct exclude *x, const struct grams *g, const struct tail *t,
    size_t m, uint32_t *tag)
{
    const uint64_t h = hash_last(x, t, m);
    size_t i;

    *tag = (uint32_t)(h << 9) | (uint32_t)m;
    for (i = (size_t)(h >> (64 - g->bits)); g->slot[i].tag != 0;
         i = (i + 1) & (((size_t)1 << g->bits) - 1))
        if ((g->slot[i].tag & ~(ITEM | COMMON)) == *tag &&
            grams_equal(x, t, m, g->slot[i].at))
            break;
    return &g->slot[i];
}

static void
put_gram(const struct exclude *x, struct grams *g, const struct tail *t,
    size_t m, size_t at, int is_item)
{
    uint32_t tag;
    struct gram_slot *s = gram_place(x, g, t, m, &tag);

    if (s->tag == 0)
        *s = (struct gram_slot){ (uint32_t)at, tag };
    if (is_item)
        s->tag |= ITEM;
}

/* Make a table for n grams, at most half full. */
static void
grams_new(struct grams *g, size_t n)
{
    g->bits = 4;
    while (((size_t)1 << g->bits) / 2 < n)
        g->bits++;
    g->slot = xtable((size_t)1 << g->bits, sizeof *g->slot, 0);
}

static size_t
words_of(const struct exclude *x, size_t text)
{
    return (text + 1 < x->ntext ? x->text[text + 1].word : x->nword) -
        x->text[text].word;
}

static void
index_text(struct exclude *x, size_t text)
{
    const size_t n = words_of(x, text), begin = x->text[text].word;
    const size_t gram = n < x->n ? n : x->n;
    const int item = x->text[text].is_item;
    struct tail t = { .n = 0 };

    for (size_t i = 0; i < n; i++) {
        push_word(&t, x->word[begin + i], 0);
        if (n < x->least) {
            if (t.n == n)
                put_gram(x, &x->few, &t, n, begin, item);
            continue;
        }
        if (t.n >= x->least) {
            uint64_t mask, *bits = begin_bit(x, &t, &mask);

            *bits |= mask;
        }
        if (t.n >= gram)
            put_gram(x, &x->of_any, &t, gram, begin + t.n - gram, item);
        for (size_t m = x->least; m < x->n && m <= t.n; m++)
            put_gram(x, &x->whole, &t, m, begin + t.n - m, item);
    }
}

static void
index_all(struct exclude *x)
{
    unsigned char is_length[EXCLUDE_MOST + 1] = { 0 };
    size_t any = 0, whole = 0, few = 0;

    for (size_t i = 0; i < x->ntext; i++) {
        const size_t n = words_of(x, i);

        if (n < x->least) {
            few++;
            continue;
        }
        any += n < x->n ? 1 : n - x->n + 1;
        is_length[n < x->n ? n : x->n] = 1;
        for (size_t m = x->least; m < x->n && m <= n; m++)
            whole += n - m + 1;
    }
    for (size_t m = 1; m <= x->n; m++)
        if (is_length[m])
            x->length[x->nlength++] = m;
    x->begin_bits = 6;
    /* at least 16 bits for each held-out word */
    while (((uint64_t)4 << x->begin_bits) < x->nword)
        x->begin_bits++;
    x->begins = xtable((size_t)1 << x->begin_bits, sizeof *x->begins, 0);
    grams_new(&x->of_any, any);
    grams_new(&x->whole, whole);
    grams_new(&x->few, few);
    for (size_t i = 0; i < x->ntext; i++)
        index_text(x, i);
}

/* ---- runs of words that many held-out documents have ---- */

/* State of a gram of of_any while the held-out documents are read. */
struct seen_gram {
    uint32_t last;       /* 1 + the document that was last seen to hold it */
    uint32_t docs : 31;  /* documents that hold it */
    uint32_t counts : 1; /* 1: it counts, however many hold it */
};

/* Go through the grams of n words of a held-out document.  Returns how many of
 * its words lie in grams that more than x->common documents hold.  see: 1:
 * count the document for each gram; 2: let each gram count; 0: neither. */
static size_t
walk_document(const struct exclude *x, size_t text, struct seen_gram *of,
    int see)
{
    const size_t n = words_of(x, text), begin = x->text[text].word;
    size_t covered = 0, to = 0; /* the words before `to` are in covered */
    struct tail t = { .n = 0 };
    uint32_t tag;

    for (size_t i = 0; i < n; i++) {
        struct seen_gram *s;

        push_word(&t, x->word[begin + i], 0);
        if (t.n < x->n)
            continue;
        s = &of[gram_place(x, &x->of_any, &t, x->n, &tag) - x->of_any.slot];
        if (see == 1 && s->last != text + 1) {
            s->last = (uint32_t)(text + 1);
            s->docs++;
        }
        if (see == 2)
            s->counts = 1;
        if (s->docs > x->common) {
            covered += t.n - (to > t.n - x->n ? to : t.n - x->n);
            to = t.n;
        }
    }
    return covered;
}

/*
 * Mark the grams that more than x->common documents hold.  A gram that an item
 * holds counts always, and so do those of a document of which more than half
 * consists of such grams: this is no document with a notice that others have
 * too, but one that stands there several times.
 */
static void
mark_common(struct exclude *x)
{
    const size_t room = (size_t)1 << x->of_any.bits;
    struct seen_gram *of;
    unsigned char *again; /* [ntext] 1: the document stands there again */
    size_t docs = 0, marked = 0;

    for (size_t i = 0; i < x->ntext; i++)
        docs += !x->text[i].is_item;
    if (x->common == 0 || docs <= x->common)
        return;
    of = xcalloc(room, sizeof *of);
    again = xcalloc(x->ntext, 1);
    for (size_t i = 0; i < x->ntext; i++)
        if (!x->text[i].is_item)
            walk_document(x, i, of, 1);
    for (size_t i = 0; i < x->ntext; i++)
        again[i] = !x->text[i].is_item &&
            walk_document(x, i, of, 0) > words_of(x, i) / 2;
    for (size_t i = 0; i < x->ntext; i++)
        if (again[i])
            walk_document(x, i, of, 2);
    for (size_t i = 0; i < room; i++)
        if (of[i].docs > x->common && !of[i].counts &&
            !(x->of_any.slot[i].tag & ITEM)) {
            x->of_any.slot[i].tag |= COMMON;
            marked++;
        }
    free(of);
    free(again);
    if (marked > 0)
        note("--exclude-common: %zu runs of %zu words stand in more than %zu "
             "of %zu held-out documents, and do not count",
            marked, x->n, x->common, docs);
}

/* ---- reading ---- */

/* Add a text of document d, unless it has no word or is too short. */
static int
add_held(struct exclude *x, const struct doc *d, const char *p, size_t n,
    struct err *e)
{
    const size_t begin = x->nword;
    uint64_t hash;

    words_begin(&x->words, x->fold, p, n);
    while (words_next(&x->words, &hash)) {
        x->word = xgrow(x->word, x->nword, &x->cap, sizeof *x->word);
        x->word[x->nword++] = hash;
    }
    if (x->nword > UINT32_MAX)
        return err_set(e, EX_INPUT, "--exclude: more than %" PRIu32 " words",
            UINT32_MAX);
    if (x->nword - begin < x->least) {
        x->nshort += x->nword > begin;
        if (!x->questions)
            x->nword = begin;
    }
    if (x->nword == begin)
        return 0;
    if (x->nname == 0 || strcmp(x->name[x->nname - 1], d->from->name) != 0) {
        x->name = xgrow(x->name, x->nname, &x->capname, sizeof *x->name);
        x->name[x->nname++] = xstrdup(d->from->name);
    }
    x->text = xgrow(x->text, x->ntext, &x->captext, sizeof *x->text);
    x->text[x->ntext++] = (struct held){ begin, x->nname - 1, d->record,
        d->from->jsonl && !d->from->documents };
    return 0;
}

/* Add the texts of a document, which are separated by NUL bytes. */
static int
put_held(void *ctx, const struct doc *d, struct err *e)
{
    const char *p = d->text.p, *const end = p + d->text.n;
    int bad = 0;

    while (p < end && bad == 0) {
        const char *q = memchr(p, '\0', (size_t)(end - p));
        const size_t n = (size_t)((q != NULL ? q : end) - p);

        bad = add_held(ctx, d, p, n, e);
        p += n + 1;
    }
    return bad;
}

static int
read_held_out(struct exclude *x, const struct opt_list *files,
    const struct inputs *in, const struct docs_opts *run, struct err *e)
{
    const struct input_opts io = { .max_ratio = in->o.max_ratio,
        .max_members = in->o.max_members,
        .lossy = in->o.lossy,
        .lang = "held-out" };
    const struct docs_opts ro = { .split = run->split,
        .limit.most = run->limit.most > DOC ? run->limit.most : DOC,
        .strict = run->strict,
        .threads = run->threads,
        .progress = run->progress,
        .put = put_held,
        .ctx = x };
    char **operand = xcalloc(files->n + 1, sizeof *operand);
    struct inputs held;
    struct docs_sums sums;
    int bad;

    memcpy(operand, files->v, files->n * sizeof *operand);
    bad = inputs_list(&held, operand, &io, e);
    if (bad == 0) {
        bad = docs_run(&held, &ro, &sums, e);
        passed_end(&sums.passed);
        inputs_release(&held);
    }
    free(operand);
    return bad;
}

struct exclude *
exclude_new(const struct opt_list *files, size_t n, size_t common,
    int questions, const struct inputs *in, const struct docs_opts *run,
    const struct fold *fold, struct err *e)
{
    struct exclude *x = xcalloc(1, sizeof *x);
    int bad;

    x->n = n > 0 ? n : WORDS;
    x->asked = n > 0 ? n : LEAST;
    x->least = x->n < LEAST ? x->n : LEAST;
    x->common = questions ? 0 : common;
    x->questions = questions;
    x->fold = fold;
    x->power[0] = 1;
    for (size_t i = 1; i <= x->n; i++)
        x->power[i] = x->power[i - 1] * BASE;
    bad = read_held_out(x, files, in, run, e);
    if (bad == 0 && x->ntext == 0)
        bad = err_set(e, EX_INPUT,
            "--exclude: %s%s: no text of %zu words or more", files->v[0],
            files->n > 1 ? ", ..." : "", questions ? 1 : x->least);
    if (bad) {
        exclude_free(x);
        return NULL;
    }
    if (x->nshort > 0)
        note("--exclude: %zu texts of fewer than %zu words are %s", x->nshort,
            x->least,
            questions ? "looked for in questions alone" : "not looked for");
    index_all(x);
    mark_common(x);
    vnote("--exclude: %zu texts of %zu words", x->ntext, x->nword);
    return x;
}

void
exclude_free(struct exclude *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->nname; i++)
        free(x->name[i]);
    free(x->name);
    free(x->text);
    free(x->word);
    free(x->begins);
    free(x->of_any.slot);
    free(x->whole.slot);
    free(x->few.slot);
    words_release(&x->words);
    free(x);
}

size_t
exclude_words(const struct exclude *x)
{
    return x->n;
}

uint64_t
exclude_digest(const struct exclude *x)
{
    uint64_t h = XXH3_64bits_withSeed(x->word, x->nword * sizeof *x->word,
        x->n + ((uint64_t)x->common + 1) * 256);

    for (size_t i = 0; i < x->ntext; i++)
        h = XXH3_64bits_withSeed(&x->text[i].word, sizeof x->text[i].word,
            h + (uint64_t)x->text[i].is_item);
    return h;
}

/* If t's last m words are a gram of g, return 1 and fill *hit. */
static int
find_gram(const struct exclude *x, const struct grams *g, const struct tail *t,
    size_t m, struct exclude_hit *hit)
{
    uint32_t tag;
    const struct gram_slot *s = gram_place(x, g, t, m, &tag);

    if (s->tag == 0 || (s->tag & COMMON))
        return 0;
    *hit = (struct exclude_hit){ .words = m,
        .from = t->n == m ? 0 : t->end[(t->n - m) % RING],
        .to = t->end[t->n % RING],
        .at = s->at,
        .of_item = (s->tag & ITEM) != 0 };
    return 1;
}

/* If a gram in x->of_any ends with t's last word, return 1 and fill *hit. */
static int
find_any_gram(const struct exclude *x, struct tail *t, struct exclude_hit *hit)
{
    const uint64_t *bits;
    uint64_t mask;

    if (t->n < x->least)
        return 0;
    bits = begin_bit(x, t, &mask);
    t->begins[(t->n - x->least) % RING] = (*bits & mask) != 0;
    for (size_t i = 0; i < x->nlength && x->length[i] <= t->n; i++)
        if (t->begins[(t->n - x->length[i]) % RING] &&
            find_gram(x, &x->of_any, t, x->length[i], hit))
            return 1;
    return 0;
}

/* Does t, the last words of a question, end in a gram that questions must not
 * have? */
static int
find_asked(const struct exclude *x, const struct tail *t,
    struct exclude_hit *hit)
{
    if (x->asked < x->n && x->asked <= t->n &&
        find_gram(x, &x->whole, t, x->asked, hit))
        return 1;
    for (size_t m = ASKED; m < x->least && m <= t->n; m++)
        if (find_gram(x, &x->few, t, m, hit))
            return 1;
    return 0;
}

/* Where the first letter or number of text[from,to) begins. */
static size_t
first_word(const char *text, size_t from, size_t to)
{
    const unsigned char *p = (const unsigned char *)text + from;
    const unsigned char *const end = (const unsigned char *)text + to;
    size_t n;

    while (p < end && !(uni_class_at(p, end, &n) & (U_L | U_N)))
        p += n;
    return (size_t)(p - (const unsigned char *)text);
}

int
exclude_each(const struct exclude *x, struct words *w, const char *text,
    size_t n, int asks, int (*put)(void *ctx, const struct exclude_hit *hit),
    void *ctx)
{
    struct exclude_hit hit;
    struct tail t;
    uint64_t hash;

    t.n = 0;
    t.sum[0] = 0;
    words_begin(w, x->fold, text, n);
    while (words_next(w, &hash)) {
        push_word(&t, hash, (size_t)((const char *)w->p - text));
        if (find_any_gram(x, &t, &hit) || (asks && find_asked(x, &t, &hit))) {
            hit.from = first_word(text, hit.from, hit.to);
            if (put(ctx, &hit))
                return 1;
        }
    }
    if (t.n >= x->n || t.n == 0 || (t.n < x->least && !asks) ||
        !find_gram(x, t.n < x->least ? &x->few : &x->whole, &t, t.n, &hit))
        return 0;
    hit.from = first_word(text, hit.from, hit.to);
    return put(ctx, &hit);
}

static int
take_first(void *ctx, const struct exclude_hit *hit)
{
    *(struct exclude_hit *)ctx = *hit;
    return 1;
}

int
exclude_find(const struct exclude *x, struct words *w, const char *text,
    size_t n, int asks, struct exclude_hit *hit)
{
    return exclude_each(x, w, text, n, asks, take_first, hit);
}

const char *
exclude_name(const struct exclude *x, const struct exclude_hit *hit,
    uint64_t *record)
{
    size_t lo = 0, hi = x->ntext;

    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;

        if (x->text[mid].word <= hit->at)
            lo = mid;
        else
            hi = mid;
    }
    *record = x->text[lo].record;
    return x->name[x->text[lo].name];
}
