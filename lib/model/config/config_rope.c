/* RoPE from and to config.json; see config_rope.h. */
#include "model/config/config_rope.h"

#include "format/json.h"
#include "kern/rope.h"
#include "model/config/config_keys.h"
#include "model/config/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = { "default", "linear", "llama3", "dynamic",
    "yarn", "longrope" };
enum { NKINDS = sizeof kinds / sizeof *kinds };

/* The path of member `name` of the object whose path is `at`; valid until the
 * next call. */
static const char *
rope_path(const char *at, const char *name)
{
    static char path[120];

    snprintf(path, sizeof path, "%s.%s", at, name);
    return path;
}

/* Read the kind of RoPE from the newer or the older key. */
static int
read_rope_kind(struct config *c, const json_t *j, const char *at, struct err *e)
{
    const int phi = strcmp(c->arch, "phi3") == 0;
    const char *kind = kinds[ROPE_DEFAULT];

    if (js_str(j, rope_path(at, "type"), &kind, e) < 0 ||
        js_str(j, rope_path(at, "rope_type"), &kind, e) < 0)
        return -1;
    if (strcmp(kind, "su") == 0 || (phi && strcmp(kind, "yarn") == 0))
        kind = kinds[ROPE_LONGROPE];
    for (int i = 0; i < NKINDS; i++)
        if (strcmp(kind, kinds[i]) == 0 &&
            (!phi || i == ROPE_DEFAULT || i == ROPE_LONGROPE)) {
            c->rope = (enum rope_kind)i;
            return 0;
        }
    return err_set(e, EX_INPUT, "%s: \"%.60s\" is not supported%s",
        rope_path(at, "rope_type"), kind,
        phi ? " (default, longrope)"
            : " (default, linear, llama3, dynamic, yarn, longrope)");
}

/* Does c's RoPE depend on original_max_position_embeddings? */
static int
has_orig(const struct config *c)
{
    return c->rope == ROPE_LLAMA3 || c->rope == ROPE_YARN ||
        c->rope == ROPE_LONGROPE || family_of(c)->bit == FAMILY_MINISTRAL3;
}

/* Read original_max_position_embeddings, which is max_pos if missing.  The key
 * outside of the object at `at` is preferred to the key in it, except in
 * families with local_rope, where only the key in the object counts. */
static int
read_orig(struct config *c, const json_t *j, const char *at, struct err *e)
{
    const char *path = "original_max_position_embeddings";
    double orig = (double)c->max_pos;

    if (family_of(c)->local_rope || !js_get(j, path))
        path = rope_path(at, path);
    if (js_real(j, path, 1, 1e9, &orig, e) < 0)
        return -1;
    if (has_orig(c))
        c->rope_orig = (size_t)orig;
    return 0;
}

/* Read a list of divisors, one for each frequency. */
static int
read_list(const struct config *c, const json_t *j, const char *path, float *out,
    struct err *e)
{
    const json_t *list = js_get(j, path);
    const size_t n = config_rotary(c) / 2;

    if (!json_is_array(list) || json_array_size(list) != n)
        return err_set(e, EX_INPUT, "%s: is no list of %zu numbers", path, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);

        out[i] = (float)json_number_value(v);
        if (!json_is_number(v) || !(out[i] > 0.0f))
            return err_set(e, EX_INPUT, "%s: number %zu is no number above 0",
                path, i);
    }
    return 0;
}

static int
read_factors(struct config *c, const json_t *j, const char *at, struct err *e)
{
    if (config_rotary(c) > CONFIG_ROTARY)
        return err_set(e, EX_INPUT,
            "%s: longrope turns %d dimensions of a head at most, not %zu", at,
            CONFIG_ROTARY, config_rotary(c));
    return read_list(c, j, rope_path(at, "short_factor"), c->rope_near, e) <
                0 ||
            read_list(c, j, rope_path(at, "long_factor"), c->rope_far, e) < 0
        ? -1
        : 0;
}

void
config_rope_scale(struct config *c)
{
    const double orig = (double)c->rope_orig;
    const double factor =
        c->rope_factor > 0 ? c->rope_factor : (double)c->max_pos / orig;

    if (c->rope_scale > 0)
        return;
    if (c->rope == ROPE_YARN && c->rope_mscale > 0 && c->rope_mscale_all > 0)
        c->rope_scale = rope_yarn_scale(factor, c->rope_mscale) /
            rope_yarn_scale(factor, c->rope_mscale_all);
    else if (c->rope == ROPE_YARN)
        c->rope_scale = rope_yarn_scale(factor, 1);
    else if (c->rope == ROPE_LONGROPE && factor > 1)
        c->rope_scale = sqrt(1 + log(factor) / log(orig));
    else
        c->rope_scale = 1;
}

/* Read kind and numbers from rope_parameters (transformers 5) or rope_scaling
 * (transformers 4). */
static int
read_scaling(struct config_file *f, const json_t *j, const char *at,
    struct err *e)
{
    struct config *c = &f->c;
    int whole = 1;

    if (read_rope_kind(c, j, at, e) < 0 || read_orig(c, j, at, e) < 0)
        return -1;
    if (c->rope == ROPE_YARN) {
        c->rope_factor = (double)c->max_pos / (double)c->rope_orig;
        c->rope_low = 1;
        c->rope_high = 32;
    }
    if ((c->rope == ROPE_LONGROPE && read_factors(c, j, at, e) < 0) ||
        fields_from_json(&rope_fields, f, j, at, e) < 0 ||
        (c->rope == ROPE_YARN &&
            js_bool(j, rope_path(at, "truncate"), &whole, e) < 0))
        return -1;
    c->rope_split = !whole;
    config_rope_scale(c);
    return 0;
}

/* Read the RoPE base from key `old` (transformers 4) and from the object `at`
 * (transformers 5).  If both are there, they must agree: each version reads its
 * own. */
static int
read_base(const json_t *j, const char *old, const char *at, double *theta,
    struct err *e)
{
    double v4 = 0, v5 = 0;
    int has4 = old != NULL ? js_real(j, old, 0, 1e12, &v4, e) : 0, has5;

    has5 = js_real(j, rope_path(at, "rope_theta"), 0, 1e12, &v5, e);
    if (has4 < 0 || has5 < 0)
        return -1;
    if (has4 && has5 && v4 != v5)
        return err_set(e, EX_INPUT, "%s: %g, but %s is %g", old, v4,
            rope_path(at, "rope_theta"), v5);
    *theta = has5 ? v5 : has4 ? v4 : *theta;
    return 0;
}

/* Read the RoPE base of blocks with a window, which have no scaling. */
static int
read_local(struct config_file *f, const json_t *j, struct err *e)
{
    static const char at[] = "rope_parameters.sliding_attention";
    struct config *c = &f->c;
    const int gemma = family_of(c)->gemma;
    struct config_file o = *f;

    c->theta_local =
        gemma ? 10000 : config_missing("rope_theta", family_of(c)->bit);
    if (read_base(j, gemma ? "rope_local_base_freq" : NULL, at, &c->theta_local,
            e) < 0 ||
        read_scaling(&o, j, at, e) < 0)
        return -1;
    if (o.c.rope != ROPE_DEFAULT)
        return err_set(e, EX_INPUT, "%s.rope_type: only default is supported",
            at);
    return 0;
}

/* Read which share of a head is turned. */
static int
read_rotary(struct config *c, const json_t *j, struct err *e)
{
    double part = 1;

    if (js_real(j, "rotary_pct", 0.01, 1, &part, e) < 0 ||
        js_real(j, "partial_rotary_factor", 0.01, 1, &part, e) < 0 ||
        js_real(j, "rope_scaling.partial_rotary_factor", 0.01, 1, &part, e) <
            0 ||
        js_real(j, "rope_parameters.partial_rotary_factor", 0.01, 1, &part, e) <
            0)
        return -1;
    if (c->mla.rope > 0) {
        c->rotary = c->mla.rope;
        return 0;
    }
    c->rotary = (size_t)((double)c->D * part);
    if (c->rotary == c->D)
        c->rotary = 0;
    if (part < 1 && c->D > 0 && (c->rotary == 0 || c->rotary % 2 != 0))
        return err_set(e, EX_INPUT,
            "partial_rotary_factor: %g of heads of %zu is no even number of "
            "dimensions",
            part, c->D);
    return 0;
}

/* Read which blocks have no RoPE. */
static int
read_no_rope(struct config_file *f, const json_t *j, struct err *e)
{
    const json_t *list = js_get(j, "no_rope_layers");
    struct config *c = &f->c;

    if (list && (!json_is_array(list) || json_array_size(list) < c->L))
        return err_set(e, EX_INPUT, "no_rope_layers: is no list of %zu", c->L);
    for (size_t i = 0; i < c->L; i++) {
        const json_t *v = json_array_get(list, i);

        if (list && !json_is_integer(v))
            return err_set(e, EX_INPUT,
                "no_rope_layers: number %zu is neither 0 nor 1", i);
        config_set_rope(c, i,
            list ? json_integer_value(v) != 0 : (i + 1) % f->rope_every != 0);
    }
    return 0;
}

/* Do two configurations have the same frequencies and scale? */
static int
same_scaling(const struct config *a, const struct config *b)
{
    return a->rope == b->rope && a->rope_factor == b->rope_factor &&
        a->rope_low == b->rope_low && a->rope_high == b->rope_high &&
        (a->rope == ROPE_DEFAULT || a->rope_orig == b->rope_orig) &&
        a->rope_scale == b->rope_scale && a->rope_split == b->rope_split &&
        memcmp(a->rope_near, b->rope_near, sizeof a->rope_near) == 0 &&
        memcmp(a->rope_far, b->rope_far, sizeof a->rope_far) == 0;
}

int
config_read_rope(struct config_file *file, const json_t *j, struct err *e)
{
    struct config *c = &file->c;
    const struct family *f = family_of(c);
    const char *at =
        f->local_rope ? "rope_parameters.full_attention" : "rope_parameters";
    const int new = js_get(j, at) != NULL, old = js_get(j, "rope_scaling") != 0;
    struct config_file o;

    c->theta = f->learned ? 10000 : config_missing("rope_theta", f->bit);
    config_rope_scale(c);
    for (size_t i = 0; f->learned && i < c->L; i++)
        config_set_rope(c, i, 0);
    if (f->learned)
        return 0;
    if (read_base(j,
            f->bit == FAMILY_GPT_NEOX ? "rotary_emb_base" : "rope_theta", at,
            &c->theta, e) < 0 ||
        (f->local_rope && read_local(file, j, e) < 0) ||
        read_rotary(c, j, e) < 0 ||
        (f->bit == FAMILY_SMOLLM3 && read_no_rope(file, j, e) < 0))
        return -1;
    c->rope_scale = new || old ? 0 : c->rope_scale;
    o = *file;
    if ((new &&read_scaling(file, j, at, e) < 0) ||
        (old && read_scaling(&o, j, "rope_scaling", e) < 0))
        return -1;
    if (new &&old && !same_scaling(c, &o.c))
        return err_set(e, EX_INPUT, "rope_scaling: differs from %s", at);
    if (!new)
        *file = o;
    return 0;
}

/* ---- values of keys ---- */

static json_t *
kind_json(const struct config *c)
{
    return json_string(kinds[c->rope]);
}

static json_t *
turned_json(const struct config *c)
{
    return c->rotary > 0 ||
            (family_of(c)->bit & PARTIAL & BUT(FAMILY_PHI3)) != 0
        ? rope_part_json(c)
        : NULL;
}

static json_t *
truncate_json(const struct config *c)
{
    return c->rope_split ? json_false() : NULL;
}

static json_t *
list_json(const float *x, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_real(x[i]));
    return a;
}

static json_t *
near_json(const struct config *c)
{
    return list_json(c->rope_near, config_rotary(c) / 2);
}

static json_t *
far_json(const struct config *c)
{
    return list_json(c->rope_far, config_rotary(c) / 2);
}

static json_t *
orig_json(const struct config *c)
{
    return has_orig(c) ? json_integer((json_int_t)c->rope_orig) : NULL;
}

static const struct field rows[] = {
    { "rope_theta", NULL, ALL, REAL(c.theta, 0, 1e12), .how = BY_HAND },
    { "rope_type", NULL, ALL, .make = kind_json },
    { "type", NULL, ALL, KNOWN },
    { "partial_rotary_factor", NULL, PARTIAL, .make = turned_json },
    { "partial_rotary_factor", NULL, BUT(PARTIAL), .only = "1" },
    { "factor", NULL, ALL, REAL(c.rope_factor, 1, 1e6),
        .kinds = KIND(LINEAR) | KIND(LLAMA3) | KIND(DYNAMIC), .how = NEEDED },
    { "factor", NULL, ALL, REAL(c.rope_factor, 1, 1e6), .kinds = KIND(YARN) },
    { "factor", NULL, ALL, REAL(c.rope_factor, 1e-3, 1e6),
        .kinds = KIND(LONGROPE), .how = NO_ZERO },
    { "low_freq_factor", NULL, ALL, REAL(c.rope_low, 1e-3, 1e6),
        .kinds = KIND(LLAMA3), .how = NEEDED },
    { "high_freq_factor", NULL, ALL, REAL(c.rope_high, 1e-3, 1e6),
        .kinds = KIND(LLAMA3), .how = NEEDED },
    { "beta_fast", NULL, ALL, REAL(c.rope_high, 1e-3, 1e6),
        .kinds = KIND(YARN) },
    { "beta_slow", NULL, ALL, REAL(c.rope_low, 1e-3, 1e6),
        .kinds = KIND(YARN) },
    { "truncate", NULL, BUT(FAMILY_OLMO3), .kinds = KIND(YARN),
        .make = truncate_json },
    { "truncate", NULL, FAMILY_OLMO3, .only = "true" }, /* transformers looks
                                                         * elsewhere */
    { "mscale", NULL, ALL, REAL(c.rope_mscale, 0, 100), .kinds = KIND(YARN),
        .how = NO_ZERO },
    { "mscale_all_dim", NULL, ALL, REAL(c.rope_mscale_all, 0, 100),
        .kinds = KIND(YARN), .how = NO_ZERO },
    { "short_factor", NULL, ALL, .kinds = KIND(LONGROPE), .make = near_json },
    { "long_factor", NULL, ALL, .kinds = KIND(LONGROPE), .make = far_json },
    { "attention_factor", NULL, ALL, REAL(c.rope_scale, 1e-3, 1e3),
        .kinds = KIND(YARN) | KIND(LONGROPE) },
    { "original_max_position_embeddings", NULL, ALL, .make = orig_json },
    { "llama_4_scaling_beta", NULL, FAMILY_MINISTRAL3,
        REAL(c.rope_query, 0, 100) },
    { "max_position_embeddings", NULL, FAMILY_MINISTRAL3, KNOWN },
    /* in text all sections of a head have the same position */
    { "mrope_section", NULL, DELTAS, KNOWN },
    { "mrope_interleaved", NULL, DELTAS, KNOWN },
    { "full_attention", NULL, FAMILY_GEMMA3 | FAMILY_OLMO3, KNOWN },
    { "sliding_attention", NULL, FAMILY_GEMMA3 | FAMILY_OLMO3, KNOWN },
};
const struct field_table rope_fields = { rows, sizeof rows / sizeof *rows };

static json_t *
rope_json(const struct config *c)
{
    struct config_file f;

    config_file_of(&f, c);
    return fields_to_json(&rope_fields, &f);
}

json_t *
no_rope_json(const struct config *c)
{
    json_t *a = json_array();

    for (size_t i = 0; i < c->L; i++)
        json_array_append_new(a, json_integer(config_rope(c, i)));
    return a;
}

json_t *
rope_parameters_json(const struct config *c)
{
    json_t *new = rope_json(c);

    if (family_of(c)->local_rope)
        new = json_pack("{s:o, s:{s:s, s:f}}", "full_attention", new,
            "sliding_attention", "rope_type", "default", "rope_theta",
            c->theta_local);
    return new;
}

json_t *
rope_scaling_json(const struct config *c)
{
    return family_of(c)->bit == FAMILY_MINISTRAL3 ? NULL
        : c->rope == ROPE_DEFAULT                 ? json_null()
                                                  : rope_json(c);
}

json_t *
rope_orig_json(const struct config *c)
{
    return c->rope_orig > 0 ? json_integer((json_int_t)c->rope_orig) : NULL;
}

json_t *
rope_part_json(const struct config *c)
{
    return json_real((double)config_rotary(c) / (double)c->D);
}
