/* Experts in configurations and names; see experts_config.h. */
#include "model/config/experts_config.h"

#include "format/json.h"
#include "model/config/config_fields.h"
#include "model/config/mla_config.h"

#include <stdio.h>
#include <string.h>

/* Families whose weights llama.cpp divides by their sum. */
#define RENORMED                                                               \
    (FAMILY_MIXTRAL | FAMILY_QWEN3_MOE | FAMILY_GPT_OSS | FAMILY_DEEPSEEK_V3 | \
        FAMILY_QWEN3_NEXT | FAMILY_QWEN3_5_MOE)

void
experts_init(struct config *c)
{
    const uint64_t bit = family_of(c)->bit;
    struct router *r = &c->router;

    if (!(bit & MIXTURES))
        return;
    r->renorm = (bit & RENORMED) != 0;
    r->scale = 1;
    r->score = bit == FAMILY_GPT_OSS ? ROUTER_CHOSEN
        : bit == FAMILY_DEEPSEEK_V3  ? ROUTER_SIGMOID
                                     : ROUTER_SOFTMAX;
    r->group = bit == FAMILY_DEEPSEEK_V3 ? ROUTER_SUM2 : ROUTER_MAX;
}

int
config_is_mixture(const struct config *c)
{
    return c->router.n > 0;
}

/* Read which blocks have no experts. */
static int
read_dense(struct config_file *f, const json_t *j, struct err *e)
{
    const json_t *list = js_get(j, "mlp_only_layers");
    struct config *c = &f->c;

    for (size_t i = 0; i < c->L; i++)
        if ((i + 1) % f->step != 0)
            config_bit_set(c->dense, i, 1);
    if (list && !json_is_array(list))
        return err_set(e, EX_INPUT, "mlp_only_layers: is no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        const json_int_t n = json_integer_value(v);

        if (!json_is_integer(v) || n < 0)
            return err_set(e, EX_INPUT,
                "mlp_only_layers: number %zu is no block", i);
        if ((size_t)n < c->L)
            config_bit_set(c->dense, (size_t)n, 1);
    }
    return 0;
}

/* Read how groups of experts are used; with topk_method greedy there are
 * none. */
static int
read_method(struct router *r, const json_t *j, struct err *e)
{
    const char *method = "greedy";

    if (js_str(j, "topk_method", &method, e) < 0)
        return -1;
    if (strcmp(method, "greedy") == 0)
        r->groups = r->keep = 1;
    else if (strcmp(method, "group_limited_greedy") != 0)
        return err_set(e, EX_INPUT,
            "topk_method: \"%.60s\" is not supported (greedy, "
            "group_limited_greedy)",
            method);
    return 0;
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

/* Number of first blocks without experts. */
size_t
experts_first(const struct config *c)
{
    size_t n = 0;

    while (n < c->L && config_whole_block(c, n).experts == 0)
        n++;
    return n;
}

/* Check that a token does not use more experts than there are, and set what
 * follows in a DeepSeek. */
static int
set_experts(struct config_file *f, struct err *e)
{
    struct config *c = &f->c;

    if (c->router.k > c->router.n)
        return err_set(e, EX_INPUT,
            "num_experts_per_tok: %zu is more than the number of experts, %zu",
            c->router.k, c->router.n);
    if (!config_has_mla(c))
        return 0;
    if (c->router.k == 0 && c->router.n > 0)
        return err_set(e, EX_INPUT, "num_experts_per_tok: is missing");
    if (c->router.n == 0 && f->first < c->L)
        return err_set(e, EX_INPUT,
            "n_routed_experts: 0, but blocks from first_k_dense_replace, %zu, "
            "on have experts",
            f->first);
    c->shared_mlp = f->shared * c->expert_mlp;
    for (size_t i = 0; i < c->L && i < f->first; i++)
        config_bit_set(c->dense, i, 1);
    return check_groups(c, e);
}

int
experts_from_json(struct config_file *f, const json_t *j, struct err *e)
{
    const uint64_t bit = family_of(&f->c)->bit;

    if ((bit & QWEN_MOE && read_dense(f, j, e) < 0) ||
        (bit == FAMILY_DEEPSEEK_V2 && read_method(&f->c.router, j, e) < 0))
        return -1;
    return set_experts(f, e);
}

json_t *
dense_blocks_json(const struct config *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->L; i++)
        if (config_whole_block(c, i).experts == 0)
            json_array_append_new(list, json_integer((json_int_t)i));
    return list;
}

json_t *
router_method_json(const struct config *c)
{
    return json_string(
        c->router.groups > 1 ? "group_limited_greedy" : "greedy");
}

int
experts_from_gguf(struct config_file *f, struct err *e)
{
    struct config *c = &f->c;

    if (!config_is_mixture(c) && !config_has_mla(c))
        return 0;
    if (c->expert_mlp == 0)
        c->expert_mlp = c->mlp;
    if (config_has_mla(c) && c->router.groups == 0)
        c->router.groups = 1;
    if (config_has_mla(c) && c->router.keep == 0)
        c->router.keep = 1;
    return set_experts(f, e);
}

int
experts_check_gguf(const struct config *c, struct err *e)
{
    const int renorm = (family_of(c)->bit & RENORMED) != 0;

    if (!config_is_mixture(c) || config_has_mla(c))
        return 0;
    if (c->router.renorm != renorm)
        return err_set(e, EX_INPUT,
            "norm_topk_prob: %s: a GGUF of %s has no key for this, and its "
            "readers take %s",
            c->router.renorm ? "true" : "false", family_of(c)->gguf,
            renorm ? "true" : "false");
    for (size_t i = 0; i < c->L; i++)
        if (config_whole_block(c, i).experts == 0)
            return err_set(e, EX_INPUT,
                "mlp_only_layers: a GGUF of %s has no key for blocks without "
                "experts: write a folder instead",
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
        snprintf(out, size, "%s", block_stored(c, t, 0).name);
}

void
experts_name_gguf(const struct config *c, const struct block_shape *b, int t,
    char *out, size_t size)
{
    static const char *const part[] = { "gate", "up", "down" };

    if (b->experts > 0 && t >= W_GATE && t <= W_DOWN)
        snprintf(out, size, "ffn_%s_shexp.weight", part[t - W_GATE]);
    else
        snprintf(out, size, "%s", block_stored(c, t, 1).gguf);
}
