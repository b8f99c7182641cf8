/* Experts in configurations and names; see experts_config.h. */
#include "model/experts_config.h"

#include "format/json.h"
#include "model/family.h"
#include "model/gguf_keys.h"
#include "model/mla.h"

#include <stdio.h>
#include <string.h>

static const struct expert_family {
    unsigned bit;       /* FAMILY_... */
    const char *count;  /* key of config.json: number of experts */
    const char *width;  /* key of an expert's channels */
    const char *shared; /* key of shared_mlp, the shared expert's channels;
                         * NULL: there is no such key */
    int renorm;         /* weights are always divided by their sum; 0: if
                      * norm_topk_prob is true */
    int some_dense;     /* 1: has mlp_only_layers and decoder_sparse_step */
    int gguf_renorm;    /* 1: llama.cpp divides weights by their sum */
} families[] = {
    { FAMILY_MIXTRAL, "num_local_experts", "intermediate_size", NULL, 1, 0, 1 },
    { FAMILY_QWEN2_MOE, "num_experts", "moe_intermediate_size",
        "shared_expert_intermediate_size", 0, 1, 0 },
    { FAMILY_QWEN3_MOE, "num_experts", "moe_intermediate_size", NULL, 0, 1, 1 },
    { FAMILY_OLMOE, "num_experts", "intermediate_size", NULL, 0, 0, 0 },
    { FAMILY_GPT_OSS, "num_local_experts", "intermediate_size", NULL, 1, 0, 1 },
    { FAMILY_DEEPSEEK_V2, "n_routed_experts", "moe_intermediate_size", NULL, 1,
        0, 0 },
    { FAMILY_DEEPSEEK_V3, "n_routed_experts", "moe_intermediate_size", NULL, 0,
        0, 1 },
};

/* The entry of c's family; NULL: the family has no experts. */
static const struct expert_family *
expert_family(const struct config *c)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (families[i].bit == family_of(c)->bit)
            return &families[i];
    return NULL;
}

/* How scores follow from logits.  ROUTER_CHOSEN: the weights are a softmax
 * over the chosen logits only, so their sum is 1. */
static enum router_score
score_of(const struct expert_family *f)
{
    return f->bit == FAMILY_GPT_OSS    ? ROUTER_CHOSEN
        : f->bit == FAMILY_DEEPSEEK_V3 ? ROUTER_SIGMOID
                                       : ROUTER_SOFTMAX;
}

int
config_is_mixture(const struct config *c)
{
    return c->router.n > 0;
}

/* Mark block i as one without experts. */
static void
set_dense(struct config *c, size_t i)
{
    c->dense[i / 8] |= (unsigned char)(1u << i % 8);
}

/* Read which blocks have no experts. */
static int
read_dense(struct config *c, const json_t *j, struct err *e)
{
    const json_t *list = js_get(j, "mlp_only_layers");
    size_t step = 1;

    if (js_size(j, "decoder_sparse_step", 1, CONFIG_LAYERS, &step, e) < 0)
        return -1;
    for (size_t i = 0; i < c->L; i++)
        if ((i + 1) % step != 0)
            set_dense(c, i);
    if (list && !json_is_array(list))
        return err_set(e, EX_INPUT, "mlp_only_layers: is no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        const json_int_t n = json_integer_value(v);

        if (!json_is_integer(v) || n < 0)
            return err_set(e, EX_INPUT,
                "mlp_only_layers: number %zu is no block", i);
        if ((size_t)n < c->L)
            set_dense(c, (size_t)n);
    }
    return 0;
}

static void
put_number(json_t *j, const char *key, size_t n)
{
    json_object_set_new(j, key, json_integer((json_int_t)n));
}

/* Read groups of experts; with topk_method greedy there are none. */
static int
read_deepseek_groups(struct config *c, const json_t *j, struct err *e)
{
    const int v3 = family_of(c)->bit == FAMILY_DEEPSEEK_V3;
    const char *method = v3 ? "noaux_tc" : "greedy";
    struct router *r = &c->router;

    if (js_str(j, "topk_method", &method, e) < 0)
        return -1;
    r->groups = r->keep = 1;
    if (strcmp(method, "greedy") == 0)
        return 0;
    if (!v3 && strcmp(method, "group_limited_greedy") != 0)
        return err_set(e, EX_INPUT,
            "topk_method: \"%.60s\" is not supported (greedy, "
            "group_limited_greedy)",
            method);
    r->groups = r->keep = 0;
    r->group = v3 ? ROUTER_SUM2 : ROUTER_MAX;
    return js_size(j, "n_group", 1, ROUTER_EXPERTS, &r->groups, e) < 0 ||
            js_size(j, "topk_group", 1, ROUTER_EXPERTS, &r->keep, e) < 0
        ? -1
        : 0;
}

/* Check that the experts form groups, and that the groups that are kept have
 * enough experts for a token. */
static int
check_groups(const struct config *c, struct err *e)
{
    const struct router *r = &c->router;
    const size_t least = r->group == ROUTER_SUM2 ? 2 : 1;

    if (r->groups == 1 && r->keep == 1)
        return 0;
    if (r->groups == 0 || r->n % r->groups != 0 || r->n / r->groups < least)
        return err_set(e, EX_INPUT, "n_group: %zu does not cut %zu experts",
            r->groups, r->n);
    if (r->keep == 0 || r->keep > r->groups ||
        r->keep * (r->n / r->groups) < r->k)
        return err_set(e, EX_INPUT,
            "topk_group: %zu of %zu groups have not the %zu experts of a token",
            r->keep, r->groups, r->k);
    return 0;
}

/* Set the shared experts' channels and mark the first blocks, which have no
 * experts; -1 and *e: the router's groups do not fit its experts. */
static int
set_shared(struct config *c, size_t shared, size_t first, struct err *e)
{
    c->shared_mlp = shared * c->expert_mlp;
    for (size_t i = 0; i < c->L && i < first; i++)
        set_dense(c, i);
    return check_groups(c, e);
}

/* Number of first blocks without experts. */
static size_t
first_blocks(const struct config *c)
{
    size_t n = 0;

    while (n < c->L && config_whole_block(c, n).experts == 0)
        n++;
    return n;
}

/* Read what only the families of DeepSeek have: shared experts, first blocks
 * without experts, a factor of weights, groups. */
static int
read_deepseek(struct config *c, const json_t *j, struct err *e)
{
    struct router *r = &c->router;
    size_t shared = 0, first = 0;

    if (js_size(j, "n_shared_experts", 1, ROUTER_EXPERTS, &shared, e) < 0 ||
        js_size(j, "first_k_dense_replace", 0, CONFIG_LAYERS, &first, e) < 0 ||
        js_real(j, "routed_scaling_factor", 1e-6, 1e6, &r->scale, e) < 0 ||
        js_bool(j, "norm_topk_prob", &r->renorm, e) < 0)
        return -1;
    if (r->k == 0)
        return err_set(e, EX_INPUT, "num_experts_per_tok: is missing");
    return read_deepseek_groups(c, j, e) < 0 ? -1
                                             : set_shared(c, shared, first, e);
}

/* Set the keys that only the families of DeepSeek have. */
static void
put_deepseek(const struct config *c, json_t *j)
{
    const int v3 = family_of(c)->bit == FAMILY_DEEPSEEK_V3;
    const struct router *r = &c->router;

    put_number(j, "n_shared_experts", c->shared_mlp / c->expert_mlp);
    put_number(j, "first_k_dense_replace", first_blocks(c));
    json_object_set_new(j, "routed_scaling_factor", json_real(r->scale));
    json_object_set_new(j, "norm_topk_prob", json_boolean(r->renorm));
    json_object_set_new(j, "scoring_func",
        json_string(v3 ? "sigmoid" : "softmax"));
    json_object_set_new(j, "topk_method",
        json_string(v3          ? "noaux_tc"
                : r->groups > 1 ? "group_limited_greedy"
                                : "greedy"));
    put_number(j, "n_group", r->groups > 1 ? r->groups : 1);
    put_number(j, "topk_group", r->groups > 1 ? r->keep : 1);
    put_number(j, "num_nextn_predict_layers", 0);
}

/* Check that a token does not use more experts than there are. */
static int
check_experts(const struct config *c, const char *count, struct err *e)
{
    if (c->router.k > c->router.n)
        return err_set(e, EX_INPUT, "num_experts_per_tok: %zu, but %s is %zu",
            c->router.k, count, c->router.n);
    return 0;
}

int
experts_from_json(struct config *c, const json_t *j, struct err *e)
{
    const struct expert_family *f = expert_family(c);
    struct router *r = &c->router;

    if (f == NULL)
        return 0;
    *r = (struct router){ .renorm = f->renorm,
        .score = score_of(f),
        .scale = 1 };
    if (js_size(j, f->count, 1, ROUTER_EXPERTS, &r->n, e) < 0 ||
        js_size(j, "num_experts_per_tok", 1, ROUTER_USED, &r->k, e) < 0 ||
        js_size(j, f->width, 1, (size_t)1 << 20, &c->expert_mlp, e) < 0 ||
        (f->shared &&
            js_size(j, f->shared, 1, (size_t)1 << 20, &c->shared_mlp, e) < 0) ||
        (!f->renorm && js_bool(j, "norm_topk_prob", &r->renorm, e) < 0) ||
        (f->some_dense && read_dense(c, j, e) < 0) ||
        (config_has_mla(c) && read_deepseek(c, j, e) < 0))
        return -1;
    return check_experts(c, f->count, e);
}

void
experts_to_json(const struct config *c, json_t *j)
{
    const struct expert_family *f = expert_family(c);
    json_t *list = json_array();

    for (size_t i = 0; i < c->L; i++)
        if (config_whole_block(c, i).experts == 0)
            json_array_append_new(list, json_integer((json_int_t)i));
    if (f != NULL) {
        put_number(j, f->count, c->router.n);
        put_number(j, "num_experts_per_tok", c->router.k);
        put_number(j, f->width, c->expert_mlp);
        json_object_set_new(j, "output_router_logits", json_false());
    }
    if (f != NULL && f->shared)
        put_number(j, f->shared, c->shared_mlp);
    if (f != NULL && !f->renorm)
        json_object_set_new(j, "norm_topk_prob",
            json_boolean(c->router.renorm));
    if (f != NULL && f->some_dense) {
        json_object_set(j, "mlp_only_layers", list);
        put_number(j, "decoder_sparse_step", 1);
    }
    if (config_has_mla(c))
        put_deepseek(c, j);
    json_decref(list);
}

/* Read the keys of a GGUF about the groups and weights of experts, shared
 * experts, and first blocks without experts. */
static int
read_routing(struct config *c, const struct gguf *g, struct err *e)
{
    struct router *r = &c->router;
    size_t shared = 0, first = 0;
    const struct {
        const char *name;
        size_t low, *v;
    } sizes[] = { { "leading_dense_block_count", 0, &first },
        { "expert_group_count", 1, &r->groups },
        { "expert_group_used_count", 1, &r->keep } };

    r->renorm = 0;
    r->groups = r->keep = 1;
    r->group = r->score == ROUTER_SIGMOID ? ROUTER_SUM2 : ROUTER_MAX;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (arch_size(c, g, sizes[i].name, sizes[i].low, ROUTER_EXPERTS,
                sizes[i].v, e) < 0)
            return -1;
    if (arch_need(c, g, "expert_shared_count", ROUTER_EXPERTS, &shared, e) <
            0 ||
        arch_real(c, g, "expert_weights_scale", 1e-6, 1e6, &r->scale, e) < 0 ||
        gguf_bool(g, arch_key(c, "expert_weights_norm"), &r->renorm, e) < 0)
        return -1;
    return set_shared(c, shared, first, e);
}

int
experts_from_gguf(struct config *c, const struct gguf *g, struct err *e)
{
    const struct expert_family *f = expert_family(c);
    struct router *r = &c->router;

    if (f == NULL)
        return 0;
    *r = (struct router){ .renorm = f->gguf_renorm,
        .score = score_of(f),
        .scale = 1 };
    c->expert_mlp = c->mlp;
    if (arch_need(c, g, "expert_count", ROUTER_EXPERTS, &r->n, e) < 0 ||
        arch_need(c, g, "expert_used_count", ROUTER_USED, &r->k, e) < 0 ||
        arch_size(c, g, "expert_feed_forward_length", 1, 1 << 20,
            &c->expert_mlp, e) < 0 ||
        (f->shared &&
            arch_need(c, g, "expert_shared_feed_forward_length", 1 << 20,
                &c->shared_mlp, e) < 0) ||
        check_experts(c, "expert_count", e) < 0)
        return -1;
    return config_has_mla(c) ? read_routing(c, g, e) : 0;
}

/* Put what read_routing reads. */
static void
put_routing(const struct config *c, struct gguf_out *o)
{
    const struct router *r = &c->router;

    gguf_out_u32(o, arch_key(c, "leading_dense_block_count"), first_blocks(c));
    gguf_out_u32(o, arch_key(c, "expert_shared_count"),
        c->shared_mlp / c->expert_mlp);
    gguf_out_u32(o, arch_key(c, "expert_gating_func"),
        r->score == ROUTER_SIGMOID ? 2 : 1);
    gguf_out_f32(o, arch_key(c, "expert_weights_scale"), r->scale);
    gguf_out_bool(o, arch_key(c, "expert_weights_norm"), r->renorm);
    if (r->groups <= 1 && r->score != ROUTER_SIGMOID)
        return; /* without these keys, llama.cpp has no groups in V2 */
    gguf_out_u32(o, arch_key(c, "expert_group_count"), r->groups);
    gguf_out_u32(o, arch_key(c, "expert_group_used_count"), r->keep);
}

void
experts_to_gguf(const struct config *c, struct gguf_out *o)
{
    if (!config_is_mixture(c))
        return;
    gguf_out_u32(o, arch_key(c, "expert_count"), c->router.n);
    gguf_out_u32(o, arch_key(c, "expert_used_count"), c->router.k);
    gguf_out_u32(o, arch_key(c, "expert_feed_forward_length"), c->expert_mlp);
    if (config_has_mla(c))
        put_routing(c, o);
    else if (c->shared_mlp > 0)
        gguf_out_u32(o, arch_key(c, "expert_shared_feed_forward_length"),
            c->shared_mlp);
}

int
experts_check_gguf(const struct config *c, struct err *e)
{
    const struct expert_family *f = expert_family(c);

    if (f == NULL || config_has_mla(c))
        return 0;
    if (c->router.renorm != f->gguf_renorm)
        return err_set(e, EX_INPUT,
            "norm_topk_prob: %s cannot be said in a GGUF of %s, whose readers "
            "take %s",
            c->router.renorm ? "true" : "false", family_of(c)->gguf,
            f->gguf_renorm ? "true" : "false");
    for (size_t i = 0; i < c->L; i++)
        if (config_whole_block(c, i).experts == 0)
            return err_set(e, EX_INPUT,
                "mlp_only_layers: a block without experts cannot be said in a "
                "GGUF of %s: write a folder instead",
                family_of(c)->gguf);
    return 0;
}

int
experts_apart(int t)
{
    return t == W_EXPERT_GATE || t == W_EXPERT_UP || t == W_EXPERT_DOWN;
}

/* Mixtral's names. */
static void
mixtral_name(int t, size_t expert, char *out, size_t size)
{
    static const char *const part[] = { "w1", "w3", "w2" };

    if (t == W_ROUTER)
        snprintf(out, size, "block_sparse_moe.gate.weight");
    else
        snprintf(out, size, "block_sparse_moe.experts.%zu.%s.weight", expert,
            part[t - W_EXPERT_GATE]);
}

void
experts_name(const struct config *c, const struct block_shape *b, int t,
    size_t expert, char *out, size_t size)
{
    static const char *const part[] = { "gate", "up", "down" };

    if (block_is_of_experts(t) && family_of(c)->bit == FAMILY_MIXTRAL)
        mixtral_name(t, expert, out, size);
    else if (t == W_ROUTER && family_of(c)->bit == FAMILY_GPT_OSS)
        snprintf(out, size, "mlp.router.weight");
    else if (experts_apart(t))
        snprintf(out, size, "mlp.experts.%zu.%s_proj.weight", expert,
            part[t - W_EXPERT_GATE]);
    else if (b->experts > 0 && t >= W_GATE && t <= W_DOWN)
        snprintf(out, size, "mlp.shared_expert%s.%s_proj.weight",
            config_has_mla(c) ? "s" : "", part[t - W_GATE]);
    else
        snprintf(out, size, "%s", block_stored(c, t).name);
}

void
experts_name_gguf(const struct config *c, const struct block_shape *b, int t,
    char *out, size_t size)
{
    static const char *const part[] = { "gate", "up", "down" };

    if (b->experts > 0 && t >= W_GATE && t <= W_DOWN)
        snprintf(out, size, "ffn_%s_shexp.weight", part[t - W_GATE]);
    else
        snprintf(out, size, "%s", block_stored(c, t).gguf);
}
