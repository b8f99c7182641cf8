/* FILE.options.json of generate run; see made_with.h. */
#include "made_with.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/opt_values.h"
#include "format/ckpt.h"
#include "format/json.h"
#include "gen/chat.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Options whose values are not compared: they change no text, or name a file
 * that is compared by its hash, or choose prompts and seeds, which are compared
 * line by line. */
static const char *const aside[] = { "model", "adapter", "tokenizer",
    "template", "prompts", "field", "seed", "count", "resume", "draft",
    "guesses", "at-once", "cache", "slice", "threads", "cpus", "numa",
    "reward-time", NULL };

/* Set j[name] to what `hash` computes of path; path NULL: to null. */
static void
set_hash(json_t *j, const char *name, const char *path,
    int (*hash)(const char *path, char hex[33], struct err *e))
{
    char hex[33];
    struct err e;

    if (path != NULL && hash(path, hex, &e) < 0)
        die_err(&e);
    json_object_set_new(j, name, path != NULL ? json_string(hex) : json_null());
}

json_t *
made_with(const struct made_from *from, const struct tokenizer *tok,
    const struct opt *options)
{
    json_t *j = opt_values(options);
    char hash[33];

    for (size_t i = 0; aside[i] != NULL; i++)
        json_object_del(j, aside[i]);
    set_hash(j, "model", from->model, ckpt_hash_model);
    set_hash(j, "adapter", from->adapter, ckpt_hash_model);
    set_hash(j, "system", from->system, ckpt_hash);
    set_hash(j, "like", from->like, ckpt_hash);
    set_hash(j, "schema", from->schema, ckpt_hash);
    tok_hash(tok, hash);
    json_object_set_new(j, "tokenizer", json_string(hash));
    chat_hash(from->model, from->template, hash);
    json_object_set_new(j, "template", json_string(hash));
    return j;
}

#define SHOWN (JSON_ENCODE_ANY | JSON_REAL_PRECISION(6))

/* Die if an option has another value in `is` than in `was`.  Members that only
 * one of them has are skipped: versions have different options. */
static void
compare_made(const char *path, const json_t *was, const json_t *is)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)is, name, v)
    {
        const json_t *w = json_object_get(was, name);

        if (w != NULL && !json_equal(w, v))
            die(EX_USAGE,
                "%s: was begun otherwise: --%s is %s, not %s; repeat the "
                "options of the first run, or give another file",
                path, name, json_dumps(v, SHOWN), json_dumps(w, SHOWN));
    }
}

int
made_with_compare(const json_t *made, const char *path)
{
    char *file = xasprintf("%s.options.json", path);
    const int there = io_exists(file);
    struct err e;

    if (there) {
        json_t *was = js_load(file, JS_MAX, &e);

        if (was == NULL)
            die_err(&e);
        compare_made(path, was, made);
        json_decref(was);
    }
    free(file);
    return there;
}

void
made_with_write(const json_t *made, const char *path)
{
    char *file = xasprintf("%s.options.json", path);
    struct err e;

    if (js_save(made, file, &e) < 0)
        die_err(&e);
    free(file);
}
