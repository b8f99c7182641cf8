/* Masks of matrices in a checkpoint: see masks.h.  They cannot be derived from
 * the zeros among the weights: a weight that is kept may be zero for a step. */
#include "masks.h"
#include "base/io.h"
#include "model/config/family.h"

#include <stdio.h>

/* Write the tensor name of matrix k of block i to `out`. */
static void
mask_name(const struct model *m, size_t i, int k, char out[80])
{
    snprintf(out, 80, "%s%zu.%s", family_blocks(&m->c), i,
        block_tensor_name(&m->c, k));
}

int
save_masks(const char *file, const struct tmodel *t, struct err *e)
{
    struct st_out o = { 0 };
    char name[80];
    int r;

    st_out_begin(&o);
    st_out_meta(&o, "kind", "masks");
    for (size_t i = 0; i < t->m.c.L; i++)
        for (int k = 0; k < W_N; k++) {
            const size_t n = group_mask_bytes(&t->group[i], k);

            if (n == 0)
                continue;
            mask_name(&t->m, i, k, name);
            st_out_tensor(&o, name, DT_U8, 1, &n, t->group[i].mask[k]);
        }
    st_out_end(&o);
    r = st_out_save(&o, file, e);
    st_out_release(&o);
    return r;
}

/* Check the weights of matrix k that this rank has: those that the mask leaves
 * out must be zero.  -1 and *e: one is not. */
static int
check_zeros(const struct group *g, int k, size_t n, const char *name,
    struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const size_t at = g->at[k] + i;

        if (g->part_p != NULL && at - g->first >= g->own)
            continue;
        if ((g->mask[k][i / 8] >> i % 8 & 1) == 0 && *group_p(g, at) != 0.0f)
            return err_set(e, EX_INPUT,
                "tensor %s: weight %zu is left out, and not zero", name, i);
    }
    return 0;
}

static int
copy_masks(const struct st *st, struct tmodel *t, struct err *e)
{
    char name[80];

    for (size_t i = 0; i < t->m.c.L; i++)
        for (int k = 0; k < W_N; k++) {
            struct group *g = &t->group[i];
            const struct weight *w = &t->m.block[i].w[k];
            const size_t n = group_mask_bytes(g, k);
            const struct st_tensor *x;

            if (n == 0)
                continue;
            mask_name(&t->m, i, k, name);
            if (t->effective.of > 0 && st_find(st, name) == NULL)
                continue;
            if ((x = st_need(st, name, DT_U8, 1, &n, e)) == NULL)
                return -1;
            memcpy(g->mask[k], x->data, n);
            if (t->effective.of == 0 &&
                check_zeros(g, k, w->rows * w->cols, name, e) < 0)
                return -1;
        }
    return 0;
}

int
load_masks(const char *file, struct tmodel *t, struct err *e)
{
    struct io_map map;
    struct st st;
    int r = io_map(&map, file, e);

    if (r < 0)
        return -1;
    if ((r = st_parse(&st, map.p, map.n, e)) == 0) {
        r = copy_masks(&st, t, e);
        st_release(&st);
    }
    io_unmap(&map);
    return r < 0 ? err_prefix(e, "%s", file) : 0;
}
