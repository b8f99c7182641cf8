/* The short convolution in configurations and files; see short_config.h. */
#include "model/config/short_config.h"

#include "model/config/config_fields.h"
#include "model/config/delta_config.h"

int
config_has_short(const struct config *c)
{
    return c->conv > 0 && !config_has_delta(c);
}

int
short_from_json(struct config_file *f, struct err *e)
{
    const size_t given = f->c.mlp, n = f->multiple;
    double x;

    if (!config_has_short(&f->c) || !f->adjusted)
        return 0;
    x = f->multiplier * (double)(2 * given / 3);
    f->c.mlp = x < 1 << 20 ? ((size_t)x + n - 1) / n * n : 0;
    if (f->c.mlp == 0 || f->c.mlp > 1 << 20)
        return err_set(e, EX_INPUT,
            "block_auto_adjust_ff_dim: makes no MLP of 1 to %d channels of "
            "intermediate_size %zu",
            1 << 20, given);
    return 0;
}

int
short_from_gguf(struct config_file *f, const struct gguf *g, struct err *e)
{
    struct config *c = &f->c;
    const char *name = arch_key(c, "attention.head_count_kv");
    const struct gguf_kv *v = gguf_kv(g, name);

    if (!config_has_short(c))
        return 0;
    if (v == NULL)
        return err_set(e, EX_INPUT, "%s: is missing", name);
    if (v->type != GGUF_ARRAY || gguf_type_size(v->elem) == 0 || v->n != c->L)
        return err_set(e, EX_INPUT, "%s: is no list of %zu", name, c->L);
    c->KV = 0;
    for (size_t i = 0; i < c->L; i++) {
        const int64_t n = gguf_int(v, i);

        if (n < 0 || n > 4096 || (c->KV > 0 && n > 0 && (size_t)n != c->KV))
            return err_set(e, EX_INPUT,
                "%s: number %zu is %lld: blocks with other numbers of heads "
                "than those before are not supported",
                name, i, (long long)n);
        c->KV = n > 0 ? (size_t)n : c->KV;
        config_bit_set(c->linear, i, n == 0);
    }
    fields_heads(c);
    return 0;
}

void
short_to_gguf(const struct config *c, struct gguf_out *o)
{
    if (!config_has_short(c))
        return;
    gguf_out_array(o, arch_key(c, "attention.head_count_kv"), GGUF_I32, c->L);
    for (size_t i = 0; i < c->L; i++)
        gguf_out_num(o, config_linear(c, i) ? 0 : c->KV, 4);
}

int
short_check_gguf(const struct config *c, struct err *e)
{
    if (!config_has_short(c))
        return 0;
    if (c->H * c->D != c->d)
        return err_set(e, EX_INPUT,
            "%zu heads of %zu are not hidden_size, %zu, as readers of a GGUF "
            "of %s take them to be: write a folder instead",
            c->H, c->D, c->d, c->arch);
    if (c->conv < 2)
        return err_set(e, EX_INPUT,
            "conv_L_cache: %zu: readers of a GGUF take at least 2: write a "
            "folder instead",
            c->conv);
    return 0;
}
