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

static int
read_optimiser(const struct st *o, const struct io_map *map, const char *file,
    struct tmodel *t, struct adamw *a, struct progress_state *st, size_t *got,
    struct err *e)
{
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
    for (size_t i = 0; i < t->ngroup; i++)
        for (int k = 0; k < adamw_kinds(a); k++) {
            if (read_moment(o, i, k, t, a, got, e) < 0)
                return err_prefix(e, "%s", file);
            io_map_forget(map, 0, map->n);
        }
    return 0;
}

/* Is `name` a file of moments, or of a rank's part of them? */
static int
is_optimiser(const char *name)
{
    return strcmp(name, "optimiser.safetensors") == 0 ||
        strncmp(name, "optimiser-", strlen("optimiser-")) == 0;
}

static int
read_moments_file(const char *dir, const char *name, struct tmodel *t,
    struct adamw *a, struct progress_state *st, size_t *got, struct err *e)
{
    char *file = xasprintf("%s/%s", dir, name);
    struct io_map map;
    struct st o;
    int r = io_map(&map, file, e);

    if (r == 0) {
        r = st_parse(&o, map.p, map.n, e);
        if (r == 0) {
            r = read_optimiser(&o, &map, file, t, a, st, got, e);
            st_release(&o);
        } else {
            err_prefix(e, "%s", file);
        }
        io_unmap(&map);
    }
    free(file);
    return r;
}

int
load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct progress_state *st, struct err *e)
{
    size_t got = 0, want = 0;
    struct dir_list l;
    char *file;
    int r = dir_list(dir, &l, e);

    if (r < 0)
        return -1;
    for (size_t i = 0; i < l.n && r == 0; i++)
        if (is_optimiser(l.name[i]))
            r = read_moments_file(dir, l.name[i], t, a, st, &got, e);
    dir_list_release(&l);
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
