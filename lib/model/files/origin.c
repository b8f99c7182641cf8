/* Groups and channels of the original model; see origin.h. */
#include "model/files/origin.h"
#include "base/mem.h"
#include "format/json.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *const origin_keys[ORIGIN_PARTS] = { "kept_groups",
    "kept_channels" };

/* Read n ascending numbers written as "0-511,640" into list; -1: p is no such
 * text. */
static int
expand(const char *p, size_t n, size_t *list)
{
    size_t k = 0, from, to;
    char *end;

    if (strcmp(p, "-") == 0)
        return n == 0 ? 0 : -1;
    for (;; p = end + 1) {
        if (!isdigit((unsigned char)*p))
            return -1;
        from = to = strtoul(p, &end, 10);
        if (*end == '-' && isdigit((unsigned char)end[1]))
            to = strtoul(end + 1, &end, 10);
        if (to < from || to >= UINT32_MAX || to - from >= n - k ||
            (k > 0 && from <= list[k - 1]))
            return -1;
        while (from <= to)
            list[k++] = from++;
        if (*end != ',')
            return *end == '\0' && k == n ? 0 : -1;
    }
}

static size_t
part_count_of(const struct model *m, enum origin_part k, size_t i)
{
    return k == ORIGIN_GROUPS ? m->block[i].groups : m->block[i].mlp;
}

static const char *
block_word(const json_t *kept, enum origin_part k, size_t i)
{
    return json_string_value(
        json_array_get(json_object_get(kept, origin_keys[k]), i));
}

int
origin_read(struct model *m, const json_t *j, struct err *e)
{
    const json_t *own = js_get(j, "retort");

    for (int k = 0; k < ORIGIN_PARTS; k++) {
        json_t *words = json_object_get(own, origin_keys[k]);

        if (words == NULL)
            continue;
        for (size_t i = 0; i < m->c.L; i++) {
            const size_t n = part_count_of(m, k, i);
            size_t *list = xcalloc(n, sizeof *list);
            const char *w = block_word(own, k, i);
            const int good = w != NULL && json_array_size(words) == m->c.L &&
                (strcmp(w, "all") == 0 || expand(w, n, list) == 0);

            free(list);
            if (!good)
                return err_set(e, EX_INPUT,
                    "retort.%s: number %zu is no list of %zu", origin_keys[k],
                    i, n);
        }
        if (m->origin == NULL)
            m->origin = json_object();
        json_object_set(m->origin, origin_keys[k], words);
    }
    return 0;
}

void
origin_write(const struct model *m, json_t *j)
{
    json_t *own = json_object_get(j, "retort");

    if (json_object_size(m->origin) == 0)
        return;
    if (own == NULL)
        json_object_set_new(j, "retort", own = json_object());
    json_object_update(own, m->origin);
}

size_t *
origin_list(const struct model *m, enum origin_part k, size_t i)
{
    const char *w = block_word(m->origin, k, i);
    const size_t n = part_count_of(m, k, i);
    size_t *list;

    if (w == NULL || strcmp(w, "all") == 0)
        return NULL;
    list = xcalloc(n, sizeof *list);
    (void)expand(w, n, list); /* origin_read has checked it */
    return list;
}
