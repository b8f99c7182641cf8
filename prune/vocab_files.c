/* Files of a tokenizer with new ids: see vocab_files.h. */
#include "vocab_files.h"
#include "derivation.h"
#include "tok/json.h"
#include "tok/vocab_json.h"
#include "base/io.h"
#include "format/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* *j = the content of dir/name, or NULL if there is no such file. */
static int
load_json(json_t **j, const char *dir, const char *name, struct err *e)
{
    char *path = xasprintf("%s/%s", dir, name);

    *j = io_exists(path) ? js_load(path, JS_MAX, e) : NULL;
    if (*j == NULL && io_exists(path)) {
        free(path);
        return -1;
    }
    free(path);
    return 0;
}

int
vocab_files_open(struct vocab_files *f, const char *dir, struct err *e)
{
    char *chat = xasprintf("%s/chat_template.jinja", dir);
    size_t n;
    int r;

    memset(f, 0, sizeof *f);
    f->dir = dir;
    r = load_json(&f->tok, dir, "tokenizer.json", e) < 0 ||
            load_json(&f->config, dir, "tokenizer_config.json", e) < 0 ||
            load_json(&f->gen, dir, "generation_config.json", e) < 0
        ? -1
        : 0;
    if (r == 0 && io_exists(chat))
        r = io_slurp(chat, JS_MAX, &f->chat, &n, e);
    if (r == 0 && f->tok == NULL)
        r = err_set(e, EX_INPUT,
            "tekken.json: its vocabulary cannot be cut; put the tokenizer.json "
            "of the same model beside it");
    free(chat);
    return r;
}

void
vocab_files_release(struct vocab_files *f)
{
    json_decref(f->tok);
    json_decref(f->config);
    json_decref(f->gen);
    free(f->chat);
    memset(f, 0, sizeof *f);
}

/* ---- ids in JSON ---- */

/* Return the new id; NULL: the id is dropped.  If v->to is NULL, keep the id in
 * v instead, and return it. */
static json_t *
renamed(struct vocab *v, const json_t *id)
{
    const json_int_t i = json_integer_value(id);

    if (i < 0 || (uint64_t)i >= v->n)
        return NULL;
    if (v->to == NULL) {
        vocab_add(v, (uint32_t)i, WHY_NAMED, SIZE_MAX);
        return json_integer(i);
    }
    return v->to[i] == VOCAB_GONE ? NULL : json_integer(v->to[i]);
}

/* Renumber a list of ids.  NULL: all are dropped, or `every` is set and one is
 * dropped. */
static json_t *
renamed_list(struct vocab *v, const json_t *ids, int every)
{
    json_t *list = json_array();
    size_t dropped = 0;

    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_t *id = renamed(v, json_array_get(ids, i));

        dropped += id == NULL;
        if (id != NULL)
            json_array_append_new(list, id);
    }
    if (every ? dropped == 0 : json_array_size(list) > 0)
        return list;
    json_decref(list);
    return NULL;
}

/* Renumber an id, or a list of ids.  NULL: no id is left. */
static json_t *
renamed_all(struct vocab *v, const json_t *ids)
{
    return json_is_integer(ids) ? renamed(v, ids) : renamed_list(v, ids, 0);
}

static json_t *renamed_entries(struct vocab *v, const char *key,
    const json_t *list);

/* Renumber an entry of the list called key; NULL: it is dropped. */
static json_t *
renamed_entry(struct vocab *v, const char *key, const json_t *entry)
{
    const json_t *first = json_array_get(entry, 0);
    json_t *to;

    if (strcmp(key, "sequence_bias") == 0) { /* [ids, bias] */
        to = renamed_list(v, first, 1);
        return to != NULL ? json_pack("[o,O]", to, json_array_get(entry, 1))
                          : NULL;
    }
    if (strcmp(key, "forced_decoder_ids") == 0) { /* [place, id] */
        to = renamed(v, json_array_get(entry, 1));
        return to != NULL ? json_pack("[O,o]", first, to) : NULL;
    }
    return json_is_array(first) ? renamed_entries(v, key, entry)
                                : renamed_list(v, entry, 1);
}

/* Renumber the list called key.  An entry is a text as ids, a list of such
 * texts, or ids with a number.  NULL: no entry is left. */
static json_t *
renamed_entries(struct vocab *v, const char *key, const json_t *list)
{
    json_t *out = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *to = renamed_entry(v, key, json_array_get(list, i));

        if (to != NULL)
            json_array_append_new(out, to);
    }
    if (json_array_size(out) == 0) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* Is j a number, or a list of numbers? */
static int
is_ids(const json_t *j)
{
    return json_is_integer(j) || json_is_integer(json_array_get(j, 0));
}

static int
has_suffix(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Is key a member of transformers' GenerationConfig that is a list of lists? */
static int
is_nested(const char *key)
{
    static const char *const name[] = { "bad_words_ids", "force_words_ids",
        "sequence_bias", "forced_decoder_ids" };

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (strcmp(key, name[i]) == 0)
            return 1;
    return 0;
}

/* Renumber bos_token_id, forced_eos_token_id, suppress_tokens, bad_words_ids,
 * ... */
static void
generation_ids(struct vocab *v, json_t *gen)
{
    const char *key;
    json_t *j;
    void *next;

    json_object_foreach_safe(gen, next, key, j)
    {
        json_t *to;

        if (json_is_array(j) && is_nested(key))
            to = renamed_entries(v, key, j);
        else if (is_ids(j) &&
            (has_suffix(key, "_token_id") ||
                has_suffix(key, "suppress_tokens")))
            to = renamed_all(v, j);
        else
            continue;
        if (to != NULL)
            json_object_set_new(gen, key, to);
        else
            json_object_del(gen, key);
    }
}

/* Renumber a post-processor's ids: "ids": [...], and "cls", "sep": ["text",
 * id]. */
static void
post_ids(struct vocab *v, json_t *post)
{
    const char *key;
    json_t *j;
    size_t i;

    json_array_foreach(post, i, j) post_ids(v, j);
    if (!json_is_object(post))
        return;
    json_object_foreach(post, key, j)
    {
        json_t *id = json_array_get(j, 1), *to;

        if (strcmp(key, "ids") == 0) {
            if ((to = renamed_all(v, j)) != NULL)
                json_object_set_new(post, key, to);
        } else if (json_is_integer(id) &&
            (strcmp(key, "cls") == 0 || strcmp(key, "sep") == 0)) {
            if ((to = renamed(v, id)) != NULL)
                json_array_set_new(j, 1, to);
        } else {
            post_ids(v, j);
        }
    }
}

/* Renumber the padding token; "padding" becomes null if the token is
 * dropped. */
static void
padding_id(struct vocab *v, json_t *tok)
{
    json_t *const padding = json_object_get(tok, "padding");
    const json_t *const id = json_object_get(padding, "pad_id");
    json_t *const to = json_is_integer(id) ? renamed(v, id) : NULL;

    if (to != NULL)
        json_object_set_new(padding, "pad_id", to);
    else if (id != NULL)
        json_object_set_new(tok, "padding", json_null());
}

/* ---- tokens that the files name ---- */

/* Does the chat template contain s?  It is a text, or a list of objects with a
 * text `template`. */
static int
template_spells(const json_t *chat, const char *s)
{
    int found =
        json_is_string(chat) && strstr(json_string_value(chat), s) != NULL;

    for (size_t i = 0; !found && i < json_array_size(chat); i++)
        found = template_spells(json_object_get(json_array_get(chat, i),
                                    "template"),
            s);
    return found;
}

void
vocab_files_named(const struct vocab_files *f, struct vocab *v)
{
    const json_t *const list = json_object_get(f->tok, "added_tokens");
    const json_t *const chat = json_object_get(f->config, "chat_template");

    if (f->gen != NULL)
        generation_ids(v, f->gen);
    post_ids(v, json_object_get(f->tok, "post_processor"));
    padding_id(v, f->tok);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *s = js_text_of(json_array_get(list, i), "content");
        const int64_t id = tok_id(v->t, s, strlen(s));

        if (*s != '\0' && id >= 0 &&
            (template_spells(chat, s) ||
                (f->chat != NULL && strstr(f->chat, s))))
            vocab_add(v, (uint32_t)id, WHY_NAMED, SIZE_MAX);
    }
}

/* ---- the new files ---- */

static json_t *
cut_names(const struct vocab *v, const json_t *vocab)
{
    json_t *out = json_object(), *j;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)vocab, key, j)
    {
        const uint32_t to = v->to[json_integer_value(j)];

        if (to != VOCAB_GONE)
            json_object_set_new(out, key, json_integer(to));
    }
    return out;
}

static int
is_kept(const struct vocab *v, const struct names *names, const char *s,
    size_t n)
{
    uint32_t id;

    return names_id(names, s, n, &id) == 0 && v->to[id] != VOCAB_GONE;
}

/* kept[i] = 1 if both parts and the result of merge i are kept, else 0. */
static int
kept_merges(const struct vocab *v, const struct tok_source *src,
    unsigned char *kept, struct err *e)
{
    struct names names = { 0 };
    struct merge_parts p;
    struct buf both = { 0 };
    struct merges m;
    int r = names_load(&names, src), more;

    if (r == 0 && (r = merges_begin(&m, src, e)) == 0) {
        for (size_t i = 0; (more = merges_next(&m, &p, e)) > 0; i++) {
            buf_clear(&both);
            buf_add(&both, p.x, p.nx);
            buf_add(&both, p.y, p.ny);
            kept[i] = is_kept(v, &names, p.x, p.nx) &&
                is_kept(v, &names, p.y, p.ny) &&
                is_kept(v, &names, both.p, both.n);
        }
        r = more;
        merges_end(&m);
    }
    buf_release(&both);
    names_free(&names);
    return r;
}

/* Renumber model.retort_ties, a list of [first merge, number of merges], after
 * some merges were dropped. */
static json_t *
cut_ties(const json_t *ties, const unsigned char *kept, size_t n)
{
    json_t *out = json_array();
    size_t at = 0, now = 0; /* merges seen; merges kept among them */

    for (size_t i = 0; i < json_array_size(ties); i++) {
        const json_t *t = json_array_get(ties, i);
        const size_t first = (size_t)json_integer_value(json_array_get(t, 0));
        const size_t end =
            first + (size_t)json_integer_value(json_array_get(t, 1));
        size_t start;

        for (; at < first && at < n; at++)
            now += kept[at];
        for (start = now; at < end && at < n; at++)
            now += kept[at];
        if (now > start + 1)
            json_array_append_new(out,
                json_pack("[I,I]", (json_int_t)start,
                    (json_int_t)(now - start)));
    }
    return out;
}

static int
cut_model(const struct vocab *v, json_t *tok, struct err *e)
{
    json_t *const model = json_object_get(tok, "model");
    const json_t *const merges = json_object_get(model, "merges");
    const json_t *const ties = json_object_get(model, "retort_ties");
    const size_t n = json_array_size(merges);
    const struct tok_source src = { .j = tok };
    unsigned char *kept = xcalloc(n + 1, 1);
    json_t *left = json_array();
    const int r = kept_merges(v, &src, kept, e);

    for (size_t i = 0; r == 0 && i < n; i++)
        if (kept[i])
            json_array_append(left, json_array_get(merges, i));
    if (r == 0 && ties != NULL)
        json_object_set_new(model, "retort_ties", cut_ties(ties, kept, n));
    if (r == 0)
        json_object_set_new(model, "vocab",
            cut_names(v, json_object_get(model, "vocab")));
    if (r == 0)
        json_object_set(model, "merges", left);
    json_decref(left);
    free(kept);
    return r < 0 ? err_set(e, EX_INPUT, "tokenizer.json: %s",
                       r == TOK_UNPLAIN ? "model: is not plain" : e->msg)
                 : 0;
}

/* Cut the list added_tokens.  An entry's old id is the one that v->t has for
 * its text. */
static void
cut_added(const struct vocab *v, json_t *tok)
{
    const json_t *const list = json_object_get(tok, "added_tokens");
    json_t *out = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *a = json_array_get(list, i);
        const json_t *s = json_object_get(a, "content");
        const int64_t id =
            tok_id(v->t, json_string_value(s), json_string_length(s));

        if (id < 0 || v->to[id] == VOCAB_GONE)
            continue;
        json_object_set_new(a, "id", json_integer(v->to[id]));
        json_array_append(out, a);
    }
    json_object_set_new(tok, "added_tokens", out);
}

/* Cut added_tokens_decoder of tokenizer_config.json, whose keys are ids. */
static void
cut_decoder(const struct vocab *v, json_t *config)
{
    json_t *const list = json_object_get(config, "added_tokens_decoder");
    json_t *out, *j;
    const char *key;

    if (!json_is_object(list))
        return;
    out = json_object();
    json_object_foreach(list, key, j)
    {
        const unsigned long long id = strtoull(key, NULL, 10);
        char *to;

        if (id >= v->n || v->to[id] == VOCAB_GONE)
            continue;
        to = xasprintf("%u", v->to[id]);
        json_object_set(out, to, j);
        free(to);
    }
    json_object_set_new(config, "added_tokens_decoder", out);
}

static int
save_json(const json_t *j, const char *dir, const char *name, struct err *e)
{
    char *path = xasprintf("%s/%s", dir, name);
    const int r = j != NULL ? js_save(j, path, e) : 0;

    free(path);
    return r;
}

/* Remove the files that repeat the vocabulary with the old ids. */
static int
remove_others(const char *dir, struct err *e)
{
    static const char *const name[] = { "config.json", "added_tokens.json",
        "vocab.json", "merges.txt", "tokenizer.model", "tekken.json" };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof name / sizeof *name; i++) {
        char *path = xasprintf("%s/%s", dir, name[i]);

        if (unlink(path) < 0 && errno != ENOENT)
            r = err_set(e, EX_SYS, "%s:", path);
        free(path);
    }
    return r;
}

int
vocab_files_cut(struct vocab_files *f, const struct vocab *v, struct err *e)
{
    /* renamed() changes its vocab only while v->to is NULL, and here it is
     * set: so the cast from const is safe. */
    struct vocab *const names = (struct vocab *)(uintptr_t)v;

    if (cut_model(v, f->tok, e) < 0)
        return -1;
    cut_added(v, f->tok);
    post_ids(names, json_object_get(f->tok, "post_processor"));
    padding_id(names, f->tok);
    if (f->gen != NULL)
        generation_ids(names, f->gen);
    cut_decoder(v, f->config);
    return remove_others(f->dir, e) < 0 ||
            save_json(f->tok, f->dir, "tokenizer.json", e) < 0 ||
            save_json(f->config, f->dir, "tokenizer_config.json", e) < 0 ||
            save_json(f->gen, f->dir, "generation_config.json", e) < 0
        ? -1
        : 0;
}

/* ---- the check ---- */

/* Is b what a becomes by renumbering?  Also 1 if an id in a is dropped. */
static int
same_ids(const struct vocab *v, const struct tok_ids *a,
    const struct tok_ids *b)
{
    int same = a->n == b->n;

    for (size_t i = 0; i < a->n; i++) {
        if (v->to[a->v[i]] == VOCAB_GONE)
            return 1;
        same = same && b->v[i] == v->to[a->v[i]];
    }
    return same;
}

/* Does token i of t have the text and the kind of v->t's token `from`? */
static int
same_token(const struct vocab *v, const struct tokenizer *t, uint32_t from,
    uint32_t i)
{
    const char *x, *y;
    size_t nx, ny;

    return tok_text(v->t, from, &x, &nx) && tok_text(t, i, &y, &ny) &&
        nx == ny && memcmp(x, y, nx) == 0 &&
        tok_is_added(v->t, from) == tok_is_added(t, i) &&
        tok_is_special(v->t, from) == tok_is_special(t, i);
}

int
vocab_files_check(const struct vocab *v, const char *dir, struct err *e)
{
    struct tokenizer *t = tok_open(dir, e);
    struct tok_scratch *a, *b;
    struct tok_ids x = { 0 }, y = { 0 };
    int r = 0;

    if (t == NULL)
        return -1;
    a = tok_scratch_new(v->t);
    b = tok_scratch_new(t);
    if (tok_vocab(t) != v->kept)
        r = err_set(e, EX_INPUT, "the new tokenizer has %zu ids, not %zu",
            tok_vocab(t), v->kept);
    for (size_t i = 0; r == 0 && i < v->kept; i++) {
        const char *s = "";
        size_t n = 0;

        x.n = y.n = 0;
        tok_text(v->t, v->from[i], &s, &n);
        tok_encode(v->t, a, s, n, TOK_SPECIAL | TOK_BOS | TOK_EOS, &x);
        tok_encode(t, b, s, n, TOK_SPECIAL | TOK_BOS | TOK_EOS, &y);
        if (!same_token(v, t, v->from[i], (uint32_t)i) || !same_ids(v, &x, &y))
            r = err_set(e, EX_INPUT,
                "the tokenizer cannot be cut: its token %u would change",
                v->from[i]);
    }
    tok_ids_release(&x);
    tok_ids_release(&y);
    tok_scratch_free(a);
    tok_scratch_free(b);
    tok_free(t);
    return r;
}
