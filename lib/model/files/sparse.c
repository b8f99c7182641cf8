/* The sparse tensors that config.json names; see sparse.h. */
#include "model/files/sparse.h"

#include "base/mem.h"
#include "base/text.h"
#include "format/json.h"
#include "model/config/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSTRUCTURED "unstructured"

int
sparse_pattern(const char *pattern, size_t *n, size_t *m, struct err *e)
{
    int end = 0;

    *n = *m = 0;
    if (strcmp(pattern, UNSTRUCTURED) == 0)
        return 0;
    if (strlen(pattern) > 7 ||
        strspn(pattern, "0123456789:") < strlen(pattern) ||
        sscanf(pattern, "%zu:%zu%n", n, m, &end) < 2 || pattern[end] != '\0')
        return err_set(e, EX_INPUT, "'%s' is no pattern such as 2:4 or %s",
            SHOWN(pattern), UNSTRUCTURED);
    if (*n == 0 || *n >= *m)
        return err_set(e, EX_INPUT, "'%s': not 0 < %zu < %zu", pattern, *n, *m);
    return 0;
}

/* Find the block and tensor with this name.  -1: no matrix of a block has
 * it. */
static int
find_matrix(const struct model *m, const char *name, size_t *block, int *t)
{
    const char *blocks = family_blocks(&m->c);
    const size_t n = strlen(blocks);
    char want[100];
    size_t i;

    if (strncmp(name, blocks, n) != 0 || sscanf(name + n, "%4zu.", &i) < 1 ||
        i >= m->c.L)
        return -1;
    for (int k = 0; k < W_N; k++) {
        const char *part = block_tensor_name(&m->c, k);

        if (part == NULL || block_is_vector(k))
            continue;
        snprintf(want, sizeof want, "%s%zu.%s", blocks, i, part);
        if (strcmp(want, name) == 0) {
            *block = i;
            *t = k;
            return 0;
        }
    }
    return -1;
}

static int
read_tensors(struct model *m, const json_t *list, struct err *e)
{
    size_t at, block;
    json_t *v;
    int t;

    if (!json_is_array(list))
        return err_set(e, EX_INPUT, "retort.sparse.tensors: is no list");
    json_array_foreach(list, at, v)
    {
        const char *name = json_string_value(v);

        if (name == NULL || find_matrix(m, name, &block, &t) < 0)
            return err_set(e, EX_INPUT,
                "retort.sparse.tensors: number %zu, '%s', is no matrix of a "
                "block",
                at, name != NULL ? SHOWN(name) : "");
        m->block[block].sparse |= W_BIT(t);
    }
    return 0;
}

int
sparse_read(struct model *m, const json_t *j, struct err *e)
{
    const json_t *sparse = js_get(j, "retort.sparse");
    const char *pattern = NULL;
    size_t n, of;

    if (sparse == NULL)
        return 0;
    if (js_str(j, "retort.sparse.pattern", &pattern, e) < 0)
        return -1;
    if (pattern == NULL)
        return err_set(e, EX_INPUT, "retort.sparse.pattern: is missing");
    if (sparse_pattern(pattern, &n, &of, e) < 0)
        return err_prefix(e, "retort.sparse.pattern");
    snprintf(m->c.sparse, sizeof m->c.sparse, "%s", pattern);
    return read_tensors(m, js_get(sparse, "tensors"), e);
}

void
sparse_mark(struct model *m, size_t block, int t)
{
    if (m->c.sparse[0] == '\0')
        snprintf(m->c.sparse, sizeof m->c.sparse, "2:4");
    if (strcmp(m->c.sparse, "2:4") == 0)
        m->block[block].sparse |= W_BIT(t);
}

void
sparse_write(const struct model *m, json_t *j)
{
    json_t *tensors = json_array(), *own = json_object_get(j, "retort");
    char name[100];

    for (size_t i = 0; i < m->c.L; i++)
        for (int t = 0; t < W_N; t++)
            if (m->block[i].sparse >> t & 1) {
                snprintf(name, sizeof name, "%s%zu.%s", family_blocks(&m->c), i,
                    block_tensor_name(&m->c, t));
                json_array_append_new(tensors, json_string(name));
            }
    if (json_array_size(tensors) > 0) {
        if (own == NULL) {
            own = json_object();
            json_object_set_new(j, "retort", own);
        }
        json_object_set_new(own, "sparse",
            json_pack("{s:s, s:O}", "pattern", m->c.sparse, "tensors",
                tensors));
    }
    json_decref(tensors);
}

static int
quarter_zero(const struct weight *w)
{
    float *row = xreallocarray(NULL, w->cols, sizeof *row);
    size_t zeros = 0;

    for (size_t r = 0; r < w->rows; r++) {
        weight_rows(w, r, 1, row);
        for (size_t c = 0; c < w->cols; c++)
            zeros += row[c] == 0.0f;
    }
    free(row);
    return w->rows > 0 && zeros >= w->rows * w->cols / 4;
}

size_t
sparse_unnamed(const struct model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->c.L; i++)
        for (int t = 0; t < W_N; t++) {
            const struct block *b = &m->block[i];

            if (block_is_vector(t) || (b->sparse >> t & 1) != 0)
                continue;
            n += (size_t)quarter_zero(&b->w[t]);
            model_forget(m, &b->w[t]);
        }
    return n;
}
