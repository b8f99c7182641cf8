/*
 * Shapes from the sizes in a config.json, for models that lib/model does not
 * read: see families.h, which also knows what the sizes do not say.
 */
#include "families.h"
#include "base/mem.h"
#include "format/json.h"

#include <math.h>
#include <string.h>

/* Set *v to the first member that j has of those in `names`, a list separated
 * by blanks.  0: it has none; -1 and *e. */
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

/* Sizes of a configuration that struct shape does not have.  0: not given. */
struct sizes {
    double shared, shared_experts; /* channels, or experts, that every token
                                    * uses besides the experts chosen for it */
    double dense_first;            /* number of first blocks without experts */
    double positions, embedded;    /* rows of the embedding of positions; width
                                    * of the embedding of tokens */
    double parallel_norms;         /* norms of a block with SHAPE_NEWER */
    /* latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1) */
    double q_rank, kv_rank, nope, rope, value;
};

/* Read sizes by the names that transformers uses. */
static int
read_shape_sizes(struct shape *s, struct sizes *z, const json_t *j,
    struct err *e)
{
    const struct {
        const char *names;
        double least, *to;
        int needed;
    } want[] = {
        { "vocab_size", 1, &s->V, 1 },
        { "hidden_size n_embd n_embed d_model", 1, &s->d, 1 },
        { "num_hidden_layers n_layer n_layers", 1, &s->L, 1 },
        { "num_attention_heads n_head n_heads", 1, &s->H, 1 },
        { "num_key_value_heads num_kv_heads", 1, &s->KV, 0 },
        { "head_dim", 1, &s->D, 0 },
        { "intermediate_size ffn_dim n_inner ffn_hidden_size", 1, &s->mlp, 0 },
        { "mlp_matrices", 2, &s->gates, 0 },
        { "num_experts num_local_experts n_routed_experts", 0, &s->experts, 0 },
        { "num_experts_per_tok", 1, &s->active, 0 },
        { "moe_intermediate_size", 1, &s->expert_mlp, 0 },
        { "n_group", 1, &s->groups, 0 },
        { "topk_group", 1, &s->group_top, 0 },
        { "sliding_window", 0, &s->window, 0 },
        { "shared_expert_intermediate_size", 0, &z->shared, 0 },
        { "n_shared_experts", 0, &z->shared_experts, 0 },
        { "first_k_dense_replace", 0, &z->dense_first, 0 },
        { "n_positions max_position_embeddings", 1, &z->positions, 0 },
        { "q_lora_rank", 1, &z->q_rank, 0 },
        { "kv_lora_rank", 1, &z->kv_rank, 0 },
        { "qk_nope_head_dim", 1, &z->nope, 0 },
        { "qk_rope_head_dim", 1, &z->rope, 0 },
        { "v_head_dim", 1, &z->value, 0 },
        { "word_embed_proj_dim", 1, &z->embedded, 0 },
        { "num_ln_in_parallel_attn", 1, &z->parallel_norms, 0 },
    };
    struct buf names = { 0 };
    int r = 0;

    for (size_t i = 0; r >= 0 && i < sizeof want / sizeof *want; i++) {
        r = read_shape_size(j, want[i].names, want[i].least, want[i].to, e);
        if (r == 0 && want[i].needed)
            r = err_set(e, EX_INPUT, "%s: is missing", want[i].names);
        buf_addf(&names, "%s ", want[i].names);
    }
    if (r >= 0)
        r = shape_check_keys(j, names.p, e);
    buf_release(&names);
    return r;
}

/* Set the sizes that the configuration leaves to defaults. */
static int
finish_shape_sizes(struct shape *s, const struct sizes *z, unsigned contents,
    const json_t *j, struct err *e)
{
    double wide = 4.0;
    int windows = 1;

    if (js_real(j, "expansion_ratio", 1.0, 64.0, &wide, e) < 0 ||
        js_bool(j, "use_sliding_window", &windows, e) < 0)
        return -1;
    s->tied = (contents & SHAPE_TIED) != 0;
    s->KV = contents & SHAPE_MULTI_QUERY ? 1.0 : s->KV > 0 ? s->KV : s->H;
    if (z->kv_rank > 0) /* MLA: keys and values differ in width; D is their
                         * mean */
        s->D = (z->nope + z->rope + z->value) / 2.0;
    s->D = s->D > 0 ? s->D : s->d / s->H;
    s->mlp = s->mlp > 0 ? s->mlp : wide * s->d;
    s->windowed = s->window == 0.0 || !windows ? 0.0
        : contents & SHAPE_WINDOW              ? 1.0
        : contents & SHAPE_WINDOW_HALF         ? 0.5
                                               : 0.0;
    return 0;
}

/* Refuse sizes that no model has. */
static int
check_shape_sizes(const struct shape *s, const struct sizes *z, struct err *e)
{
    if (s->KV > s->H || fmod(s->H, s->KV) > 0.0)
        return err_set(e, EX_INPUT,
            "num_key_value_heads: %.0f does not divide the %.0f query heads",
            s->KV, s->H);
    if (z->kv_rank == 0 && s->D != floor(s->D))
        return err_set(e, EX_INPUT,
            "num_attention_heads: %.0f does not divide the width %.0f: give "
            "head_dim",
            s->H, s->d);
    if (s->experts > 0 && !(s->active > 0 && s->active <= s->experts))
        return err_set(e, EX_INPUT,
            "num_experts_per_tok: is not from 1 to %.0f", s->experts);
    if (z->dense_first >= s->L)
        return err_set(e, EX_INPUT,
            "first_k_dense_replace: is not below the %.0f blocks", s->L);
    if (z->embedded > 0 && z->embedded != s->d)
        return err_set(e, EX_INPUT,
            "word_embed_proj_dim: differs from hidden_size, which is not "
            "supported");
    if (z->kv_rank > 0 && !(z->nope > 0 && z->rope > 0 && z->value > 0))
        return err_set(e, EX_INPUT,
            "qk_nope_head_dim, qk_rope_head_dim or v_head_dim: is missing");
    return 0;
}

/* Parameters of the matrices of a block's attention. */
static double
attention_params(const struct shape *s, const struct sizes *z)
{
    const double key = z->nope + z->rope;

    if (z->kv_rank == 0.0)
        return s->d * s->D * (2.0 * s->H + 2.0 * s->KV);
    return (z->q_rank > 0 ? z->q_rank * (s->d + s->H * key)
                          : s->d * s->H * key) +
        s->d * (z->kv_rank + z->rope) +
        z->kv_rank * s->H * (z->nope + z->value) + s->H * z->value * s->d;
}

/* Parameters of a block's norms and biases, except biases of experts. */
static double
vector_params(const struct shape *s, const struct sizes *z, unsigned contents,
    double norms)
{
    const double both = contents & SHAPE_NORM_BIAS ? 2.0 : 1.0;
    double n = norms * both * s->d + z->q_rank + z->kv_rank;

    if (contents & SHAPE_QKV_BIAS)
        n += (s->H + 2.0 * s->KV) * s->D;
    if (contents & SHAPE_OUT_BIAS)
        n += s->d;
    if (contents & SHAPE_MLP_BIAS)
        n += s->experts > 0 ? s->experts : (s->gates - 1.0) * s->mlp + s->d;
    if (contents & SHAPE_QK_HEAD)
        n += 2.0 * s->D;
    if (contents & SHAPE_QK_ALL)
        n += (s->H + s->KV) * s->D;
    if (contents & SHAPE_SINKS)
        n += s->H;
    return n;
}

/* Set MLP and experts of a mean block: the first dense_first blocks have an MLP
 * and no experts, the later ones have experts and shared channels. */
static void
mix_shape_blocks(struct shape *s, const struct sizes *z, unsigned contents)
{
    const double some = s->experts > 0 ? 1.0 - z->dense_first / s->L : 0.0;
    const double own = s->expert_mlp > 0 ? s->expert_mlp : s->mlp;
    const double shared = z->shared + z->shared_experts * own;

    s->mlp = (1.0 - some) * s->mlp + some * shared;
    s->dense = s->gates * s->d * s->mlp +
        some * s->d * (s->experts + (z->shared > 0)); /* router, shared gate */
    s->expert_mlp = some * own;
    s->expert = s->gates * s->d * s->expert_mlp;
    if (contents & SHAPE_MLP_BIAS)
        s->expert += some * ((s->gates - 1.0) * own + s->d);
}

/* Set the numbers of parameters from the sizes. */
static void
count_shape_params(struct shape *s, const struct sizes *z, unsigned contents,
    double norms)
{
    const double both = contents & SHAPE_NORM_BIAS ? 2.0 : 1.0;

    s->attention = attention_params(s, z);
    s->vectors = vector_params(s, z, contents, norms);
    mix_shape_blocks(s, z, contents);
    if (contents & SHAPE_POSITIONS)
        s->positions =
            s->d * (z->positions + (contents & SHAPE_PAD_2 ? 2.0 : 0.0));
    s->outer = both * s->d * (contents & SHAPE_EMBED_NORM ? 2.0 : 1.0) +
        (contents & SHAPE_HEAD_BIAS ? s->V : 0.0);
}

int
shape_from_sizes(struct shape *s, const json_t *j, struct err *e)
{
    struct shape_family f = { .norms = 2 };
    const int known = shape_family(&f, j);
    struct sizes z = { .parallel_norms = 2.0 };
    unsigned contents;
    int dropout = 0;
    double norms = f.norms;

    memset(s, 0, sizeof *s);
    s->gates = 3.0;
    if (read_shape_sizes(s, &z, j, e) < 0 ||
        shape_contents(&contents, j, e) < 0 ||
        (!known && js_bool(j, "dropout", &dropout, e) < 0))
        return -1;
    if (!known && s->gates < 3.0) /* the last norm alone has no bias */
        contents |= SHAPE_GPT;
    else if (known)
        s->gates = contents & SHAPE_GATED ? 3.0 : 2.0;
    if (contents & SHAPE_PARALLEL)
        norms = contents & SHAPE_NEWER ? z.parallel_norms : 1.0;
    if (contents & SHAPE_NEWER)
        contents &= ~(unsigned)SHAPE_MULTI_QUERY;
    s->dropout = dropout;
    if (finish_shape_sizes(s, &z, contents, j, e) < 0 ||
        check_shape_sizes(s, &z, e) < 0)
        return -1;
    count_shape_params(s, &z, contents, norms);
    if (!known)
        s->outer = s->d;
    return 0;
}
