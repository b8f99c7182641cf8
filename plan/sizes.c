/*
 * Shapes from files of sizes, for models that lib/model does not read: see
 * shape.h.  Blocks are those of Llama or, with mlp_matrices 2, of GPT-2, in
 * which norms and matrices have biases.
 */
#include "shape.h"
#include "base/text.h"
#include "format/json.h"

#include <math.h>

/* Read the sizes in j and delete their keys, so that only unknown keys remain
 * in j.  A member of *s whose key is missing keeps its value. */
static int
read_shape_sizes(struct shape *s, json_t *j, struct err *e)
{
    const struct {
        const char *name;
        double *to;
        int needed;
        size_t least, most;
    } want[] = {
        { "vocab_size", &s->V, 1, 1, (size_t)1 << 40 },
        { "hidden_size", &s->d, 1, 1, (size_t)1 << 40 },
        { "num_hidden_layers", &s->L, 1, 1, (size_t)1 << 40 },
        { "num_attention_heads", &s->H, 1, 1, (size_t)1 << 40 },
        { "num_key_value_heads", &s->KV, 0, 1, (size_t)1 << 40 },
        { "head_dim", &s->D, 0, 1, (size_t)1 << 40 },
        { "intermediate_size", &s->mlp, 0, 1, (size_t)1 << 40 },
        { "mlp_matrices", &s->gates, 0, 2, 3 },
        { "num_experts", &s->experts, 0, 1, (size_t)1 << 40 },
        { "num_local_experts", &s->experts, 0, 1, (size_t)1 << 40 },
        { "num_experts_per_tok", &s->active, 0, 1, (size_t)1 << 40 },
        { "moe_intermediate_size", &s->expert_mlp, 0, 1, (size_t)1 << 40 },
        { "n_positions", &s->positions, 0, 1, (size_t)1 << 40 },
    };
    int tied = 0, dropout = 0;
    size_t x;

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const int r =
            js_size(j, want[i].name, want[i].least, want[i].most, &x, e);

        if (r < 0)
            return -1;
        if (r == 0 && want[i].needed)
            return err_set(e, EX_INPUT, "%s: is missing", want[i].name);
        if (r > 0)
            *want[i].to = (double)x;
        json_object_del(j, want[i].name);
    }
    if (js_bool(j, "tie_word_embeddings", &tied, e) < 0 ||
        js_bool(j, "dropout", &dropout, e) < 0)
        return -1;
    s->tied = tied;
    s->dropout = dropout;
    json_object_del(j, "tie_word_embeddings");
    json_object_del(j, "dropout");
    json_object_del(j, "about");
    return 0;
}

/* Refuse sizes that no model has. */
static int
check_shape_sizes(const struct shape *s, struct err *e)
{
    if (s->KV > s->H || fmod(s->H, s->KV) > 0.0)
        return err_set(e, EX_INPUT,
            "num_key_value_heads: %.0f does not divide the %.0f query heads",
            s->KV, s->H);
    if (s->D != floor(s->D))
        return err_set(e, EX_INPUT,
            "num_attention_heads: %.0f does not divide the width %.0f: give "
            "head_dim",
            s->H, s->d);
    if (s->experts > 0 && !(s->active > 0 && s->active <= s->experts))
        return err_set(e, EX_INPUT,
            "num_experts_per_tok: is not from 1 to %.0f", s->experts);
    if (!(s->mlp + s->expert_mlp > 0))
        return err_set(e, EX_INPUT, "intermediate_size: is missing");
    return 0;
}

/* Set the numbers of parameters from the sizes. */
static void
count_shape_params(struct shape *s)
{
    s->attention = s->d * s->D * (2.0 * s->H + 2.0 * s->KV);
    s->dense = s->gates * s->d * s->mlp + s->d * s->experts; /* the router's */
    s->expert = s->gates * s->d * s->expert_mlp;
    s->vectors = 2.0 * s->d;
    if (s->gates < 3.0) /* biases: norms, Q, K and V, outputs, the MLP */
        s->vectors += 4.0 * s->d + (s->H + 2.0 * s->KV) * s->D + s->mlp;
    s->positions *= s->d;
    s->outer = s->d;
}

int
shape_from_sizes(struct shape *s, json_t *j, struct err *e)
{
    *s = (struct shape){ .gates = 3.0 };
    if (read_shape_sizes(s, j, e) < 0)
        return -1;
    if (json_object_size(j) > 0)
        return err_set(e, EX_INPUT,
            "%s: is no key of a file of sizes, see plan-cluster(1)",
            SHOWN(json_object_iter_key(json_object_iter(j))));
    s->KV = s->KV > 0 ? s->KV : s->H;
    s->D = s->D > 0 ? s->D : s->d / s->H;
    if (s->experts > 0) { /* in place of the MLP of every block */
        s->expert_mlp = s->expert_mlp > 0 ? s->expert_mlp : s->mlp;
        s->mlp = 0.0;
    }
    if (check_shape_sizes(s, e) < 0)
        return -1;
    count_shape_params(s);
    return 0;
}
