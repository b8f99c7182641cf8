/* Built-in files: see shipped.h.  The Makefile makes data.h from them. */
#include "shipped.h"
#include "base/io.h"
#include "cli/nearness.h"
#include "format/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    while (f->name != NULL && strcmp(f->name, path) != 0)
        f++;
    free(path);
    return f->text;
}

const char *
shipped_model(const char *name)
{
    return io_exists(name) ? NULL : shipped_text("models", name);
}

const char *
shipped_nearest(const char *text)
{
    static const char folder[] = "models/";
    static char nearest[64];
    const size_t skip = sizeof folder - 1;
    char *as = xstrdup(text), name[sizeof nearest];
    size_t least = SIZE_MAX, n = strlen(as);

    if (n > 5 && strcmp(as + n - 5, ".gguf") == 0)
        as[n - 5] = '\0';
    for (char *p = as; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    for (const struct file *f = files; f->name != NULL; f++) {
        if (strncmp(f->name, folder, skip) != 0 ||
            strstr(f->text, "\"model_type\"") == NULL)
            continue;
        snprintf(name, sizeof name, "%.*s",
            (int)(strlen(f->name + skip) - strlen(".json")), f->name + skip);
        if (near_better(as, name, &least))
            memcpy(nearest, name, sizeof nearest);
    }
    free(as);
    return least < SIZE_MAX ? nearest : NULL;
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
shipped_machines(struct buf *b)
{
    static const char folder[] = "machines/";
    const size_t n = sizeof folder - 1;

    for (const struct file *f = files; f->name != NULL; f++)
        if (strncmp(f->name, folder, n) == 0)
            buf_addf(b, "%s%.*s", b->n > 0 ? ", " : "",
                (int)(strlen(f->name + n) - strlen(".json")), f->name + n);
}
