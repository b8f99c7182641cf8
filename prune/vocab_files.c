/* The tokenizer's files with new ids; see vocab.h. */
#include "vocab.h"
#include "base/io.h"
#include "format/json.h"
#include "tok/load.h"
#include "tok/derivation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* dir/name, if it is there, into *j. */
static int
load(json_t **j, const char *dir, const char *name, struct err *e)
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
    r = load(&f->tok, dir, "tokenizer.json", e) < 0 ||
            load(&f->config, dir, "tokenizer_config.json", e) < 0 ||
            load(&f->gen, dir, "generation_config.json", e) < 0
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

/* ---- ids in JSON: found, to be kept, or replaced ---- */

/* In v->to NULL: keep the id; else it becomes the new one, or, gone, NULL. */
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

/* An id or a list of them; NULL: none is left. */
static json_t *
renamed_all(struct vocab *v, const json_t *ids)
{
    json_t *list;

    if (json_is_integer(ids))
        return renamed(v, ids);
    list = json_array();
    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_t *id = renamed(v, json_array_get(ids, i));

        if (id != NULL)
            json_array_append_new(list, id);
    }
    if (json_array_size(list) == 0) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* A list of ids that stands for a text; NULL: not all of them are left. */
static json_t *
renamed_text(struct vocab *v, const json_t *ids)
{
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(ids); i++) {
        json_t *id = renamed(v, json_array_get(ids, i));

        if (id == NULL) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, id);
    }
    return list;
}

static json_t *renamed_entries(struct vocab *v, const char *key,
    const json_t *list);

/* An entry of the list called key, renumbered; NULL: it is left out. */
static json_t *
renamed_entry(struct vocab *v, const char *key, const json_t *entry)
{
    const json_t *first = json_array_get(entry, 0);
    json_t *to;

    if (strcmp(key, "sequence_bias") == 0) { /* [ids, bias] */
        to = renamed_text(v, first);
        return to != NULL ? json_pack("[o,O]", to, json_array_get(entry, 1))
                          : NULL;
    }
    if (strcmp(key, "forced_decoder_ids") == 0) { /* [place, id] */
        to = renamed(v, json_array_get(entry, 1));
        return to != NULL ? json_pack("[O,o]", first, to) : NULL;
    }
    return json_is_array(first) ? renamed_entries(v, key, entry)
                                : renamed_text(v, entry);
}

/* A list of texts in ids, or of choices of such texts, or of what goes with
 * ids; NULL: nothing is left. */
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

/* A number, or a list of numbers? */
static int
is_ids(const json_t *j)
{
    return json_is_integer(j) || json_is_integer(json_array_get(j, 0));
}

static int
ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Members of transformers' GenerationConfig that are lists of lists. */
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

/* bos_token_id, forced_eos_token_id, suppress_tokens, bad_words_ids, ... */
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
            (ends_with(key, "_token_id") || ends_with(key, "suppress_tokens")))
            to = renamed_all(v, j);
        else
            continue;
        if (to != NULL)
            json_object_set_new(gen, key, to);
        else
            json_object_del(gen, key);
    }
}

/* Ids of a post-processor: "ids": [...], and "cls", "sep": ["text", id]. */
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

/* The token that fills up a batch; padding goes if its token has gone. */
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

/* ---- what is named ---- */

/* Does the chat template, a text or a list of several, spell s? */
static int
spells(const json_t *chat, const char *s)
{
    int found =
        json_is_string(chat) && strstr(json_string_value(chat), s) != NULL;

    for (size_t i = 0; !found && i < json_array_size(chat); i++)
        found = spells(json_object_get(json_array_get(chat, i), "template"), s);
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
            (spells(chat, s) || (f->chat != NULL && strstr(f->chat, s))))
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

/* For each merge, in order: 1 if its parts and what it gives are kept. */
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

/* Those of model.retort_ties, [[first, number], ...], among the merges left. */
static json_t *
cut_ties(const json_t *ties, const unsigned char *kept, size_t n)
{
    json_t *out = json_array();
    size_t at = 0, now = 0; /* merges walked, and kept among them */

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

/* The list added_tokens; ids are what the tokenizer takes, whatever it says. */
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

/* added_tokens_decoder of a tokenizer_config.json, whose keys are ids. */
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
save(const json_t *j, const char *dir, const char *name, struct err *e)
{
    char *path = xasprintf("%s/%s", dir, name);
    const int r = j != NULL ? js_save(j, path, e) : 0;

    free(path);
    return r;
}

/* What repeats the vocabulary with its old ids. */
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
    struct vocab *const names = (struct vocab *)(uintptr_t)v; /* unchanged */

    if (cut_model(v, f->tok, e) < 0)
        return -1;
    cut_added(v, f->tok);
    post_ids(names, json_object_get(f->tok, "post_processor"));
    padding_id(names, f->tok);
    if (f->gen != NULL)
        generation_ids(names, f->gen);
    cut_decoder(v, f->config);
    return remove_others(f->dir, e) < 0 ||
            save(f->tok, f->dir, "tokenizer.json", e) < 0 ||
            save(f->config, f->dir, "tokenizer_config.json", e) < 0 ||
            save(f->gen, f->dir, "generation_config.json", e) < 0
        ? -1
        : 0;
}

/* ---- the proof ---- */

/* Are b the ids a under their new numbers?  Where one has gone: yes. */
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

/* Is the token of old id `from` token i of t? */
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
