/*
 * Tokens that begin, end and pad texts, as a model's files name them; and
 * fitting a tokenizer to a model with fewer ids.
 */

#include "tok/special.h"
#include "tok/aho_corasick.h"
#include <stdlib.h>

/* If *id is -1, set it to the token that member `name` of a
 * tokenizer_config.json (a text, or an object with the text "content") names.
 * -1 and *e: there is no such token. */
static int
config_token(const struct tokenizer *t, const json_t *config, const char *name,
    int64_t *id, struct err *e)
{
    const json_t *v = json_object_get(config, name);

    if (json_is_object(v))
        v = json_object_get(v, "content");
    if (*id >= 0 || !json_is_string(v) || json_string_length(v) == 0)
        return 0;
    *id = tok_id(t, json_string_value(v), json_string_length(v));
    if (*id < 0)
        return err_set(e, EX_INPUT,
            "tokenizer_config.json: %s \"%.60s\" is not in the vocabulary: "
            "name a token that is, or remove %s",
            name, json_string_value(v), name);
    return 0;
}

int
special_config(struct tokenizer *t, const json_t *config, struct err *e)
{
    t->bos = t->before;
    t->eos = t->after;
    t->pad = -1;
    if (config_token(t, config, "bos_token", &t->bos, e) < 0 ||
        config_token(t, config, "pad_token", &t->pad, e) < 0 ||
        config_token(t, config, "eos_token", &t->eos, e) < 0)
        return -1;
    t->own_bos = t->bos;
    return 0;
}

/* The id j[name], or the first id of the list j[name]; -1: there is none below
 * `below`. */
static int64_t
first_id(const json_t *j, const char *name, double below)
{
    const json_t *v = json_object_get(j, name);
    double id;

    if (json_is_array(v))
        v = json_array_get(v, 0);
    id = json_is_number(v) ? json_number_value(v) : -1.0;
    return id >= 0.0 && id < below ? (int64_t)id : -1;
}

/* Add the ids in v to those that end a text.  v: a number, a list, or null;
 * null and an empty list name none.  -1 and *e: a value is no id. */
static int
add_end_ids(struct tokenizer *t, const json_t *v, const char *file,
    struct err *e)
{
    const size_t n = json_is_array(v) ? json_array_size(v)
        : v && !json_is_null(v)       ? 1
                                      : 0;

    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_is_array(v) ? json_array_get(v, i) : v;
        const json_int_t k = json_integer_value(id);

        if (!json_is_integer(id) || k < 0)
            return err_set(e, EX_INPUT,
                "%s: eos_token_id holds a value that is no id: name an id, a "
                "list of ids, or null",
                file);
        if ((uint64_t)k < TOK_NONE && !tok_is_end(t, (uint32_t)k))
            tok_ids_push(&t->ends, (uint32_t)k);
    }
    return 0;
}

int
special_ids(struct tokenizer *t, const json_t *j, const char *file,
    struct err *e)
{
    const double nid = (double)t->nid;
    const int64_t eos = first_id(j, "eos_token_id", 0x1p53);

    if (t->bos < 0)
        t->bos = first_id(j, "bos_token_id", nid);
    if (t->pad < 0)
        t->pad = first_id(j, "pad_token_id", 0x1p32);
    if (t->eos < 0 && eos >= (int64_t)t->nid)
        return err_set(e, EX_INPUT,
            "%s: eos_token_id %lld is past the %zu ids of the tokenizer: "
            "name one of them",
            file, (long long)eos, t->nid);
    if (t->eos < 0)
        t->eos = eos;
    return add_end_ids(t, json_object_get(j, "eos_token_id"), file, e);
}

void
special_names(struct tokenizer *t)
{
    static const char *const name[] = { "<|endoftext|>", "<|end_of_text|>",
        "</s>", "<eos>" };

    for (size_t i = 0; i < sizeof name / sizeof *name && t->eos < 0; i++) {
        const int64_t id = tok_id(t, name[i], strlen(name[i]));

        if (id >= 0 && tok_is_special(t, (uint32_t)id))
            t->eos = id;
    }
}

int64_t
tok_template_bos(const struct tokenizer *t)
{
    return t->before;
}

int64_t
tok_bos(const struct tokenizer *t)
{
    return t->bos;
}

int64_t
tok_eos(const struct tokenizer *t)
{
    return t->eos;
}

int64_t
tok_prefix(const struct tokenizer *t)
{
    return t->own_bos >= 0 ? t->own_bos : t->eos;
}

int
tok_is_end(const struct tokenizer *t, uint32_t id)
{
    for (size_t i = 0; i < t->ends.n; i++)
        if (t->ends.v[i] == id)
            return 1;
    return (int64_t)id == t->eos;
}

/* ---- beside a model with fewer ids ---- */

/* Remove the added tokens whose id is V or more. */
static void
fit_set(struct added_set *set, size_t V)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        if (set->a[i].id < V) {
            set->a[n++] = set->a[i];
            continue;
        }
        free((char *)(uintptr_t)set->a[i].s);
        free((char *)(uintptr_t)set->a[i].name);
    }
    if (n == set->n)
        return;
    set->n = n;
    aho_free(set->aho);
    set->aho = NULL;
    added_index(set);
}

/* Append the names of the first few tokens whose id is V or more. */
static void
list_past(const struct tokenizer *t, size_t V, struct buf *past)
{
    enum { NAMED = 8 };
    size_t n = 0;

    for (size_t id = V; id < t->nid; id++) {
        const struct tok_text *x = &t->text[id];

        if (!x->known || n++ >= NAMED)
            continue;
        buf_addf(past, "%s%.*s (%zu)", past->n > 0 ? ", " : "",
            x->n < 60 ? (int)x->n : 60, t->pool.p + x->off, id);
    }
    if (n > NAMED)
        buf_addf(past, " and %zu more", n - NAMED);
}

int
tok_fit(struct tokenizer *t, const char *path, size_t V, struct buf *past,
    struct err *e)
{
    const struct {
        const char *name;
        int64_t id;
    } need[] = { { "BOS", t->bos }, { "EOS", t->eos }, { "PAD", t->pad } };

    for (size_t i = 0; i < sizeof need / sizeof *need; i++)
        if (need[i].id >= 0 && (uint64_t)need[i].id >= V)
            return err_set(e, EX_INPUT,
                "%s: its %s is token %lld, but the model ends at %zu tokens: "
                "take the model's own tokenizer, or give the model as many "
                "rows",
                path, need[i].name, (long long)need[i].id, V);
    if (past)
        list_past(t, V, past);
    fit_set(&t->raw, V);
    fit_set(&t->norm, V);
    return 0;
}

int
tok_fits(const struct tok_ids *ids, size_t V, struct err *e)
{
    for (size_t i = 0; i < ids->n; i++)
        if (ids->v[i] >= V)
            return err_set(e, EX_INPUT,
                "token %zu is %u, but the model ends at %zu tokens: take the "
                "model's own tokenizer",
                i, ids->v[i], V);
    return 0;
}

int
tok_check(const char *path, size_t V, struct err *e)
{
    struct tokenizer *t = tok_open(path, e);
    const int r = t ? tok_fit(t, path, V, NULL, e) : -1;

    tok_free(t);
    return r;
}
