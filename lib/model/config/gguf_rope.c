/* RoPE from and to a GGUF; see gguf_rope.h. */
#include "model/config/gguf_rope.h"

#include "base/mem.h"
#include "kern/rope.h"
#include "model/config/config_rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORIG_MOST = 1000000000 };

/* ---- Llama 3's scaling, stored as the divisor of each frequency ---- */

/* The divisors of a file, to which the numbers of Llama 3's rule are fitted.
 * The scaled frequency i is freq[i] (share[i] + (1 - share[i]) / most). */
struct llama3_fit {
    const float *divisor; /* [n] */
    double *freq;         /* [n] unscaled frequencies, in turns per token */
    double *share;        /* [n] 1: not scaled; 0: divided by `most` */
    double most;          /* the largest divisor */
    size_t n;
    double theta;
};

static struct kern_rope_opt
llama3_options(double theta, double factor, double low, double high,
    double orig)
{
    return (struct kern_rope_opt){ .kind = KERN_ROPE_LLAMA3,
        .theta = theta,
        .factor = factor,
        .low = low,
        .high = high,
        .orig = orig };
}

/* Does Llama 3's rule with the numbers of o lead to the divisors of f, with a
 * relative error of at most `limit`? */
static int
llama3_gives(const struct llama3_fit *f, const struct kern_rope_opt *o,
    double limit)
{
    double *scaled = xcalloc(f->n, sizeof *scaled);
    int same = o->low > 0 && o->low < o->high;

    rope_freq(scaled, 2 * f->n, o, 1);
    for (size_t i = 0; i < f->n; i++) {
        const double want = 2 * acos(-1) * f->freq[i] / scaled[i];

        same &= fabs(f->divisor[i] - want) <= limit * want;
    }
    free(scaled);
    return same;
}

/*
 * Between the two corners of Llama 3's rule, share[i] is a freq[i] - b, where a
 * is orig / (high - low) and b is low / (high - low).  Set *a and *b so that
 * this line passes through the shares between 0 and 1.  If only one share or no
 * share is between 0 and 1, the line is also steep enough to be 1 and 0 at the
 * neighbouring frequencies.
 */
static void
llama3_line(const struct llama3_fit *f, double *a, double *b)
{
    const double *x = f->freq, *s = f->share, least = 1e-6;
    size_t first = 0, end = f->n; /* share[first..end-1] are neither 1 nor 0 */

    while (first < f->n && s[first] > 1 - least)
        first++;
    while (end > 0 && s[end - 1] < least)
        end--;
    if (end > first + 1) {
        *a = (s[first] - s[end - 1]) / (x[first] - x[end - 1]);
    } else {
        const size_t at = first < f->n ? first : f->n - 1;
        const double up = at > 0 ? (1 - s[at]) / (x[at - 1] - x[at]) : 0;
        const double down = at + 1 < f->n ? s[at] / (x[at] - x[at + 1]) : 0;

        *a = fmax(fmax(up, down), (1 + s[at]) / x[at]);
        first = at;
    }
    *b = *a * x[first] - s[first];
}

/* Find numbers of Llama 3's rule that lead to the divisors.  The numbers of
 * Meta's models are tried first, then a low corner of 1 with a high corner that
 * is a multiple of 1/64, then the numbers of the fitted line.  0: none of them
 * leads to the divisors. */
static int
llama3_find(const struct llama3_fit *f, struct kern_rope_opt *o)
{
    struct kern_rope_opt try[3];
    double a, b, orig;

    llama3_line(f, &a, &b);
    orig = fmin(fmax(round(a / b), 1), ORIG_MOST);
    try[0] = llama3_options(f->theta, f->most, 1, 4, 8192);
    try[1] = llama3_options(f->theta, f->most, 1, 1 + round(64 * orig / a) / 64,
        orig);
    try[2] = llama3_options(f->theta, f->most, orig * b / a, orig * (1 + b) / a,
        orig);
    for (double limit = 1e-5; limit < 1e-3; limit *= 10)
        for (size_t i = 0; i < 3; i++)
            if (llama3_gives(f, &try[i], limit)) {
                *o = try[i];
                return 1;
            }
    return 0;
}

/* Set the scaling of Llama 3 in c from the divisors in tensor t.  The factor is
 * the largest divisor. */
static int
llama3_numbers(struct config *c, const struct gguf_tensor *t, struct err *e)
{
    const size_t n = c->D / 2;
    const struct kern_rope_opt plain = { .theta = c->theta };
    struct llama3_fit f = { .n = n, .theta = c->theta, .most = 1 };
    struct kern_rope_opt o;
    float *divisor;
    int found;

    if (t->dtype != DT_F32 || t->n != n || n == 0)
        return err_set(e, EX_INPUT, "tensor %s: is no F32 [%zu]", t->name, n);
    f.divisor = divisor = xcalloc(n, sizeof *divisor);
    f.freq = xcalloc(n, sizeof *f.freq);
    f.share = xcalloc(n, sizeof *f.share);
    memcpy(divisor, t->data, n * sizeof *divisor);
    rope_freq(f.freq, 2 * n, &plain, 1);
    for (size_t i = 0; i < n; i++)
        if (divisor[i] > f.most && divisor[i] < 1e6f)
            f.most = divisor[i];
    for (size_t i = 0; i < n; i++) {
        f.freq[i] /= 2 * acos(-1);
        f.share[i] =
            f.most > 1 ? (1 / divisor[i] - 1 / f.most) / (1 - 1 / f.most) : 1;
    }
    found = llama3_find(&f, &o);
    free(divisor);
    free(f.freq);
    free(f.share);
    if (!found)
        return err_set(e, EX_INPUT, "tensor %s: is not the scaling of Llama 3",
            t->name);
    c->rope = ROPE_LLAMA3;
    c->rope_factor = o.factor;
    c->rope_low = o.low;
    c->rope_high = o.high;
    c->rope_orig = (size_t)o.orig;
    return 0;
}

/* ---- reading ---- */

/* Read longrope's divisors, one for each frequency, from tensor `name`. */
static int
read_divisors(const struct config *c, const struct gguf *g, const char *name,
    float *out, struct err *e)
{
    const struct gguf_tensor *t = gguf_tensor(g, name);
    const size_t n = config_rotary(c) / 2;

    if (!t || t->dtype != DT_F32 || t->n != n || n > CONFIG_ROTARY / 2)
        return err_set(e, EX_INPUT, "tensor %s: is no F32 [%zu]", name, n);
    memcpy(out, t->data, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!(out[i] > 0.0f))
            return err_set(e, EX_INPUT, "tensor %s: number %zu is not above 0",
                name, i);
    return 0;
}

/* The number x of a file, or `otherwise`. */
static double
given(double x, double otherwise)
{
    return isnan(x) ? otherwise : x;
}

/* Set the numbers of yarn.  The factor of cosines and sines is computed from
 * the other numbers as in llama.cpp. */
static void
yarn_numbers(struct config_file *f)
{
    struct config *c = &f->c;
    const uint64_t bit = family_of(c)->bit;
    const double all = given(f->log_multiplier, 0);

    if (all > 0) {
        c->rope_mscale = 1;
        c->rope_mscale_all = all;
    }
    /* llama.cpp's converter writes a tenth of mscale_all_dim, and takes mscale
     * to be equal to mscale_all_dim */
    if (all > 0 && bit & DEEPSEEK)
        c->rope_mscale = c->rope_mscale_all = 10 * all;
    /* a GGUF has no key for truncate, which is false in all gpt-oss models */
    c->rope_split = bit == FAMILY_GPT_OSS;
    config_rope_scale(c);
    c->rope_scale *= given(f->attn_factor, 1);
}

/* Set c->rope to longrope or yarn if rope.scaling.type or a tensor asks for it.
 * Otherwise, set *factor to 0 if the file asks for no scaling.  has_factor: the
 * file has a factor of the scaling, which is in *factor. */
static int
scaling_kind(struct config *c, const struct gguf *g, int has_factor,
    double *factor, struct err *e)
{
    const char *type = arch_key(c, "rope.scaling.type");
    const int yarn = gguf_is(g, type, "yarn");

    if (gguf_tensor(g, "rope_factors_long.weight") ||
        gguf_is(g, type, "longrope")) {
        c->rope = ROPE_LONGROPE;
    } else if (gguf_kv(g, type) && !yarn && !gguf_is(g, type, "linear") &&
        !gguf_is(g, type, "none")) {
        return err_set(e, EX_INPUT,
            "%s: is not supported (none, linear, yarn, longrope)", type);
    } else if (!has_factor && gguf_kv(g, type) && !gguf_is(g, type, "none")) {
        return err_set(e, EX_INPUT, "%s: is missing",
            arch_key(c, "rope.scaling.factor"));
    } else if (yarn) {
        c->rope = *factor > 1 ? ROPE_YARN : ROPE_DEFAULT;
    } else if (gguf_is(g, type, "none") || *factor == 1) {
        *factor = 0;
    }
    return 0;
}

/* Read a RoPE that is neither yarn nor longrope. */
static int
plain_numbers(struct config_file *f, const struct gguf *g, double factor,
    struct err *e)
{
    const struct gguf_tensor *t = gguf_tensor(g, "rope_freqs.weight");
    struct config *c = &f->c;

    if (given(f->attn_factor, 1) != 1)
        return err_set(e, EX_INPUT,
            "%s: a value other than 1 is not supported without yarn or "
            "longrope",
            arch_key(c, "rope.scaling.attn_factor"));
    if (t && factor != 0) /* llama.cpp would apply both scalings */
        return err_set(e, EX_INPUT,
            "%s: %g beside tensor rope_freqs.weight "
            "is not supported",
            arch_key(c, "rope.scaling.factor"), factor);
    if (t)
        return llama3_numbers(c, t, e);
    if (factor == 0)
        return 0;
    c->rope = ROPE_LINEAR;
    c->rope_factor = factor;
    return 0;
}

int
rope_from_gguf(struct config_file *f, const struct gguf *g, struct err *e)
{
    struct config *c = &f->c;
    const size_t n = f->rotary > 0 ? f->rotary : c->D;
    double factor = given(f->factor, 0);
    int longer;

    if (c->mla.rope == 0) {
        if (n != c->D &&
            !(family_of(c)->bit & PARTIAL && n % 2 == 0 && n < c->D))
            return err_set(e, EX_INPUT, "%s: %zu is not the head size %zu",
                arch_key(c, "rope.dimension_count"), n, c->D);
        c->rotary = n < c->D ? n : 0;
    }
    if (scaling_kind(c, g, !isnan(f->factor), &factor, e) < 0)
        return -1;
    longer = c->rope == ROPE_YARN || c->rope == ROPE_LONGROPE;
    if (longer && gguf_tensor(g, "rope_freqs.weight") != NULL)
        return err_set(e, EX_INPUT,
            "%s: yarn or longrope beside tensor rope_freqs.weight is not "
            "supported",
            arch_key(c, "rope.scaling.type"));
    if (family_of(c)->bit == FAMILY_MINISTRAL3)
        c->rope_orig = c->max_pos;
    if (c->rope == ROPE_YARN) {
        c->rope_factor = factor;
        c->rope_low = 1;
        c->rope_high = 32;
    }
    if (fields_of_kind(f, g, e) < 0)
        return -1;
    if (!longer)
        return plain_numbers(f, g, factor, e);
    if (c->rope == ROPE_YARN)
        yarn_numbers(f);
    else if (read_divisors(c, g, "rope_factors_short.weight", c->rope_near, e) <
            0 ||
        read_divisors(c, g, "rope_factors_long.weight", c->rope_far, e) < 0)
        return -1;
    return 0;
}

/* ---- writing ---- */

const char *
rope_unsaid(const struct config *c)
{
    const struct family *f = family_of(c);

    switch (c->rope) {
    case ROPE_LLAMA3:
        return strcmp(f->gguf, "llama") == 0 ||
                (f->bit & (FAMILY_GRANITE | FAMILY_APERTUS | FAMILY_EXAONE4)) !=
                    0
            ? NULL
            : "rope_parameters: llama3";
    case ROPE_DYNAMIC: return "rope_parameters: dynamic";
    case ROPE_LONGROPE:
        return f->bit == FAMILY_PHI3 ? NULL : "rope_parameters: longrope";
    case ROPE_YARN:
        return (f->bit == FAMILY_GPT_OSS) == (c->rope_split != 0) ? NULL
            : c->rope_split ? "rope_parameters.truncate: false"
                            : "rope_parameters.truncate: true";
    default: return NULL;
    }
}

void
rope_file_of(struct config_file *f)
{
    const struct config *c = &f->c;
    const int longer = c->rope == ROPE_YARN || c->rope == ROPE_LONGROPE;
    struct config plain = *c;

    if (c->rope == ROPE_YARN && c->mla.rope > 0)
        f->log_multiplier = 0.1 * c->rope_mscale_all;
    if (!longer || c->mla.rope > 0)
        return;
    /* llama.cpp takes mscale to be 1, and mscale_all_dim to be 0 except in a
     * Ministral 3 */
    plain.rope_mscale = 1;
    plain.rope_scale = c->rope == ROPE_YARN ? 0 : 1;
    if (family_of(c)->bit != FAMILY_MINISTRAL3)
        plain.rope_mscale_all = 0;
    else
        f->log_multiplier = c->rope_mscale_all;
    config_rope_scale(&plain);
    f->attn_factor = c->rope_scale / plain.rope_scale;
}

void
rope_to_gguf(const struct config_file *f, struct gguf_out *o)
{
    static const char *const kinds[] = { [ROPE_LINEAR] = "linear",
        [ROPE_YARN] = "yarn",
        [ROPE_LONGROPE] = "longrope" };
    const enum rope_kind kind = f->c.rope;

    if (kind == ROPE_LINEAR || kind == ROPE_YARN || kind == ROPE_LONGROPE)
        gguf_out_str(o, arch_key(&f->c, "rope.scaling.type"), kinds[kind],
            strlen(kinds[kind]));
    fields_to_gguf(f, TURN_ROPE, o);
}

void
rope_divisors_init(struct rope_divisors *v, const struct config *c)
{
    const size_t n = config_rotary(c) / 2;
    const struct kern_rope_opt plain = { .theta = c->theta },
                               scaled = llama3_options(c->theta, c->rope_factor,
                                   c->rope_low, c->rope_high,
                                   (double)c->rope_orig);
    double *f;

    *v = (struct rope_divisors){ .name = { "rope_freqs.weight",
                                     "rope_factors_short.weight" },
        .x = { xcalloc(n, sizeof(float)), xcalloc(n, sizeof(float)) },
        .n = n };
    if (c->rope == ROPE_LLAMA3) {
        v->count = 1;
        f = xcalloc(2 * n, sizeof *f);
        rope_freq(f, 2 * n, &plain, 1);
        rope_freq(f + n, 2 * n, &scaled, 1);
        for (size_t i = 0; i < n; i++)
            v->x[0][i] = (float)(f[i] / f[n + i]);
        free(f);
    } else if (c->rope == ROPE_LONGROPE) {
        v->count = 2;
        v->name[0] = "rope_factors_long.weight";
        memcpy(v->x[0], c->rope_far, n * sizeof *v->x[0]);
        memcpy(v->x[1], c->rope_near, n * sizeof *v->x[1]);
    }
}

void
rope_divisors_release(struct rope_divisors *v)
{
    free(v->x[0]);
    free(v->x[1]);
}

int
rope_is_divisors(const struct config *c, const char *name)
{
    return strcmp(name, "rope_freqs.weight") == 0 ||
        (c->rope == ROPE_LONGROPE && strncmp(name, "rope_factors_", 13) == 0);
}
