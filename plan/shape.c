/* Shapes of models: see shape.h */
#include "shape.h"
#include "families.h"
#include "shipped.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "format/json.h"
#include "model/config_keys.h"
#include "model/family.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

double
shape_block(const struct shape *s)
{
    return s->attention + s->dense + s->experts * s->expert + s->vectors;
}

double
shape_products(const struct shape *s)
{
    return s->attention + s->dense + s->active * s->expert;
}

double
shape_params(const struct shape *s)
{
    return s->V * s->d * (s->tied > 0 ? 1.0 : 2.0) + s->L * shape_block(s) +
        s->positions + s->outer;
}

double
shape_active(const struct shape *s)
{
    return shape_params(s) - s->L * (s->experts - s->active) * s->expert;
}

/* Set the shape from a configuration of lib/model.  If blocks differ, sizes are
 * their means, so that sums over blocks are exact. */
static void
shape_from_config(struct shape *s, const struct config *c,
    const struct block_shape *b)
{
    const double each = 1.0 / (double)c->L;

    *s = (struct shape){ .V = (double)c->V,
        .d = (double)c->d,
        .L = (double)c->L,
        .KV = (double)c->KV,
        .D = (double)c->D,
        .gates = 3.0,
        .window = (double)c->window,
        .tied = c->tied,
        .outer = (double)c->d };
    for (size_t i = 0; i < c->L; i++) {
        s->mlp += each * (double)b[i].mlp;
        s->H += each * (double)(b[i].groups * (c->H / c->KV));
        s->windowed += config_window(c, i) > 0 ? each : 0.0;
        for (int k = 0; k < W_N; k++) {
            size_t rows, cols;

            if (block_tensor_name(c, k) == NULL)
                continue;
            block_dims(c, k, &b[i], &rows, &cols);
            *(block_is_vector(k)            ? &s->vectors
                    : block_is_attention(k) ? &s->attention
                                            : &s->dense) +=
                each * (double)rows * (double)cols;
        }
    }
}

/* Set *s from the sizes in j, as shape_from_sizes does.  The family is one of
 * lib/model, so keys that it does not read are ignored, and missing keys have
 * the values that transformers assumes. */
static int
shape_from_family(struct shape *s, const json_t *j, unsigned family,
    struct err *e)
{
    json_t *filled = config_fill(j, j, family, e);
    const int r = filled != NULL ? shape_from_sizes(s, filled, e) : -1;

    json_decref(filled);
    return r;
}

static int
shape_from_json(struct shape *s, json_t *j, struct err *e)
{
    const char *type = js_text_of(j, "model_type");
    const struct family *named = family_named(type);
    struct shape_family f;
    struct block_shape *b;
    struct config c;
    struct buf known = { 0 };
    int r;

    if (*type == '\0' || shape_family(&f, j)) {
        r = named != NULL ? shape_from_family(s, j, named->bit, e)
                          : shape_from_sizes(s, j, e);
    } else if (named == NULL) {
        shape_family_names(&known);
        r = err_set(e, EX_INPUT,
            "model_type: %.30s is not known: give a file of sizes without "
            "model_type, or one of %s, %s",
            SHOWN(type), family_names(0), known.p);
        buf_release(&known);
    } else if ((r = config_from_json(&c, j, e)) == 0) {
        b = xcalloc(c.L, sizeof *b);
        if ((r = config_blocks(&c, j, b, e)) == 0)
            shape_from_config(s, &c, b);
        free(b);
    }
    return r;
}

static int
shape_from_model(struct shape *s, const char *path, struct err *e)
{
    struct block_shape *b;
    struct model m;

    if (model_open(&m, path, e) < 0)
        return -1;
    b = xcalloc(m.c.L, sizeof *b);
    model_shape(&m, b);
    shape_from_config(s, &m.c, b);
    free(b);
    model_close(&m);
    return 0;
}

int
shape_open(struct shape *s, const char *path, struct err *e)
{
    const size_t n = strlen(path);
    const char *text = shipped_text("models", path);
    const int dir = text == NULL && io_is_dir(path);
    char *file;
    json_t *j;
    int r = -1;

    if (text == NULL && n > 5 && strcmp(path + n - 5, ".gguf") == 0)
        return shape_from_model(s, path, e);
    file = dir ? xasprintf("%s/config.json", path) : xstrdup(path);
    j = text != NULL ? js_parse(text, strlen(text), e)
                     : js_load(file, JS_MAX, e);
    if (j != NULL && (r = shape_from_json(s, j, e)) < 0)
        err_prefix(e, "%s", file);
    if (r == 0 && dir)
        r = stored_check(s, j, path, e);
    json_decref(j);
    free(file);
    return r;
}
