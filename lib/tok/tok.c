/* Tokenizers: opening, ids and their texts; see tok.h. */
#include "tok/tok.h"
#include "tok/added.h"
#include "tok/aho_corasick.h"
#include "tok/bpe.h"
#include "tok/json.h"
#include "tok/scan.h"
#include "text/unicode.h"

#include "base/io.h"
#include "format/gguf_file.h"
#include "format/gguf_tok.h"
#include "format/json.h"
#include "format/json_text.h"
#include "tok/sp.h"
#include "tok/special.h"
#include "tok/tekken.h"
#include "tok/tokenizer.h"

#include <stdlib.h>
#include <string.h>

void
tok_ids_release(struct tok_ids *a)
{
    free(a->v);
    a->v = NULL;
    a->n = a->cap = 0;
}

static void
added_release(struct added_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free((char *)(uintptr_t)set->a[i].s);
        free((char *)(uintptr_t)set->a[i].name);
    }
    free(set->a);
    aho_free(set->aho);
}

void
tok_free(struct tokenizer *t)
{
    if (!t)
        return;
    added_release(&t->raw);
    added_release(&t->norm);
    for (size_t i = 0; i < t->nnorm; i++) {
        free(t->norm_op[i].from);
        free(t->norm_op[i].to);
    }
    free(t->norm_op);
    sp_free(t->sp);
    if (t->shown != t->text)
        free(t->shown);
    free(t->text);
    free(t->slot);
    free(t->slot_tag);
    free(t->byte_pair);
    free(t->pair);
    free(t->pair_bits);
    free(t->lines.v);
    buf_release(&t->pool);
    tok_ids_release(&t->ends);
    free(t);
}

/* Build a tokenizer from *src, which stays the caller's.  NULL and *e: refused;
 * NULL and e->code 0: a part that was left as text must be parsed as a tree. */
static struct tokenizer *
build(const struct tok_source *src, struct err *e)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);
    int r = -1;

    t->code = scan_choose(getenv("RETORT_KERNELS"), e);
    if (!t->code || (r = tok_load(t, src, e)) < 0) {
        if (r == TOK_UNPLAIN)
            e->code = 0;
        tok_free(t);
        return NULL;
    }
    if (special_config(t, src->config, e) == 0)
        return t;
    tok_free(t);
    return NULL;
}

/* Build a tokenizer from a parsed tokenizer.json. */
static struct tokenizer *
build_tree(const json_t *tok, const json_t *config, struct err *e)
{
    const struct tok_source src = { .j = tok, .config = config };

    return build(&src, e);
}

/* Build a tokenizer from the text of a tokenizer.json. */
static struct tokenizer *
build_text(const char *text, size_t n, const json_t *config, struct err *e)
{
    struct tok_source src = { .config = config,
        .part = { [PART_VOCAB] = { .path = "model.vocab", .open = '{' },
            [PART_MERGES] = { .path = "model.merges", .open = '[' } } };
    json_t *j = js_parse_parts(text, n, src.part, PARTS, e);
    struct tokenizer *t = NULL;

    src.j = j;
    if (j && (t = build(&src, e)) == NULL && e->code == 0) {
        json_decref(j);
        if ((j = js_parse(text, n, e)) != NULL)
            t = build_tree(j, config, e);
    }
    json_decref(j);
    return t;
}

struct tokenizer *
tok_parse(const char *json, size_t n, const char *config, size_t nconfig,
    struct err *e)
{
    json_t *c = NULL;
    struct tokenizer *t = NULL;

    if ((!config || (c = js_parse(config, nconfig, e)) != NULL) &&
        (t = build_text(json, n, c, e)) != NULL)
        special_names(t);
    json_decref(c);
    return t;
}

/* Add BOS, EOS and PAD as `ids`, the parsed `file`, names them.  Returns t;
 * NULL and *e: t has been freed. */
static struct tokenizer *
with_ids(struct tokenizer *t, const json_t *ids, const char *file,
    struct err *e)
{
    if (t && special_ids(t, ids, file, e) == 0)
        return t;
    tok_free(t);
    return NULL;
}

static struct tokenizer *
open_gguf(const char *path, struct err *e)
{
    struct tokenizer *t = NULL;
    json_t *j = NULL, *c = NULL, *ids = NULL;
    struct gguf_file f;

    if (gguf_open_metadata(&f, path, e) < 0)
        return NULL;
    if ((j = gguf_tokenizer_json(&f.g, e)) != NULL &&
        (c = gguf_tokenizer_config(&f.g, e)) != NULL &&
        (ids = gguf_generation_config(&f.g, e)) != NULL)
        t = with_ids(build_tree(j, c, e), ids, "tokenizer.ggml", e);
    gguf_close(&f);
    json_decref(j);
    json_decref(c);
    json_decref(ids);
    if (t)
        special_names(t);
    else
        err_prefix(e, "%s", path);
    return t;
}

/* Parse `file` in the folder `dir`.  NULL if there is no such file.  NULL, with
 * *bad = 1 and *e, if the file cannot be read or is no JSON. */
static json_t *
beside(const char *dir, const char *file, int *bad, struct err *e)
{
    char *path = xasprintf("%s/%s", dir, file);
    json_t *j = NULL;

    if (io_exists(path)) {
        j = js_load(path, JS_MAX, e);
        *bad = j == NULL;
    }
    free(path);
    return j;
}

/* Is path a tekken.json, by its name? */
static int
is_tekken_file(const char *path)
{
    const char *name = strrchr(path, '/');

    return strcmp(name ? name + 1 : path, "tekken.json") == 0;
}

/* Open the file at path, with a parsed tokenizer_config.json or NULL. */
static struct tokenizer *
open_file(const char *path, const json_t *config, struct err *e)
{
    struct tokenizer *t = NULL;
    json_t *j = NULL;
    char *text = NULL;
    size_t n;

    if (is_tekken_file(path) ? (j = tekken_load(path, e)) == NULL
                             : io_slurp(path, JS_MAX, &text, &n, e) < 0)
        return NULL;
    t = j ? build_tree(j, config, e) : build_text(text, n, config, e);
    if (!t)
        err_prefix(e, "%s", path);
    json_decref(j);
    free(text);
    return t;
}

static struct tokenizer *
open_json(const char *dir, const char *path, struct err *e)
{
    static const char *const name[] = { "tokenizer_config.json",
        "generation_config.json", "config.json" };
    struct tokenizer *t = NULL;
    json_t *c[3] = { NULL };
    int bad = 0;

    for (int i = 0; i < 3 && !bad; i++)
        c[i] = beside(dir, name[i], &bad, e);
    if (!bad)
        t = open_file(path, c[0], e);
    for (int i = 1; i < 3 && t; i++)
        if ((t = with_ids(t, c[i], name[i], e)) == NULL)
            err_prefix(e, "%s", dir);
    if (t)
        special_names(t);
    for (int i = 0; i < 3; i++)
        json_decref(c[i]);
    return t;
}

struct tokenizer *
tok_open(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    struct tokenizer *t;
    char *dir;

    if (gguf_is_name(path))
        return open_gguf(path, e);
    if (io_is_dir(path)) {
        char *const usual = xasprintf("%s/tokenizer.json", path);
        char *const tekken = xasprintf("%s/tekken.json", path);

        t = open_json(path,
            !io_exists(usual) && io_exists(tekken) ? tekken : usual, e);
        free(usual);
        free(tekken);
        return t;
    }
    dir =
        slash ? xasprintf("%.*s", (int)(slash - path + 1), path) : xstrdup(".");
    t = open_json(dir, path, e);
    free(dir);
    return t;
}

size_t
tok_vocab(const struct tokenizer *t)
{
    return t->nid;
}

const char *
tok_warning(const struct tokenizer *t)
{
    return t->warning;
}

static int64_t
added_id(const struct added_set *set, const char *s, size_t n)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->a[i].nname == n && memcmp(set->a[i].name, s, n) == 0)
            return set->a[i].id;
    return -1;
}

int64_t
tok_id(const struct tokenizer *t, const char *s, size_t n)
{
    int64_t id = added_id(&t->raw, s, n);
    uint32_t v;

    if (id < 0)
        id = added_id(&t->norm, s, n);
    if (id < 0 && (v = vocab_id_of(t, s, n)) != TOK_NONE)
        id = v;
    return id;
}

int
tok_is_special(const struct tokenizer *t, uint32_t id)
{
    return id < t->nid && t->text[id].special;
}

void
tok_hash(const struct tokenizer *t, char hex[33])
{
    memcpy(hex, t->hash, 33);
}

void
tok_encode(const struct tokenizer *t, struct tok_scratch *s, const char *text,
    size_t n, int flags, struct tok_ids *out)
{
    if ((flags & TOK_BOS) && t->before >= 0)
        tok_ids_push(out, (uint32_t)t->before);
    added_encode(t, s, (const unsigned char *)text, n, flags, out);
    if ((flags & TOK_EOS) && t->after >= 0)
        tok_ids_push(out, (uint32_t)t->after);
}

/* Append s[n] without byte c. */
static void
add_without(struct buf *out, const char *s, size_t n, char c)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != c)
            buf_addc(out, (unsigned char)s[i]);
}

/* Remove up to n spaces at `begin`, the start of the text. */
static void
strip(struct buf *b, size_t begin, size_t n)
{
    size_t k = 0;

    while (k < n && begin + k < b->n && b->p[begin + k] == ' ')
        k++;
    if (k > 0) {
        memmove(b->p + begin, b->p + begin + k, b->n - begin - k + 1);
        b->n -= k;
    }
}

int
tok_decode(const struct tokenizer *t, const uint32_t *ids, size_t n, int flags,
    struct buf *out, struct err *e)
{
    const size_t begin = out->n;
    int first = !(flags & TOK_MIDDLE);

    for (size_t i = 0; i < n; i++) {
        const struct tok_text *x;

        if (ids[i] >= t->nid)
            return err_set(e, EX_INPUT, "id %u is outside a vocabulary of %zu",
                ids[i], t->nid);
        x = &t->shown[ids[i]];
        if (t->text[ids[i]].special && (flags & TOK_SKIP))
            continue;
        if (first && t->strip_marks)
            add_without(out, t->pool.p + x->off, x->n, ' ');
        else
            buf_add(out, t->pool.p + x->off, x->n);
        first = 0;
    }
    if (t->strip > 0 && !(flags & TOK_MIDDLE))
        strip(out, begin, t->strip);
    return 0;
}

int
tok_matches(const char *path, const char *hash, struct err *e)
{
    struct tokenizer *t = tok_open(path, e);
    char mine[33];

    if (t == NULL)
        return -1;
    tok_hash(t, mine);
    tok_free(t);
    return strcmp(mine, hash) == 0;
}
