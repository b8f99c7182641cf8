/* Folded words; see words.h. */
#include "words.h"

#include "cli/die.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <xxhash.h>

#define BMP 0x10000
#define LONGEST 64 /* UTF-16 units of a folded character, at most */
#define KEEP ((size_t)64 << 10)

/* Values of fold.to beside code points, which are smaller. */
#define SPACE UINT32_C(0xffffffff)   /* the character separates words */
#define NOTHING UINT32_C(0xfffffffe) /* the character is removed */
#define MANY UINT32_C(0x80000000)    /* + offset in fold.more of a string */

struct fold {
    const UNormalizer2 *casefold, *nfd;
    uint32_t to[BMP];            /* the folded character, or one of the above */
    unsigned char unspaced[BMP]; /* is_unspaced of each character */
    struct buf more; /* NUL-terminated UTF-8 of several characters each */
};

/* Append the letters and numbers of the folded c to *out, and return how many
 * they are.  If there are none: NOTHING if c folds to marks only or to no
 * character, else SPACE. */
static uint32_t
fold_one(const struct fold *f, uint32_t c, struct buf *out)
{
    UChar in[2], folded[LONGEST], apart[LONGEST];
    UErrorCode bad = U_ZERO_ERROR;
    uint32_t n = 0, space = 0;
    int32_t len = 0, i = 0;

    if (c >= 0xd800 && c < 0xe000)
        return SPACE;
    U16_APPEND_UNSAFE(in, len, c);
    len = unorm2_normalize(f->casefold, in, len, folded, LONGEST, &bad);
    len = unorm2_normalize(f->nfd, folded, len, apart, LONGEST, &bad);
    if (U_FAILURE(bad))
        return SPACE;
    while (i < len) {
        UChar32 x;

        U16_NEXT(apart, i, len, x);
        if (uni_class((uint32_t)x) & (U_L | U_N)) {
            utf8_put(out, (uint32_t)x);
            n++;
        } else if (!(uni_class((uint32_t)x) & U_M)) {
            space = 1;
        }
    }
    return n ? n : space ? SPACE : NOTHING;
}

/* Is c of a script that is written without spaces between words? */
static int
is_unspaced(uint32_t c)
{
    UErrorCode bad = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript((UChar32)c, &bad);

    return u_hasBinaryProperty((UChar32)c, UCHAR_IDEOGRAPHIC) ||
        script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ||
        u_getIntPropertyValue((UChar32)c, UCHAR_LINE_BREAK) ==
        U_LB_COMPLEX_CONTEXT;
}

struct fold *
fold_new(struct err *e)
{
    struct fold *f = xcalloc(1, sizeof *f);
    UErrorCode bad = U_ZERO_ERROR;
    struct buf b = { 0 };

    f->casefold = unorm2_getNFKCCasefoldInstance(&bad);
    f->nfd = unorm2_getNFDInstance(&bad);
    if (U_FAILURE(bad)) {
        fold_free(f);
        err_set(e, EX_SYS, "ICU: %s", u_errorName(bad));
        return NULL;
    }
    for (uint32_t c = 0; c < BMP; c++) {
        size_t len;

        buf_clear(&b);
        f->unspaced[c] = (unsigned char)is_unspaced(c);
        f->to[c] = fold_one(f, c, &b);
        if (f->to[c] == 1) {
            const unsigned char *p = (const unsigned char *)b.p;

            f->to[c] = utf8_next(p, p + b.n, &len);
        } else if (f->to[c] < MANY) {
            f->to[c] = MANY + (uint32_t)f->more.n;
            buf_add(&f->more, b.p, b.n + 1);
        }
    }
    buf_release(&b);
    return f;
}

void
fold_free(struct fold *f)
{
    if (!f)
        return;
    buf_release(&f->more);
    free(f);
}

void
words_begin(struct words *w, const struct fold *f, const char *text, size_t n)
{
    w->fold = f;
    w->p = (const unsigned char *)text;
    w->end = w->p + n;
    w->hashed = w->each = 0;
}

void
words_begin_each(struct words *w, const struct fold *f, const char *text,
    size_t n)
{
    words_begin(w, f, text, n);
    w->each = 1;
}

void
words_release(struct words *w)
{
    buf_release(&w->word);
    XXH3_freeState(w->hash);
}

/* Add the bytes in w->word, part of a long word, to the word's hash state. */
static void
hash_part(struct words *w)
{
    if (!w->hash && !(w->hash = XXH3_createState()))
        die(EX_SYS, "out of memory");
    if (!w->hashed)
        XXH3_64bits_reset(w->hash);
    w->hashed = 1;
    XXH3_64bits_update(w->hash, w->word.p, w->word.n);
    buf_clear(&w->word);
}

static uint64_t
word_hash(struct words *w)
{
    if (!w->hashed)
        return XXH3_64bits(w->word.p, w->word.n);
    w->hashed = 0;
    XXH3_64bits_update(w->hash, w->word.p, w->word.n);
    return XXH3_64bits_digest(w->hash);
}

/* Append to the word what a character folds to; `to`: its value in fold.to, not
 * SPACE or NOTHING. */
static void
add_folded(struct words *w, uint32_t to)
{
    if (to < 0x80) {
        if (w->word.n + 1 >= w->word.cap)
            buf_reserve(&w->word, 64);
        w->word.p[w->word.n++] = (char)to;
    } else if (to >= MANY) {
        buf_adds(&w->word, w->fold->more.p + (to - MANY));
    } else {
        utf8_put(&w->word, to);
    }
}

/* Is c, a character outside ASCII, a word by itself? */
static inline int
is_word(const struct words *w, uint32_t c)
{
    return w->each && c != UTF8_BAD &&
        (c < BMP ? w->fold->unspaced[c] : is_unspaced(c));
}

int
words_next(struct words *w, uint64_t *hash)
{
    const struct fold *f = w->fold;
    size_t len;

    buf_clear(&w->word);
    for (; w->p < w->end; w->p += len) {
        const uint32_t c = *w->p < 0x80 ? *w->p : utf8_next(w->p, w->end, &len);
        const int alone = c >= 0x80 && is_word(w, c);
        uint32_t to;

        if (c < 0x80)
            len = 1;
        if (alone && (w->word.n > 0 || w->hashed))
            break;
        to = c < BMP        ? f->to[c]
            : c == UTF8_BAD ? SPACE
                            : fold_one(f, c, &w->word);
        if (to == SPACE && (w->word.n > 0 || w->hashed))
            break;
        if (w->word.n > KEEP)
            hash_part(w);
        if (c < BMP && to != SPACE && to != NOTHING)
            add_folded(w, to);
        if (alone && w->word.n > 0) {
            w->p += len;
            break;
        }
    }
    if (w->word.n == 0 && !w->hashed)
        return 0;
    *hash = word_hash(w);
    return 1;
}
