/* Shapes of models: see shape.h */
#include "shape.h"
#include "shipped.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
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
        s->d;
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
        .tied = c->tied };
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

/* Read the first of several members that exists; names: theirs, with blanks
 * between. */
static int
read_shape_size(const json_t *j, const char *names, double least, double *v,
    struct err *e)
{
    char name[80];
    size_t n, x;
    int r = 0;

    for (; *names != '\0' && r == 0; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        r = js_size(j, name, (size_t)least, (size_t)1 << 40, &x, e);
    }
    if (r > 0)
        *v = (double)x;
    return r;
}

/* Read sizes by the names that transformers uses, and two names of our own:
 * mlp_matrices, dropout. */
static int
read_shape_sizes(struct shape *s, const json_t *j, struct err *e)
{
    double shared = 0.0;
    int tied = 0, dropout = 0;
    const struct {
        const char *names;
        double least, *to;
        int needed;
    } want[] = {
        { "vocab_size", 1, &s->V, 1 },
        { "hidden_size n_embd", 1, &s->d, 1 },
        { "num_hidden_layers n_layer", 1, &s->L, 1 },
        { "num_attention_heads n_head", 1, &s->H, 1 },
        { "num_key_value_heads", 1, &s->KV, 0 },
        { "head_dim", 1, &s->D, 0 },
        { "intermediate_size ffn_dim n_inner", 1, &s->mlp, 0 },
        { "mlp_matrices", 2, &s->gates, 0 },
        { "num_experts num_local_experts n_routed_experts", 0, &s->experts, 0 },
        { "num_experts_per_tok", 1, &s->active, 0 },
        { "moe_intermediate_size", 1, &s->expert_mlp, 0 },
        { "shared_expert_intermediate_size", 0, &shared, 0 },
    };

    s->gates = 3.0;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const int r =
            read_shape_size(j, want[i].names, want[i].least, want[i].to, e);

        if (r < 0 || (r == 0 && want[i].needed))
            return r < 0
                ? -1
                : err_set(e, EX_INPUT, "%s: is missing", want[i].names);
    }
    if (js_bool(j, "tie_word_embeddings", &tied, e) < 0 ||
        js_bool(j, "dropout", &dropout, e) < 0)
        return -1;
    s->tied = tied;
    s->dropout = dropout;
    s->KV = s->KV > 0 ? s->KV : s->H;
    s->D = s->D > 0 ? s->D : s->d / s->H;
    s->mlp = s->mlp > 0 ? s->mlp : 4.0 * s->d;
    if (s->experts > 0) { /* experts replace the MLP, except a shared one */
        s->expert_mlp = s->expert_mlp > 0 ? s->expert_mlp : s->mlp;
        s->mlp = shared;
        if (!(s->active > 0 && s->active <= s->experts))
            return err_set(e, EX_INPUT,
                "num_experts_per_tok: is not from 1 to %.0f", s->experts);
    }
    return 0;
}

static int
shape_from_sizes(struct shape *s, const json_t *j, struct err *e)
{
    memset(s, 0, sizeof *s);
    if (read_shape_sizes(s, j, e) < 0)
        return -1;
    s->attention = s->d * s->D * (2.0 * s->H + 2.0 * s->KV);
    s->dense = s->gates * s->d * s->mlp + s->d * s->experts;
    s->expert = s->gates * s->d * s->expert_mlp;
    /* Without gates, as in GPT-2: two norms with biases; biases of products. */
    s->vectors = s->gates > 2.0
        ? 2.0 * s->d
        : 6.0 * s->d + (s->H + 2.0 * s->KV) * s->D + s->mlp;
    return 0;
}

static int
shape_from_json(struct shape *s, json_t *j, struct err *e)
{
    const char *type = js_text_of(j, "model_type");
    struct block_shape *b;
    struct config c;
    int r;

    if (family_named(type) == NULL) {
        r = shape_from_sizes(s, j, e);
    } else if ((r = config_from_json(&c, j, e)) == 0) {
        b = xcalloc(c.L, sizeof *b);
        if ((r = config_blocks(&c, j, b, e)) == 0)
            shape_from_config(s, &c, b);
        free(b);
    }
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
    char *file;
    json_t *j;
    int r = -1;

    if (text != NULL) {
        if ((j = js_parse(text, strlen(text), e)) == NULL)
            return err_prefix(e, "%s", path);
        return shape_from_json(s, j, e) < 0 ? err_prefix(e, "%s", path) : 0;
    }
    if (n > 5 && strcmp(path + n - 5, ".gguf") == 0)
        return shape_from_model(s, path, e);
    file = io_is_dir(path) ? xasprintf("%s/config.json", path) : xstrdup(path);
    j = js_load(file, JS_MAX, e);
    if (j != NULL && (r = shape_from_json(s, j, e)) < 0)
        err_prefix(e, "%s", file);
    free(file);
    return r;
}
