/* The tensors of a model in the order of its files; see tensor_out.h. */
#include "model/tensor_out.h"
#include "model/family.h"
#include "model/mixture.h"

#include <stdio.h>
#include <string.h>

/* The tensors that blocks of this family have. */
static size_t
block_tensors(const struct config *c, int list[W_N])
{
    size_t n = 0;

    for (int t = 0; t < W_N; t++)
        if (block_tensor_name(c, t) != NULL)
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

void
model_tensor(const struct model *m, size_t i, struct tensor_out *p)
{
    int list[W_N];
    const size_t n = block_tensors(&m->c, list), nb = n * m->c.L;

    memset(p, 0, sizeof *p);
    if (i >= 1 && i <= nb) {
        const size_t k = (i - 1) / n;
        const int t = list[(i - 1) % n];

        p->w = &m->block[k].w[t];
        p->group = k;
        p->matrix = t;
        snprintf(p->name, sizeof p->name, "model.layers.%zu.%s", k,
            block_tensor_name(&m->c, t));
        block_dims(&m->c, t, NULL, &p->shape[0], &p->shape[1]);
        p->ndim = block_is_vector(t) ? 1 : 2;
        p->less = part_less(p, family_norm_add(&m->c, t));
        p->two_of_four =
            m->block[k].sparse >> t & 1 && strcmp(m->c.sparse, "2:4") == 0;
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
            block_gguf_name(t));
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
