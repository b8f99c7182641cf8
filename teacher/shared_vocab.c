/* The tokens that two vocabularies share: see shared_vocab.h. */
#include "shared_vocab.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ordinary token; byte: 1 if it is spelled <0xNN>. */
struct word {
    const char *text;
    uint32_t n, id;
    int byte;
};

/* The ordinary tokens of a vocabulary, sorted by bytes, then by preference. */
struct words {
    struct word *v;
    size_t n;
    struct buf text;
};

static int
compare_text(const struct word *a, const struct word *b)
{
    const size_t n = a->n < b->n ? a->n : b->n;
    const int c = memcmp(a->text, b->text, n);

    return c != 0 ? c : (a->n > b->n) - (a->n < b->n);
}

static int
compare_words(const void *x, const void *y)
{
    const struct word *a = x, *b = y;
    const int c = compare_text(a, b);

    return c != 0            ? c
        : a->byte != b->byte ? a->byte - b->byte
                             : (a->id > b->id) - (a->id < b->id);
}

/* Append the bytes of a token.  This cannot fail: id is the tokenizer's own. */
static void
add_word_bytes(const struct tokenizer *t, uint32_t id, struct buf *out)
{
    struct err e;

    (void)tok_decode(t, &id, 1, TOK_MIDDLE, out, &e);
}

/* Set byte [n] to 1 for the ids of tokens spelled <0xNN>. */
static void
mark_bytes(const struct tokenizer *t, uint8_t *byte, size_t n)
{
    char name[8];

    for (unsigned b = 0; b < 256; b++) {
        int64_t id;

        snprintf(name, sizeof name, "<0x%02X>", b);
        id = tok_id(t, name, 6);
        if (id >= 0 && (size_t)id < n)
            byte[id] = 1;
    }
}

static void
list_words(struct words *w, const struct tokenizer *t, size_t n)
{
    uint8_t *byte = xcalloc(n + 1, 1);
    size_t *off = xreallocarray(NULL, n + 1, sizeof *off);

    memset(w, 0, sizeof *w);
    mark_bytes(t, byte, n);
    w->v = xreallocarray(NULL, n + 1, sizeof *w->v);
    for (size_t id = 0; id < n; id++) {
        off[id] = w->text.n;
        if (!tok_is_special(t, (uint32_t)id))
            add_word_bytes(t, (uint32_t)id, &w->text);
    }
    off[n] = w->text.n;
    for (size_t id = 0; id < n; id++)
        if (off[id + 1] > off[id])
            w->v[w->n++] = (struct word){ w->text.p + off[id],
                (uint32_t)(off[id + 1] - off[id]), (uint32_t)id, byte[id] };
    qsort(w->v, w->n, sizeof *w->v, compare_words);
    free(byte);
    free(off);
}

static void
words_release(struct words *w)
{
    free(w->v);
    buf_release(&w->text);
}

/* Index of the first word after i whose bytes differ from word i's. */
static size_t
next_word(const struct words *w, size_t i)
{
    size_t j = i + 1;

    while (j < w->n && compare_text(&w->v[i], &w->v[j]) == 0)
        j++;
    return j;
}

static void
match_words(uint32_t *twin, const struct words *s, const struct words *t)
{
    for (size_t i = 0, j = 0; i < s->n && j < t->n;) {
        const int c = compare_text(&s->v[i], &t->v[j]);

        if (c == 0)
            twin[s->v[i].id] = t->v[j].id;
        if (c >= 0)
            j = next_word(t, j);
        if (c <= 0)
            i = next_word(s, i);
    }
}

/* Match special tokens s and t (-1: none), unless one is matched already. */
static void
match_special(uint32_t *twin, uint8_t *taken, int64_t s, int64_t t, size_t V)
{
    if (s < 0 || t < 0 || (size_t)t >= V || twin[s] != SHARED_NONE || taken[t])
        return;
    twin[s] = (uint32_t)t;
    taken[t] = 1;
}

static void
match_specials(uint32_t *twin, const struct tokenizer *s,
    const struct tokenizer *t, size_t V)
{
    uint8_t *taken = xcalloc(V, 1);
    struct buf name = { 0 };

    match_special(twin, taken, tok_eos(s), tok_eos(t), V);
    match_special(twin, taken, tok_bos(s), tok_bos(t), V);
    for (uint32_t id = 0; id < tok_vocab(s); id++) {
        int64_t other;

        if (!tok_is_special(s, id))
            continue;
        buf_clear(&name);
        add_word_bytes(s, id, &name);
        other = name.n > 0 ? tok_id(t, name.p, name.n) : -1;
        if (other >= 0 && tok_is_special(t, (uint32_t)other))
            match_special(twin, taken, id, other, V);
    }
    buf_release(&name);
    free(taken);
}

void
shared_vocab_make(struct shared_vocab *v, const struct tokenizer *student,
    const struct tokenizer *teacher, size_t V)
{
    const size_t n = tok_vocab(student), m = tok_vocab(teacher);
    struct words s, t;

    memset(v, 0, sizeof *v);
    list_words(&s, student, n);
    list_words(&t, teacher, m < V ? m : V);
    v->twin = xreallocarray(NULL, n + 1, sizeof *v->twin);
    for (size_t i = 0; i < n; i++)
        v->twin[i] = SHARED_NONE;
    match_words(v->twin, &s, &t);
    match_specials(v->twin, student, teacher, V);
    v->student = xreallocarray(NULL, n + 1, sizeof *v->student);
    v->teacher = xreallocarray(NULL, n + 1, sizeof *v->teacher);
    for (size_t i = 0; i < n; i++)
        if (v->twin[i] != SHARED_NONE) {
            v->student[v->n] = (uint32_t)i;
            v->teacher[v->n++] = v->twin[i];
        }
    words_release(&s);
    words_release(&t);
}

void
shared_vocab_release(struct shared_vocab *v)
{
    free(v->twin);
    free(v->student);
    free(v->teacher);
}
