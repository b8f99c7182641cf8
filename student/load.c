/* Reading a checkpoint's moments and counters; see load.h. */
#include "load.h"
#include "masks.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "format/safetensors.h"
#include "kern/kern.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
meta_u64(const struct st *st, const char *file, const char *key, uint64_t *r,
    struct err *e)
{
    const char *s = st_meta(st, key);
    char *end;

    errno = 0;
    if (s == NULL || *s < '0' || *s > '9')
        return err_set(e, EX_INPUT, "%s: no number '%s'", file, key);
    *r = strtoull(s, &end, 10);
    if (*end != '\0' || errno != 0)
        return err_set(e, EX_INPUT, "%s: '%s' is no number", file, key);
    return 0;
}

static int
meta_real(const struct st *st, const char *file, const char *key, double *r,
    struct err *e)
{
    const char *s = st_meta(st, key);

    if (s == NULL || number_real(s, -1e300, 1e300, r) < 0)
        return err_set(e, EX_INPUT, "%s: no number '%s'", file, key);
    return 0;
}

/* Read the elements of state k of group i that are in the file and that this
 * rank needs; add their number to *got. */
static int
read_moment(const struct st *o, size_t i, int k, const struct tmodel *t,
    struct adamw *a, size_t *got, struct err *e)
{
    const size_t *part = adamw_part(a, i) + adamw_rank(a);
    const enum dtype type = adamw_kind_dtype(a, k);
    const size_t size = type == DT_BF16 ? 2 : 4, n = t->group[i].n;
    char name[32];
    const struct st_tensor *x;
    unsigned char *mine = adamw_moment(a, i, k);
    size_t at = 0, from, to;

    snprintf(name, sizeof(name), "at.%zu", i);
    if (st_meta(o, name) != NULL &&
        number_size(st_meta(o, name), 0, (double)n, &at) < 0)
        return err_set(e, EX_INPUT, "'%s' is no place in the group", name);
    snprintf(name, sizeof(name), "%c.%zu", MOMENT_LETTERS[k], i);
    x = st_find(o, name);
    if (x == NULL || x->dtype != type || x->ndim != 1 || x->shape[0] > n - at)
        return err_set(e, EX_INPUT, "no %s of the group's size%s", name,
            k == 2 ? ": the checkpoint was written without --ema" : "");
    from = at > part[0] ? at : part[0];
    to = at + x->shape[0] < part[1] ? at + x->shape[0] : part[1];
    if (from >= to)
        return 0;
    memcpy(mine + (from - part[0]) * size,
        (const unsigned char *)x->data + (from - at) * size,
        (to - from) * size);
    *got += to - from;
    return 0;
}

/* A file of moments. */
struct moments_file {
    char *path;
    struct io_map map;
    struct st st;
    int open;
};

static void
close_moments(struct moments_file *f)
{
    if (f->open) {
        st_release(&f->st);
        io_unmap(&f->map);
    }
    free(f->path);
}

/* Open a file of moments; path becomes its own. */
static int
open_moments(struct moments_file *f, char *path, struct err *e)
{
    f->path = path;
    if (io_map(&f->map, path, e) < 0)
        return -1;
    if (st_parse(&f->st, f->map.p, f->map.n, e) < 0) {
        io_unmap(&f->map);
        return err_prefix(e, "%s", path);
    }
    f->open = 1;
    return 0;
}

/* Read what a file of moments has besides these. */
static int
read_counters(const struct moments_file *f, struct adamw *a,
    struct progress_state *st, struct err *e)
{
    const struct st *o = &f->st;
    const char *file = f->path;
    const char *type = st_meta(o, "moments");
    const char *mine = dtype_name(adamw_dtype(a));
    const char *kernels = st_meta(o, "kernels");
    uint64_t count;

    if (meta_u64(o, file, "count", &count, e) < 0 ||
        meta_u64(o, file, "step", &st->step, e) < 0 ||
        meta_u64(o, file, "tokens", &st->tokens, e) < 0)
        return -1;
    if (strcmp(type != NULL ? type : "F32", mine) != 0)
        return err_set(e, EX_INPUT,
            "%s: its moments are %s, those of this "
            "run would be %s: see --moments",
            file, type != NULL ? type : "F32", mine);
    if (st_meta(o, "judged") != NULL &&
        (meta_u64(o, file, "judged", &st->judged, e) < 0 ||
            meta_u64(o, file, "best", &st->best, e) < 0 ||
            meta_u64(o, file, "since", &st->since, e) < 0 ||
            meta_real(o, file, "best_loss", &st->best_loss, e) < 0))
        return -1;
    if (st_meta(o, "norms") != NULL &&
        (meta_real(o, file, "norms", &st->norms, e) < 0 ||
            meta_real(o, file, "norm_weights", &st->weights, e) < 0))
        return -1;
    adamw_set_count(a, count);
    if (kernels != NULL && strcmp(kernels, kern_name()) != 0)
        warn("%s: written with kernels %s, continued with %s: the bits will "
             "differ from an undisturbed run's",
            file, kernels, kern_name());
    return 0;
}

/* Is `name` a file of moments, or of a part of them? */
static int
is_optimiser(const char *name)
{
    return strcmp(name, "optimiser.safetensors") == 0 ||
        strncmp(name, "optimiser-", strlen("optimiser-")) == 0;
}

/* Read the moments of a file that this rank needs. */
static int
read_own_part(char *path, const struct tmodel *t, struct adamw *a,
    struct progress_state *st, size_t *got, struct err *e)
{
    struct moments_file f = { 0 };
    int r = open_moments(&f, path, e);

    if (r == 0)
        r = read_counters(&f, a, st, e);
    for (size_t i = 0; i < t->ngroup && r == 0; i++)
        for (int k = 0; k < adamw_kinds(a) && r == 0; k++) {
            if ((r = read_moment(&f.st, i, k, t, a, got, e)) < 0)
                err_prefix(e, "%s", path);
            io_map_forget(&f.map, 0, f.map.n);
        }
    close_moments(&f);
    return r;
}

/* ---- files of ranks with moments of their own (--sync-every) ---- */

/* Set to[n] to the sums divided by `files`, as elements of that type. */
static void
put_mean(void *to, const double *sum, size_t n, size_t files, enum dtype type)
{
    for (size_t j = 0; j < n; j++) {
        const float x = (float)(sum[j] / (double)files);

        if (type == DT_BF16)
            kern.narrow_bf16((uint16_t *)to + j, &x, 1);
        else
            ((float *)to)[j] = x;
    }
}

/* Add x[n], of that type, to the sums. */
static void
add_elements(double *sum, const void *x, size_t n, enum dtype type)
{
    for (size_t j = 0; j < n; j++) {
        float one;

        if (type == DT_BF16)
            kern.widen_bf16(&one, (const uint16_t *)x + j, 1);
        else
            one = ((const float *)x)[j];
        sum[j] += one;
    }
}

/* Set state k of group i to its mean over the files; adds the number of its
 * elements to *got. */
static int
read_mean(const struct moments_file *f, size_t files, size_t i, int k,
    const struct tmodel *t, struct adamw *a, size_t *got, struct err *e)
{
    const size_t n = adamw_own(a, i), before = *got;
    double *sum = files > 1 ? xcalloc(n + 1, sizeof *sum) : NULL;
    void *mine = adamw_moment(a, i, k);
    int r = 0;

    for (size_t j = 0; j < files && r == 0; j++) {
        *got = before;
        if ((r = read_moment(&f[j].st, i, k, t, a, got, e)) < 0)
            err_prefix(e, "%s", f[j].path);
        else if (files > 1)
            add_elements(sum, mine, n, adamw_kind_dtype(a, k));
    }
    if (files > 1 && r == 0)
        put_mean(mine, sum, n, files, adamw_kind_dtype(a, k));
    free(sum);
    return r;
}

/* The number N of ranks in the name rank-R-of-N.safetensors; 0: another
 * name. */
static size_t
rank_files(const char *name)
{
    size_t r, n;

    return sscanf(name, "rank-%zu-of-%zu.", &r, &n) == 2 && r < n ? n : 0;
}

/* Read the files of n ranks: `own` rank's, or, if that is n, all of them. */
static int
read_ranks(const char *dir, size_t n, size_t own, const struct tmodel *t,
    struct adamw *a, struct progress_state *st, size_t *got, struct err *e)
{
    const size_t first = own < n ? own : 0, files = own < n ? 1 : n;
    struct moments_file *f = xcalloc(files, sizeof *f);
    int r = 0;

    for (size_t j = 0; j < files && r == 0; j++)
        r = open_moments(&f[j],
            xasprintf("%s/rank-%zu-of-%zu.safetensors", dir, first + j, n), e);
    if (r == 0)
        r = read_counters(&f[0], a, st, e);
    for (size_t i = 0; i < t->ngroup && r == 0; i++)
        for (int k = 0; k < adamw_kinds(a) && r == 0; k++)
            r = read_mean(f, files, i, k, t, a, got, e);
    for (size_t j = 0; j < files; j++)
        close_moments(&f[j]);
    free(f);
    if (r == 0 && files > 1)
        note("%s: each rank begins with the mean of the moments of %zu ranks",
            dir, n);
    return r;
}

/* Read the velocity; without a file it stays 0. */
static int
read_outer(const char *dir, const struct tmodel *t, struct outer *o,
    struct err *e)
{
    char *path = xasprintf("%s/outer.safetensors", dir), name[32];
    struct moments_file f = { 0 };
    int r = 0;

    if (outer_velocity(o, 0) == NULL || !io_exists(path)) {
        free(path);
        return 0;
    }
    r = open_moments(&f, path, e);
    for (size_t i = 0; i < t->ngroup && r == 0; i++) {
        const size_t n = t->group[i].n;
        const struct st_tensor *x;

        snprintf(name, sizeof name, "u.%zu", i);
        x = st_find(&f.st, name);
        if (x == NULL || x->dtype != DT_F32 || x->n != n)
            r = err_set(e, EX_INPUT, "%s: no %s of the group's size", path,
                name);
        else if (n > 0)
            memcpy(outer_velocity(o, i), x->data, n * sizeof(float));
    }
    close_moments(&f);
    return r;
}

int
load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct outer *o, struct progress_state *st, struct err *e)
{
    const struct dist_group *g = dist_world();
    size_t got = 0, want = 0, ranks = 0;
    struct dir_list l;
    char *file;
    int r = dir_list(dir, &l, e);

    if (r < 0)
        return -1;
    for (size_t i = 0; i < l.n && r == 0; i++) {
        if (is_optimiser(l.name[i]))
            r = read_own_part(xasprintf("%s/%s", dir, l.name[i]), t, a, st,
                &got, e);
        ranks = ranks > 0 ? ranks : rank_files(l.name[i]);
    }
    dir_list_release(&l);
    if (r == 0 && ranks > 0)
        r = read_ranks(dir, ranks, o != NULL && ranks == g->n ? g->rank : ranks,
            t, a, st, &got, e);
    if (r == 0 && o != NULL)
        r = read_outer(dir, t, o, e);
    for (size_t i = 0; i < t->ngroup; i++)
        want += (size_t)adamw_kinds(a) * adamw_own(a, i);
    if (r == 0 && got != want)
        r = err_set(e, EX_INPUT, "%s: it has %zu of %zu moments", dir, got,
            want);
    if (r == 0 && tmodel_mask_bytes(t) > 0) {
        file = xasprintf("%s/masks.safetensors", dir);
        if (t->effective.of == 0 || io_exists(file))
            r = load_masks(file, t, e);
        free(file);
    }
    return r;
}
