/*
 * Mistral's tekken.json: tokens in base64, in order of rank.  It is turned into
 * a tokenizer.json that has the same ids: special tokens come first, then the
 * words.  Merges are in order of the rank of their result, and merges with the
 * same result in order of the ranks of their parts.
 */

#include "tok/tekken.h"
#include "base/io.h"
#include "base/utf8.h"
#include "format/json.h"
#include "tok/json.h"
#include "tok/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SPECIAL_MAX 100000

struct word {
    unsigned char *p;
    size_t n;
};

struct words {
    struct word *v; /* [n] by rank */
    size_t n;
    uint32_t *slot; /* [mask + 1] hash table: rank + 1; 0: empty */
    size_t mask;
};

/* Names of the first special tokens, for files without them. */
static const char *const names[] = { "<unk>", "<s>", "</s>", "[INST]",
    "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]",
    "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]" };

/* The bytes of the base64 text s, malloc'd; NULL: s is not base64. */
static unsigned char *
base64(const char *s, size_t *n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *out = xmalloc(strlen(s) + 1);
    unsigned bits = 0, have = 0;

    for (*n = 0; *s && *s != '='; s++) {
        const char *d = strchr(digit, *s);

        if (!d) {
            free(out);
            return NULL;
        }
        bits = (bits << 6 | (unsigned)(d - digit)) & 0xffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[(*n)++] = (unsigned char)(bits >> have);
        }
    }
    return out;
}

enum { TOKEN_MAX = 512 }; /* bytes of a token; Mistral's have 78 at most */

static size_t
place_special(const struct words *w, const unsigned char *p, size_t n)
{
    size_t i = (size_t)XXH3_64bits(p, n) & w->mask;

    while (w->slot[i]) {
        const struct word *x = &w->v[w->slot[i] - 1];

        if (x->n == n && memcmp(x->p, p, n) == 0)
            break;
        i = (i + 1) & w->mask;
    }
    return i;
}

static int
words_load(struct words *w, const json_t *vocab, size_t n, struct err *e)
{
    if (n < 256 || json_array_size(vocab) < n)
        return tok_bad(e, "vocab: has %zu entries, not %zu or more",
            json_array_size(vocab), n < 256 ? (size_t)256 : n);
    for (w->mask = 1023; w->mask < 2 * n; w->mask = 2 * w->mask + 1)
        ;
    w->slot = xcalloc(w->mask + 1, sizeof *w->slot);
    w->v = xcalloc(n, sizeof *w->v);
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(vocab, i);
        const json_t *rank = json_object_get(x, "rank");
        const char *s = json_string_value(json_object_get(x, "token_bytes"));
        struct word *v = &w->v[i];
        size_t at;

        if (!s || !json_is_integer(rank) ||
            json_integer_value(rank) != (json_int_t)i)
            return tok_bad(e, "vocab.%zu: has no rank %zu and bytes", i, i);
        v->p = base64(s, &v->n);
        w->n = i + 1;
        if (!v->p || v->n == 0 || (i < 256 && (v->n != 1 || v->p[0] != i)))
            return tok_bad(e,
                "vocab.%zu.token_bytes: is not what is expected there", i);
        /* add_merges hashes both parts of each cut of a token: O(n^2) time. */
        if (v->n > TOKEN_MAX)
            return tok_bad(e, "vocab.%zu.token_bytes: are %zu, at most %d", i,
                v->n, TOKEN_MAX);
        at = place_special(w, v->p, v->n);
        if (w->slot[at])
            return tok_bad(e, "vocab.%zu.token_bytes: are those of %u too", i,
                w->slot[at] - 1);
        w->slot[at] = (uint32_t)i + 1;
    }
    return 0;
}

/* Append bytes as GPT-2's visible letters. */
static void
letters(struct buf *b, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        utf8_put(b, vocab_letter(p[i]));
}

struct pair_cut {
    uint32_t left, right;
};

static int
by_parts(const void *a, const void *b)
{
    const struct pair_cut *x = a, *y = b;

    if (x->left != y->left)
        return x->left < y->left ? -1 : 1;
    return (x->right > y->right) - (x->right < y->right);
}

/* Add all merges that make the word of rank i. */
static void
add_merges(json_t *list, const struct words *w, size_t i, struct buf *b,
    struct pair_cut *cut)
{
    const struct word *v = &w->v[i];
    size_t n = 0;

    for (size_t k = 1; k < v->n; k++) {
        const uint32_t l = w->slot[place_special(w, v->p, k)];
        const uint32_t r = w->slot[place_special(w, v->p + k, v->n - k)];

        if (l && r)
            cut[n++] = (struct pair_cut){ l, r };
    }
    qsort(cut, n, sizeof *cut, by_parts);
    for (size_t k = 0; k < n; k++) {
        const struct word *l = &w->v[cut[k].left - 1];
        const struct word *r = &w->v[cut[k].right - 1];

        buf_clear(b);
        letters(b, l->p, l->n);
        buf_addc(b, ' ');
        letters(b, r->p, r->n);
        json_array_append_new(list, json_string(b->p));
    }
}

/* The vocabulary: special tokens, then the words in visible letters; NULL and
 * *e: two of them are equal. */
static json_t *
bpe_json(const struct words *w, const json_t *specials, struct err *e)
{
    json_t *vocab = json_object();
    const size_t first = json_array_size(specials);
    struct buf b = { 0 };

    for (size_t i = 0; i < first + w->n; i++) {
        const char *s;

        buf_clear(&b);
        if (i >= first)
            letters(&b, w->v[i - first].p, w->v[i - first].n);
        s = i >= first
            ? b.p
            : json_string_value(
                  json_object_get(json_array_get(specials, i), "content"));
        if (json_object_get(vocab, s)) {
            tok_bad(e, "%s.%zu: %.60s is another token too",
                i < first ? "special_tokens" : "vocab",
                i < first ? i : i - first, s);
            json_decref(vocab);
            vocab = NULL;
            break;
        }
        json_object_set_new(vocab, s, json_integer((json_int_t)i));
    }
    buf_release(&b);
    return vocab;
}

static json_t *
model_json(const struct words *w, const json_t *specials, struct err *e)
{
    json_t *vocab = bpe_json(w, specials, e), *merges;
    struct pair_cut *cut;
    struct buf b = { 0 };
    size_t longest = 1;

    if (!vocab)
        return NULL;
    for (size_t i = 0; i < w->n; i++)
        longest = w->v[i].n > longest ? w->v[i].n : longest;
    merges = json_array();
    cut = xreallocarray(NULL, longest, sizeof *cut);
    for (size_t i = 256; i < w->n; i++)
        add_merges(merges, w, i, &b, cut);
    free(cut);
    buf_release(&b);
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "BPE", "ignore_merges", 1,
        "vocab", vocab, "merges", merges);
}

/* The list of special tokens 0 .. n - 1 as added tokens. */
static json_t *
specials_json(const json_t *given, size_t n, struct err *e)
{
    json_t *list = json_array();
    char name[40];

    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(given, i);
        const json_t *rank = json_object_get(x, "rank");
        const char *s = json_string_value(json_object_get(x, "token_str"));

        if (x && (!s || !*s || json_integer_value(rank) != (json_int_t)i)) {
            tok_bad(e, "special_tokens.%zu: has no rank %zu and text", i, i);
            json_decref(list);
            return NULL;
        }
        if (!x && !given && i < sizeof names / sizeof *names) {
            s = names[i];
        } else if (!x) {
            snprintf(name, sizeof name, "<SPECIAL_%zu>", i);
            s = name;
        }
        json_array_append_new(list,
            json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                (json_int_t)i, "content", s, "single_word", 0, "lstrip", 0,
                "rstrip", 0, "normalized", 0, "special", 1));
    }
    return list;
}

/* A post-processor that puts BOS before every text. */
static json_t *
template_json(void)
{
    return json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[],"
                     " s:{s:{s:s, s:[i], s:[s]}}}",
        "type", "TemplateProcessing", "single", "SpecialToken", "id", "<s>",
        "type_id", 0, "Sequence", "id", "A", "type_id", 0, "pair",
        "special_tokens", "<s>", "id", "<s>", "ids", 1, "tokens", "<s>");
}

static json_t *
convert_tekken(const json_t *j, struct err *e)
{
    const json_t *config = json_object_get(j, "config");
    struct words w = { 0 };
    json_t *specials = NULL, *model = NULL, *out = NULL;
    size_t total = 0, first = 0;
    const char *regex = NULL;

    if (js_size(config, "default_num_special_tokens", 3, SPECIAL_MAX, &first,
            e) <= 0 ||
        js_size(config, "default_vocab_size", first, (size_t)1 << 24, &total,
            e) <= 0 ||
        js_str(config, "pattern", &regex, e) <= 0) {
        tok_bad(e,
            "config: lacks a pattern, default_vocab_size or "
            "default_num_special_tokens");
        return NULL;
    }
    if (words_load(&w, json_object_get(j, "vocab"), total - first, e) == 0 &&
        (specials = specials_json(json_object_get(j, "special_tokens"), first,
             e)) != NULL &&
        (model = model_json(&w, specials, e)) != NULL)
        out = json_pack("{s:O, s:{s:s, s:[{s:s, s:{s:s}, s:s, s:b},"
                        " {s:s, s:b, s:b, s:b}]}, s:o, s:{s:s}, s:o}",
            "added_tokens", specials, "pre_tokenizer", "type", "Sequence",
            "pretokenizers", "type", "Split", "pattern", "Regex", regex,
            "behavior", "Isolated", "invert", 0, "type", "ByteLevel",
            "add_prefix_space", 0, "trim_offsets", 1, "use_regex", 0,
            "post_processor", template_json(), "decoder", "type", "ByteLevel",
            "model", model);
    for (size_t i = 0; i < w.n; i++)
        free(w.v[i].p);
    free(w.v);
    free(w.slot);
    json_decref(specials);
    return out;
}

json_t *
tekken_load(const char *path, struct err *e)
{
    json_t *j, *out = NULL;
    char *text, *p;
    size_t n;

    if (io_slurp(path, JS_MAX, &text, &n, e) < 0)
        return NULL;
    /* token_str of words, which is not read here, may contain NUL, which the
     * parser refuses */
    for (p = text;
         n >= 6 && (p = memchr(p, '\\', (size_t)(text + n - p))) != NULL &&
         text + n - p >= 6;
         p++)
        if (memcmp(p, "\\u0000", 6) == 0)
            p[5] = '1';
    if ((j = js_parse(text, n, e)) != NULL)
        out = convert_tekken(j, e);
    if (!out)
        err_prefix(e, "%s", path);
    json_decref(j);
    free(text);
    return out;
}
