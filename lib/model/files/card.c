/* Model cards; see card.h. */
#include "model/files/card.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "format/ckpt.h"
#include "format/gguf_file.h"
#include "format/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CARD_MAX = 16 << 20 }; /* limit of a README.md's bytes */

#define CARD_SEAL "\n<!-- retort: XXH3-128 of the text above: "
#define HUB "https://huggingface.co/"

/* Fields of the front matter that a model takes from its parent, and the keys
 * of a GGUF with the same meaning.  list 1: written as a list, even of one. */
static const struct {
    const char *name, *gguf;
    int list;
} inherited[] = {
    { "license", "general.license", 0 },
    { "license_name", "general.license.name", 0 },
    { "license_link", "general.license.link", 0 },
    { "language", "general.languages", 1 },
    { "tags", "general.tags", 1 },
    { "base_model", "general.base_model.0.repo_url", 0 },
    { "taught_by", "retort.taught_by", 1 },
};
enum { INHERITED = sizeof inherited / sizeof *inherited };

/* ---- reading a parent ---- */

/* Add the text s[n], without its YAML quotes, to the list of field `key`. */
static void
add_text(json_t *fields, const char *key, const char *s, size_t n)
{
    json_t *list = json_object_get(fields, key), *text;

    while (n > 0 && isspace((unsigned char)*s))
        s++, n--;
    for (size_t i = 1; i < n && *s != '"' && *s != '\''; i++)
        if (s[i] == '#' && s[i - 1] == ' ') /* a comment of YAML */
            n = i;
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        n--;
    if (n > 1 && (*s == '"' || *s == '\'') && s[n - 1] == *s)
        s++, n -= 2;
    if (n == 0 || (text = json_stringn(s, n)) == NULL)
        return;
    if (list == NULL)
        json_object_set_new(fields, key, list = json_array());
    json_array_append_new(list, text);
}

/* Add the values of s[n], YAML of the form "x" or "[x, y]", to field `key`. */
static void
add_yaml(json_t *fields, const char *key, const char *s, size_t n)
{
    if (n == 0 || *s != '[') {
        add_text(fields, key, s, n);
        return;
    }
    for (const char *end = s + n; s < end && *s != ']';) {
        const size_t k = strcspn(++s, ",]\n");

        add_text(fields, key, s, k);
        s += k;
    }
}

/* Add the inherited fields of a README.md's front matter.  It is read line by
 * line: values stand on the key's line, or in lines "- value" below it.  A
 * field that is written in YAML of another form is not found. */
static void
read_front_matter(json_t *fields, const char *text)
{
    const char *key = NULL, *end;

    if (strncmp(text, "---\n", 4) != 0)
        return;
    for (const char *line = text + 4; strncmp(line, "---", 3) != 0;
         line = end + 1) {
        const char *s = line + strspn(line, " ");

        if ((end = strchr(line, '\n')) == NULL)
            return;
        if (*s == '-' && s[1] == ' ' && key != NULL) {
            add_text(fields, key, s + 2, (size_t)(end - s) - 2);
            continue;
        }
        key = NULL;
        for (int i = 0; i < INHERITED; i++) {
            const size_t n = strlen(inherited[i].name);

            if (strncmp(line, inherited[i].name, n) != 0 || line[n] != ':')
                continue;
            key = inherited[i].name;
            s = line + n + 1 + strspn(line + n + 1, " ");
            add_yaml(fields, key, s, (size_t)(end - s));
        }
    }
}

static int
read_readme(json_t *fields, const char *dir, struct err *e)
{
    char *path = xasprintf("%s/README.md", dir), *text;
    size_t n;
    int r = 0;

    if (io_exists(path) && (r = io_slurp(path, CARD_MAX, &text, &n, e)) == 0) {
        read_front_matter(fields, text);
        free(text);
    }
    free(path);
    return r;
}

static int
read_general(json_t *fields, const char *path, struct err *e)
{
    struct gguf_file f;

    if (gguf_open_metadata(&f, path, e) < 0)
        return -1;
    for (int i = 0; i < INHERITED; i++) {
        const char *key = inherited[i].name, *s;
        const struct gguf_kv *v = gguf_kv(&f.g, inherited[i].gguf);
        size_t n;

        if (v != NULL && v->type == GGUF_STR) {
            s = (const char *)v->value;
            n = v->n;
            if (n > strlen(HUB) && memcmp(s, HUB, strlen(HUB)) == 0) {
                s += strlen(HUB);
                n -= strlen(HUB);
            }
            add_text(fields, key, s, n);
        } else if (v != NULL && v->type == GGUF_ARRAY && v->elem == GGUF_STR) {
            struct gguf_walk w = gguf_walk(v);

            while (gguf_next(&w, &s, &n))
                add_text(fields, key, s, n);
        }
    }
    gguf_close(&f);
    return 0;
}

/* The id ORG/NAME of a snapshot in the hub's cache, whose path contains
 * models--ORG--NAME/snapshots; NULL: the path is another one.  The caller frees
 * it. */
static char *
cached_id(const char *path)
{
    static const char mark[] = "/models--";
    const char *at = strstr(path, mark), *dash, *end;

    if (at == NULL || (end = strstr(at, "/snapshots/")) == NULL ||
        (dash = strstr(at += strlen(mark), "--")) == NULL || dash > end)
        return NULL;
    return xasprintf("%.*s/%.*s", (int)(dash - at), at, (int)(end - dash - 2),
        dash + 2);
}

/* Set *fields to the inherited fields of the model at path: lists of
 * strings. */
static int
read_parent(json_t **fields, const char *path, struct err *e)
{
    char *id;
    int r;

    *fields = json_object();
    r = io_is_dir(path)      ? read_readme(*fields, path, e)
        : gguf_is_name(path) ? read_general(*fields, path, e)
                             : 0;
    if (r < 0) {
        json_decref(*fields);
    } else if ((id = cached_id(path)) != NULL) {
        json_object_set_new(*fields, "base_model", json_pack("[s]", id));
        free(id);
    }
    return r;
}

/* ---- models that taught ---- */

#define LLAMA                                                               \
    "asks that the name of this model begins with Llama, and that \"Built " \
    "with Llama\" stands beside it"

/* Terms of licences, by their names on the hub, for models that learn from the
 * licensed model's texts.  A name that ends with a dot is the beginning of
 * several names. */
static const struct {
    const char *licence, *terms;
} taught_terms[] = {
    /* Llama 3 Community License, section 1.b.v */
    { "llama3", "forbids to improve other models than Llama 3 by its texts" },
    /* Llama 3.1 Community License and later ones, section 1.b.i */
    { "llama3.", LLAMA },
    { "llama4", LLAMA },
    /* Gemma Terms of Use, sections 1.1 (Model Derivatives) and 3.1 */
    { "gemma",
        "counts this model as a derivative, to which its terms of use apply" },
    /* Creative Commons BY-NC 4.0, section 2(a)(1) */
    { "cc-by-nc-4.0",
        "allows to share and adapt it for purposes that are not commercial" },
};

/* Return the terms of the licence in "NAME, LICENCE". */
static const char *
terms_of(const char *taught)
{
    const char *comma = strrchr(taught, ',');
    const char *licence = comma != NULL ? comma + strspn(comma, ", ") : "";
    const char *terms = "may have terms for models that learn from its texts";

    for (size_t i = 0; i < sizeof taught_terms / sizeof *taught_terms; i++) {
        const char *name = taught_terms[i].licence;
        const size_t n = strlen(name);

        if (strncmp(licence, name, n) == 0 &&
            (licence[n] == '\0' || name[n - 1] == '.'))
            terms = taught_terms[i].terms;
    }
    return terms;
}

/* Add a value to the list of field `key`, unless the list has it already. */
static void
add_unless_there(json_t *fields, const char *key, const char *value)
{
    const json_t *list = json_object_get(fields, key);
    const size_t n = json_array_size(list);
    size_t i = 0;

    while (
        i < n && strcmp(json_string_value(json_array_get(list, i)), value) != 0)
        i++;
    if (i == n)
        add_text(fields, key, value, strlen(value));
}

int
card_can_name(const char *path, struct err *e)
{
    char *config = xasprintf("%s/config.json", path);
    const int model = gguf_is_name(path) || io_exists(config);
    json_t *fields;

    free(config);
    if (!model)
        return err_set(e, EX_INPUT,
            "%s: is neither a .gguf file nor a folder with a config.json",
            path);
    if (read_parent(&fields, path, e) < 0)
        return -1;
    json_decref(fields);
    return 0;
}

/* Add those that taught the model at `path`, and then this model, as "NAME,
 * LICENCE" to the list taught_by. */
static int
add_taught(json_t *fields, const char *path, struct err *e)
{
    char *name, *entry;
    json_t *theirs, *value;
    const json_t *licence;
    size_t i;

    if (read_parent(&theirs, path, e) < 0)
        return -1;
    json_array_foreach(json_object_get(theirs, "taught_by"), i, value)
        add_unless_there(fields, "taught_by", json_string_value(value));
    licence = json_array_get(json_object_get(theirs, "license"), 0);
    if ((name = cached_id(path)) == NULL)
        name = card_name(path);
    entry = xasprintf("%s, %s", name,
        licence != NULL ? json_string_value(licence) : "unknown licence");
    add_unless_there(fields, "taught_by", entry);
    json_decref(theirs);
    free(entry);
    free(name);
    return 0;
}

/* ---- writing ---- */

/* Append a string as JSON writes it, which is YAML too. */
static void
add_quoted(struct buf *b, const char *s)
{
    json_t *j = json_string(s);
    char *text = json_dumps(j, JSON_ENCODE_ANY);

    buf_adds(b, text != NULL ? text : "\"\"");
    free(text);
    json_decref(j);
}

static void
add_field(struct buf *b, const char *key, const json_t *list, int as_list)
{
    const size_t n = json_array_size(list);

    if (n == 1 && !as_list) {
        buf_addf(b, "%s: ", key);
        add_quoted(b, json_string_value(json_array_get(list, 0)));
        buf_addc(b, '\n');
    } else if (n > 0) {
        buf_addf(b, "%s:\n", key);
        for (size_t i = 0; i < n; i++) {
            buf_adds(b, "- ");
            add_quoted(b, json_string_value(json_array_get(list, i)));
            buf_addc(b, '\n');
        }
    }
}

static void
add_front_matter(struct buf *b, const struct card *c, json_t *fields)
{
    add_unless_there(fields, "tags", "retort");
    if (c->tag != NULL)
        add_unless_there(fields, "tags", c->tag);
    buf_adds(b, "---\n");
    for (int i = 0; i < INHERITED; i++)
        add_field(b, inherited[i].name,
            json_object_get(fields, inherited[i].name), inherited[i].list);
    if (c->relation != NULL && json_object_get(fields, "base_model") != NULL)
        buf_addf(b, "base_model_relation: \"%s\"\n", c->relation);
    buf_addf(b,
        "library_name: \"%s\"\n"
        "pipeline_tag: \"text-generation\"\n---\n",
        c->adapted > 0 ? "peft" : "transformers");
}

char *
card_name(const char *path)
{
    size_t n = strlen(path), from;

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (from = n; from > 0 && path[from - 1] != '/'; from--)
        ;
    return xasprintf("%.*s", (int)(n - from), path + from);
}

/* Append each line "name<tab>value" with `before`, `between` and `after` around
 * its parts.  Of a path only the last component is written. */
static void
add_pairs(struct buf *b, const char *lines, const char *before,
    const char *between, const char *after)
{
    const char *end;

    for (; lines != NULL && (end = strchr(lines, '\n')) != NULL;
         lines = end + 1) {
        const size_t n = strcspn(lines, "\t");
        char *value =
            xasprintf("%.*s", (int)(end - lines - n - 1), lines + n + 1);
        char *last = card_name(value);

        buf_addf(b, "%s%.*s%s%s%s", before, (int)n, lines, between, last,
            after);
        free(last);
        free(value);
    }
}

/* Append how to load an adapter: with its base, which is named as the hub does,
 * or by the last component of its path. */
static void
add_load_adapter(struct buf *b, const char *from, const char *name)
{
    char *base = cached_id(from);

    if (base == NULL)
        base = card_name(from);
    buf_adds(b,
        "\n```python\nfrom peft import PeftModel\nfrom transformers import "
        "AutoModelForCausalLM, AutoTokenizer\n\n");
    if (gguf_is_name(from)) {
        buf_addf(b, "# the folder that `convert %s BASE` writes\n", base);
        free(base);
        base = xstrdup("BASE");
    }
    buf_addf(b,
        "base = AutoModelForCausalLM.from_pretrained(\"%s\")\n"
        "model = PeftModel.from_pretrained(base, \"%s\")\n"
        "tokenizer = AutoTokenizer.from_pretrained(\"%s\")\n```\n",
        base, name, base);
    free(base);
}

static void
add_load(struct buf *b, const struct model *m, const char *name)
{
    if (m->compress)
        buf_adds(b,
            "\nIts 2:4 matrices are stored without their zeros.  "
            "`convert DIR DENSE` writes them as transformers loads them.\n");
    else
        buf_addf(b,
            "\n```python\nfrom transformers import AutoModelForCausalLM, "
            "AutoTokenizer\n\nmodel = AutoModelForCausalLM.from_pretrained"
            "(\"%s\")\ntokenizer = AutoTokenizer.from_pretrained(\"%s\")\n"
            "```\n",
            name, name);
}

static void
add_body(struct buf *b, const struct card *c, const struct model *m,
    const char *name, const char *hash, const json_t *taught_by)
{
    char *parent = card_name(c->from);
    json_t *value;
    size_t i;

    buf_addf(b, "\n# %s\n\n%s wrote this %s of %zu parameters.\n", name, c->by,
        c->adapted > 0 ? "adapter" : "model",
        c->adapted > 0 ? c->adapted : model_params(m));
    if (c->adapted > 0)
        buf_addf(b,
            "It is no model by itself: it changes `%s`, which has %zu.\n",
            parent, model_params(m));
    buf_addf(b, "\n- parent: `%s`, XXH3-128 `%s`\n", parent, hash);
    free(parent);
    if (c->teacher != NULL && *c->teacher != '\0')
        buf_addf(b, "- teacher: XXH3-128 of its head `%s`\n", c->teacher);
    json_array_foreach(taught_by, i, value)
        buf_addf(b, "- taught by: %s.  Its licence %s.\n",
            json_string_value(value), terms_of(json_string_value(value)));
    if (c->options != NULL && *c->options != '\0') {
        buf_adds(b, "\nOptions that differ from their defaults:\n\n");
        add_pairs(b, c->options, "- `", " ", "`\n");
    }
    if (c->scores != NULL && *c->scores != '\0') {
        buf_adds(b, "\n| score | value |\n|---|---|\n");
        add_pairs(b, c->scores, "| ", " | ", " |\n");
    }
    if (c->adapted > 0)
        add_load_adapter(b, c->from, name);
    else
        add_load(b, m, name);
}

static void
hash_text(const char *text, size_t n, char hex[33])
{
    const XXH128_hash_t h = XXH3_128bits(text, n);

    snprintf(hex, 33, "%016llx%016llx", (unsigned long long)h.high64,
        (unsigned long long)h.low64);
}

/* Is the README.md at path the user's: without a seal, or changed after it was
 * sealed?  1; 0: it is not, or it does not exist; -1 and *e. */
static int
is_edited(const char *path, struct err *e)
{
    char *text, *seal, hex[33];
    size_t n;
    int r;

    if (!io_exists(path))
        return 0;
    if (io_slurp(path, CARD_MAX, &text, &n, e) < 0)
        return -1;
    seal = strstr(text, CARD_SEAL);
    if (seal != NULL)
        hash_text(text, (size_t)(seal - text), hex);
    r = seal == NULL || strncmp(seal + strlen(CARD_SEAL), hex, 32) != 0 ||
        strcmp(seal + strlen(CARD_SEAL) + 32, " -->\n") != 0;
    free(text);
    return r;
}

/* Write the text of the card to *b. */
static int
make_card(struct buf *b, const struct card *c, const struct model *m,
    const char *name, struct err *e)
{
    char hash[33];
    json_t *fields;

    if (c->hash == NULL && ckpt_hash_model(c->from, hash, e) < 0)
        return -1;
    if (read_parent(&fields, c->from, e) < 0)
        return -1;
    if (c->taught != NULL && add_taught(fields, c->taught, e) < 0) {
        json_decref(fields);
        return -1;
    }
    add_front_matter(b, c, fields);
    add_body(b, c, m, name, c->hash != NULL ? c->hash : hash,
        json_object_get(fields, "taught_by"));
    hash_text(b->p, b->n, hash);
    buf_addf(b, CARD_SEAL "%s -->\n", hash);
    json_decref(fields);
    return 0;
}

int
card_write(const struct card *c, const struct model *m, const char *dir,
    const char *name, struct err *e)
{
    char *path = xasprintf("%s/README.md", dir);
    struct buf b = { 0 };
    int r = is_edited(path, e);

    if (r > 0)
        note("%s: was edited, so it stays as it is", path);
    if (r == 0 && (r = make_card(&b, c, m, name, e)) == 0)
        r = io_put_file(path, b.p, b.n, e);
    buf_release(&b);
    free(path);
    return r < 0 ? -1 : 0;
}

/* ---- GGUF ---- */

/* Append base_model, an id ORG/NAME, as llama.cpp's converter does. */
static void
put_base_model(struct gguf_out *o, const char *id)
{
    const char *slash = strchr(id, '/');
    const char *name = slash != NULL ? slash + 1 : id;
    char *title = xstrdup(name), *url = xasprintf(HUB "%s", id);

    for (char *s = title; *s != '\0'; s++)
        *s = *s == '-' ? ' ' : *s;
    gguf_out_u32(o, "general.base_model.count", 1);
    gguf_out_str(o, "general.base_model.0.name", title, strlen(title));
    if (slash != NULL)
        gguf_out_str(o, "general.base_model.0.organization", id,
            (size_t)(slash - id));
    gguf_out_str(o, "general.base_model.0.repo_url", url, strlen(url));
    free(title);
    free(url);
}

static void
put_general(struct gguf_out *o, const char *key, const json_t *list, int array)
{
    const size_t n = json_array_size(list);
    const char *first = json_string_value(json_array_get(list, 0));

    if (!array) {
        gguf_out_str(o, key, first, strlen(first));
        return;
    }
    gguf_out_array(o, key, GGUF_STR, n);
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));

        gguf_out_text(o, s, strlen(s));
    }
}

int
card_to_gguf(const char *from, struct gguf_out *o, struct err *e)
{
    json_t *fields;

    if (from == NULL || !io_is_dir(from))
        return 0;
    if (read_parent(&fields, from, e) < 0)
        return -1;
    for (int i = 0; i < INHERITED; i++) {
        const char *key = inherited[i].name;
        const json_t *list = json_object_get(fields, key);

        if (list == NULL)
            continue;
        if (strcmp(key, "base_model") == 0)
            put_base_model(o, json_string_value(json_array_get(list, 0)));
        else
            put_general(o, inherited[i].gguf, list, inherited[i].list);
    }
    json_decref(fields);
    return 0;
}
