/* The tensors of a model in the order of its files; see tensor_out.h. */
#include "model/tensor_out.h"
#include "model/family.h"
#include "model/mixture.h"

#include <stdio.h>
#include <string.h>

/* The first tensors of those that are stored of a block of this family. */
static size_t
block_tensors(const struct config *c, int list[W_N])
{
    size_t n = 0;

    for (int t = 0; t < W_N; t++)
        if (block_tensor_name(c, t) != NULL && block_stored(c, t).first == t)
            list[n++] = t;
    return n;
}

size_t
model_ntensors(const struct model *m)
{
    int list[W_N];

    return 2 + block_tensors(&m->c, list) * m->c.L + !m->c.tied;
}

/* The number to subtract from a tensor's values because readers add `add` to
 * them.  0 if the block does not have the tensor and padding is written for
 * it. */
static float
part_less(const struct tensor_out *p, float add)
{
    return p->w->rows > 0 ? add - p->w->add : 0.0f;
}

/* Set *p to the stored tensor of block k that begins with tensor t. */
static void
block_tensor(const struct model *m, size_t k, int t, struct tensor_out *p)
{
    const struct stored_rows s = block_stored(&m->c, t);
    const struct block *b = &m->block[k];
    size_t rows;

    p->w = &b->w[t];
    p->parts = (size_t)s.n;
    p->group = k;
    p->matrix = t;
    snprintf(p->name, sizeof p->name, "model.layers.%zu.%s", k, s.name);
    p->ndim = block_is_vector(t) ? 1 : 2;
    p->less = part_less(p, family_norm_add(&m->c, t));
    p->two_of_four = strcmp(m->c.sparse, "2:4") == 0;
    for (int i = t; i < t + s.n; i++) {
        block_dims(&m->c, i, NULL, &rows, &p->shape[1]);
        p->shape[0] += rows;
        p->two_of_four &= b->sparse >> i & 1;
    }
}

void
model_tensor(const struct model *m, size_t i, struct tensor_out *p)
{
    int list[W_N];
    const size_t n = block_tensors(&m->c, list), nb = n * m->c.L;

    memset(p, 0, sizeof *p);
    p->parts = 1;
    if (i >= 1 && i <= nb) {
        block_tensor(m, (i - 1) / n, list[(i - 1) % n], p);
    } else {
        p->w = i == 0 ? &m->embed : i == nb + 1 ? &m->norm : &m->head;
        p->group = m->c.L + (i == 0 ? 0 : i - nb);
        p->matrix = i == 0 ? MATRIX_EMBED : MATRIX_HEAD;
        snprintf(p->name, sizeof p->name, "%s",
            i == 0            ? "model.embed_tokens.weight"
                : i == nb + 1 ? "model.norm.weight"
                              : "lm_head.weight");
        p->shape[0] = p->w->rows;
        p->shape[1] = p->w->cols;
        p->ndim = i == nb + 1 ? 1 : 2;
        if (p->ndim == 1)
            p->less = part_less(p, family_norm_add(&m->c, -1));
    }
    if (p->ndim == 1)
        p->shape[0] = p->shape[1];
}

void
model_tensor_gguf(const struct model *m, size_t i, struct tensor_out *p)
{
    int list[W_N];
    const size_t n = block_tensors(&m->c, list), nb = n * m->c.L;
    const int permuted = family_of(&m->c)->permuted;

    model_tensor(m, i, p);
    p->less = part_less(p, 0.0f);
    if (i >= 1 && i <= nb) {
        const int t = list[(i - 1) % n];
        const size_t k = m->block[(i - 1) / n].groups;

        snprintf(p->name, sizeof p->name, "blk.%zu.%s", (i - 1) / n,
            block_stored(&m->c, t).gguf);
        p->perm = !permuted ? 0
            : t == W_Q      ? k * (m->c.H / m->c.KV)
            : t == W_K      ? k
                            : 0;
    } else {
        snprintf(p->name, sizeof p->name, "%s",
            i == 0            ? "token_embd.weight"
                : i == nb + 1 ? "output_norm.weight"
                              : "output.weight");
    }
}
