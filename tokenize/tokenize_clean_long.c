/*
 * Cleaning of a document that is too long to be held: in passes over a spool
 * of its text, with the results that tokenize_clean.c has.
 */
#include "tokenize_clean_impl.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PART ((size_t)256 << 10)    /* bytes of text at once */
#define LANG ((size_t)1 << 20)      /* ... that the language is known from */
#define KEYS ((size_t)4 << 20)      /* memory for the lines of a document */

/* Lines of a document with respect to those before it. */
struct long_lines {
    struct clean *c;
    struct worker *w;
    size_t words;               /* of the line that is open */
    int open;
    struct keys *own;           /* keys of this document's lines */
    struct spool fresh;         /* ... that are to be counted */
    struct spool cut;           /* a byte a line: it goes */
    size_t lines;               /* that go */
};

static int
end_line(struct long_lines *l, struct err *e)
{
    const struct key key = { clean_line_key(l->w->state, l->words), 0 };
    const char cut = key.hi != 0 && keys_count(l->c->lines, key) >=
        l->c->o.boilerplate;

    l->open = 0;
    l->lines += cut != 0;
    if (spool_add(&l->cut, &cut, 1, e) < 0)
        return -1;
    if (cut || key.hi == 0 || keys_count(l->own, key) > 0)
        return 0;
    return keys_put(l->own, key, e) < 0 ? -1 :
        spool_add(&l->fresh, &key.hi, sizeof key.hi, e);
}

/* A stretch of a line, which it ends or not. */
static int
line_stretch(struct long_lines *l, const char *p, size_t n, int ends,
    struct err *e)
{
    struct words *words = &l->w->words;
    uint64_t hash;

    if (!l->open) {
        XXH3_64bits_reset(l->w->state);
        words_begin(words, l->c->fold, NULL, 0);
        l->words = 0;
        l->open = 1;
    }
    words_part(words, p, n, !ends);
    for (; words_next(words, &hash); l->words++)
        XXH3_64bits_update(l->w->state, &hash, sizeof hash);
    return ends ? end_line(l, e) : 0;
}

/* Length of the stretch of a line at p; *ends: its end of line is next. */
static size_t
stretch(const char *p, const char *end, int *ends)
{
    const char *q = memchr(p, '\n', (size_t)(end - p));

    *ends = q != NULL;
    return (size_t)((q ? q : end) - p);
}

/* Which lines go, and count the others. */
static int
find_lines(struct long_lines *l, const struct spool *text, struct err *e)
{
    struct buf part = { 0 };
    uint64_t at = 0, key;
    size_t n;
    int k, ends;

    while ((k = spool_text(text, &at, PART, &part, e)) > 0) {
        const char *p = part.p, *end = p + part.n;

        for (; k > 0 && p < end; p += n + (ends != 0)) {
            n = stretch(p, end, &ends);
            k = line_stretch(l, p, n, ends, e) < 0 ? -1 : 1;
        }
        if (k < 0)
            break;
    }
    if (k == 0 && l->open)
        k = line_stretch(l, "", 0, 1, e);
    for (at = 0; k == 0 && at < spool_size(&l->fresh); at += sizeof key) {
        k = spool_read(&l->fresh, at, &key, sizeof key, &n, e);
        if (k == 0)
            k = keys_put(l->c->lines, (struct key){ key, 0 }, e);
    }
    buf_release(&part);
    return k;
}

/* Lines of text that go to *gone, the others to *left. */
static int
part_lines(const struct long_lines *l, const struct spool *text,
    struct spool *left, struct spool *gone, struct err *e)
{
    struct buf part = { 0 };
    uint64_t at = 0, line = 0;
    size_t n, got;
    char cut = 0;
    int k, ends = 1;

    while ((k = spool_text(text, &at, PART, &part, e)) > 0) {
        const char *p = part.p, *end = p + part.n;

        for (; k > 0 && p < end; p += n) {
            if (ends && spool_read(&l->cut, line++, &cut, 1, &got, e) < 0)
                k = -1;
            n = stretch(p, end, &ends);
            n += ends != 0;
            if (k > 0 && spool_add(cut ? gone : left, p, n, e) < 0)
                k = -1;
        }
        if (k < 0)
            break;
    }
    buf_release(&part);
    return k;
}

/* Take lines that many documents had out of *text; how many is in *lines. */
static int
cut_lines(struct clean *c, struct worker *w, const struct doc *d,
    struct spool *text, size_t *lines, struct err *e)
{
    struct long_lines l = { .c = c, .w = w, .own = keys_new(KEYS) };
    struct spool left = { 0 }, gone = { 0 };
    int k = find_lines(&l, text, e);

    *lines = l.lines;
    c->removed += l.lines;
    if (k == 0 && l.lines > 0) {
        k = part_lines(&l, text, &left, &gone, e);
        if (k == 0)
            k = clean_record(c, d, "boilerplate-lines", (double)l.lines, NULL,
                0, &gone, e);
        spool_release(text);
        *text = left;
        spool_release(&gone);
    }
    keys_free(l.own);
    spool_release(&l.fresh);
    spool_release(&l.cut);
    return k;
}

static int
detect(const struct clean *c, struct doc *d, const struct spool *text,
    struct err *e)
{
    struct buf part = { 0 };
    uint64_t at = 0;
    const int k = spool_text(text, &at, LANG + 8, &part, e);

    if (k > 0)
        clean_detect(c, d, part.p, part.n);
    buf_release(&part);
    return k < 0 ? -1 : 0;
}

/* The first rule that the text breaks, and its keys if there is none. */
struct verdict {
    size_t reason;
    double value;
    struct buf keys;
};

static int
measure(struct clean *c, struct worker *w, const struct spool *text, int cut,
    struct verdict *v, struct err *e)
{
    const struct clean_opts *o = &c->o;
    struct gopher_parts *g = gopher_parts_new(w->gopher);
    struct buf part = { 0 };
    double value[G_END];
    size_t nchars, nwords;
    uint64_t at = 0;
    int k;

    while ((k = spool_text(text, &at, PART, &part, e)) > 0)
        if (gopher_part(g, part.p, part.n, e) < 0) {
            k = -1;
            break;
        }
    if (k == 0)
        k = gopher_parts_end(g, &nchars, &nwords, value, e);
    gopher_parts_free(g);
    buf_release(&part);
    if (k < 0)
        return -1;
    v->reason = cut && nwords == 0 ? R_BOILERPLATE :
        clean_length(o, nchars, nwords, &v->value);
    if (v->reason == R_END && o->quality)
        v->reason = clean_rules(value + G_REPETITION, G_REPETITION, G_END,
            &v->value);
    if (v->reason == R_END && o->repetition)
        v->reason = clean_rules(value, 0, G_REPETITION, &v->value);
    return 0;
}

static int
find_keys(struct clean *c, struct worker *w, const struct spool *text,
    struct verdict *v, struct err *e)
{
    XXH3_state_t *bytes = XXH3_createState();
    struct minhash_run near;
    struct buf part = { 0 };
    uint64_t at = 0, hash;
    size_t words = 0;
    int k;

    if (!bytes)
        die(EX_SYS, "out of memory");
    XXH3_128bits_reset(bytes);
    XXH3_128bits_reset(w->state);
    minhash_begin(&near, &c->minhash, w->value);
    words_begin(&w->words, c->fold, NULL, 0);
    while ((k = spool_text(text, &at, PART, &part, e)) > 0) {
        XXH3_128bits_update(bytes, part.p, part.n);
        words_part(&w->words, part.p, part.n, at < spool_size(text));
        for (; words_next(&w->words, &hash); words++) {
            XXH3_128bits_update(w->state, &hash, sizeof hash);
            if (c->near)
                minhash_word(&near, hash);
        }
    }
    if (c->exact)
        clean_add_key(&v->keys, XXH3_128bits_digest(words ? w->state :
            bytes));
    if (c->near && minhash_end(&near) > 0)
        clean_add_bands(c, w, &v->keys);
    XXH3_freeState(bytes);
    buf_release(&part);
    return k;
}

int
clean_judge(void *ctx, size_t worker, struct doc *d, struct spool *text,
    struct err *e)
{
    struct clean *c = ctx;
    struct worker *w = &c->worker[worker];
    const struct clean_opts *o = &c->o;
    struct verdict v = { .reason = R_END };
    size_t lines = 0;
    int k = 0;

    if (c->lang)
        k = detect(c, d, text, e);
    if (k == 0 && c->lines)
        k = cut_lines(c, w, d, text, &lines, e);
    if (k == 0 && (lines > 0 || o->min_chars || o->max_chars || o->min_words ||
        o->max_words || o->quality || o->repetition))
        k = measure(c, w, text, lines > 0, &v, e);
    if (k == 0 && v.reason == R_END && (c->exact || c->near)) {
        k = find_keys(c, w, text, &v, e);
        if (k == 0)
            v.reason = clean_duplicate(c, v.keys.p, v.keys.n /
                sizeof(struct key), e);
        v.value = -1.0;
    }
    buf_release(&v.keys);
    if (k < 0 || v.reason > R_END)
        return -1;
    if (v.reason == R_END)
        return 0;
    clean_counted(c, d, v.reason);
    return clean_record(c, d, d->drop, v.value, NULL, 0, text, e);
}
