/* Writing a GGUF file; see export_gguf.h. */
#include "model/export_gguf.h"

#include "base/mem.h"
#include "base/note.h"
#include "format/gguf_write.h"
#include "kern/rope.h"
#include "model/card.h"
#include "model/export.h"
#include "model/family.h"
#include "model/tensor_out.h"
#include "model/tokfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "llama.NAME"; valid until the next call. */
static const char *
arch_key(const struct config *c, const char *name)
{
    static char text[80];

    snprintf(text, sizeof text, "%s.%s", family_of(c)->gguf, name);
    return text;
}

static int
any_window(const struct config *c)
{
    for (size_t i = 0; i < c->L; i++)
        if (config_window(c, i) != 0)
            return 1;
    return 0;
}

/* Refuse a configuration with which readers of a GGUF would compute something
 * else. */
static int
check_config(const struct config *c, struct err *e)
{
    const struct family *f = family_of(c);
    struct config same = *c;

    config_gguf_fixed(&same);
    if (same.attn_scalar != c->attn_scalar)
        return err_set(e, EX_INPUT,
            "query_pre_attn_scalar: %zu cannot be said in a GGUF, whose "
            "readers take %zu",
            c->attn_scalar, same.attn_scalar);
    if (c->rope == ROPE_LLAMA3 && strcmp(f->gguf, "llama") != 0)
        return err_set(e, EX_INPUT,
            "rope_parameters: llama3 cannot be said in a GGUF of %s", f->gguf);
    if (config_windows_lost(c) && any_window(c))
        warn("blocks with a window are not five of six: versions of llama.cpp "
             "that do not read %s take every sixth block without one",
            arch_key(c, "attention.sliding_window_pattern"));
    if (!f->gemma && any_window(c) && c->window < c->max_pos)
        warn("sliding_window: %zu is lost, a GGUF of %s has none: longer texts "
             "are read as a whole",
            c->window, f->gguf);
    return 0;
}

static void
put_config(struct gguf_out *o, const struct config *c, const struct mixture *x)
{
    const struct {
        const char *name;
        size_t v;
    } sizes[] = { { "vocab_size", c->V }, { "context_length", c->max_pos },
        { "embedding_length", c->d }, { "block_count", c->L },
        { "feed_forward_length", c->mlp }, { "attention.head_count", c->H },
        { "attention.head_count_kv", c->KV }, { "attention.key_length", c->D },
        { "attention.value_length", c->D }, { "rope.dimension_count", c->D } };
    const char *arch = family_of(c)->gguf;

    gguf_out_str(o, "general.architecture", arch, strlen(arch));
    if (x != NULL)
        gguf_out_u32(o, "general.file_type", x->file_type);
    gguf_out_u32(o, "general.quantization_version", 2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        gguf_out_u32(o, arch_key(c, sizes[i].name), sizes[i].v);
    gguf_out_f32(o, arch_key(c, "attention.layer_norm_rms_epsilon"), c->eps);
    gguf_out_f32(o, arch_key(c, "rope.freq_base"), c->theta);
    if (c->rope == ROPE_LINEAR) {
        gguf_out_str(o, arch_key(c, "rope.scaling.type"), "linear", 6);
        gguf_out_f32(o, arch_key(c, "rope.scaling.factor"), c->rope_factor);
    }
    if (!family_of(c)->gemma)
        return;
    gguf_out_f32(o, arch_key(c, "rope.freq_base_swa"), c->theta_local);
    if (!any_window(c)) /* llama.cpp aborts if a window has no block */
        return;
    gguf_out_u32(o, arch_key(c, "attention.sliding_window"), c->window);
    if (!config_windows_lost(c))
        return;
    gguf_out_array(o, arch_key(c, "attention.sliding_window_pattern"),
        GGUF_BOOL, c->L);
    for (size_t i = 0; i < c->L; i++)
        gguf_out_num(o, config_window(c, i) != 0, 1);
}

/* Llama 3's RoPE scaling as llama.cpp stores it: a divisor for each
 * frequency. */
static void
rope_divisors(const struct config *c, float *out)
{
    const struct kern_rope_opt plain = { .theta = c->theta },
                               scaled = { .kind = KERN_ROPE_LLAMA3,
                                   .theta = c->theta,
                                   .factor = c->rope_factor,
                                   .low = c->rope_low,
                                   .high = c->rope_high,
                                   .orig = (double)c->rope_orig };
    double *f = xcalloc(c->D, sizeof *f);

    rope_freq(f, c->D, &plain);
    rope_freq(f + c->D / 2, c->D, &scaled);
    for (size_t i = 0; i < c->D / 2; i++)
        out[i] = (float)(f[i] / f[c->D / 2 + i]);
    free(f);
}

/* Type of a tensor in the file: vectors stay F32, as llama.cpp needs them. */
static enum dtype
type_of(const struct model *m, const struct gguf_how *how,
    const struct tensor_out *p)
{
    return p->ndim == 1 ? DT_F32
        : how->mixture == NULL
        ? p->w->dtype
        : mixture_type(how->mixture, &m->c, p->matrix, p->group, p->shape[1],
              how->importance != NULL);
}

static int
pad(struct io_out *o, struct err *e)
{
    static const char zero[GGUF_ALIGN];

    return io_out_write(o, zero, (GGUF_ALIGN - o->n % GGUF_ALIGN) % GGUF_ALIGN,
        e);
}

static int
write_gguf_data(const struct model *m, const struct gguf_out *g,
    const float *rope, const struct gguf_how *how, struct io_out *o,
    struct err *e)
{
    struct buf head = { 0 };
    struct tensor_out p;
    int r;

    gguf_out_head(g, &head);
    r = io_out_write(o, head.p, head.n, e);
    buf_release(&head);
    for (size_t i = 0; r == 0 && i < model_ntensors(m); i++) {
        model_tensor_gguf(m, i, &p);
        if (how->importance != NULL)
            p.importance = importance_of(how->importance, p.matrix, p.group);
        r = tensor_write(m, &p, type_of(m, how, &p), how->pool, o, e);
        if (r == 0)
            r = pad(o, e);
    }
    if (r == 0 && m->c.rope == ROPE_LLAMA3 &&
        (r = io_out_write(o, rope, m->c.D / 2 * sizeof *rope, e)) == 0)
        r = pad(o, e);
    return r;
}

int
model_export_gguf(const struct model *m, const char *file,
    const struct gguf_how *how, const char *tok_from, struct err *e)
{
    const size_t half = m->c.D / 2;
    struct gguf_out g = { 0 };
    struct io_out o;
    struct tensor_out p;
    float *rope = xcalloc(half, sizeof *rope);
    int r = check_config(&m->c, e);

    if (r < 0) {
        err_prefix(e, "%s", m->path ? m->path : "model");
        goto done;
    }
    put_config(&g, &m->c, how->mixture);
    if ((r = tokenizer_to_gguf(tok_from, &m->c, &g, e)) < 0 ||
        (r = card_to_gguf(m->path, &g, e)) < 0)
        goto done;
    for (size_t i = 0; i < model_ntensors(m); i++) {
        model_tensor_gguf(m, i, &p);
        gguf_out_tensor(&g, p.name, type_of(m, how, &p), p.ndim, p.shape);
    }
    if (m->c.rope == ROPE_LLAMA3) {
        gguf_out_tensor(&g, "rope_freqs.weight", DT_F32, 1, &half);
        rope_divisors(&m->c, rope);
    }
    if ((r = io_out_begin(&o, file, e)) < 0)
        goto done;
    if ((r = write_gguf_data(m, &g, rope, how, &o, e)) == 0)
        r = io_out_commit(&o, e);
    if (r < 0)
        io_out_abort(&o);
done:
    gguf_out_release(&g);
    free(rope);
    return r;
}
