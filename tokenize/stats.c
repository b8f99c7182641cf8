/* Statistics by source; see stats.h. */
#include "stats.h"

#include "base/text.h"
#include "text/unicode.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const stats_formats[] = { "tsv", "json", NULL };

/* Bits of a token's properties, from which split words are counted. */
enum {
    T_WORD = 1, /* has characters that are not white space */
    T_MORE = 2, /* has several runs of such characters, with white space
                 * between */
    T_SPACE_FIRST = 4,
    T_SPACE_LAST = 8,
    T_FALLBACK = 16,
    T_BROKEN = 32 /* has a part of a character; T_WORD to T_SPACE_LAST unset */
};

struct row {
    uint64_t docs, bytes, chars, words, tokens, split, fallback;
    uint64_t distinct;
    uint64_t *seen; /* bitmap of the ids seen */
};

/* State of counting the words of a text that are split. */
struct walk {
    uint64_t split; /* words that span more than one token */
    int inside;     /* 1: the last token ends inside a word */
    int counted;    /* 1: `split` counts the current word already */
};

struct stats {
    const struct inputs *in;
    const struct encoder *by;
    size_t vocab;
    uint8_t *token;  /* [vocab] T_ bits */
    struct buf text; /* bytes of all T_BROKEN tokens */
    uint32_t *at;    /* [vocab+1] where a token's bytes begin in text */
    struct buf part; /* bytes of a run of T_BROKEN tokens */
    struct row *row; /* [nsource] */
};

/* Find a token of one letter; 0: there is none.  Other tokens are decoded after
 * this token, because decoders treat a text's first token specially. */
static uint32_t
plain_token(const struct tokenizer *t)
{
    const int64_t id = tok_id(t, "a", 1);

    return id < 0 ? 0 : (uint32_t)id;
}

/* Decode a token as it is in the middle of a text. */
static void
token_bytes(const struct tokenizer *t, uint32_t first, uint32_t id,
    struct buf *out)
{
    const uint32_t two[2] = { first, id };
    struct buf both = { 0 };
    size_t alone;

    buf_clear(out);
    if (tok_decode(t, two, 1, 0, out, NULL) < 0)
        out->n = 0;
    alone = out->n;
    buf_clear(out);
    if (tok_decode(t, two, 2, 0, &both, NULL) == 0 && both.n > alone)
        buf_add(out, both.p + alone, both.n - alone);
    buf_release(&both);
}

static uint8_t
token_kind(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    unsigned kind = 0;
    int inside = 0;
    size_t k;

    for (; p < end; p += k) {
        const uint32_t c = utf8_next(p, end, &k);
        const int space = c != UTF8_BAD && (uni_class(c) & U_S);

        if (c == UTF8_BAD)
            return T_FALLBACK | T_BROKEN;
        if (space) {
            kind |= T_SPACE_LAST |
                (p == (const unsigned char *)text ? T_SPACE_FIRST : 0U);
        } else {
            kind &= ~(unsigned)T_SPACE_LAST;
            kind |= inside ? 0U : kind & T_WORD ? T_MORE : T_WORD;
        }
        inside = !space;
    }
    return (uint8_t)kind;
}

/* Returns value [vocab]: the byte of a token such as <0xC3>, -1 for other
 * tokens. */
static int16_t *
byte_tokens(const struct tokenizer *t, size_t vocab)
{
    int16_t *value = xreallocarray(NULL, vocab, sizeof *value);
    char name[8];

    memset(value, 0xff, vocab * sizeof *value);
    for (int b = 0; b < 256; b++) {
        int64_t id;

        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        id = tok_id(t, name, 6);
        if (id >= 0 && (size_t)id < vocab)
            value[id] = (int16_t)b;
    }
    return value;
}

static void
look_at_tokens(struct stats *s, const struct tokenizer *t)
{
    const uint32_t first = plain_token(t);
    const int64_t unk = tok_id(t, "<unk>", 5);
    int16_t *value = byte_tokens(t, s->vocab);
    struct buf b = { 0 };

    for (size_t i = 0; i < s->vocab; i++) {
        if (value[i] >= 0) {
            buf_clear(&b);
            buf_addc(&b, value[i]);
        } else {
            token_bytes(t, first, (uint32_t)i, &b);
        }
        s->token[i] = token_kind(b.p, b.n);
        s->at[i] = (uint32_t)s->text.n;
        if (s->token[i] & T_BROKEN)
            buf_add(&s->text, b.p, b.n);
        if (value[i] >= 0 || (unk >= 0 && i == (size_t)unk))
            s->token[i] |= T_FALLBACK;
    }
    s->at[s->vocab] = (uint32_t)s->text.n;
    buf_release(&b);
    free(value);
}

struct stats *
stats_new(const struct inputs *in, const struct encoder *by)
{
    struct stats *s = xcalloc(1, sizeof *s);

    s->in = in;
    s->by = by;
    s->vocab = tok_vocab(by->t);
    s->token = xcalloc(s->vocab, 1);
    s->at = xcalloc(s->vocab + 1, sizeof *s->at);
    s->row = xcalloc(in->nsource, sizeof *s->row);
    look_at_tokens(s, by->t);
    return s;
}

void
stats_free(struct stats *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->in->nsource; i++)
        free(s->row[i].seen);
    free(s->row);
    buf_release(&s->text);
    buf_release(&s->part);
    free(s->at);
    free(s->token);
    free(s);
}

static void
part_of_word(struct walk *w, int more)
{
    w->split += more && !w->counted;
    w->counted |= more;
}

static void
whole_token(struct walk *w, unsigned kind)
{
    if (kind & T_WORD)
        part_of_word(w, w->inside && !(kind & T_SPACE_FIRST));
    if (kind & (T_SPACE_FIRST | T_SPACE_LAST | T_MORE))
        w->counted = 0;
    /* a token may end one word and begin another */
    if (kind & T_WORD)
        w->inside = !(kind & T_SPACE_LAST);
    else if (kind & T_SPACE_FIRST)
        w->inside = 0;
}

/* Count the split words in the run of T_BROKEN tokens that begins at ids: such
 * tokens form characters only together.  Returns the number of tokens in the
 * run. */
static size_t
broken_tokens(struct stats *s, struct walk *w, const uint32_t *ids, size_t n)
{
    const unsigned char *p, *end;
    size_t m, len, tok = 0, left = 0, last = SIZE_MAX;

    buf_clear(&s->part);
    for (m = 0; m < n && (s->token[ids[m]] & T_BROKEN); m++)
        buf_add(&s->part, s->text.p + s->at[ids[m]],
            s->at[ids[m] + 1] - s->at[ids[m]]);
    p = (const unsigned char *)s->part.p;
    end = p + s->part.n;
    for (; p < end; p += len) {
        const uint32_t c = utf8_next(p, end, &len);
        const int space = c != UTF8_BAD && (uni_class(c) & U_S);
        size_t begins = 0;

        /* Token tok - 1 has the last byte read, and `left` bytes after it. */
        for (size_t k = 0; k < len; k++, left--) {
            for (; left == 0; tok++)
                left = s->at[ids[tok] + 1] - s->at[ids[tok]];
            if (k == 0)
                begins = tok;
        }
        if (space || !w->inside)
            w->counted = 0;
        if (!space)
            part_of_word(w, tok != begins || (w->inside && begins != last));
        w->inside = !space;
        last = tok;
    }
    return m;
}

/* Number of words in ids[n] that span more than one token. */
static uint64_t
split_words(struct stats *s, const uint32_t *ids, size_t n)
{
    struct walk w = { 0 };

    for (size_t i = 0; i < n;)
        if (s->token[ids[i]] & T_BROKEN)
            i += broken_tokens(s, &w, ids + i, n - i);
        else
            whole_token(&w, s->token[ids[i++]]);
    return w.split;
}

/* Add the counts of r to all, except the number of distinct ids. */
static void
add_source_row(const struct stats *s, struct row *all, const struct row *r)
{
    all->docs += r->docs;
    all->bytes += r->bytes;
    all->chars += r->chars;
    all->words += r->words;
    all->tokens += r->tokens;
    all->split += r->split;
    all->fallback += r->fallback;
    for (size_t i = 0; r->seen && i <= s->vocab / 64; i++)
        all->seen[i] |= r->seen[i];
}

static uint64_t
count_distinct(const struct stats *s, const struct row *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i <= s->vocab / 64; i++)
        for (uint64_t w = r->seen[i]; w; w &= w - 1)
            n++;
    return n;
}

int
stats_put(void *ctx, const struct doc *d, struct err *e)
{
    struct stats *s = ctx;
    struct row *r = &s->row[d->source];
    const uint32_t *ids = d->ids.v + (d->ids.n > 0 && s->by->bos >= 0 ? 1 : 0);

    (void)e;
    r->docs++;
    r->bytes += d->bytes;
    r->chars += d->chars;
    r->words += d->words;
    r->tokens += d->plain;
    if (d->plain == 0)
        return 0;
    r->split += split_words(s, ids, d->plain);
    if (!r->seen)
        r->seen = xcalloc(s->vocab / 64 + 1, sizeof *r->seen);
    for (size_t i = 0; i < d->plain; i++) {
        const uint64_t bit = UINT64_C(1) << (ids[i] & 63);
        uint64_t *seen = &r->seen[ids[i] / 64];

        r->fallback += (s->token[ids[i]] & T_FALLBACK) != 0;
        r->distinct += (*seen & bit) == 0;
        *seen |= bit;
    }
    return 0;
}

static double
count_ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0.0;
}

/* Parity with English: tokens of r over tokens of the source `en`.  NAN unless
 * r and `en` have equally many documents, which are then taken for translations
 * of each other. */
static double
parity(const struct stats *s, const struct row *r)
{
    const size_t en = inputs_source(s->in, "en", 2);

    if (en == s->in->nsource || s->row[en].tokens == 0 ||
        s->row[en].docs != r->docs)
        return NAN;
    return count_ratio(r->tokens, s->row[en].tokens);
}

static void
print_stats_tsv(FILE *f, const char *name, const struct row *r, double parallel)
{
    fprintf(f,
        "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
        "\t%.3f\t%.3f\t%.4f\t%.6f\t%" PRIu64,
        SHOWN(name), r->docs, r->bytes, r->chars, r->words, r->tokens,
        count_ratio(r->tokens, r->words), count_ratio(r->chars, r->tokens),
        count_ratio(r->split, r->words), count_ratio(r->fallback, r->tokens),
        r->distinct);
    if (isfinite(parallel))
        fprintf(f, "\t%.3f\n", parallel);
    else
        fprintf(f, "\t-\n");
}

static json_t *
row_json(const char *name, const struct row *r, double parallel)
{
    json_t *j =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I}",
            "source", name, "documents", (json_int_t)r->docs, "bytes",
            (json_int_t)r->bytes, "characters", (json_int_t)r->chars, "words",
            (json_int_t)r->words, "tokens", (json_int_t)r->tokens,
            "tokens/word", count_ratio(r->tokens, r->words), "characters/token",
            count_ratio(r->chars, r->tokens), "split",
            count_ratio(r->split, r->words), "fallback",
            count_ratio(r->fallback, r->tokens), "distinct",
            (json_int_t)r->distinct);

    json_object_set_new(j, "parity",
        isfinite(parallel) ? json_real(parallel) : json_null());
    return j;
}

static void
print_stats_json(FILE *f, json_t *rows, json_t *all)
{
    json_t *j = json_pack("{s:o, s:o}", "sources", rows, "all", all);

    json_dumpf(j, f, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putc('\n', f);
    json_decref(j);
}

void
stats_print(const struct stats *s, FILE *f, enum stats_format format)
{
    const int json = format == STATS_JSON;
    struct row all = { 0 };
    json_t *rows = json_array();
    size_t n = 0;

    all.seen = xcalloc(s->vocab / 64 + 1, sizeof *all.seen);
    if (!json)
        fprintf(f,
            "source\tdocuments\tbytes\tcharacters\twords\ttokens\t"
            "tokens/word\tcharacters/token\tsplit\tfallback\tdistinct\t"
            "parity\n");
    for (size_t i = 0; i < s->in->nsource; i++) {
        struct row *r = &s->row[i];

        if (r->docs == 0)
            continue;
        n++;
        add_source_row(s, &all, r);
        if (json)
            json_array_append_new(rows,
                row_json(s->in->source[i], r, parity(s, r)));
        else
            print_stats_tsv(f, s->in->source[i], r, parity(s, r));
    }
    all.distinct = count_distinct(s, &all);
    if (json)
        print_stats_json(f, rows, row_json("all", &all, NAN));
    else if (n > 1)
        print_stats_tsv(f, "all", &all, NAN);
    if (!json)
        json_decref(rows);
    free(all.seen);
}
