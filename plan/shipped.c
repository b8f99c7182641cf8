/* Built-in machines and models: see shipped.h.  The Makefile makes data.h from
 * the files. */
#include "shipped.h"
#include "format/json.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static struct file {
    const char *name, *text;
    json_t *parsed; /* by shipped_json; NULL: not yet */
} files[] = {
#include "data.h"
    { NULL, NULL, NULL }
};

/* Find the text of FOLDER/NAME.json; NULL: there is none. */
static const char *
shipped_text(const char *folder, const char *name)
{
    const size_t n = strlen(folder), m = strlen(name);

    for (const struct file *f = files; f->name != NULL; f++)
        if (strncmp(f->name, folder, n) == 0 &&
            strncmp(f->name + n, name, m) == 0 &&
            strcmp(f->name + n + m, ".json") == 0)
            return f->text;
    return NULL;
}

const char *
shipped_machine(const char *name)
{
    return shipped_text("machines/", name);
}

const char *
shipped_model(const char *name)
{
    return shipped_text("models/", name);
}

const json_t *
shipped_json(const char *name)
{
    struct file *f = files;
    struct err e;

    while (strcmp(f->name, name) != 0)
        f++;
    if (f->parsed == NULL)
        f->parsed = js_parse(f->text, strlen(f->text), &e);
    assert(f->parsed != NULL);
    return f->parsed;
}

void
shipped_names(struct buf *b, int machines)
{
    const char *folder = machines ? "machines/" : "models/";
    const size_t n = strlen(folder);
    int any = 0;

    for (const struct file *f = files; f->name != NULL; f++)
        if (strncmp(f->name, folder, n) == 0) {
            buf_addf(b, "%s%.*s", any ? ", " : "",
                (int)(strlen(f->name + n) - 5), f->name + n);
            any = 1;
        }
}
