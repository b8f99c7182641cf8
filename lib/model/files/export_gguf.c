/* Writing a GGUF file; see export_gguf.h. */
#include "model/files/export_gguf.h"

#include "base/mem.h"
#include "base/note.h"
#include "format/gguf_write.h"
#include "model/files/card.h"
#include "model/config/config_fields.h"
#include "model/config/delta_config.h"
#include "model/files/export.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"
#include "model/config/gguf_rope.h"
#include "model/config/mla_config.h"
#include "model/config/short_config.h"
#include "model/files/tensor_out.h"
#include "model/files/tokfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
any_window(const struct config *c)
{
    for (size_t i = 0; i < c->L; i++)
        if (config_window(c, i) != 0)
            return 1;
    return 0;
}

/* Do GGUFs of the family have the key of a window? */
static int
says_window(const struct family *f)
{
    return f->windows == WINDOW_EVERY || f->bit == FAMILY_PHI3;
}

/* A key of config.json for whose value a GGUF of c has no key; NULL: there is
 * none. */
static const char *
unsaid_key(const struct config *c)
{
    const struct family *f = family_of(c);
    struct config same = *c;

    if (config_has_mla(c) && mla_unsaid(c) != NULL)
        return mla_unsaid(c);
    config_gguf_fixed(&same);
    if (same.exact_gelu != c->exact_gelu)
        return c->exact_gelu ? "activation_function: gelu"
                             : "hidden_act: gelu_new";
    if (same.attn_bias != c->attn_bias && (f->bit & GLMS) == 0)
        return f->bit == FAMILY_STARCODER2 ? "use_bias: false"
                                           : "attention_bias: false";
    if (f->bit == FAMILY_EXAONE4 &&
        (memcmp(same.no_rope, c->no_rope, sizeof c->no_rope) != 0 ||
            memcmp(same.local, c->local, sizeof c->local) != 0))
        return "layer_types: windows that are not in 3 of 4 of 64 blocks";
    if (memcmp(same.no_rope, c->no_rope, sizeof c->no_rope) != 0)
        return f->bit == FAMILY_COHERE2 ? "layer_types: not every 4th is full"
                                        : "no_rope_layers";
    if (f->gguf_head < 0 && !c->tied)
        return "tie_word_embeddings: false";
    if ((f->bit == FAMILY_GEMMA2 || f->bit == FAMILY_GPT_OSS) && !any_window(c))
        return "layer_types: full_attention alone";
    return rope_unsaid(c);
}

/* Refuse a configuration with which readers of a GGUF would compute something
 * else. */
static int
check_config(const struct config *c, struct err *e)
{
    const struct family *f = family_of(c);
    const char *unsaid = unsaid_key(c), *none = fields_null(c);
    struct config same = *c;

    if (experts_check_gguf(c, e) < 0 || delta_check_gguf(c, e) < 0 ||
        short_check_gguf(c, e) < 0)
        return -1;
    config_gguf_fixed(&same);
    if (same.attn_scalar != c->attn_scalar)
        return err_set(e, EX_INPUT,
            "query_pre_attn_scalar: %zu: a GGUF has no key for this, and its "
            "readers take %zu",
            c->attn_scalar, same.attn_scalar);
    if (none != NULL || unsaid != NULL)
        return err_set(e, EX_INPUT, "%s%s: a GGUF of %s has no key for this",
            none ? none : unsaid, none ? ": null" : "", f->gguf);
    if (config_windows_lost(c) && any_window(c))
        warn("blocks without a window are not every %zuth: versions of "
             "llama.cpp that do not read %s take these",
            f->every, arch_key(c, "attention.sliding_window_pattern"));
    if (f->gguf_even && c->H * c->D != c->d)
        warn("%zu heads of %zu are not the hidden_size %zu: llama.cpp loads no "
             "%s that is so",
            c->H, c->D, c->d, f->gguf);
    if (!says_window(f) && any_window(c) && c->window < c->max_pos)
        warn("sliding_window: %zu is lost, a GGUF of %s has none: longer texts "
             "are read as a whole",
            c->window, f->gguf);
    return 0;
}

/* Put the window and which blocks have it. */
static void
put_windows(struct gguf_out *o, const struct config_file *f)
{
    const struct config *c = &f->c;

    /* llama.cpp aborts if there is a window that no block has; 0 marks a
     * Phi-4 */
    if (any_window(c) || family_of(c)->bit == FAMILY_PHI3)
        fields_to_gguf(f, TURN_WINDOWS, o);
    if (family_of(c)->windows != WINDOW_EVERY || !any_window(c) ||
        !config_windows_lost(c))
        return;
    gguf_out_array(o, arch_key(c, "attention.sliding_window_pattern"),
        GGUF_BOOL, c->L);
    for (size_t i = 0; i < c->L; i++)
        gguf_out_num(o, config_window(c, i) != 0, 1);
}

static void
put_config(struct gguf_out *o, const struct config *c, const struct mixture *x)
{
    const char *arch = family_of(c)->gguf;
    struct config_file f;

    gguf_out_str(o, "general.architecture", arch, strlen(arch));
    if (x != NULL)
        gguf_out_u32(o, "general.file_type", x->file_type);
    gguf_out_u32(o, "general.quantization_version", 2);
    config_file_of(&f, c);
    for (int turn = TURN_FIRST; turn <= TURN_LAST; turn++)
        fields_to_gguf(&f, turn, o);
    delta_to_gguf(c, o);
    short_to_gguf(c, o);
    rope_to_gguf(&f, o);
    fields_to_gguf(&f, TURN_SCALES, o);
    put_windows(o, &f);
}

/* Put the numbers of xIELU, a list of L for each of the four; a block without
 * an MLP has 0. */
static void
put_xielu(struct gguf_out *o, const struct model *m)
{
    for (int t = W_XIELU_P; t <= W_XIELU_EPS; t++) {
        if (block_tensor_name(&m->c, t) == NULL)
            continue;
        gguf_out_array(o, block_stored(&m->c, t, 1).gguf, GGUF_F32, m->c.L);
        for (size_t i = 0; i < m->c.L; i++) {
            const struct weight *w = &m->block[i].w[t];
            uint32_t bits;
            float x = 0.0f;

            if (w->rows > 0)
                weight_rows(w, 0, 1, &x);
            memcpy(&bits, &x, sizeof bits);
            gguf_out_num(o, bits, sizeof bits);
        }
    }
}

/* Type of a tensor in the file.  As in llama.cpp, vectors, routers, gates of
 * shared experts, convolutions, positions and biases stay F32. */
static enum dtype
type_of(const struct model *m, const struct gguf_how *how,
    const struct tensor_out *p)
{
    return p->ndim == 1 || p->matrix == MATRIX_POSITIONS ||
            p->matrix == W_ROUTER || p->matrix == W_SHARED_GATE ||
            p->matrix == W_CONV || block_is_bias(p->matrix)
        ? DT_F32
        : how->mixture == NULL
        ? (p->w->dtype == DT_F8_E4M3 ? DT_BF16 : p->w->dtype)
        : mixture_type(how->mixture, &m->c, p->matrix, p->group,
              p->shape[p->ndim - 1], how->importance != NULL);
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
    const struct rope_divisors *rope, const struct gguf_how *how,
    struct io_out *o, struct err *e)
{
    struct buf head = { 0 };
    struct tensor_out p;
    int r;

    gguf_out_head(g, &head);
    r = io_out_write(o, head.p, head.n, e);
    buf_release(&head);
    for (size_t i = 0; r == 0 && i < model_ntensors_gguf(m); i++) {
        model_tensor_gguf(m, i, &p);
        if (how->importance != NULL)
            p.importance = importance_of(how->importance, p.matrix, p.group);
        r = tensor_write(m, &p, type_of(m, how, &p), how->pool, o, e);
        if (r == 0)
            r = pad(o, e);
    }
    for (size_t i = 0; r == 0 && i < rope->count; i++)
        if ((r = io_out_write(o, rope->x[i], rope->n * sizeof(float), e)) == 0)
            r = pad(o, e);
    return r;
}

int
model_export_gguf(const struct model *model, const char *file,
    const struct gguf_how *how, const char *tok_from, struct err *e)
{
    struct model untied = *model;
    const struct model *m = &untied;
    struct rope_divisors rope;
    struct gguf_out g = { 0 };
    struct io_out o;
    struct tensor_out p;
    int r = check_config(&m->c, e);

    if (family_of(&m->c)->gguf_head > 0)
        untied.c.tied = 0;
    rope_divisors_init(&rope, &m->c);
    if (r < 0) {
        err_prefix(e, "%s", m->path ? m->path : "model");
        goto done;
    }
    put_config(&g, &m->c, how->mixture);
    put_xielu(&g, m);
    if ((r = tokenizer_to_gguf(tok_from, &m->c, &g, e)) < 0 ||
        (r = card_to_gguf(m->path, &g, e)) < 0)
        goto done;
    for (size_t i = 0; i < model_ntensors_gguf(m); i++) {
        model_tensor_gguf(m, i, &p);
        gguf_out_tensor(&g, p.name, type_of(m, how, &p), p.ndim, p.shape);
    }
    for (size_t i = 0; i < rope.count; i++)
        gguf_out_tensor(&g, rope.name[i], DT_F32, 1, &rope.n);
    if ((r = io_out_begin(&o, file, e)) < 0)
        goto done;
    if ((r = write_gguf_data(m, &g, &rope, how, &o, e)) == 0)
        r = io_out_commit(&o, e);
    if (r < 0)
        io_out_abort(&o);
done:
    gguf_out_release(&g);
    rope_divisors_release(&rope);
    return r;
}
