/* Texts of tokens; see vocab.h. */
#include "vocab.h"
#include "cli/die.h"
#include "text/unicode.h"

#include <stdlib.h>

const char *const class_name[CLASS_N] = { "word begins", "word goes on",
    "digits", "punctuation", "white space", "other" };

struct vocab {
    struct buf text;
    size_t *at; /* [V+1] where a token's text begins */
    struct kind {
        uint8_t class;   /* token_class if the token follows a letter */
        uint8_t special; /* 1: the token stands for no text */
        uint8_t less;    /* bytes fewer at the beginning of a text */
        uint8_t letter;  /* 1: the text ends with a letter or mark */
    } * kind;            /* [V] */
};

static size_t
add_token_text(const struct tokenizer *t, uint32_t id, int flags,
    struct buf *out)
{
    const size_t before = out->n;
    struct err e;

    if (id < tok_vocab(t) && tok_decode(t, &id, 1, flags, out, &e) < 0)
        die_err(&e);
    return out->n - before;
}

static void
classify(struct kind *k, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    size_t len, white = 0;
    unsigned c = 0;

    for (; p < end; p += len, white++) {
        c = uni_class_at(p, end, &len);
        if (!(c & U_S))
            break;
    }
    if (k->special || n == 0)
        k->class = CLASS_OTHER;
    else if (p == end)
        k->class = CLASS_SPACE;
    else if (utf8_next(p, end, &len) == UTF8_BAD)
        k->class = CLASS_OTHER;
    else if (c & (U_L | U_M))
        k->class = white > 0 ? CLASS_FIRST : CLASS_INSIDE;
    else
        k->class = c & U_N ? CLASS_DIGITS : CLASS_PUNCT;
    if (n > 0 && !k->special)
        k->letter = (uni_class_at(uni_before(end, end - n), end, &len) &
                        (U_L | U_M)) != 0;
}

struct vocab *
vocab_new(const struct tokenizer *t, size_t V)
{
    struct vocab *v = xcalloc(1, sizeof(*v));
    struct buf first = { 0 };

    buf_reserve(&v->text, 1);
    v->at = xcalloc(V + 1, sizeof(*v->at));
    v->kind = xcalloc(V, sizeof(*v->kind));
    for (size_t i = 0; i < V; i++) {
        struct kind *k = &v->kind[i];
        const size_t n = add_token_text(t, (uint32_t)i, TOK_MIDDLE, &v->text);

        v->at[i + 1] = v->at[i] + n;
        k->special = i < tok_vocab(t) && tok_is_special(t, (uint32_t)i);
        buf_clear(&first);
        k->less = (uint8_t)(n - add_token_text(t, (uint32_t)i, 0, &first));
        classify(k, v->text.p + v->at[i], n);
    }
    buf_release(&first);
    return v;
}

void
vocab_free(struct vocab *v)
{
    if (v == NULL)
        return;
    buf_release(&v->text);
    free(v->at);
    free(v->kind);
    free(v);
}

size_t
vocab_bytes(const struct vocab *v, uint32_t id, int first)
{
    const struct kind *k = &v->kind[id];

    if (k->special)
        return 0;
    return v->at[id + 1] - v->at[id] - (first ? k->less : 0);
}

const char *
vocab_text(const struct vocab *v, uint32_t id, size_t *n)
{
    *n = v->at[id + 1] - v->at[id];
    return v->text.p + v->at[id];
}

enum token_class
vocab_class(const struct vocab *v, uint32_t before, uint32_t id)
{
    const enum token_class c = (enum token_class)v->kind[id].class;

    return c == CLASS_INSIDE && !v->kind[before].letter ? CLASS_FIRST : c;
}
