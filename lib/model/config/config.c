/* A model's configuration from and to config.json; see config.h. */
#include "model/config/config.h"

#include "base/mem.h"
#include "base/note.h"
#include "format/json.h"
#include "model/config/config_fields.h"
#include "model/config/config_keys.h"
#include "model/config/config_renamed.h"
#include "model/config/config_rope.h"
#include "model/config/delta_config.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"
#include "model/config/lacks.h"
#include "model/config/mla_config.h"
#include "model/config/short_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of a size: more than any model has, and so small that the product of
 * three sizes fits a size_t. */
#define DIM_MAX ((size_t)1 << 20)

/* llama.cpp gives 3 of 4 blocks of an exaone4 a window if it has as many blocks
 * as the 32B, else none. */
enum { EXAONE4_BLOCKS = 64 };

static int
check_arch(struct config *c, const json_t *j, const char *outer, struct err *e)
{
    char named[40];
    const char *s = NULL;

    if (!json_is_object(j))
        return err_set(e, EX_INPUT, "is no JSON object");
    if (js_str(j, "model_type", &s, e) < 0)
        return -1;
    /* a text_config without a model_type in a "gemma3" is a "gemma3_text" */
    snprintf(named, sizeof named, "%.30s_text", outer);
    if (!s && family_named(named))
        s = named;
    if (family_lacks(outer) && (!s || !family_named(s)))
        s = outer;
    if (!s)
        return err_set(e, EX_INPUT, "model_type: is missing");
    if (!family_named(s))
        return family_refuse("model_type", s, e);
    snprintf(c->arch, sizeof c->arch, "%s", s);
    return config_check_keys(j, family_of(c)->bit, e);
}

static int
check_id(const struct config *c, const char *name, int64_t id, struct err *e)
{
    if (id < -1 || (id >= 0 && (size_t)id >= c->V))
        return err_set(e, EX_INPUT,
            "%s_token_id: %lld is outside the "
            "vocabulary of %zu",
            name, (long long)id, c->V);
    return 0;
}

int
config_check(const struct config *c, struct err *e)
{
    if (c->D == 0)
        return err_set(e, EX_INPUT,
            "head_dim: is missing, and hidden_size "
            "%zu is no multiple of %zu heads",
            c->d, c->H);
    if (c->D % 2 != 0)
        return err_set(e, EX_INPUT, "head_dim: %zu is odd", c->D);
    if (c->H % c->KV != 0)
        return err_set(e, EX_INPUT,
            "num_key_value_heads: %zu does not "
            "divide %zu heads",
            c->KV, c->H);
    if (family_of(c)->even_heads && c->H * c->D != c->d)
        return err_set(e, EX_INPUT,
            "hidden_size: %zu is not %zu heads of %zu numbers", c->d, c->H,
            c->D);
    if (c->H * c->D > DIM_MAX)
        return err_set(e, EX_INPUT,
            "head_dim: %zu heads of %zu are more "
            "than %zu",
            c->H, c->D, DIM_MAX);
    if (!(c->eps > 0))
        return err_set(e, EX_INPUT, "%s_norm_eps: is not above 0",
            family_of(c)->layer_norm ? "layer" : "rms");
    if (!(c->theta > 1))
        return err_set(e, EX_INPUT, "rope_theta: %g is not above 1", c->theta);
    if (c->rope == ROPE_LLAMA3 && !(c->rope_low < c->rope_high))
        return err_set(e, EX_INPUT,
            "rope_parameters.low_freq_factor: %g is "
            "not below high_freq_factor %g",
            c->rope_low, c->rope_high);
    if (check_id(c, "bos", c->bos, e) < 0 || check_id(c, "pad", c->pad, e) < 0)
        return -1;
    for (size_t i = 0; i < c->neos; i++)
        if (check_id(c, "eos", c->eos[i], e) < 0)
            return -1;
    return 0;
}

/* Check that block i can have, or can lack, the window. */
static int
check_local(const struct config *c, size_t i, int local, struct err *e)
{
    if (local && c->window == 0)
        return err_set(e, EX_INPUT,
            "layer_types: number %zu is "
            "sliding_attention, but there is no sliding_window",
            i);
    if (family_of(c)->windows == WINDOW_ALL && !local && c->window > 0)
        return err_set(e, EX_INPUT,
            "layer_types: number %zu is full_attention, but all blocks of a %s "
            "have the sliding_window",
            i, c->arch);
    return 0;
}

/* The type of a block whose attention is not full: it has the gated delta rule,
 * the short convolution, or the window. */
static const char *
other_type(const struct config *c)
{
    return config_has_delta(c) ? "linear_attention"
        : config_has_short(c)  ? "conv"
                               : "sliding_attention";
}

/* Is block i, in a file of blocks with the short convolution, none of
 * full_attn_idxs? */
static int
is_unlisted(const json_t *j, size_t i)
{
    const json_t *list = js_get(j, "full_attn_idxs");
    size_t n = json_array_size(list);

    while (n > 0 && json_number_value(json_array_get(list, n - 1)) != (double)i)
        n--;
    return list != NULL && n == 0;
}

/* Is block i of the other type, in a file without layer_types? */
static int
is_other(const struct config_file *f, const json_t *j, size_t i)
{
    const enum windows windows = family_of(&f->c)->windows;

    return config_has_delta(&f->c)   ? (i + 1) % f->interval != 0
        : config_has_short(&f->c)    ? is_unlisted(j, i)
        : f->c.window == 0           ? 0
        : windows == WINDOW_EVERY    ? (i + 1) % f->every != 0
        : windows == WINDOW_BY_LAYER ? i >= f->window_from
                                     : 1;
}

/* Read how often a block of an exaone4 without layer_types has no window. */
static int
read_every(struct config_file *f, const json_t *j, struct err *e)
{
    return family_of(&f->c)->bit == FAMILY_EXAONE4 && f->window > 0
        ? js_size(j, "sliding_window_pattern", 1, CONFIG_LAYERS, &f->every, e)
        : 0;
}

/* Read the window, and which blocks are of which type. */
static int
read_layer_types(struct config_file *f, const json_t *j, struct err *e)
{
    struct config *c = &f->c;
    const enum windows windows = family_of(c)->windows;
    const json_t *types = js_get(j, "layer_types");
    const int linear = c->conv > 0;

    if (f->window_again != SIZE_MAX && f->window_again != f->window)
        return err_set(e, EX_INPUT,
            "sliding_window_size: %zu, but sliding_window is %zu",
            f->window_again, f->window);
    if (windows != WINDOW_NEVER && (windows != WINDOW_BY_LAYER || f->windowed))
        c->window = f->window;
    if (types && (!json_is_array(types) || json_array_size(types) != c->L))
        return err_set(e, EX_INPUT, "layer_types: is no list of %zu", c->L);
    if (!types && read_every(f, j, e) < 0)
        return -1;
    for (size_t i = 0; i < c->L; i++) {
        const char *text = json_string_value(json_array_get(types, i));
        const char *type = text ? text : "";
        const int on =
            types ? strcmp(type, other_type(c)) == 0 : is_other(f, j, i);

        if (types && !on && strcmp(type, "full_attention") != 0)
            return err_set(e, EX_INPUT,
                "layer_types: \"%.60s\" is not supported (full_attention, %s)",
                type, other_type(c));
        if (types && !linear && check_local(c, i, on, e) < 0)
            return -1;
        if (linear)
            config_bit_set(c->linear, i, on);
        else
            config_set_local(c, i, on);
    }
    return 0;
}

/* Has the family MLPs without a gate, W_down gelu(W_up x), as GPT-2? */
static int
is_plain_gelu(const struct config *c)
{
    return block_tensor_name(c, W_GATE) == NULL &&
        block_tensor_name(c, W_XIELU_P) == NULL;
}

/* Set c->exact_gelu of a family whose MLPs have no gate: 1 if their GELU is the
 * exact one, 0 if it is the approximation by tanh. */
static int
read_gelu(struct config *c, const json_t *j, struct err *e)
{
    static const char *const names[] = { "gelu", "gelu_new", "gelu_fast",
        "gelu_pytorch_tanh" };
    const char *key =
        family_of(c)->bit == FAMILY_GPT2 ? "activation_function" : "hidden_act";
    const char *name = js_text_of(j, key);
    size_t i = 0;

    if (!is_plain_gelu(c))
        return 0;
    while (i < 4 && strcmp(name, names[i]) != 0)
        i++;
    if (i == 4)
        return err_set(e, EX_INPUT,
            "%s: \"%.40s\" is not supported (gelu, gelu_new, gelu_fast, "
            "gelu_pytorch_tanh)",
            key, name);
    c->exact_gelu = i == 0;
    return 0;
}

/* Read the id, or the list of ids, that end a text. */
static int
read_eos(struct config *c, const json_t *j, struct err *e)
{
    const json_t *v = js_get(j, "eos_token_id");
    const size_t n = json_is_array(v) ? json_array_size(v) : v ? 1 : 0;

    if (n > CONFIG_EOS)
        return err_set(e, EX_INPUT,
            "eos_token_id: a list of %zu, more than "
            "%d",
            n, CONFIG_EOS);
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_is_array(v) ? json_array_get(v, i) : v;

        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return err_set(e, EX_INPUT, "eos_token_id: is no token id");
        c->eos[c->neos++] = json_integer_value(id);
    }
    return 0;
}

const json_t *
config_text(const json_t *j)
{
    const char *type = js_text_of(j, "model_type");
    const json_t *text = js_get(j, "text_config");

    return text && !family_named(type) ? text : j;
}

/* Read j, in which config_fill has set missing keys. */
static int
read_filled(struct config_file *f, const json_t *j, struct err *e)
{
    if (fields_from_json(&config_fields, f, j, "", e) < 0)
        return -1;
    fields_heads(&f->c);
    return read_gelu(&f->c, j, e) < 0 || mla_from_json(f, e) < 0 ||
            config_read_rope(f, j, e) < 0 || mla_check_rope(&f->c, j, e) < 0 ||
            read_layer_types(f, j, e) < 0 || experts_from_json(f, j, e) < 0 ||
            delta_check(&f->c, e) < 0 || short_from_json(f, e) < 0 ||
            read_eos(&f->c, j, e) < 0
        ? -1
        : 0;
}

/* Read j, the part about text of the configuration `model`. */
static int
read_text(struct config *c, const json_t *j, const json_t *model, struct err *e)
{
    struct config_file f;
    json_t *filled;
    int r;

    if (check_arch(c, j, js_text_of(model, "model_type"), e) < 0 ||
        (filled = config_fill(j, model, family_of(c)->bit, e)) == NULL)
        return -1;
    config_file_init(&f, c);
    experts_init(&f.c);
    r = read_filled(&f, filled, e);
    json_decref(filled);
    if (r < 0)
        return -1;
    *c = f.c;
    c->cut = js_get(j, "retort.kept") != NULL;
    return config_check(c, e);
}

/* A model that sees images has the part about text in an object of its own. */
int
config_from_json(struct config *c, const json_t *model, struct err *e)
{
    const json_t *j = config_text(model);
    const struct renamed *as = renamed_of(model);
    json_t *made;
    int r;

    memset(c, 0, sizeof *c);
    made = as != NULL ? renamed_config(as, j, e) : json_deep_copy(j);
    if (made == NULL)
        return -1;
    /* published files of Gemma 1 say so and mean the approximation */
    if (strcmp(js_text_of(made, "model_type"), "gemma") == 0 &&
        strcmp(js_text_of(made, "hidden_act"), "gelu") == 0)
        json_object_set_new(made, "hidden_act",
            json_string("gelu_pytorch_tanh"));
    if (j != model && js_get(model, "quantization_config"))
        json_object_set(made, "quantization_config",
            json_object_get(model, "quantization_config"));
    r = read_text(c, made, j == model ? made : model, e);
    json_decref(made);
    return r;
}

/* Lists of "retort", each with a number for each block: KV groups, MLP
 * channels, and the block's index in the model that it was cut from. */
enum { GROUPS, CHANNELS, SOURCE, NLIST };
static const char *const lists[NLIST] = { "groups", "mlp", "kept" };

static size_t *
listed(struct block_shape *b, int list)
{
    return list == GROUPS  ? &b->groups
        : list == CHANNELS ? &b->mlp
                           : &b->source;
}

struct block_shape
config_whole_block(const struct config *c, size_t i)
{
    const int mixture = c->router.n > 0 && !config_bit(c->dense, i);

    const size_t linear = (size_t)config_linear(c, i);

    return (struct block_shape){ linear ? 0 : c->KV,
        mixture ? c->shared_mlp : c->mlp, i, mixture ? c->router.n : 0,
        linear };
}

/* Read a list of L numbers of at most hi into b[L], if it is there. */
static int
read_shape_list(const json_t *j, int list, size_t L, size_t hi,
    struct block_shape *b, struct err *e)
{
    char path[20];
    const json_t *v;

    snprintf(path, sizeof path, "retort.%s", lists[list]);
    if (!(v = js_get(j, path)))
        return 0;
    if (!json_is_array(v) || json_array_size(v) != L)
        return err_set(e, EX_INPUT, "%s: is no list of %zu numbers", path, L);
    for (size_t i = 0; i < L; i++) {
        const json_t *k = json_array_get(v, i);
        const json_int_t n = json_integer_value(k);

        if (!json_is_integer(k) || n < 0 || (size_t)n > hi)
            return err_set(e, EX_INPUT, "%s: number %zu is outside 0 to %zu",
                path, i, hi);
        *listed(&b[i], list) = (size_t)n;
    }
    return 0;
}

int
config_blocks(const struct config *c, const json_t *j, struct block_shape *b,
    struct err *e)
{
    for (size_t i = 0; i < c->L; i++)
        b[i] = config_whole_block(c, i);
    if (read_shape_list(j, GROUPS, c->L, c->KV, b, e) < 0 ||
        read_shape_list(j, CHANNELS, c->L, c->mlp, b, e) < 0 ||
        read_shape_list(j, SOURCE, c->L, 65535, b, e) < 0)
        return -1;
    for (size_t i = 0; i < c->L; i++)
        if (b[i].linear && b[i].groups > 0)
            return err_set(e, EX_INPUT,
                "retort.groups: number %zu is %zu, but the block has no heads "
                "of attention (layer_types)",
                i, b[i].groups);
    for (size_t i = 0; i < c->L && family_of(c)->whole_norms; i++)
        if (b[i].groups > 0 && b[i].groups < c->KV)
            return err_set(e, EX_INPUT,
                "retort.groups: number %zu: a block of %s keeps all "
                "key-value heads or none, as its norms of Q and K span them",
                i, c->arch);
    for (size_t i = 1; i < c->L; i++)
        if (b[i].source <= b[i - 1].source)
            return err_set(e, EX_INPUT,
                "retort.kept: number %zu is not "
                "above the one before",
                i);
    return 0;
}

int
config_read(struct config *c, struct block_shape **b, const json_t *j,
    struct err *e)
{
    struct block_shape *shape;

    if (config_from_json(c, j, e) < 0)
        return -1;
    shape = xcalloc(c->L, sizeof *shape);
    if (config_blocks(c, j, shape, e) < 0) {
        free(shape);
        return -1;
    }
    *b = shape;
    return 0;
}

int
config_load(struct config *c, struct block_shape **b, const char *path,
    struct err *e)
{
    json_t *j = js_load(path, JS_MAX, e);
    int r;

    if (!j)
        return -1;
    r = b ? config_read(c, b, j, e) : config_from_json(c, j, e);
    json_decref(j);
    return r < 0 ? err_prefix(e, "%s", path) : 0;
}

int
config_bit(const unsigned char *bits, size_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

void
config_bit_set(unsigned char *bits, size_t i, int on)
{
    const int bit = 1 << i % 8;

    bits[i / 8] = (unsigned char)(on ? bits[i / 8] | bit : bits[i / 8] & ~bit);
}

size_t
config_window(const struct config *c, size_t i)
{
    return config_bit(c->local, i) ? c->window : 0;
}

void
config_set_local(struct config *c, size_t i, int local)
{
    config_bit_set(c->local, i, local);
    if (family_of(c)->bit == FAMILY_COHERE2)
        config_set_rope(c, i, local);
    if (family_of(c)->bit == FAMILY_EXAONE4)
        config_set_rope(c, i, local || c->window == 0);
}

int
config_rope(const struct config *c, size_t i)
{
    return !config_bit(c->no_rope, i);
}

void
config_set_rope(struct config *c, size_t i, int rope)
{
    config_bit_set(c->no_rope, i, !rope);
}

int
config_linear(const struct config *c, size_t i)
{
    return config_bit(c->linear, i);
}

const char *
config_linear_name(const struct config *c)
{
    return config_has_delta(c) ? "the gated delta rule"
        : config_has_short(c)  ? "the short convolution"
                               : NULL;
}

int
config_parallel(const struct config *c)
{
    return family_of(c)->parallel || c->parallel;
}

float
config_logit_factor(const struct config *c)
{
    const double by = c->logit_factor, scale = c->logit_scale;

    return (by == 0.0 ? 1.0f : (float)by) /
        (scale == 0.0 ? 1.0f : (float)scale);
}

size_t
config_rotary(const struct config *c)
{
    return c->rotary > 0 ? c->rotary : c->D;
}

void
config_gguf_fixed(struct config *c)
{
    const struct family *f = family_of(c);
    const size_t largest = f->bit == FAMILY_GEMMA2 ? 46 : 62;

    for (size_t i = 0; i < c->L; i++) {
        if (f->windows == WINDOW_EVERY)
            config_set_local(c, i, (i + 1) % f->every != 0);
        if (f->bit == FAMILY_EXAONE4 && c->L != EXAONE4_BLOCKS) {
            config_set_local(c, i, 0);
            config_set_rope(c, i, 1);
        }
        if (f->bit == FAMILY_SMOLLM3)
            config_set_rope(c, i, (i + 1) % 4 != 0);
        if (f->learned)
            config_set_rope(c, i, 0);
    }
    c->exact_gelu = f->bit == FAMILY_GPT_NEOX;
    c->attn_bias = f->may_bias != 0;
    if ((f->bit & GEMMA) != 0)
        c->attn_scalar = c->L == largest ? c->d / c->H : c->D;
}

int
config_windows_lost(const struct config *c)
{
    struct config fixed = *c;

    config_gguf_fixed(&fixed);
    return memcmp(fixed.local, c->local, sizeof c->local) != 0;
}

int
config_is_eos(const struct config *c, int64_t id)
{
    for (size_t i = 0; i < c->neos; i++)
        if (c->eos[i] == id)
            return 1;
    return 0;
}

json_t *
config_eos_json(const struct config *c)
{
    json_t *a;

    if (c->neos < 2)
        return c->neos ? json_integer(c->eos[0]) : NULL;
    a = json_array();
    for (size_t i = 0; i < c->neos; i++)
        json_array_append_new(a, json_integer(c->eos[i]));
    return a;
}

/* A JSON object of the lists of "retort": "kept" if the model was cut, and each
 * list in which some block is not whole.  NULL: there are none. */
static json_t *
lists_json(const struct config *c, const struct block_shape *b)
{
    json_t *own = json_object();

    for (int k = 0; k < NLIST; k++) {
        json_t *a = json_array();
        int all = k != SOURCE || !c->cut;

        for (size_t i = 0; i < c->L; i++) {
            struct block_shape is = b[i], whole = config_whole_block(c, i);

            all &= *listed(&is, k) == *listed(&whole, k);
            json_array_append_new(a, json_integer((json_int_t)*listed(&is, k)));
        }
        if (!all)
            json_object_set(own, lists[k], a);
        json_decref(a);
    }
    if (json_object_size(own) > 0)
        return own;
    json_decref(own);
    return NULL;
}

json_t *
config_class_json(const struct config *c)
{
    return json_pack("[s]", family_of(c)->class);
}

json_t *
config_type_json(const struct config *c)
{
    return json_string(c->arch);
}

json_t *
config_bias_json(const struct config *c)
{
    return json_boolean(block_tensor_name(c, W_BO) != NULL);
}

json_t *
config_gelu_json(const struct config *c)
{
    return json_string(c->exact_gelu ? "gelu" : "gelu_new");
}

json_t *
config_layers_json(const struct config *c)
{
    json_t *types = json_array();

    for (size_t i = 0; i < c->L; i++)
        json_array_append_new(types,
            json_string(config_window(c, i) || config_linear(c, i)
                    ? other_type(c)
                    : "full_attention"));
    return types;
}

size_t
config_positions(const struct config *c)
{
    const double by = c->rope == ROPE_DYNAMIC ? c->rope_factor : 1;

    return (size_t)((double)c->max_pos * by);
}

int
config_check_positions(const struct config *c, size_t T, const char *who,
    struct err *e)
{
    const size_t positions = config_positions(c);

    if (T > positions && family_of(c)->learned)
        return err_set(e, EX_INPUT,
            "%s: rows of %zu tokens, but it has learned %zu positions: make "
            "rows of at most as many",
            who, T, positions);
    if (positions > 0 && T > positions)
        note("%s: rows of %zu tokens, but it was made for %zu positions: texts "
             "that are longer may suffer",
            who, T, positions);
    return 0;
}

json_t *
config_to_json(const struct config *c, const struct block_shape *b)
{
    json_t *own = b ? lists_json(c, b) : NULL, *j;
    struct config_file f;

    config_file_of(&f, c);
    j = fields_to_json(&config_fields, &f);
    if (own)
        json_object_set_new(j, "retort", own);
    return j;
}

size_t
config_params(const struct config *c, const struct block_shape *b)
{
    const size_t bias = family_has_outer(c, OUTER_NORM_BIAS) ? c->d : 0;
    const size_t learned = family_of(c)->learned ? c->max_pos * c->d : 0;
    const size_t head = family_of(c)->head_bias ? c->V : 0;
    size_t n = c->V * c->d * (c->tied ? 1 : 2) + c->d + bias + learned + head;

    for (size_t i = 0; i < c->L; i++) {
        const struct block_shape is = b ? b[i] : config_whole_block(c, i);

        for (int t = 0; t < W_N; t++) {
            size_t rows, cols;

            block_dims(c, t, &is, &rows, &cols);
            n += rows * cols;
        }
    }
    return n;
}
