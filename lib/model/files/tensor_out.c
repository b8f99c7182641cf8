/* The tensors of a model in the order of its files; see tensor_out.h. */
#include "model/files/tensor_out.h"
#include "model/config/delta_config.h"
#include "model/config/experts_config.h"
#include "model/files/arranged.h"
#include "model/files/experts_joined.h"
#include "model/config/family.h"
#include "model/files/mixture.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Tensor i of a file: of which block, which of its tensors, and of which
 * expert. */
struct tensor_place {
    size_t block;
    int t; /* tensor of a block; -1: `outer` is meant */
    size_t expert;
    enum outer_tensor outer; /* if t is -1 */
};

/* How many tensors of a file begin with tensor t of a block of shape b: 0, 1,
 * or one for each expert. */
static size_t
stored_count(const struct config *c, const struct block_shape *b, int t,
    int gguf)
{
    size_t rows, cols;

    if (block_tensor_name(c, t) == NULL ||
        block_stored(c, t, gguf).first != t || (gguf && block_is_xielu(t)))
        return 0;
    block_dims(c, t, b, &rows, &cols);
    if (joined_is(c, t) && !gguf)
        return rows > 0 && joined_count(c, t) > 0;
    return rows == 0 ? 0 : experts_apart(t) && !gguf ? b->experts : 1;
}

/* Find the place of tensor i: the embedding is first, the other outer tensors
 * follow the blocks. */
static struct tensor_place
find_place(const struct config *c, size_t i, int gguf)
{
    size_t at = 1;

    if (i == 0)
        return (struct tensor_place){ 0, -1, 0, OUTER_EMBED };
    for (size_t k = 0; k < c->L; k++) {
        const struct block_shape whole = config_whole_block(c, k);

        for (int t = 0; t < W_N; t++) {
            const size_t n = stored_count(c, &whole, t, gguf);

            if (i < at + n)
                return (struct tensor_place){ k, t, i - at, OUTER_EMBED };
            at += n;
        }
    }
    for (enum outer_tensor k = OUTER_NORM; k < OUTER_N; k++)
        if (family_has_outer(c, k) && at++ == i)
            return (struct tensor_place){ 0, -1, 0, k };
    assert(0);
    return (struct tensor_place){ 0, -1, 0, OUTER_EMBED };
}

static size_t
count_tensors(const struct config *c, int gguf)
{
    size_t n = 0;

    for (enum outer_tensor k = OUTER_EMBED; k < OUTER_N; k++)
        n += (size_t)family_has_outer(c, k);
    for (size_t k = 0; k < c->L; k++) {
        const struct block_shape whole = config_whole_block(c, k);

        for (int t = 0; t < W_N; t++)
            n += stored_count(c, &whole, t, gguf);
    }
    return n;
}

size_t
model_ntensors(const struct model *m)
{
    return count_tensors(&m->c, 0);
}

size_t
model_ntensors_gguf(const struct model *m)
{
    return count_tensors(&m->c, 1);
}

/* The number to subtract from a tensor's values because readers add `add` to
 * them.  0 if the block does not have the tensor and padding is written for
 * it. */
static float
part_less(const struct tensor_out *p, float add)
{
    return p->w->rows > 0 ? add - p->w->add : 0.0f;
}

/* Set the members of *p that are the same in a GGUF and a Hugging Face folder,
 * for the stored tensor of a block at the place `at`. */
static void
block_tensor(const struct model *m, const struct tensor_place *at, int gguf,
    struct tensor_out *p)
{
    const struct block_shape whole = config_whole_block(&m->c, at->block);
    const struct stored_rows s = block_stored(&m->c, at->t, gguf);
    const struct block *b = &m->block[at->block];
    size_t rows, cols;

    p->w = &b->w[at->t];
    p->parts = (size_t)s.n;
    p->group = at->block;
    p->matrix = at->t;
    p->ndim = block_is_vector(at->t) ? 1 : 2;
    p->two_of_four = strcmp(m->c.sparse, "2:4") == 0;
    for (int i = at->t; i < at->t + s.n; i++) {
        block_stored_dims(&m->c, i, &whole, &rows, &cols);
        p->shape[0] += rows;
        p->shape[1] = cols;
        p->two_of_four &= b->sparse >> i & 1;
    }
    if (p->ndim == 1) {
        p->shape[1] = p->shape[0];
        p->shape[0] = 1;
    }
}

static void
other_tensor(const struct model *m, enum outer_tensor k, struct tensor_out *p)
{
    p->parts = 1;
    p->w = model_outer(m, k);
    p->group = m->c.L + k;
    p->matrix = k == OUTER_EMBED ? MATRIX_EMBED
        : k == OUTER_POSITIONS   ? MATRIX_POSITIONS
                                 : MATRIX_HEAD;
    p->ndim =
        k == OUTER_NORM || k == OUTER_NORM_BIAS || k == OUTER_HEAD_BIAS ? 1 : 2;
    p->shape[0] = p->w->rows;
    p->shape[1] = p->w->cols;
}

/* Point p to the part of its weight that is one expert's. */
static void
one_expert(const struct model *m, size_t expert, struct tensor_out *p)
{
    p->shape[0] /= m->block[p->group].experts;
    p->slice = *p->w;
    if (p->w->data != NULL)
        p->slice = weight_slice(p->w, expert * p->shape[0], p->shape[0]);
    p->slice.rows = p->shape[0];
    p->w = &p->slice;
}

/* Set what of *p is special to a tensor of the gated delta rule. */
static void
delta_tensor(const struct model *m, int t, int gguf, struct tensor_out *p)
{
    if (m->c.delta.tiled != (gguf && delta_is_tiled(&m->c)))
        p->order = &m->c;
    p->minus_exp = gguf && t == W_DELTA_LOG;
    if (t != W_CONV)
        return;
    p->slice = *p->w;
    p->slice.rows = p->shape[1] / m->c.conv;
    p->slice.cols = m->c.conv;
    p->slice.stride = p->w->stride / p->slice.rows;
    p->w = &p->slice;
    p->ndim = gguf ? 2 : 3;
    p->shape[0] = p->slice.rows;
    p->shape[1] = gguf ? m->c.conv : 1;
    p->shape[2] = m->c.conv;
}

/* Make p the tensor that has tensor t of all experts; name [size]: the end of
 * its name. */
static void
join_experts(const struct model *m, int t, char *name, size_t size,
    struct tensor_out *p)
{
    const size_t E = m->block[p->group].experts;
    const int bias = block_is_bias(t);

    snprintf(name, size, "%s", joined_name(t));
    p->joined = joined_count(&m->c, t);
    p->ndim = joined_shape(t, E, bias ? 1 : p->shape[1],
        bias ? p->shape[1] : p->shape[0] / E, p->shape);
}

void
model_tensor(const struct model *m, size_t i, struct tensor_out *p)
{
    const struct tensor_place at = find_place(&m->c, i, 0);

    memset(p, 0, sizeof *p);
    if (at.t >= 0) {
        const struct block_shape b = block_shape(&m->block[at.block]);
        const int n = snprintf(p->name, sizeof p->name, "%s%zu.",
            family_blocks(&m->c), at.block);

        block_tensor(m, &at, 0, p);
        p->arranged = arranged_is(&m->c, at.t);
        p->two_of_four &= !p->arranged;
        if (arranged_turned(&m->c, at.t)) {
            const size_t rows = p->shape[0];

            p->shape[0] = p->shape[1];
            p->shape[1] = rows;
        }
        experts_name(&m->c, &b, at.t, at.expert, p->name + n,
            sizeof p->name - (size_t)n);
        if (joined_is(&m->c, at.t))
            join_experts(m, at.t, p->name + n, sizeof p->name - (size_t)n, p);
        else if (experts_apart(at.t))
            one_expert(m, at.expert, p);
        p->less = part_less(p, family_norm_add(&m->c, at.t));
        if (block_is_delta(at.t))
            delta_tensor(m, at.t, 0, p);
    } else {
        other_tensor(m, at.outer, p);
        snprintf(p->name, sizeof p->name, "%s",
            family_outer_name(&m->c, at.outer, 0));
        if (at.outer == OUTER_NORM)
            p->less = part_less(p, family_norm_add(&m->c, -1));
    }
    if (p->ndim == 1)
        p->shape[0] = p->shape[1];
}

/* Make the shape that of one tensor of all experts. */
static void
all_experts(const struct model *m, struct tensor_out *p)
{
    const size_t E = m->block[p->group].experts;

    p->ndim = 3;
    p->shape[2] = p->shape[1];
    p->shape[1] = p->shape[0] / E;
    p->shape[0] = E;
}

void
model_tensor_gguf(const struct model *m, size_t i, struct tensor_out *p)
{
    const int permuted = family_of(&m->c)->permuted;
    const struct tensor_place at = find_place(&m->c, i, 1);

    memset(p, 0, sizeof *p);
    if (at.t >= 0) {
        const struct block_shape b = block_shape(&m->block[at.block]);
        const int n = snprintf(p->name, sizeof p->name, "blk.%zu.", at.block);

        block_tensor(m, &at, 1, p);
        p->arranged = p->parts > 1 && block_is_delta(at.t);
        experts_name_gguf(&m->c, &b, at.t, p->name + n,
            sizeof p->name - (size_t)n);
        p->perm = !permuted ? 0
            : at.t == W_Q   ? b.groups * (m->c.H / m->c.KV)
            : at.t == W_K   ? b.groups
                            : 0;
        if (experts_apart(at.t))
            all_experts(m, p);
        if (block_is_delta(at.t))
            delta_tensor(m, at.t, 1, p);
    } else {
        other_tensor(m, at.outer, p);
        snprintf(p->name, sizeof p->name, "%s",
            family_outer_name(&m->c, at.outer, 1));
    }
    p->less = part_less(p, 0.0f);
    if (p->ndim == 1)
        p->shape[0] = p->shape[1];
}
