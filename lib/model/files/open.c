/* Opening and closing a model; Hugging Face directories.  See model.h. */
#include "model/files/open.h"

#include "base/mem.h"
#include "base/note.h"
#include "format/json.h"
#include "model/files/adapter_file.h"
#include "model/files/compressed.h"
#include "model/files/f8.h"
#include "model/config/delta_config.h"
#include "model/config/experts_config.h"
#include "model/files/arranged.h"
#include "model/files/experts_joined.h"
#include "model/config/mla_config.h"
#include "model/files/open_gguf.h"
#include "model/files/origin.h"
#include "model/files/sparse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
weight_set(struct weight *w, const void *p, enum dtype t, size_t rows,
    size_t cols)
{
    memset(w, 0, sizeof *w);
    if (t != DT_F32 && t != DT_F16 && t != DT_BF16 && t < DT_F8_E4M3)
        return -1;
    w->data = p;
    w->dtype = t;
    w->rows = rows;
    w->cols = cols;
    return dtype_bytes(t, cols, &w->stride);
}

void
weight_flatten(struct weight *w)
{
    w->stride *= w->rows;
    w->cols *= w->rows;
    w->rows = 1;
}

/* ---- safetensors files of a directory ---- */

/* Prefixes that the text's tensors have in files of models that see images. */
static const char *const prefixes[] = { "language_model.model.",
    "model.language_model." };

/* Make w the matrix `name`, which is stored compressed (compressed.h). */
static int
take_compressed(struct model *m, struct model_source *s, const char *name,
    size_t rows, size_t cols, struct weight *w, struct err *e)
{
    const struct st_tensor *t[COMPRESSED_N] = { NULL };
    char part[96];
    size_t file = 0;

    for (enum compressed k = COMPRESSED_SHAPE; k < COMPRESSED_N; k++) {
        compressed_name(part, sizeof part, name, k);
        if ((t[k] = source_tensor(s, part, &file)) == NULL)
            return err_set(e, EX_INPUT, "%s: tensor %s is missing", m->path,
                k == COMPRESSED_SHAPE ? name : part);
    }
    if (compressed_set(w, t, rows, cols, e) < 0)
        return err_prefix(e, "%s/%s", m->path, s->file[file]);
    return 1;
}

/* Find the scales of w, the tensor `name` in F8_E4M3. */
static int
take_scales(struct model_source *s, const char *name, struct weight *w,
    struct err *e)
{
    static const char *const ends[] = { "_scale_inv", "_scale" };
    const struct st_tensor *t = NULL;
    struct f8_scales *made;
    char scales[160];
    size_t file;

    for (size_t i = 0; i < 2 && t == NULL; i++) {
        snprintf(scales, sizeof scales, "%s%s", name, ends[i]);
        t = source_tensor(s, scales, &file);
    }
    if (t == NULL)
        return err_set(e, EX_INPUT,
            "tensor %s is in F8_E4M3, but %s_scale_inv, or %s_scale, is "
            "missing",
            name, name, name);
    if ((made = f8_make(w, t, s->f8, e)) == NULL)
        return -1;
    source_keep(s, made);
    w->scales = made;
    return 0;
}

/* Point w to a tensor and check its shape: [rows,cols], or [cols] for ndim 1,
 * [rows,1,cols] for ndim 3, one number for ndim 0.  Returns
 *   1: the matrix is stored compressed, so it is 2:4
 *   0: the tensor is stored as it is
 *   -1 and *e: the tensor is missing or wrong */
static int
point_tensor(struct model *m, struct model_source *s, const char *name,
    int ndim, size_t rows, size_t cols, struct weight *w, struct err *e)
{
    size_t i;
    const struct st_tensor *t = source_tensor(s, name, &i);

    if (t == NULL && ndim == 2)
        return take_compressed(m, s, name, rows, cols, w, e);
    if (t == NULL)
        return err_set(e, EX_INPUT, "%s: tensor %s is missing", m->path, name);
    if (t->n != rows * cols ||
        (ndim == 0 ? t->ndim > 1
                   : t->ndim != ndim || t->shape[ndim - 1] != cols ||
                    (ndim > 1 && t->shape[0] != rows)))
        return err_set(e, EX_INPUT,
            "%s/%s: tensor %s has %zu elements "
            "in %d dimensions, but config.json means [%zu,%zu]",
            m->path, s->file[i], name, t->n, t->ndim, rows, cols);
    if (weight_set(w, t->data, t->dtype, rows, cols) < 0)
        return err_set(e, EX_INPUT,
            "%s/%s: tensor %s: dtype %s is not "
            "supported for weights",
            m->path, s->file[i], name, dtype_name(t->dtype));
    if (t->dtype == DT_F8_E4M3 && take_scales(s, name, w, e) < 0)
        return err_prefix(e, "%s/%s", m->path, s->file[i]);
    return 0;
}

/* Check the padding of a stored tensor: the last rows of a matrix, the end of a
 * vector.  In W_V, W_BV, gate, up and W_BUP it must be zero, so that padded
 * heads and channels add nothing: other loaders, which do not know of the
 * padding, would else run another model. */
static int
check_padding(struct model *m, const struct block *b, int t,
    const struct weight *whole, struct err *e)
{
    const struct weight *w = &b->w[t];
    const int bias = block_is_bias(t), att = block_is_attention(t);
    const size_t size = bias ? whole->stride / whole->cols : whole->stride;
    const size_t end = (bias ? whole->cols : whole->rows) * size;

    if (t != W_V && t != W_BV && t != W_GATE && t != W_UP && t != W_BUP)
        return 0;
    for (size_t k = (bias ? w->cols : w->rows) * size; k < end; k++)
        if (whole->data[k] != 0)
            return err_set(e, EX_INPUT,
                "%s: block %zu has %zu %s, but its padding is not zero",
                m->path, (size_t)(b - m->block), att ? b->groups : b->mlp,
                att ? "key-value heads by retort.groups"
                    : "MLP channels by retort.mlp");
    return 0;
}

/* The part after its first dot of a name that begins with "model." or another
 * such name. */
static const char *
after_dot(const char *name)
{
    return strchr(name, '.') + 1;
}

/* Set name [size] to the prefix of block i's tensors, such as
 * "model.layers.3.".  Returns its length. */
static int
block_name(const struct model *m, const struct model_source *s, size_t i,
    char *name, size_t size)
{
    return snprintf(name, size, "%s%s%zu.", s->prefix,
        after_dot(family_blocks(&m->c)), i);
}

/* Make w tensor t of a block, from the stored tensor in another arrangement
 * that has it. */
static void
take_arranged(struct model *m, struct model_source *s, int t,
    const struct block_shape *shape, size_t before, struct weight *w)
{
    const struct weight from = *w;

    source_keep(s, arranged_take(&m->c, t, shape, before, &from, w));
    model_forget(m, &from);
}

/* Point w to tensor t of block i, which has this shape: to its rows in the
 * stored tensor that has them.  Results are those of point_tensor. */
static int
point_stored(struct model *m, struct model_source *s, size_t i, int t,
    const struct block_shape *shape, struct weight *w, struct err *e)
{
    const struct stored_rows from = renamed_stored(s->as, &m->c, t);
    size_t rows, cols, all = 0, before = 0;
    char name[120];
    int r = block_name(m, s, i, name, sizeof name);

    for (int k = from.first; k < from.first + from.n; k++) {
        block_stored_dims(&m->c, k, shape, &rows, &cols);
        before = k == t ? all : before;
        all += rows;
    }
    if (s->as != NULL && s->as->shared)
        snprintf(name + r, sizeof name - (size_t)r, "%s", from.name);
    else
        experts_name(&m->c, shape, t, 0, name + r, sizeof name - (size_t)r);
    if (t == W_CONV) {
        r = point_tensor(m, s, name, 3, all / m->c.conv, m->c.conv, w, e);
        weight_flatten(w);
        return r;
    }
    r = block_is_vector(t)
        ? point_tensor(m, s, name, !block_is_xielu(t), 1, all, w, e)
        : arranged_turned(&m->c, t)
        ? point_tensor(m, s, name, 2, cols, all, w, e)
        : point_tensor(m, s, name, 2, all, cols, w, e);
    if (r > 0 && arranged_is(&m->c, t))
        return err_set(e, EX_INPUT,
            "%s: tensor %s is stored compressed, which is not supported for a "
            "%s",
            m->path, name, m->c.arch);
    if (r == 0 && arranged_is(&m->c, t)) {
        take_arranged(m, s, t, shape, before, w);
        return 0;
    }
    if (r < 0 || from.n == 1)
        return r;
    block_dims(&m->c, t, shape, &w->rows, &cols);
    w->data += before * w->stride;
    w->scale_row = before;
    w->mask = w->mask != NULL ? w->mask + before * w->mask_stride : NULL;
    return r;
}

/* Find matrix t of the experts of block i in a tensor [E,rows,cols] of all, in
 * which an expert has the rows of up after those of gate.  Set part[.] to each
 * expert's, and w to the first one.  Returns 0 if there is no such tensor. */
static int
point_stacked(struct model *m, struct model_source *s, size_t i, int t,
    const struct block_shape *shape, const unsigned char **part,
    struct weight *w, struct err *e)
{
    const size_t E = shape->experts;
    const size_t ways = t == W_EXPERT_DOWN ? 1 : 2, up = t == W_EXPERT_UP;
    const struct st_tensor *from;
    char name[120];
    size_t rows, cols, file;
    const int n = block_name(m, s, i, name, sizeof name);

    snprintf(name + n, sizeof name - (size_t)n, "%s", joined_name(t));
    if ((from = source_tensor(s, name, &file)) == NULL)
        return 0;
    block_dims(&m->c, t, shape, &rows, &cols);
    rows /= E;
    if (from->ndim != 3 || from->shape[0] != E ||
        from->shape[1] != ways * rows || from->shape[2] != cols)
        return err_set(e, EX_INPUT,
            "%s/%s: tensor %s has %zu elements in %d dimensions, but "
            "config.json means [%zu,%zu,%zu]",
            m->path, s->file[file], name, from->n, from->ndim, E, ways * rows,
            cols);
    if (from->dtype == DT_F8_E4M3 ||
        weight_set(w, from->data, from->dtype, rows, cols) < 0)
        return err_set(e, EX_INPUT,
            "%s/%s: tensor %s: dtype %s is not supported for all experts in "
            "one tensor",
            m->path, s->file[file], name, dtype_name(from->dtype));
    for (size_t k = 0; k < E; k++)
        part[k] = w->data + (k * ways + up) * rows * w->stride;
    return 1;
}

/* Find the matrix t of each expert of block i. */
static int
point_experts(struct model *m, struct model_source *s, size_t i, int t,
    const struct block_shape *shape, struct weight *w, struct err *e)
{
    const size_t E = shape->experts;
    const unsigned char **part = xcalloc(E, sizeof *part);
    const struct f8_scales **scales = xcalloc(E, sizeof *scales);
    char name[120];
    size_t rows, cols;
    int r;

    source_keep(s, scales);

    s->part = xgrow_pow2(s->part, s->nparts, sizeof *s->part);
    s->part[s->nparts++] = part;
    block_dims(&m->c, t, shape, &rows, &cols);
    if ((r = point_stacked(m, s, i, t, shape, part, w, e)) < 0)
        return -1;
    for (size_t k = 0; r == 0 && k < E; k++) {
        const enum dtype was = w->dtype;

        r = block_name(m, s, i, name, sizeof name);
        experts_name(&m->c, shape, t, k, name + r, sizeof name - (size_t)r);
        if ((r = point_tensor(m, s, name, 2, rows / E, cols, w, e)) < 0)
            return -1;
        if (r > 0)
            return err_set(e, EX_INPUT,
                "%s: tensor %s is stored compressed, which is not supported "
                "for experts",
                m->path, name);
        if (k > 0 && w->dtype != was)
            return err_set(e, EX_INPUT,
                "%s: tensor %s: is %s, but that of the expert before is %s",
                m->path, name, dtype_name(w->dtype), dtype_name(was));
        part[k] = w->data;
        scales[k] = w->scales;
    }
    if (w->scales != NULL) {
        struct f8_scales *all = f8_join(scales, E, rows / E);

        if (all == NULL)
            return err_set(e, EX_INPUT,
                "%s: tensor %s: the blocks of its scales are not those of the "
                "experts before",
                m->path, name);
        source_keep(s, all);
        w->scales = all;
    }
    w->data = part[0];
    w->rows = rows;
    w->part = part;
    w->part_rows = rows / E;
    return 0;
}

/* joined_split of the tensor whose name is in name [size], or of its blocks and
 * scales.  *file: the index of the file. */
static void *
split_joined(struct model_source *s, char *name, size_t size, int t,
    const size_t dims[3], struct weight *w, size_t *file, struct err *e)
{
    const struct st_tensor *from = source_tensor(s, name, file), *scales;
    const size_t n = strlen(name);

    if (from != NULL)
        return joined_split(from, t, dims[0], dims[1], dims[2], w, e);
    snprintf(name + n, size - n, "_blocks");
    from = source_tensor(s, name, file);
    snprintf(name + n, size - n, "_scales");
    scales = source_tensor(s, name, file);
    name[n] = '\0';
    if (from != NULL && scales != NULL && !block_is_bias(t))
        return joined_split_mxfp4(from, scales, t, dims[0], dims[1], dims[2], w,
            e);
    err_set(e, EX_INPUT, "tensor %s is missing%s", name,
        block_is_bias(t) ? "" : ", and its _blocks or _scales are too");
    return NULL;
}

/* Make w tensor t of block i from the stored tensor of all experts that has
 * it. */
static int
make_joined(struct model *m, struct model_source *s, size_t i, int t,
    const struct block_shape *shape, struct weight *w, struct err *e)
{
    const int bias = block_is_bias(t);
    size_t rows, cols, file = SIZE_MAX;
    char name[120];
    int n;
    void *made;

    block_dims(&m->c, t, shape, &rows, &cols);
    n = block_name(m, s, i, name, sizeof name);
    snprintf(name + n, sizeof name - (size_t)n, "%s", joined_name(t));
    made = split_joined(s, name, sizeof name, t,
        (const size_t[]){ shape->experts, bias ? 1 : cols,
            bias ? cols : rows / shape->experts },
        w, &file, e);
    if (made == NULL)
        return file == SIZE_MAX
            ? err_prefix(e, "%s", m->path)
            : err_prefix(e, "%s/%s", m->path, s->file[file]);
    source_keep(s, made);
    return 0;
}

static int
point_block(struct model *m, struct model_source *s, size_t i, struct err *e)
{
    struct block *b = &m->block[i];
    const struct block_shape shape = block_shape(b);
    const struct block_shape all = config_whole_block(&m->c, i);
    size_t rows, cols;
    int r;

    for (int t = 0; t < W_N; t++) {
        struct weight *w = &b->w[t], whole;

        block_dims(&m->c, t, &all, &rows, &cols);
        if (rows == 0)
            continue;
        if (joined_is(&m->c, t)) {
            if (make_joined(m, s, i, t, &all, w, e) < 0)
                return -1;
            continue;
        }
        if (experts_apart(t)) {
            if (point_experts(m, s, i, t, &all, w, e) < 0)
                return -1;
            continue;
        }
        if ((r = point_stored(m, s, i, t, &all, &whole, e)) < 0)
            return -1;
        if (r > 0)
            sparse_mark(m, i, t);
        *w = whole;
        w->add = family_norm_add(&m->c, t);
        if (s->as != NULL && s->as->pairs && (t == W_Q || t == W_K))
            w->perm = b->groups * (t == W_Q ? m->c.H / m->c.KV : 1);
        block_dims(&m->c, t, &shape, &w->rows, &w->cols);
        if (check_padding(m, b, t, &whole, e) < 0)
            return -1;
    }
    return 0;
}

int
weight_same(const struct weight *a, const struct weight *b)
{
    return a->dtype == b->dtype &&
        memcmp(a->data, b->data, a->rows * a->stride) == 0;
}

/* Is the tensor for images?  Such tensors are left out. */
static int
is_for_images(const struct model_source *s, const char *name)
{
    static const char *const parts[] = { "vision_tower.",
        "multi_modal_projector.", "model.vision_tower.",
        "model.multi_modal_projector.", "model.visual.", "visual." };
    const int sees = strstr(s->prefix, "language_model") != NULL ||
        (s->as != NULL && s->as->sees);
    size_t i = sizeof parts / sizeof *parts;

    while (sees && i > 0 && strncmp(name, parts[i - 1], strlen(parts[i - 1])))
        i--;
    return sees && i > 0;
}

/* Is the tensor of a layer that predicts further tokens?  Such tensors are left
 * out, too. */
static int
is_of_next(const struct model *m, const char *name)
{
    size_t at;

    return (config_has_delta(&m->c) && strncmp(name, "mtp.", 4) == 0) ||
        (config_has_mla(&m->c) &&
            sscanf(name, "model.layers.%5zu.", &at) == 1 && at >= m->c.L);
}

/* Is the tensor a table that follows from the configuration (of angles, or a
 * mask), or (in a model that is stored in FP8) a scale of activations, which
 * are not quantised? */
static int
is_idle_tensor(const struct model *m, const char *name)
{
    static const char *const ends[] = { ".rotary_emb.inv_freq",
        ".attention.bias", ".attention.masked_bias", ".attn.bias",
        ".attn.masked_bias", ".activation_scale", ".input_scale", ".k_scale",
        ".v_scale" };
    const size_t n = strlen(name);

    for (size_t i = 0; i < (model_is_f8(m) ? 9 : 5); i++) {
        const size_t end = strlen(ends[i]);

        if (n > end && strcmp(name + n - end, ends[i]) == 0)
            return 1;
    }
    return 0;
}

/* Refuse tensors that are not used, as other loaders might compute with them.
 */
static int
check_used(struct model *m, struct model_source *s, struct err *e)
{
    size_t images = 0, next = 0;

    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->st[i].nt; k++) {
            const char *name = s->st[i].t[k].name;

            if (s->used[i][k] || is_idle_tensor(m, name))
                continue;
            else if (is_for_images(s, name))
                images++;
            else if (is_of_next(m, name))
                next++;
            else
                return err_set(e, EX_INPUT,
                    "%s/%s: tensor %.80s is no part of "
                    "a %s model",
                    m->path, s->file[i], name, m->c.arch);
        }
    if (images > 0)
        note("%s: %zu tensors for images are left out: the model reads text",
            m->path, images);
    if (next > 0)
        note("%s: %zu tensors that predict further tokens are left out",
            m->path, next);
    return 0;
}

static int
read_hf_config(struct model *m, struct model_source *s, struct err *e)
{
    char *path = xasprintf("%s/config.json", m->path);
    json_t *j = js_load(path, 16 << 20, e);
    struct block_shape *b = NULL;
    int r = -1;

    if (!j)
        goto done;
    if (config_from_json(&m->c, j, e) < 0) {
        err_prefix(e, "%s", path);
        goto done;
    }
    s->as = renamed_of(j);
    b = xcalloc(m->c.L, sizeof *b);
    m->block = xcalloc(m->c.L, sizeof *m->block);
    if ((r = config_blocks(&m->c, j, b, e)) < 0 ||
        (r = f8_block(s->f8, j, e)) < 0) {
        err_prefix(e, "%s", path);
        goto done;
    }
    for (size_t i = 0; i < m->c.L; i++)
        block_set_shape(&m->block[i], &b[i]);
    if ((r = sparse_read(m, j, e)) < 0 || (r = origin_read(m, j, e)) < 0)
        err_prefix(e, "%s", path);
done:
    json_decref(j);
    free(b);
    free(path);
    return r;
}

static const char *
head_name(const struct model *m, const struct model_source *s)
{
    return s->prefix == prefixes[0] ? "language_model.lm_head.weight"
                                    : family_outer_name(&m->c, OUTER_HEAD, 0);
}

/*
 * If a file has an lm_head.weight in spite of tie_word_embeddings: true,
 * transformers uses it.  So it must equal the embedding.
 */
static int
check_tied(struct model *m, struct model_source *s, struct err *e)
{
    struct weight head;
    size_t i = 0;

    while (i < s->n && !st_find(&s->st[i], head_name(m, s)))
        i++;
    if (i == s->n)
        return 0;
    if (point_tensor(m, s, head_name(m, s), 2, m->c.V, m->c.d, &head, e) < 0)
        return -1;
    if (!weight_same(&head, &m->embed))
        return err_set(e, EX_INPUT,
            "%s/%s: tensor %s differs from %s, but config.json ties them "
            "(tie_word_embeddings: true)",
            m->path, s->file[i], head_name(m, s),
            family_outer_name(&m->c, OUTER_EMBED, 0));
    model_forget(m, &head);
    model_forget(m, &m->embed);
    return 0;
}

static int
has_config(const char *dir)
{
    char *file = xasprintf("%s/config.json", dir);
    const int there = io_exists(file);

    free(file);
    return there;
}

/* Does a file have the embedding with this prefix? */
static int
has_prefix(const struct model *m, const struct model_source *s,
    const char *prefix)
{
    const char *embed = family_outer_name(&m->c, OUTER_EMBED, 0);
    char name[64];
    size_t i = 0;

    snprintf(name, sizeof name, "%s%s", prefix, after_dot(embed));
    while (i < s->n && !st_find(&s->st[i], name))
        i++;
    return i < s->n;
}

/* Set s->prefix to the prefix of names in the files: that of the family, that
 * of a model that sees images or, as in GPT-2's published files, none. */
static void
find_prefix(const struct model *m, struct model_source *s)
{
    const char *blocks = family_blocks(&m->c);

    snprintf(s->own_prefix, sizeof s->own_prefix, "%.*s",
        (int)(after_dot(blocks) - blocks), blocks);
    s->prefix = s->own_prefix;
    for (size_t k = 0; k < 2; k++)
        if (has_prefix(m, s, prefixes[k]))
            s->prefix = prefixes[k];
    if (!has_prefix(m, s, s->prefix) && has_prefix(m, s, ""))
        s->prefix = "";
}

static int
point_outer(struct model *m, struct model_source *s, enum outer_tensor k,
    int ndim, size_t rows, struct weight *w, struct err *e)
{
    const char *whole = family_outer_name(&m->c, k, 0);
    char name[64];

    snprintf(name, sizeof name, "%s%s", s->prefix, after_dot(whole));
    return point_tensor(m, s, name, ndim, rows, m->c.d, w, e);
}

int
open_hf(struct model *m, struct model_source *s, struct err *e)
{
    const struct config *c = &m->c;

    if (adapter_is_there(m->path) && !has_config(m->path))
        return err_set(e, EX_INPUT,
            "%s: is an adapter: give its model with -m, and --adapter %s",
            m->path, m->path);
    if (read_hf_config(m, s, e) < 0 || source_files(m, s, e) < 0)
        return -1;
    find_prefix(m, s);
    if (point_outer(m, s, OUTER_EMBED, 2, c->V, &m->embed, e) < 0)
        return -1;
    for (size_t i = 0; i < c->L; i++)
        if (point_block(m, s, i, e) < 0)
            return -1;
    if (point_outer(m, s, OUTER_NORM, 1, 1, &m->norm, e) < 0)
        return -1;
    if (family_has_outer(c, OUTER_NORM_BIAS) &&
        point_outer(m, s, OUTER_NORM_BIAS, 1, 1, &m->norm_bias, e) < 0)
        return -1;
    if (family_has_outer(c, OUTER_POSITIONS) &&
        point_outer(m, s, OUTER_POSITIONS, 2, c->max_pos, &m->positions, e) < 0)
        return -1;
    m->norm.add = family_norm_add(c, -1);
    m->head = m->embed;
    if (c->tied ? check_tied(m, s, e) < 0
                : point_tensor(m, s, head_name(m, s), 2, c->V, c->d, &m->head,
                      e) < 0)
        return -1;
    if (family_has_outer(c, OUTER_HEAD_BIAS) &&
        point_tensor(m, s, family_outer_name(c, OUTER_HEAD_BIAS, 0), 1, 1, c->V,
            &m->head_bias, e) < 0)
        return -1;
    model_set_bias(m);
    return check_used(m, s, e);
}

int
model_open(struct model *m, const char *path, struct err *e)
{
    struct model_source *s = xcalloc(1, sizeof *s);
    int r;

    memset(m, 0, sizeof *m);
    m->path = xstrdup(path);
    m->own = s;
    r = io_is_dir(path) ? open_hf(m, s, e) : open_gguf(m, s, e);
    if (r < 0)
        model_close(m);
    return r;
}

/* Forget n bytes at p, if they lie in this file. */
static void
forget_part(const struct io_map *map, const unsigned char *p, size_t n)
{
    if (p >= map->p && p < map->p + map->n)
        io_map_forget(map, (size_t)(p - map->p), n);
}

/* Forget a weight, if it lies in this file.  NULL: forget the whole file. */
static void
forget_weight(const struct io_map *map, const struct weight *w)
{
    if (w == NULL) {
        io_map_forget(map, 0, map->n);
        return;
    }
    for (size_t i = 0; w->part != NULL && i * w->part_rows < w->rows; i++)
        forget_part(map, w->part[i], w->part_rows * w->stride);
    if (w->part == NULL)
        forget_part(map, w->data, w->rows * w->stride);
    forget_part(map, w->mask, w->rows * w->mask_stride);
}

void
model_forget(const struct model *m, const struct weight *w)
{
    const struct model_source *s = m->own;

    for (size_t i = 0; s != NULL && i < s->n; i++)
        forget_weight(&s->map[i], w);
    for (size_t i = 0; s != NULL && i < s->gguf.n; i++)
        forget_weight(&s->gguf.map[i], w);
}

void
model_close(struct model *m)
{
    struct model_source *s = m->own;

    if (s) {
        for (size_t i = 0; i < s->n; i++) {
            io_unmap(&s->map[i]);
            st_release(&s->st[i]);
            free(s->file[i]);
            free(s->used[i]);
        }
        free(s->map);
        free(s->st);
        free(s->file);
        free(s->used);
        for (size_t i = 0; i < s->nparts; i++)
            free(s->part[i]);
        free(s->part);
        for (size_t i = 0; i < s->nmade; i++)
            free(s->made[i]);
        free(s->made);
        gguf_close(&s->gguf);
        free(s->gguf_used);
        free(s);
    }
    if (m->adapter != NULL)
        adapter_close(m->adapter);
    free(m->adapter);
    free(m->block);
    free(m->path);
    json_decref(m->origin);
    memset(m, 0, sizeof *m);
}
