/* Layers to make sparse: see sparsify_list.h. */
#include "sparsify_list.h"
#include "cli/die.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int t;
} matrices[] = { { "q", W_Q }, { "k", W_K }, { "v", W_V }, { "o", W_O },
    { "gate", W_GATE }, { "up", W_UP }, { "down", W_DOWN } };
enum { MATRICES = sizeof matrices / sizeof *matrices };

/* Parse names such as "q,gate,up" to bits of W_... */
static unsigned
parse_names(const char *names)
{
    unsigned bits = 0;

    if (strcmp(names, "all") == 0)
        return ~0u;
    for (const char *p = names;; p++) {
        const size_t n = strcspn(p, ",");
        size_t k = 0;

        while (k < MATRICES &&
            (strlen(matrices[k].name) != n ||
                strncmp(matrices[k].name, p, n) != 0))
            k++;
        if (k == MATRICES)
            die(EX_USAGE,
                "--layers %s: give all, or some of q,k,v,o,gate,up,down",
                names);
        bits |= 1u << matrices[k].t;
        p += n;
        if (*p == '\0')
            return bits;
    }
}

static void
add_layer(struct layers *s, const struct model *m, const struct pattern *p,
    size_t block, size_t k)
{
    const struct weight *w = &m->block[block].w[matrices[k].t];

    if (p->m > 0 && w->cols % p->m != 0)
        die(EX_USAGE, "block %zu, %s: rows of %zu are no multiple of %zu",
            block, matrices[k].name, w->cols, p->m);
    s->l[s->n++] = (struct layer){ .block = block,
        .t = matrices[k].t,
        .taken = 1,
        .rows = w->rows,
        .cols = w->cols,
        .alone = NAN,
        .error = NAN };
}

void
layers_list(struct layers *s, const struct model *m, const struct pattern *p,
    const char *names)
{
    const unsigned bits = parse_names(names);

    s->l = xcalloc(m->c.L * MATRICES, sizeof *s->l);
    s->n = 0;
    for (size_t i = 0; i < m->c.L; i++)
        for (size_t k = 0; k < MATRICES; k++)
            if (bits >> matrices[k].t & 1 &&
                m->block[i].w[matrices[k].t].rows > 0)
                add_layer(s, m, p, i, k);
    if (s->n == 0)
        die(EX_USAGE, "--layers %s: %s has no such layer", names, m->path);
}

void
layers_release(struct layers *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->l[i].data);
    free(s->l);
}

const char *
layer_name(int t)
{
    size_t k = 0;

    while (matrices[k].t != t)
        k++;
    return matrices[k].name;
}

void
layers_tsv(const struct layers *s, struct buf *b)
{
    buf_adds(b,
        "block\tlayer\trows\tcolumns\ttaken\tzeros\tdead\tdamping\t"
        "alone\terror\tseconds\n");
    for (size_t i = 0; i < s->n; i++) {
        const struct layer *l = &s->l[i];

        buf_addf(b, "%zu\t%s\t%zu\t%zu\t%d\t%zu\t%zu\t%g\t%.6g\t%.6g\t%.3f\n",
            l->block, layer_name(l->t), l->rows, l->cols, l->taken, l->zeros,
            l->dead, l->damp, l->alone, l->error, l->seconds);
    }
}

/* ---- the choice ---- */

static int
by_alone(const void *a, const void *b)
{
    const struct layer *x = *(struct layer *const *)a;
    const struct layer *y = *(struct layer *const *)b;

    if (x->alone != y->alone)
        return x->alone < y->alone ? -1 : 1;
    return x < y ? -1 : x > y;
}

void
layers_take(struct layers *s, double share)
{
    struct layer **order = xcalloc(s->n, sizeof *order);
    double all = 0.0, sum = 0.0;

    for (size_t i = 0; i < s->n; i++) {
        order[i] = &s->l[i];
        all += (double)(order[i]->rows * order[i]->cols);
    }
    qsort(order, s->n, sizeof *order, by_alone);
    for (size_t i = 0; i < s->n; i++) {
        order[i]->taken = sum < share * all;
        if (order[i]->taken)
            sum += (double)(order[i]->rows * order[i]->cols);
        else
            order[i]->zeros = 0;
    }
    free(order);
}
