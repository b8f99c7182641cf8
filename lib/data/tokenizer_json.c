/*
 * tokenizer.json into a struct tokenizer.  Every member of every component is
 * either honoured, known to have no effect on ids, or refused with its path:
 * reading it wrongly would give plausible ids and a worse model.
 */
#include "data/tokenizer_load.h"

#include "format/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDED_MAX 4096      /* bytes of an added token */

static const char llama3[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char qwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
    "\\s+(?!\\S)|\\s+";

int
tok_bad(struct err *e, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(e, EX_INPUT, "%s", text);
}

/* j must be an object with no other members than the words of `known`. */
static int
members(const json_t *j, const char *path, const char *known, struct err *e)
{
    const char *key;
    json_t *v;

    if (!json_is_object(j))
        return tok_bad(e, "%s: is no object", path);
    json_object_foreach((json_t *)(uintptr_t)j, key, v) {
        const size_t n = strlen(key);
        const char *at = known;

        while ((at = n ? strstr(at, key) : NULL) != NULL &&
            !((at == known || at[-1] == ' ') &&
            (at[n] == ' ' || at[n] == '\0')))
            at++;
        if (!at)
            return tok_bad(e, "%s.%.60s: is not implemented", path, key);
    }
    return 0;
}

static const char *
text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s ? s : "";
}

/* The boolean j[key], or `otherwise` where it is not given; -1 and *e. */
static int
flag_of(const json_t *j, const char *path, const char *key, int otherwise,
    struct err *e)
{
    const json_t *v = json_object_get(j, key);

    if (!v && otherwise >= 0)
        return otherwise;
    if (!json_is_boolean(v))
        return tok_bad(e, "%s.%s: is not true or false", path, key);
    return json_is_true(v);
}

/* Where `key` of j stands, it must be null (or "", or 0). */
static int
must_be_off(const json_t *j, const char *path, const char *key, struct err *e)
{
    const json_t *v = json_object_get(j, key);

    if (!v || json_is_null(v) || (json_is_string(v) &&
        json_string_length(v) == 0) || (json_is_number(v) &&
        json_number_value(v) == 0.0) || json_is_false(v))
        return 0;
    return tok_bad(e, "%s%s%s: is not implemented", path, *path ? "." : "",
        key);
}

/* The pre-tokenizers. */

static int
byte_level(const json_t *j, const char *path, int *regex, struct err *e)
{
    int prefix;

    if (members(j, path, "type add_prefix_space trim_offsets use_regex", e))
        return -1;
    prefix = flag_of(j, path, "add_prefix_space", 1, e);
    *regex = flag_of(j, path, "use_regex", 1, e);
    if (prefix < 0 || *regex < 0)
        return -1;
    return prefix ? tok_bad(e, "%s.add_prefix_space: is not implemented",
        path) : 0;
}

/* Digits or Split before ByteLevel. */
static int
first_step(const json_t *j, const char *path, enum split *split,
    struct err *e)
{
    const char *type = text_of(j, "type"), *regex;

    if (strcmp(type, "Digits") == 0) {
        const int each = flag_of(j, path, "individual_digits", -1, e);

        if (each < 0 || members(j, path, "type individual_digits", e))
            return -1;
        if (!each)
            return tok_bad(e, "%s.individual_digits: false is not implemented",
                path);
        *split = SPLIT_GPT2_DIGITS;
        return 0;
    }
    if (strcmp(type, "Split") != 0)
        return tok_bad(e, "%s.type: %.60s is not implemented", path,
            *type ? type : "(none)");
    if (members(j, path, "type pattern behavior invert", e))
        return -1;
    if (strcmp(text_of(j, "behavior"), "Isolated") != 0)
        return tok_bad(e, "%s.behavior: only Isolated is implemented", path);
    if (must_be_off(j, path, "invert", e))
        return -1;
    regex = text_of(json_object_get(j, "pattern"), "Regex");
    if (strcmp(regex, llama3) == 0)
        *split = SPLIT_CL100K;
    else if (strcmp(regex, qwen2) == 0)
        *split = SPLIT_CL100K_1;
    else if (strcmp(regex, gpt2) == 0)
        *split = SPLIT_GPT2;
    else
        return tok_bad(e, "%s.pattern: is none of the patterns that are "
            "implemented (GPT-2, Llama 3, Qwen 2)", path);
    return 0;
}

static int
load_pre(struct tokenizer *t, const json_t *j, struct err *e)
{
    const char *type = text_of(j, "type");
    const json_t *list;
    int regex;

    if (strcmp(type, "ByteLevel") == 0) {
        if (byte_level(j, "pre_tokenizer", &regex, e))
            return -1;
        t->split = regex ? SPLIT_GPT2 : SPLIT_NONE;
        return 0;
    }
    if (strcmp(type, "Sequence") != 0)
        return tok_bad(e, "pre_tokenizer.type: %.60s is not implemented",
            *type ? type : "none at all");
    if (members(j, "pre_tokenizer", "type pretokenizers", e))
        return -1;
    list = json_object_get(j, "pretokenizers");
    if (json_array_size(list) != 2)
        return tok_bad(e, "pre_tokenizer.pretokenizers: is no list of two "
            "steps");
    if (first_step(json_array_get(list, 0), "pre_tokenizer.pretokenizers.0",
        &t->split, e))
        return -1;
    if (strcmp(text_of(json_array_get(list, 1), "type"), "ByteLevel") != 0)
        return tok_bad(e, "pre_tokenizer.pretokenizers.1.type: only "
            "ByteLevel is implemented");
    if (byte_level(json_array_get(list, 1), "pre_tokenizer.pretokenizers.1",
        &regex, e))
        return -1;
    if (regex != (t->split == SPLIT_GPT2_DIGITS))
        return tok_bad(e, "pre_tokenizer.pretokenizers.1.use_regex: %s is not "
            "implemented behind that step", regex ? "true" : "false");
    return 0;
}

static int
load_model(struct tokenizer *t, const json_t *j, uint64_t **pairs,
    struct err *e)
{
    const json_t *type = json_object_get(j, "type");
    int whole = 1, fallback, r;

    if (members(j, "model", "type dropout unk_token continuing_subword_prefix "
        "end_of_word_suffix fuse_unk byte_fallback ignore_merges vocab merges",
        e))
        return -1;
    if (type && strcmp(text_of(j, "type"), "BPE") != 0)
        return tok_bad(e, "model.type: %.60s is not implemented",
            text_of(j, "type"));
    if (must_be_off(j, "model", "dropout", e) ||
        must_be_off(j, "model", "continuing_subword_prefix", e) ||
        must_be_off(j, "model", "end_of_word_suffix", e))
        return -1;
    t->ignore_merges = flag_of(j, "model", "ignore_merges", 0, e);
    fallback = flag_of(j, "model", "byte_fallback", 0, e);
    r = flag_of(j, "model", "fuse_unk", 0, e);
    if (t->ignore_merges < 0 || fallback < 0 || r < 0 ||
        vocab_load(t, json_object_get(j, "vocab"), e) ||
        merges_load(t, json_object_get(j, "vocab"),
        json_object_get(j, "merges"), pairs, e))
        return -1;
    for (size_t b = 0; b < 256; b++)
        whole &= t->byte_id[b] != TOK_NONE;
    if (whole)                      /* nothing is ever unknown */
        return 0;
    if (fallback)
        return tok_bad(e, "model.byte_fallback: is not implemented");
    return must_be_off(j, "model", "unk_token", e);
}

/* Added tokens. */

/* Grow the ids so that id is one of them. */
static void
grow_ids(struct tokenizer *t, size_t id)
{
    if (id < t->nid)
        return;
    t->text = xreallocarray(t->text, id + 1, sizeof *t->text);
    memset(t->text + t->nid, 0, (id + 1 - t->nid) * sizeof *t->text);
    t->nid = id + 1;
}

static int
load_one_added(struct added *a, const json_t *j, size_t i, struct err *e)
{
    static const char *const name[] = { "single_word", "lstrip", "rstrip",
        "normalized", "special" };
    const json_t *s = json_object_get(j, "content");
    char path[60];
    int v[5];

    snprintf(path, sizeof path, "added_tokens.%zu", i);
    if (members(j, path, "id content single_word lstrip rstrip normalized "
        "special", e))
        return -1;
    if (!json_is_string(s) || json_string_length(s) > ADDED_MAX)
        return tok_bad(e, "%s.content: is no text of at most %d bytes", path,
            ADDED_MAX);
    for (int k = 0; k < 5; k++)
        if ((v[k] = flag_of(j, path, name[k], -1, e)) < 0)
            return -1;
    a->s = json_string_value(s);
    a->n = json_string_length(s);
    a->single_word = (uint8_t)v[0];
    a->lstrip = (uint8_t)v[1];
    a->rstrip = (uint8_t)v[2];
    a->normalized = (uint8_t)v[3];
    a->special = (uint8_t)v[4];
    return 0;
}

static int
by_text(const void *x, const void *y)
{
    const struct added *a = *(struct added *const *)x;
    const struct added *b = *(struct added *const *)y;
    const int c = memcmp(a->s, b->s, a->n < b->n ? a->n : b->n);

    if (c || a->n != b->n)
        return c ? c : a->n < b->n ? -1 : 1;
    return (a > b) - (a < b);
}

/* Of tokens with the same content the first keeps its place and takes the
 * flags of the last; the others become empty. */
static void
unite_added(struct added *a, size_t n)
{
    struct added **p = xreallocarray(NULL, n + 1, sizeof *p);

    for (size_t i = 0; i < n; i++)
        p[i] = &a[i];
    qsort(p, n, sizeof *p, by_text);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && p[k]->n == p[i]->n &&
            memcmp(p[k]->s, p[i]->s, p[i]->n) == 0; k++)
            ;
        *p[i] = *p[k - 1];
        for (size_t m = i + 1; m < k; m++)
            p[m]->n = 0;
    }
    free(p);
}

/* Ids are given out as the original does, whatever the file says: that of the
 * vocabulary, else the next free one. */
static void
number_added(struct tokenizer *t, struct added *a, size_t n,
    const json_t *vocab)
{
    const size_t count = json_object_size(vocab);
    size_t next = count;

    for (size_t i = 0; i < n; i++) {
        struct tok_text *x;

        if (a[i].n == 0)
            continue;
        if (vocab_id(vocab, a[i].s, &a[i].id)) {
            a[i].id = (uint32_t)next;
            grow_ids(t, next);
            x = &t->text[next];
            vocab_set(t, next, t->pool.n, a[i].n);
            buf_add(&t->pool, a[i].s, a[i].n);
        }
        if (a[i].id >= next)
            next = (size_t)a[i].id + 1;
        x = &t->text[a[i].id];
        x->added = 1;
        x->special = a[i].special;
    }
}

static void
set_add(struct added_set *set, const struct added *a)
{
    set->a = xreallocarray(set->a, set->n + 1, sizeof *set->a);
    set->a[set->n++] = *a;
}

static int
load_added(struct tokenizer *t, const json_t *list, const json_t *vocab,
    struct err *e)
{
    const size_t n = json_array_size(list);
    struct added *a = xcalloc(n + 1, sizeof *a);
    int r = 0;

    if (list && !json_is_array(list))
        r = tok_bad(e, "added_tokens: is no list");
    for (size_t i = 0; i < n && r == 0; i++)
        r = load_one_added(&a[i], json_array_get(list, i), i, e);
    if (r == 0) {
        unite_added(a, n);
        number_added(t, a, n, vocab);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        if (a[i].n == 0)
            continue;
        a[i].s = memcpy(xmalloc(a[i].n), a[i].s, a[i].n);
        set_add(a[i].normalized ? &t->norm : &t->raw, &a[i]);
    }
    free(a);
    added_index(&t->raw);
    added_index(&t->norm);
    return r;
}

/* The post-processor. */

/* One token of a template: its id. */
static int
template_token(const struct tokenizer *t, const json_t *post,
    const json_t *token, const char *path, int64_t *id, struct err *e)
{
    const char *name = text_of(token, "id");
    const json_t *ids = json_object_get(json_object_get(json_object_get(post,
        "special_tokens"), name), "ids");
    const json_t *v = json_array_get(ids, 0);

    if (*id >= 0 || json_array_size(ids) != 1)
        return tok_bad(e, "%s: more or less than one token around the text is "
            "not implemented", path);
    *id = json_integer_value(v);
    if (!json_is_integer(v) || *id < 0 || (size_t)*id >= t->nid)
        return tok_bad(e, "%s: %.60s is no token", path, name);
    return 0;
}

static int
load_template(struct tokenizer *t, const json_t *post, const char *path,
    struct err *e)
{
    const json_t *single = json_object_get(post, "single");
    char where[120];
    int seen = 0;

    if (members(post, path, "type single pair special_tokens", e))
        return -1;
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *x = json_array_get(single, i);
        const json_t *token = json_object_get(x, "SpecialToken");
        const json_t *text = json_object_get(x, "Sequence");

        snprintf(where, sizeof where, "%s.single.%zu", path, i);
        if (token) {
            if (template_token(t, post, token, where,
                seen ? &t->after : &t->before, e))
                return -1;
        } else if (seen++ || strcmp(text_of(text, "id"), "A") != 0) {
            return tok_bad(e, "%s: is no place of the text", where);
        }
    }
    return seen ? 0 : tok_bad(e, "%s.single: has no place for the text", path);
}

static int
load_post(struct tokenizer *t, const json_t *j, const char *path, int depth,
    struct err *e)
{
    const char *type = text_of(j, "type");

    if (!j || json_is_null(j) || strcmp(type, "ByteLevel") == 0)
        return 0;                   /* ByteLevel only moves offsets */
    if (strcmp(type, "TemplateProcessing") == 0 && t->before < 0 &&
        t->after < 0)
        return load_template(t, j, path, e);
    if (strcmp(type, "Sequence") == 0 && depth == 0) {
        const json_t *list = json_object_get(j, "processors");
        char where[80];

        if (members(j, path, "type processors", e))
            return -1;
        for (size_t i = 0; i < json_array_size(list); i++) {
            snprintf(where, sizeof where, "%s.processors.%zu", path, i);
            if (load_post(t, json_array_get(list, i), where, 1, e))
                return -1;
        }
        return 0;
    }
    return tok_bad(e, "%s.type: %.60s is not implemented%s", path,
        *type ? type : "none at all", t->before >= 0 || t->after >= 0 ?
        " behind another" : "");
}

int
tok_load(struct tokenizer *t, const json_t *j, struct err *e)
{
    const json_t *model = json_object_get(j, "model");
    uint64_t *pairs = NULL;
    int r = -1;

    t->before = t->after = t->bos = t->eos = -1;
    if (!json_is_object(j) || !json_is_object(model))
        return tok_bad(e, "model: is missing; this is no tokenizer.json");
    if (members(j, "tokenizer", "version truncation padding added_tokens "
        "normalizer pre_tokenizer post_processor decoder model", e) ||
        must_be_off(j, "", "truncation", e) ||
        must_be_off(j, "", "padding", e) ||
        must_be_off(j, "", "normalizer", e))
        return -1;
    if (strcmp(text_of(json_object_get(j, "decoder"), "type"),
        "ByteLevel") != 0)
        return tok_bad(e, "decoder.type: only ByteLevel is implemented");
    if (load_pre(t, json_object_get(j, "pre_tokenizer"), e) == 0 &&
        load_model(t, model, &pairs, e) == 0 &&
        load_added(t, json_object_get(j, "added_tokens"),
        json_object_get(model, "vocab"), e) == 0 &&
        load_post(t, json_object_get(j, "post_processor"), "post_processor",
        0, e) == 0) {
        tok_hash_all(t, pairs);
        r = 0;
    }
    free(pairs);
    return r;
}
