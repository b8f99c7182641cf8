/* Latent attention in configurations; see mla_config.h. */
#include "model/config/mla_config.h"

#include "model/config/config_fields.h"

enum { HEAD_MOST = 4096 };

int
config_has_mla(const struct config *c)
{
    return c->mla.kv_rank > 0;
}

size_t
mla_value(const struct config *c)
{
    return config_has_mla(c) ? c->mla.v : c->D;
}

size_t
mla_latent(const struct config *c)
{
    return c->mla.q_rank + c->mla.kv_rank + c->mla.rope;
}

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
mla_from_json(struct config_file *f, struct err *e)
{
    struct mla_shape *s = &f->c.mla;

    if (!has_latent_family(&f->c))
        return 0;
    s->halves = !f->pairs;
    f->c.D = s->nope + s->rope;
    return check_latent(&f->c, e);
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

/* In a newer file the sizes of heads are those with _mla; the others are sizes
 * of the cache's latents. */
int
mla_from_gguf(struct config_file *f, struct err *e)
{
    struct config *c = &f->c;
    struct mla_shape *s = &c->mla;

    if (!has_latent_family(c))
        return 0;
    c->D = f->key_mla > 0 ? f->key_mla : c->D;
    s->v = f->value_mla > 0 ? f->value_mla : f->value;
    s->rope = f->rotary;
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
