/* Latent attention in configurations; see mla_config.h. */
#include "model/mla_config.h"

#include "format/json.h"
#include "model/family.h"
#include "model/gguf_keys.h"
#include "model/mla.h"

enum { RANK_MOST = 1 << 20, HEAD_MOST = 4096 };

static int
has_latent_family(const struct config *c)
{
    return block_tensor_name(c, W_MLA_KVB) != NULL;
}

/* Check that the sizes go together. */
static int
check_latent(const struct config *c, struct err *e)
{
    const struct mla_shape *s = &c->mla;

    if (s->rope % 2 != 0)
        return err_set(e, EX_INPUT, "qk_rope_head_dim: %zu is odd", s->rope);
    if (s->v > s->nope + s->rope)
        return err_set(e, EX_INPUT,
            "v_head_dim: %zu is more than qk_nope_head_dim + "
            "qk_rope_head_dim, %zu, which is not supported",
            s->v, s->nope + s->rope);
    if (c->KV != c->H)
        return err_set(e, EX_INPUT,
            "num_key_value_heads: %zu is not num_attention_heads, %zu, which "
            "is not supported in a %s",
            c->KV, c->H, c->arch);
    return 0;
}

int
mla_from_json(struct config *c, const json_t *j, struct err *e)
{
    struct mla_shape *s = &c->mla;
    int pairs = 1;

    if (!has_latent_family(c))
        return 0;
    *s = (struct mla_shape){ 0 }; /* q_lora_rank: null means none */
    if (js_size(j, "q_lora_rank", 1, RANK_MOST, &s->q_rank, e) < 0 ||
        js_size(j, "kv_lora_rank", 1, RANK_MOST, &s->kv_rank, e) < 0 ||
        js_size(j, "qk_nope_head_dim", 1, HEAD_MOST, &s->nope, e) < 0 ||
        js_size(j, "qk_rope_head_dim", 2, HEAD_MOST, &s->rope, e) < 0 ||
        js_size(j, "v_head_dim", 1, HEAD_MOST, &s->v, e) < 0 ||
        js_bool(j, "rope_interleave", &pairs, e) < 0)
        return -1;
    s->halves = !pairs;
    c->D = s->nope + s->rope;
    return check_latent(c, e);
}

int
mla_check_rope(const struct config *c, const json_t *j, struct err *e)
{
    const char *at = "rope_parameters.mscale_all_dim";

    if (!config_has_mla(c) || c->rope == ROPE_YARN || c->rope == ROPE_DEFAULT)
        return 0;
    if (js_get(j, at) || js_get(j, at = "rope_scaling.mscale_all_dim"))
        return err_set(e, EX_INPUT,
            "%s: is not supported without rope_type yarn", at);
    return 0;
}

void
mla_to_json(const struct config *c, json_t *j)
{
    const struct mla_shape *s = &c->mla;
    const struct {
        const char *name;
        size_t v;
    } sizes[] = { { "q_lora_rank", s->q_rank }, { "kv_lora_rank", s->kv_rank },
        { "qk_nope_head_dim", s->nope }, { "qk_rope_head_dim", s->rope },
        { "v_head_dim", s->v }, { "head_dim", s->rope } };

    for (size_t i = 0; config_has_mla(c) && i < 6; i++)
        json_object_set_new(j, sizes[i].name,
            sizes[i].v > 0 ? json_integer((json_int_t)sizes[i].v)
                           : json_null());
    if (config_has_mla(c) && family_of(c)->bit == FAMILY_DEEPSEEK_V3)
        json_object_set_new(j, "rope_interleave", json_boolean(!s->halves));
}

int
mla_from_gguf(struct config *c, const struct gguf *g, struct err *e)
{
    struct mla_shape *s = &c->mla;
    /* in a newer file the first two are sizes of the cache's latents, which the
     * sizes of heads, under the names with _mla, then replace */
    const struct {
        const char *name;
        size_t *v;
    } sizes[] = { { "attention.key_length", &c->D },
        { "attention.value_length", &s->v },
        { "attention.key_length_mla", &c->D },
        { "attention.value_length_mla", &s->v },
        { "attention.q_lora_rank", &s->q_rank } };

    *s = (struct mla_shape){ 0 };
    c->D = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (arch_size(c, g, sizes[i].name, 1, RANK_MOST, sizes[i].v, e) < 0)
            return -1;
    if (arch_need(c, g, "attention.kv_lora_rank", RANK_MOST, &s->kv_rank, e) <
            0 ||
        arch_need(c, g, "rope.dimension_count", HEAD_MOST, &s->rope, e) < 0)
        return -1;
    if (c->D <= s->rope || c->D > HEAD_MOST || s->v == 0)
        return err_set(e, EX_INPUT,
            "%s, attention.key_length, attention.value_length: %zu, %zu, %zu "
            "are no sizes of heads",
            arch_key(c, "rope.dimension_count"), s->rope, c->D, s->v);
    s->nope = c->D - s->rope;
    c->rotary = s->rope;
    c->KV = c->H;
    return check_latent(c, e);
}

void
mla_to_gguf(const struct config *c, struct gguf_out *o)
{
    if (!config_has_mla(c))
        return;
    gguf_out_u32(o, arch_key(c, "attention.kv_lora_rank"), c->mla.kv_rank);
    if (c->mla.q_rank > 0)
        gguf_out_u32(o, arch_key(c, "attention.q_lora_rank"), c->mla.q_rank);
    /* a tenth of mscale_all_dim, as llama.cpp's converter writes it */
    if (c->rope == ROPE_YARN)
        gguf_out_f32(o, arch_key(c, "rope.scaling.yarn_log_multiplier"),
            0.1 * c->rope_mscale_all);
}

const char *
mla_unsaid(const struct config *c)
{
    const int yarn = c->rope == ROPE_YARN;

    return c->mla.halves ? "rope_interleave: false"
        : yarn && !(c->rope_mscale_all > 0)
        ? "rope_parameters without mscale_all_dim"
        : yarn && c->rope_mscale != c->rope_mscale_all
        ? "rope_parameters: an mscale other than mscale_all_dim"
        : c->router.groups > 1 && c->router.group == ROUTER_MAX
        ? "topk_method: group_limited_greedy"
        : NULL;
}
