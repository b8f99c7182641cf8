/* Built-in files: see shipped.h.  The Makefile makes data.h from them. */
#include "shipped.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/nearness.h"
#include "format/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct file {
    const char *name, *text;
    json_t *parsed; /* by shipped_json; NULL: not yet */
} files[] = {
#include "data.h"
    { NULL, NULL, NULL }
};

const char *
shipped_text(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s.json", folder, name);
    const struct file *f = files;

    while (f->name != NULL && strcasecmp(f->name, path) != 0)
        f++;
    free(path);
    return f->text;
}

const char *
shipped_model(const char *name)
{
    return io_exists(name) ? NULL : shipped_text("models", name);
}

/* Iterate over the built-in models.  Copy the name of the first model at or
 * after *f to `name`, and let *f point behind it.  Returns 0 if there is no
 * further model.  sizes 0: skip models that are given by their sizes alone,
 * which plan run cannot read. */
static int
next_model(char name[64], const struct file **f, int sizes)
{
    static const char folder[] = "models/";
    const size_t skip = sizeof folder - 1;

    for (; (*f)->name != NULL; (*f)++)
        if (strncmp((*f)->name, folder, skip) == 0 &&
            (sizes || strstr((*f)->text, "\"model_type\"") != NULL)) {
            snprintf(name, 64, "%.*s",
                (int)(strlen((*f)->name + skip) - strlen(".json")),
                (*f)->name + skip);
            (*f)++;
            return 1;
        }
    return 0;
}

/* Find the built-in model that the user probably meant by `text`, and copy its
 * name to `nearest`.  Either `text` is that name and more, as in
 * "SmolLM2-135M-Instruct", or they differ in few letters.  Returns 0 if there
 * is no such model.  sizes: as for next_model. */
static int
find_nearest(char nearest[64], const char *text, int sizes)
{
    char *as = xstrdup(text), name[64];
    size_t least = SIZE_MAX;

    for (char *p = as; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    for (const struct file *f = files;
         least > 0 && next_model(name, &f, sizes);) {
        const int begins = strncmp(as, name, strlen(name)) == 0;

        if (begins || near_better(as, name, &least))
            memcpy(nearest, name, sizeof name);
        least = begins ? 0 : least;
    }
    free(as);
    return least < SIZE_MAX;
}

int
shipped_or_file(const char *name, int sizes, struct err *e)
{
    struct buf known = { 0 };
    char model[64];
    int r;

    if (io_exists(name) || shipped_model(name) != NULL)
        return 0;
    if (strchr(name, '/') != NULL)
        return err_set(e, EX_SYS, "%s: there is no such file or folder",
            SHOWN(name));
    if (find_nearest(model, name, sizes))
        return err_set(e, EX_SYS,
            "%s: there is no such model; did you mean %s?", SHOWN(name), model);
    for (const struct file *f = files; next_model(model, &f, sizes);)
        buf_addf(&known, "%s%s", known.n > 0 ? ", " : "", model);
    r = err_set(e, EX_SYS,
        "%s: there is no such model: give a directory, a .gguf file, a "
        "config.json, ORG/NAME in the cache of Hugging Face's programs, or one "
        "of %s",
        SHOWN(name), known.p);
    buf_release(&known);
    return r;
}

const json_t *
shipped_json(const char *name)
{
    struct file *f = files;
    struct err e;

    while (strcasecmp(f->name, name) != 0)
        f++;
    if (f->parsed == NULL)
        f->parsed = js_parse(f->text, strlen(f->text), &e);
    assert(f->parsed != NULL);
    return f->parsed;
}

const char *
shipped_about(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s.json", folder, name);
    const char *about = shipped_text(folder, name) == NULL
        ? NULL
        : js_text_of(shipped_json(path), "about");

    free(path);
    return about;
}

double
shipped_bytes(const char *model, double parameters)
{
    char *path = xasprintf("models/%s.json", model);
    const json_t *mb = json_object_get(shipped_json(path), "fetched_mb");

    free(path);
    return mb != NULL ? 1e6 * json_number_value(mb) : 2.0 * parameters;
}

void
shipped_machines(struct buf *b)
{
    static const char folder[] = "machines/";
    const size_t n = sizeof folder - 1;

    for (const struct file *f = files; f->name != NULL; f++)
        if (strncmp(f->name, folder, n) == 0)
            buf_addf(b, "%s%.*s", b->n > 0 ? ", " : "",
                (int)(strlen(f->name + n) - strlen(".json")), f->name + n);
}
