/*
 * Reading a tokenizer.json into a struct tokenizer.  Every member of every
 * component is either implemented, known to have no effect on ids, or refused
 * with its path: a wrong reading would give plausible ids and a worse model.
 */

#include "tok/json.h"
#include "format/json.h"
#include "tok/bpe.h"
#include "tok/norm.h"
#include "tok/sp.h"
#include "tok/steps.h"
#include "tok/vocab.h"
#include "tok/vocab_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDED_MAX 4096              /* bytes of an added token */
#define ADDED_ALL ((size_t)8 << 20) /* bytes of all added tokens together */

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

int
tok_members(const json_t *j, const char *path, const char *known, struct err *e)
{
    const char *key;
    json_t *v;

    if (!json_is_object(j))
        return tok_bad(e, "%s: is no object", path);
    json_object_foreach((json_t *)(uintptr_t)j, key, v)
    {
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

int
tok_flag(const json_t *j, const char *path, const char *key, int otherwise,
    struct err *e)
{
    const json_t *v = json_object_get(j, key);

    if (!v && otherwise >= 0)
        return otherwise;
    if (!json_is_boolean(v))
        return tok_bad(e, "%s.%s: is not true or false", path, key);
    return json_is_true(v);
}

int
tok_off(const json_t *j, const char *path, const char *key, struct err *e)
{
    const json_t *v = json_object_get(j, key);

    if (!v || json_is_null(v) ||
        (json_is_string(v) && json_string_length(v) == 0) ||
        (json_is_number(v) && json_number_value(v) == 0.0) || json_is_false(v))
        return 0;
    return tok_bad(e, "%s%s%s: is not implemented", path, *path ? "." : "",
        key);
}

/* Read how unknown characters are encoded. */
static int
load_sp(struct tokenizer *t, const json_t *j, const struct names *names,
    int fallback, int fuse, struct err *e)
{
    const json_t *unk = json_object_get(j, "unk_token");

    t->sp->fallback = fallback;
    t->sp->fuse = fuse;
    t->sp->unk = TOK_NONE;
    if (unk && !json_is_null(unk) &&
        (!json_is_string(unk) ||
            names_id(names, json_string_value(unk), json_string_length(unk),
                &t->sp->unk)))
        return tok_bad(e, "model.unk_token: is not in the vocabulary");
    sp_index(t);
    return 0;
}

static int
load_bpe_model(struct tokenizer *t, const struct tok_source *src,
    struct names *names, uint64_t **pairs, struct err *e)
{
    const json_t *const j = json_object_get(src->j, "model");
    const json_t *type = json_object_get(j, "type");
    int whole = 1, fallback, fuse, r;

    if (tok_members(j, "model",
            "type dropout unk_token continuing_subword_prefix "
            "end_of_word_suffix fuse_unk byte_fallback ignore_merges vocab "
            "merges retort_ties",
            e))
        return -1;
    if (type && strcmp(js_text_of(j, "type"), "BPE") != 0)
        return tok_bad(e, "model.type: %.60s is not implemented",
            js_text_of(j, "type"));
    if (tok_off(j, "model", "dropout", e) ||
        tok_off(j, "model", "continuing_subword_prefix", e) ||
        tok_off(j, "model", "end_of_word_suffix", e))
        return -1;
    t->ignore_merges = tok_flag(j, "model", "ignore_merges", 0, e);
    fallback = tok_flag(j, "model", "byte_fallback", 0, e);
    fuse = tok_flag(j, "model", "fuse_unk", 0, e);
    if (t->ignore_merges < 0 || fallback < 0 || fuse < 0)
        return -1;
    if ((r = names_load(names, src)) != 0 ||
        (r = vocab_load(t, names, e)) != 0 ||
        (r = merges_load(t, src, names, pairs, e)) != 0)
        return r;
    if (t->sp)
        return load_sp(t, j, names, fallback, fuse, e);
    for (size_t b = 0; b < 256; b++)
        whole &= t->byte_id[b] != TOK_NONE;
    if (whole) /* no character is ever unknown */
        return 0;
    if (fallback)
        return tok_bad(e,
            "model.byte_fallback: is not implemented where "
            "ByteLevel is and bytes are missing");
    return tok_off(j, "model", "unk_token", e);
}

/* Added tokens. */

/* Grow the tables so that they have an entry for id. */
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
    if (tok_members(j, path,
            "id content single_word lstrip rstrip normalized special", e))
        return -1;
    if (!json_is_string(s) || json_string_length(s) > ADDED_MAX)
        return tok_bad(e, "%s.content: is no text of at most %d bytes", path,
            ADDED_MAX);
    for (int k = 0; k < 5; k++)
        if ((v[k] = tok_flag(j, path, name[k], -1, e)) < 0)
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
by_content(const void *x, const void *y)
{
    const struct added *a = *(struct added *const *)x;
    const struct added *b = *(struct added *const *)y;
    const int c = added_compare(a, b);

    return c ? c : (a > b) - (a < b);
}

/* Merge added tokens with the same content: the first keeps its place and takes
 * the flags of the last; the others become empty. */
static void
unite_added(struct added *a, size_t n)
{
    struct added **p = xreallocarray(NULL, n + 1, sizeof *p);

    for (size_t i = 0; i < n; i++)
        p[i] = &a[i];
    qsort(p, n, sizeof *p, by_content);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && added_compare(p[k], p[i]) == 0; k++)
            ;
        *p[i] = *p[k - 1];
        for (size_t m = i + 1; m < k; m++)
            p[m]->n = 0;
    }
    free(p);
}

/* Set the ids of added tokens.  As in the tokenizers library, the ids in the
 * file are ignored: a token of the vocabulary has its id there, and the others
 * get ids in sequence, the first of which is the size of the vocabulary. */
static void
number_added(struct tokenizer *t, struct added *a, size_t n,
    const struct names *names)
{
    size_t next = names->n;

    for (size_t i = 0; i < n; i++) {
        struct tok_text *x;

        if (a[i].n == 0)
            continue;
        if (names_id(names, a[i].s, a[i].n, &a[i].id)) {
            a[i].id = (uint32_t)next;
            grow_ids(t, next);
            vocab_set(t, next, t->pool.n, a[i].n);
            buf_add(&t->pool, a[i].s, a[i].n);
            next++;
        }
        x = &t->text[a[i].id];
        x->added = 1;
        x->special = a[i].special;
    }
}

/* Copy *a into the set t->raw.  If a->normalized is set, normalize its text and
 * copy it into the set t->norm instead, unless the normalized text is empty. */
static void
keep_added(struct tokenizer *t, const struct added *a)
{
    const unsigned char *p = (const unsigned char *)a->s;
    struct added_set *set = a->normalized ? &t->norm : &t->raw;
    struct buf b[2] = { { 0 }, { 0 } };
    struct added x = *a;

    if (a->normalized)
        norm_run(t, b, &p, &x.n);
    x.s = memcpy(xmalloc(x.n + 1), p, x.n);
    x.name = memcpy(xmalloc(a->n), a->s, a->n);
    x.nname = a->n;
    if (x.n > 0) {
        set->a = xgrow_pow2(set->a, set->n, sizeof *set->a);
        set->a[set->n++] = x;
    } else {
        free((char *)(uintptr_t)x.s);
        free((char *)(uintptr_t)x.name);
    }
    buf_release(&b[0]);
    buf_release(&b[1]);
}

static int
by_rank(const void *x, const void *y)
{
    const struct added *a = *(struct added *const *)x;
    const struct added *b = *(struct added *const *)y;
    const int c = added_compare(a, b);

    if (c)
        return c;
    if (a->special != b->special)
        return a->special ? -1 : 1;
    return (a > b) - (a < b);
}

/* Drop tokens that normalizing has made equal: a special one stays, else the
 * first in the file. */
static void
unite_norm(struct added_set *set)
{
    struct added **const p = xreallocarray(NULL, set->n + 1, sizeof *p);
    struct added *const kept = xreallocarray(NULL, set->n + 1, sizeof *kept);
    size_t k = 0;

    for (size_t i = 0; i < set->n; i++)
        p[i] = &set->a[i];
    qsort(p, set->n, sizeof *p, by_rank);
    for (size_t i = 0; i < set->n; i++)
        if (k > 0 && added_compare(&kept[k - 1], p[i]) == 0) {
            free((char *)(uintptr_t)p[i]->s);
            free((char *)(uintptr_t)p[i]->name);
        } else {
            kept[k++] = *p[i];
        }
    free(p);
    free(set->a);
    set->a = kept;
    set->n = k;
}

static int
load_added(struct tokenizer *t, const json_t *list, const struct names *names,
    struct err *e)
{
    const size_t n = json_array_size(list);
    struct added *a = xcalloc(n + 1, sizeof *a);
    int r = 0;

    if (list && !json_is_array(list))
        r = tok_bad(e, "added_tokens: is no list");
    for (size_t i = 0, all = 0; i < n && r == 0; i++) {
        r = load_one_added(&a[i], json_array_get(list, i), i, e);
        all += a[i].n;
        if (r == 0 && all > ADDED_ALL)
            r = tok_bad(e, "added_tokens.%zu: more than %zu MiB of names", i,
                ADDED_ALL >> 20);
    }
    if (r == 0) {
        unite_added(a, n);
        number_added(t, a, n, names);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        if (a[i].n > 0)
            keep_added(t, &a[i]);
    }
    free(a);
    if (t->nnorm > 0)
        unite_norm(&t->norm);
    added_index(&t->raw);
    added_index(&t->norm);
    return r;
}

/* The post-processor. */

/* Set *id to the id of `token`, a token in a template. */
static int
template_token(const struct tokenizer *t, const json_t *post,
    const json_t *token, const char *path, int64_t *id, struct err *e)
{
    const char *name = js_text_of(token, "id");
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(post, "special_tokens"),
                            name),
            "ids");
    const json_t *v = json_array_get(ids, 0);

    if (*id >= 0 || json_array_size(ids) != 1)
        return tok_bad(e,
            "%s: more or less than one token around the text is "
            "not implemented",
            path);
    *id = json_integer_value(v);
    if (!json_is_integer(v) || *id < 0 || (size_t)*id >= t->nid)
        return tok_bad(e, "%s: %.60s is no token", path, name);
    return 0;
}

static int
load_post_template(struct tokenizer *t, const json_t *post, const char *path,
    struct err *e)
{
    const json_t *single = json_object_get(post, "single");
    char where[120];
    int seen = 0;

    if (tok_members(post, path, "type single pair special_tokens", e))
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
        } else if (seen++ || strcmp(js_text_of(text, "id"), "A") != 0) {
            return tok_bad(e, "%s: is no place of the text", where);
        }
    }
    return seen ? 0 : tok_bad(e, "%s.single: has no place for the text", path);
}

/* Read a BertProcessing: "cls" before the text and "sep" after it, each
 * ["text", id]. */
static int
load_bert(struct tokenizer *t, const json_t *j, const char *path, struct err *e)
{
    static const char *const name[] = { "cls", "sep" };
    int64_t *const to[] = { &t->before, &t->after };

    if (tok_members(j, path, "type sep cls trim_offsets add_prefix_space", e))
        return -1;
    for (int i = 0; i < 2; i++) {
        const json_t *v = json_array_get(json_object_get(j, name[i]), 1);

        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            (uint64_t)json_integer_value(v) >= t->nid)
            return tok_bad(e, "%s.%s: is no token", path, name[i]);
        *to[i] = json_integer_value(v);
    }
    return 0;
}

static int
load_post(struct tokenizer *t, const json_t *j, const char *path, int depth,
    struct err *e)
{
    const char *type = js_text_of(j, "type");

    if (!j || json_is_null(j) || strcmp(type, "ByteLevel") == 0)
        return 0; /* ByteLevel changes only offsets */
    if (strcmp(type, "TemplateProcessing") == 0 && t->before < 0 &&
        t->after < 0)
        return load_post_template(t, j, path, e);
    if ((strcmp(type, "RobertaProcessing") == 0 ||
            strcmp(type, "BertProcessing") == 0) &&
        t->before < 0 && t->after < 0)
        return load_bert(t, j, path, e);
    if (strcmp(type, "Sequence") == 0 && depth == 0) {
        const json_t *list = json_object_get(j, "processors");
        char where[80];

        if (tok_members(j, path, "type processors", e))
            return -1;
        for (size_t i = 0; i < json_array_size(list); i++) {
            snprintf(where, sizeof where, "%s.processors.%zu", path, i);
            if (load_post(t, json_array_get(list, i), where, 1, e))
                return -1;
        }
        return 0;
    }
    return tok_bad(e, "%s.type: %.60s is not implemented%s", path,
        *type ? type : "none at all",
        t->before >= 0 || t->after >= 0 ? " behind another" : "");
}

/*
 * Detect files with Tekken's vocabulary but Llama 3's pattern, which a
 * converter put in by default.  That pattern makes pieces of three digits, for
 * which Tekken has no tokens, and does not cut CamelCase.  A vocabulary with
 * Tekken's special tokens and without numbers of two digits is taken for
 * Tekken's.  As in transformers, fix_mistral_regex of tokenizer_config.json
 * chooses the pattern: true is Tekken's.
 */
static int
mistral_regex(struct tokenizer *t, const json_t *config, struct err *e)
{
    static const char *const name[] = { "[INST]", "[/INST]" };
    const json_t *fix = json_object_get(config, "fix_mistral_regex");

    if (json_is_null(fix))
        fix = NULL;
    if (fix && !json_is_boolean(fix))
        return tok_bad(e,
            "tokenizer_config.json: fix_mistral_regex: is "
            "neither true nor false");
    if (t->sp || t->split != SPLIT_CL100K ||
        vocab_id_of(t, "10", 2) != TOK_NONE)
        return 0;
    for (int i = 0; i < 2; i++) {
        const int64_t id = tok_id(t, name[i], strlen(name[i]));

        if (id < 0 || !tok_is_special(t, (uint32_t)id))
            return 0;
    }
    if (json_is_true(fix))
        t->split = SPLIT_TEKKEN;
    else if (!fix)
        t->warning =
            "pre_tokenizer: the vocabulary is Mistral's Tekken, but "
            "the pattern is Llama 3's, as older versions of transformers "
            "wrote it: words and numbers are cut unlike in training "
            "(\"fix_mistral_regex\": true in the tokenizer_config.json takes "
            "Tekken's pattern, false this one)";
    return 0;
}

/* Read what needs the ids of the vocabulary: added tokens, post-processor,
 * decoder; and choose Mistral's pattern. */
static int
load_rest(struct tokenizer *t, const struct tok_source *src,
    const struct names *names, struct err *e)
{
    const json_t *const j = src->j;

    return load_added(t, json_object_get(j, "added_tokens"), names, e) ||
            load_post(t, json_object_get(j, "post_processor"), "post_processor",
                0, e) ||
            decoder_load(t, json_object_get(j, "decoder"), e) ||
            mistral_regex(t, src->config, e)
        ? -1
        : 0;
}

int
tok_load(struct tokenizer *t, const struct tok_source *src, struct err *e)
{
    const json_t *const j = src->j;
    struct names names = { 0 };
    uint64_t *pairs = NULL;
    int r;

    t->before = t->after = t->bos = t->eos = -1;
    if (!json_is_object(j) || !json_is_object(json_object_get(j, "model")))
        return tok_bad(e, "model: is missing; this is no tokenizer.json");
    /* Truncation and padding are for batches: whole texts are encoded here. */
    if (tok_members(j, "tokenizer",
            "version truncation padding added_tokens "
            "normalizer pre_tokenizer post_processor decoder model",
            e) ||
        norm_load(t, json_object_get(j, "normalizer"), "normalizer", 0, e) ||
        norm_check(t, e) || pre_load(t, json_object_get(j, "pre_tokenizer"), e))
        return -1;
    r = load_bpe_model(t, src, &names, &pairs, e);
    if (r == 0 && (r = load_rest(t, src, &names, e)) == 0)
        tok_hash_all(t, pairs);
    names_free(&names);
    free(pairs);
    return r;
}
