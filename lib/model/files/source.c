/* The safetensors files of a Hugging Face directory; see open.h. */
#include "base/mem.h"
#include "format/json.h"
#include "model/files/open.h"

#include <stdlib.h>
#include <string.h>

void
source_keep(struct model_source *s, void *made)
{
    s->made = xgrow_pow2(s->made, s->nmade, sizeof *s->made);
    s->made[s->nmade++] = made;
}

static int
add_weight_file(struct model *m, struct model_source *s, const char *file,
    struct err *e)
{
    char *path = xasprintf("%s/%s", m->path, file);
    const size_t i = s->n;
    int r;

    s->map = xreallocarray(s->map, i + 1, sizeof *s->map);
    s->st = xreallocarray(s->st, i + 1, sizeof *s->st);
    s->file = xreallocarray(s->file, i + 1, sizeof *s->file);
    s->used = xreallocarray(s->used, i + 1, sizeof *s->used);
    r = io_map(&s->map[i], path, e);
    if (r == 0 && (r = st_parse(&s->st[i], s->map[i].p, s->map[i].n, e)) < 0) {
        err_prefix(e, "%s", path);
        io_unmap(&s->map[i]);
    }
    free(path);
    if (r < 0)
        return -1;
    s->file[i] = xstrdup(file);
    s->used[i] = xcalloc(s->st[i].nt + 1, 1);
    s->n++;
    return 0;
}

/* Open the files that an index names.  Check that each has the tensors that the
 * index places there, and no others. */
static int
add_index(struct model *m, struct model_source *s, const char *path,
    struct err *e)
{
    json_t *j = js_load(path, JS_MAX, e), *v;
    json_t *map = json_object_get(j, "weight_map");
    const char *name;
    size_t total = 0, i;

    if (!j)
        return -1;
    if (!json_is_object(map)) {
        err_set(e, EX_INPUT, "%s: weight_map: is missing", path);
        goto fail;
    }
    json_object_foreach(map, name, v)
    {
        const char *file = json_string_value(v);

        if (!file || file[0] == '.' || file[0] == '\0' || strchr(file, '/')) {
            err_set(e, EX_INPUT,
                "%s: weight_map: tensor %.80s: \"%.80s\" "
                "is no file name",
                path, name, file ? file : "");
            goto fail;
        }
        for (i = 0; i < s->n && strcmp(s->file[i], file) != 0; i++)
            ;
        if (i == s->n && add_weight_file(m, s, file, e) < 0)
            goto fail;
        if (!st_find(&s->st[i], name)) {
            err_set(e, EX_INPUT, "%s/%.80s: tensor %.80s is missing", m->path,
                file, name);
            goto fail;
        }
    }
    for (i = 0; i < s->n; i++)
        total += s->st[i].nt;
    if (total != json_object_size(map)) {
        err_set(e, EX_INPUT,
            "%s: weight_map: names %zu tensors, but its "
            "files hold %zu",
            path, json_object_size(map), total);
        goto fail;
    }
    json_decref(j);
    return 0;
fail:
    json_decref(j);
    return -1;
}

int
source_files(struct model *m, struct model_source *s, struct err *e)
{
    char *one = xasprintf("%s/model.safetensors", m->path);
    char *index = xasprintf("%s/model.safetensors.index.json", m->path);
    int r = io_exists(one) ? add_weight_file(m, s, "model.safetensors", e)
        : io_exists(index) ? add_index(m, s, index, e)
                           : err_set(e, EX_INPUT,
                                 "%s: holds neither model.safetensors nor "
                                 "model.safetensors.index.json",
                                 m->path);

    free(one);
    free(index);
    return r;
}

const struct st_tensor *
source_tensor(struct model_source *s, const char *name, size_t *file)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct st_tensor *t = st_find(&s->st[i], name);

        if (t == NULL)
            continue;
        s->used[i][t - s->st[i].t] = 1;
        *file = i;
        return t;
    }
    return NULL;
}
