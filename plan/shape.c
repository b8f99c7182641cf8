/* Shapes of models: see shape.h */
#include "shape.h"
#include "shipped.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "model/config/config_renamed.h"
#include "model/pass/mla.h"
#include "model/files/model.h"

#include <math.h>
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

/* The sum that the parameters of tensor t of a block belong to. */
static double *
shape_part(struct shape *s, int t)
{
    return block_is_vector(t)                 ? &s->vectors
        : block_is_attention(t)               ? &s->attention
        : t == W_ROUTER || t == W_SHARED_GATE ? &s->dense
        : block_is_of_experts(t)              ? &s->expert
                                              : &s->dense;
}

/* Set the shape from a configuration of lib/model.  If blocks differ, sizes are
 * their means, so that sums over blocks are exact. */
static void
shape_from_config(struct shape *s, const struct config *c,
    const struct block_shape *b)
{
    const double each = 1.0 / (double)c->L;
    const double experts = (double)c->router.n;

    *s = (struct shape){ .V = (double)c->V,
        .d = (double)c->d,
        .L = (double)c->L,
        .D = (double)(c->D + mla_value(c)) / 2.0, /* keys, values */
        .gates = block_tensor_name(c, W_GATE) != NULL ? 3.0 : 2.0,
        .experts = experts,
        .active = (double)c->router.k,
        .groups = (double)c->router.groups,
        .group_top = (double)c->router.keep,
        .window = (double)c->window,
        .tied = c->tied,
        .outer =
            (double)(family_has_outer(c, OUTER_NORM_BIAS) ? 2 * c->d : c->d) +
            (double)(family_has_outer(c, OUTER_HEAD_BIAS) ? c->V : 0),
        .positions =
            (double)(family_has_outer(c, OUTER_POSITIONS) ? c->max_pos * c->d
                                                          : 0) };
    for (size_t i = 0; i < c->L; i++) {
        s->mlp += each * (double)b[i].mlp;
        s->KV += each * (double)b[i].groups;
        s->windowed += config_window(c, i) > 0 ? each : 0.0;
        s->expert_mlp += b[i].experts > 0 ? each * (double)c->expert_mlp : 0.0;
        for (int t = 0; t < W_N; t++) {
            size_t rows, cols;

            block_dims(c, t, &b[i], &rows, &cols);
            *shape_part(s, t) += each * (double)rows * (double)cols;
        }
    }
    s->H = s->KV * (double)(c->H / c->KV);
    s->expert /= fmax(1.0, experts);
}

/* Set the shape from a config.json, whatever type its weights are stored in. */
static int
shape_from_json(struct shape *s, const json_t *model, struct err *e)
{
    const char *type = js_text_of(config_text(model), "model_type");
    json_t *j = json_copy((json_t *)model);
    struct block_shape *b = NULL;
    struct config c;
    struct err why;
    int r;

    json_object_del(j, "quantization_config");
    if (json_object_get(j, "model_type") == NULL) {
        r = shape_from_sizes(s, j, e);
    } else if (config_from_json(&c, j, &why) < 0) {
        r = err_set(e, why.code, "%s%s", why.msg,
            family_named(type) != NULL || renamed_of(model) != NULL
                ? ""
                : ": describe the model by a file of sizes without model_type, "
                  "see plan-cluster(1)");
    } else {
        b = xcalloc(c.L, sizeof *b);
        if ((r = config_blocks(&c, j, b, e)) == 0)
            shape_from_config(s, &c, b);
    }
    free(b);
    json_decref(j);
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
    const char *text = shipped_model(path);
    const int dir = text == NULL && io_is_dir(path);
    char *file;
    json_t *j;
    int r = -1;

    if (shipped_or_file(path, 1, e) < 0)
        return -1;
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
