/* The tokenizer's files beside exported weights; see tokfile.h. */
#include "model/files/tokfile.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/gguf_file.h"
#include "format/gguf_sampling.h"
#include "format/gguf_tok.h"
#include "format/gguf_tok_write.h"
#include "format/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHAT "chat_template"              /* member of tokenizer_config.json */
#define NAMED "additional_chat_templates" /* folder of NAME.jinja */

/* A tokenizer's files in a model's directory.  One of the first two must be
 * there; tekken.json is Mistral's format. */
static const char *const files[] = { "tokenizer.json", "tekken.json",
    "tokenizer_config.json", "special_tokens_map.json",
    "generation_config.json", "added_tokens.json", "chat_template.jinja",
    "chat_template.json", "vocab.json", "merges.txt", "tokenizer.model" };

/* The last part of a path. */
static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int
is_json_path(const char *path)
{
    const size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

static int
is_tekken_path(const char *path)
{
    return strcmp(base_name(path), "tekken.json") == 0;
}

/* Parse p[n], the content of the file `path`, as JSON; strings in a tekken.json
 * may contain NUL. */
static json_t *
parse_member(const char *path, const char *p, size_t n, struct err *e)
{
    json_error_t je;
    json_t *j;

    if (!is_tekken_path(path))
        return js_parse(p, n, e);
    j = json_loadb(p, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    if (!j)
        err_set(e, EX_INPUT, "offset %d: %s", je.position, je.text);
    return j;
}

/* Copy a file piece by piece. */
static int
copy_pieces(const char *from, const char *to, struct err *e)
{
    char piece[1 << 16];
    uint64_t size;
    struct io_out o;
    ptrdiff_t n = 0;
    const int fd = io_open_file(from, &size, e);
    int r;

    if (fd < 0)
        return -1;
    r = io_out_begin(&o, to, e);
    while (r == 0 && (n = io_read(fd, piece, sizeof piece)) > 0)
        r = io_out_write(&o, piece, (size_t)n, e);
    if (n < 0)
        r = err_set(e, EX_SYS, "%s:", from);
    if (r == 0)
        r = io_out_commit(&o, e);
    if (r < 0)
        io_out_abort(&o);
    io_close_in(fd);
    return r;
}

/* Copy a file; a JSON file must parse. */
static int
copy_checked(const char *from, const char *to, struct err *e)
{
    const char *dot = strrchr(to, '.');
    char *p;
    size_t n;
    int r = io_slurp(from, JS_MAX, &p, &n, e);

    if (r < 0)
        return -1;
    if (dot && strcmp(dot, ".json") == 0) {
        json_t *j = parse_member(from, p, n, e);

        if (!j) {
            free(p);
            return err_prefix(e, "%s", from);
        }
        json_decref(j);
    }
    r = io_put_file(to, p, n, e);
    free(p);
    return r;
}

static int
copy_dir(const char *from, const char *dir,
    int (*copy)(const char *from, const char *to, struct err *e), struct err *e)
{
    int r = 0, found = 0;

    for (size_t i = 0; r == 0 && i < sizeof files / sizeof *files; i++) {
        char *a = xasprintf("%s/%s", from, files[i]);
        char *b = xasprintf("%s/%s", dir, files[i]);

        if (io_exists(a)) {
            r = copy(a, b, e);
            found |= i < 2;
        } else if (i == 1 && !found) {
            r = err_set(e, EX_INPUT,
                "%s: holds no tokenizer.json or "
                "tekken.json",
                from);
        }
        free(a);
        free(b);
    }
    return r;
}

/* Write j, which a gguf_ function returned, to a file of dir; frees j. */
static int
save_converted(json_t *j, const char *dir, const char *file, struct err *e)
{
    char *path;
    int r;

    if (!j)
        return -1;
    path = xasprintf("%s/%s", dir, file);
    r = js_save(j, path, e);
    free(path);
    json_decref(j);
    return r;
}

static int
convert_gguf(const char *from, const char *dir, struct err *e)
{
    struct gguf_file f;
    int r;

    if (gguf_open_metadata(&f, from, e) < 0)
        return -1;
    r = save_converted(gguf_tokenizer_json(&f.g, e), dir, "tokenizer.json", e);
    if (r == 0)
        r = save_converted(gguf_tokenizer_config(&f.g, e), dir,
            "tokenizer_config.json", e);
    if (r == 0)
        r = save_converted(gguf_special_tokens(&f.g, e), dir,
            "special_tokens_map.json", e);
    if (r == 0)
        r = save_converted(gguf_generation_config(&f.g, e), dir,
            "generation_config.json", e);
    if (r < 0)
        err_prefix(e, "%s", from);
    gguf_close(&f);
    return r;
}

/* The text of the token with this id in "added_tokens", a list of a
 * tokenizer.json; NULL: the id is not in the list. */
static const char *
added_text(const json_t *tok, json_int_t id)
{
    const json_t *list = json_object_get(tok, "added_tokens");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *t = json_array_get(list, i);

        if (json_is_integer(json_object_get(t, "id")) &&
            json_integer_value(json_object_get(t, "id")) == id)
            return json_string_value(json_object_get(t, "content"));
    }
    return NULL;
}

/* Write a tokenizer_config.json for a tokenizer.json without one.  It names the
 * class that loads the file unchanged and the special tokens whose ids
 * config.json (already in dir) gives. */
static int
make_config(const char *dir, struct err *e)
{
    static const char *const name[] = { "bos_token", "eos_token", "pad_token" };
    char *config = xasprintf("%s/config.json", dir);
    char *file = xasprintf("%s/tokenizer_config.json", dir);
    char *toks = xasprintf("%s/tokenizer.json", dir);
    json_t *c = NULL, *t = NULL, *j;
    int r = 0;

    if (io_exists(file) || !io_exists(toks))
        goto done;
    r = -1;
    if ((io_exists(config) && (c = js_load(config, JS_MAX, e)) == NULL) ||
        (t = js_load(toks, JS_MAX, e)) == NULL)
        goto done;
    j = json_pack("{s:s, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces", 0);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char *key = xasprintf("%s_id", name[i]);
        const json_t *v = json_object_get(c, key);
        const json_t *id = json_is_array(v) ? json_array_get(v, 0) : v;
        const char *s =
            json_is_integer(id) ? added_text(t, json_integer_value(id)) : NULL;

        if (s)
            json_object_set_new(j, name[i], json_string(s));
        free(key);
    }
    json_object_set(j, "model_max_length",
        json_object_get(c, "max_position_embeddings"));
    r = js_save(j, file, e);
    json_decref(j);
done:
    json_decref(c);
    json_decref(t);
    free(config);
    free(file);
    free(toks);
    return r;
}

/* Load a chat template file as a JSON string, which the caller frees.  NULL and
 * *e: it cannot be read, or is not text. */
static json_t *
load_chat_template(const char *path, struct err *e)
{
    char *text;
    size_t n;
    json_t *j;

    if (io_slurp(path, JS_MAX, &text, &n, e) < 0)
        return NULL;
    j = memchr(text, '\0', n) ? NULL : json_stringn(text, n);
    if (!j)
        err_set(e, EX_INPUT, "%s: is no text in UTF-8", path);
    free(text);
    return j;
}

/* Set config's default chat template to the first there is of: the directory's
 * chat_template.jinja, the one that config has, chat_template.json. */
static int
add_default(const char *dir, json_t *config, struct err *e)
{
    char *jinja = xasprintf("%s/chat_template.jinja", dir);
    char *file = xasprintf("%s/chat_template.json", dir);
    json_t *j = NULL;
    int r = 0;

    if (io_exists(jinja)) {
        r = (j = load_chat_template(jinja, e)) ? 0 : -1;
        json_object_set(config, CHAT, j);
    } else if (!json_object_get(config, CHAT) && io_exists(file)) {
        r = (j = js_load(file, JS_MAX, e)) ? 0 : -1;
        json_object_set(config, CHAT, json_object_get(j, CHAT));
    }
    json_decref(j);
    free(jinja);
    free(file);
    return r;
}

/* Add the chat templates dir/additional_chat_templates/NAME.jinja to config,
 * whose "chat_template" becomes a list.  1: there were some; 0: none. */
static int
add_template(const char *dir, json_t *config, struct err *e)
{
    char *folder = xasprintf("%s/%s", dir, NAMED);
    struct dir_list l = { 0 };
    json_t *chat = json_object_get(config, CHAT), *j;
    json_t *list = json_is_array(chat) ? json_copy(chat) : json_array();
    int r = io_exists_in(dir, NAMED) ? dir_list(folder, &l, e) : 0, found = 0;

    if (json_is_string(chat))
        json_array_append_new(list,
            json_pack("{s:s, s:O}", "name", "default", "template", chat));
    for (size_t i = 0; r == 0 && i < l.n; i++) {
        const char *dot = strrchr(l.name[i], '.');
        char *path;

        if (!dot || dot == l.name[i] || strcmp(dot, ".jinja") != 0)
            continue;
        path = xasprintf("%s/%s", folder, l.name[i]);
        found = (j = load_chat_template(path, e)) != NULL;
        r = found ? 0 : -1;
        if (found)
            json_array_append_new(list,
                json_pack("{s:s%, s:o}", "name", l.name[i],
                    (size_t)(dot - l.name[i]), "template", j));
        free(path);
    }
    if (found)
        json_object_set(config, CHAT, list);
    json_decref(list);
    dir_list_release(&l);
    free(folder);
    return r < 0 ? -1 : found;
}

/* Load a directory's tokenizer_config.json ({} if missing), with the chat
 * templates of separate files added.  The caller frees it; NULL and *e. */
static json_t *
load_config(const char *dir, struct err *e)
{
    char *file = xasprintf("%s/tokenizer_config.json", dir);
    json_t *j = io_exists(file) ? js_load(file, JS_MAX, e) : json_object();

    free(file);
    if (j && (add_default(dir, j, e) < 0 || add_template(dir, j, e) < 0)) {
        json_decref(j);
        j = NULL;
    }
    return j;
}

/* If `from` has named chat templates in separate files, put all templates into
 * dir/tokenizer_config.json, where loaders look, and remove dir's
 * chat_template.jinja, which would hide the list. */
static int
fold_templates(const char *from, const char *dir, struct err *e)
{
    char *jinja = xasprintf("%s/chat_template.jinja", dir);
    json_t *config = load_config(dir, e);
    int r = config ? add_template(from, config, e) : -1;

    if (r > 0) {
        r = save_converted(json_incref(config), dir, "tokenizer_config.json",
            e);
        if (r == 0 && unlink(jinja) < 0 && errno != ENOENT)
            r = err_set(e, EX_SYS, "%s:", jinja);
    }
    json_decref(config);
    free(jinja);
    return r;
}

/* Add the special tokens of a directory's special_tokens_map.json that config
 * lacks. */
static int
add_special_tokens(const char *dir, json_t *config, struct err *e)
{
    char *file = xasprintf("%s/special_tokens_map.json", dir);
    json_t *j = io_exists(file) ? js_load(file, JS_MAX, e) : json_object();

    free(file);
    if (!j)
        return -1;
    json_object_update_missing(config, j);
    json_decref(j);
    return 0;
}

json_t *
tokenizer_config(const char *from, struct err *e)
{
    struct gguf_file f;
    json_t *j = NULL;
    char *dir;

    if (!io_is_dir(from) && !is_json_path(from)) {
        if (gguf_open_metadata(&f, from, e) < 0)
            return NULL;
        if (!(j = gguf_tokenizer_config(&f.g, e)))
            err_prefix(e, "%s", from);
        gguf_close(&f);
        return j;
    }
    dir = xstrdup(from);
    if (!io_is_dir(from))
        dir[base_name(from) - from] = '\0';
    if (*dir == '\0') {
        free(dir);
        dir = xstrdup(".");
    }
    if ((j = load_config(dir, e)) && add_special_tokens(dir, j, e) < 0) {
        json_decref(j);
        j = NULL;
    }
    free(dir);
    return j;
}

int
tokenizer_export(const char *from, const char *dir, struct err *e)
{
    int r;

    if (io_is_dir(from)) {
        r = copy_dir(from, dir, copy_checked, e);
    } else if (is_json_path(from)) {
        char *to = xasprintf("%s/%s", dir,
            is_tekken_path(from) ? "tekken.json" : "tokenizer.json");

        r = copy_checked(from, to, e);
        free(to);
    } else {
        return convert_gguf(from, dir, e);
    }
    if (r == 0)
        r = make_config(dir, e);
    return r == 0 && io_exists_in(from, NAMED) ? fold_templates(from, dir, e)
                                               : r;
}

int
tokenizer_copy(const char *from, const char *dir, struct err *e)
{
    return copy_dir(from, dir, copy_pieces, e);
}

int
tokenizer_is_there(const char *from, struct err *e)
{
    struct gguf_file f;
    int r;

    if (io_is_dir(from))
        return io_exists_in(from, files[0]) || io_exists_in(from, files[1]);
    if (gguf_open_metadata(&f, from, e) < 0)
        return -1;
    r = gguf_kv(&f.g, "tokenizer.ggml.tokens") != NULL;
    gguf_close(&f);
    return r;
}

/* Copy another GGUF's metadata about the tokenizer and the model's origin, but
 * not those about how tensors are stored. */
static int
copy_metadata(const char *from, struct gguf_out *o, struct err *e)
{
    static const char *const own[] = { "general.architecture",
        "general.file_type", "general.quantization_version",
        "general.alignment" };
    struct gguf_file f;

    if (gguf_open_metadata(&f, from, e) < 0)
        return -1;
    for (size_t i = 0; i < f.g.nkv; i++) {
        const char *k = f.g.kv[i].key;
        size_t n = 0;

        while (n < 4 && strcmp(k, own[n]) != 0)
            n++;
        if (n == 4 &&
            (strncmp(k, "general.", 8) == 0 ||
                strncmp(k, "tokenizer.", 10) == 0))
            gguf_out_copy(o, &f.g.kv[i]);
    }
    gguf_close(&f);
    return 0;
}

json_t *
generation_config(const char *from, struct err *e)
{
    struct gguf_file f;
    json_t *j;
    char *path;

    if (io_is_dir(from)) {
        path = xasprintf("%s/generation_config.json", from);
        j = io_exists(path) ? js_load(path, JS_MAX, e) : json_object();
        free(path);
        return j;
    }
    if (gguf_open_metadata(&f, from, e) < 0)
        return NULL;
    j = json_object();
    if (gguf_sampling(j, &f.g, e) < 0) {
        err_prefix(e, "%s", from);
        json_decref(j);
        j = NULL;
    }
    gguf_close(&f);
    return j;
}

/* A list of the ids that end a text: those of c, then those in gen, a
 * generation_config.json or NULL. */
static json_t *
list_ends(const struct config *c, const json_t *gen)
{
    json_t *ids = json_object_get(gen, "eos_token_id"), *ends = json_array();

    for (size_t i = 0; i < c->neos; i++)
        json_array_append_new(ends, json_integer(c->eos[i]));
    if (json_is_array(ids))
        json_array_extend(ends, ids);
    else if (ids)
        json_array_append(ends, ids);
    return ends;
}

int
tokenizer_to_gguf(const char *from, const struct config *c, struct gguf_out *o,
    struct err *e)
{
    struct gguf_ids id = { { [GGUF_BOS] = c->bos,
                               [GGUF_EOS] = c->neos ? c->eos[0] : -1,
                               [GGUF_UNK] = -1,
                               [GGUF_PAD] = c->pad },
        NULL };
    char *file = from ? xasprintf("%s/%s", from, files[0]) : NULL;
    json_t *tok = NULL, *config = NULL, *gen = NULL, *ends = NULL;
    int r = -1;

    if (from && io_is_dir(from) && !(gen = generation_config(from, e)))
        goto done;
    id.ends = ends = list_ends(c, gen);
    gguf_out_sampling(o, gen);
    if (!from) {
        gguf_out_str(o, "tokenizer.ggml.model", "none", 4);
        gguf_out_ids(o, &id, c->V);
        r = 0;
    } else if (!io_is_dir(from)) {
        r = copy_metadata(from, o, e);
    } else if (!io_exists(file)) {
        err_set(e, EX_INPUT,
            "%s: tekken.json: is not written to a GGUF; put the "
            "tokenizer.json of the same model beside it",
            from);
    } else if ((config = load_config(from, e)) != NULL &&
        (tok = js_load(file, JS_MAX, e)) != NULL) {
        r = gguf_out_tokenizer(o, tok, config, c->V, &id, e);
        if (r < 0)
            err_prefix(e, "%s", file);
    }
done:
    json_decref(ends);
    json_decref(gen);
    json_decref(tok);
    json_decref(config);
    free(file);
    return r;
}
