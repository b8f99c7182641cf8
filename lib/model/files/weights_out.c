/* Writing weights as safetensors; see weights_out.h. */
#include "model/files/weights_out.h"

#include "base/bytes.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "model/files/export.h"
#include "model/files/fetch.h"
#include "model/files/tensor_out.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A tensor of a file: a tensor of the model, or a part of a compressed one. */
struct stored {
    size_t tensor; /* number for model_tensor */
    enum compressed part;
    size_t bytes, file;
};

struct stored_list {
    struct stored *v; /* in the order of the files */
    size_t n, cap, nfile, bytes;
};

/* The type of a tensor: the router's shift stays fp32, as DeepSeek's files have
 * it; rounded, it would change the choice of experts. */
static enum dtype
numbers_as(const struct tensor_out *p, enum dtype as)
{
    return p->matrix == W_ROUTER_SHIFT ? DT_F32 : as;
}

/* Set *p to the tensor of the model, name [size] and shape to those of the
 * stored tensor.  Returns its type. */
static enum dtype
stored_tensor(const struct model *m, const struct stored *s, enum dtype as,
    struct tensor_out *p, char *name, size_t size, size_t shape[3])
{
    model_tensor(m, s->tensor, p);
    p->part = s->part;
    memcpy(shape, p->shape, 3 * sizeof *shape);
    if (s->part == COMPRESSED_NOT) {
        snprintf(name, size, "%s", p->name);
        return numbers_as(p, as);
    }
    compressed_name(name, size, p->name, s->part);
    compressed_dims(shape, s->part);
    return s->part == COMPRESSED_SHAPE ? DT_I64
        : s->part == COMPRESSED_MASK   ? DT_U8
                                       : as;
}

/* Append a tensor to the list, in the last file or a new one. */
static int
add_stored(struct stored_list *l, const struct model *m, enum dtype as,
    struct stored s, size_t most, size_t *in_file, struct err *e)
{
    struct tensor_out p;
    char name[sizeof p.name + 8];
    size_t shape[3], n;
    const enum dtype type =
        stored_tensor(m, &s, as, &p, name, sizeof name, shape);

    if (s.part != COMPRESSED_NOT && p.shape[1] % 4 != 0)
        return err_set(e, EX_INPUT,
            "%s: tensor %s: a row of %zu numbers cannot be cut into fours",
            m->path ? m->path : "model", p.name, p.shape[1]);
    if (size_mul(shape[0], p.ndim == 1 ? 1 : shape[1], &n) < 0 ||
        size_mul(n, p.ndim == 3 ? shape[2] : 1, &n) < 0 ||
        dtype_bytes(type, n, &s.bytes) < 0)
        return err_set(e, EX_INPUT, "tensor %s is too large", name);
    if (l->n == 0 || (*in_file > 0 && s.bytes > most - *in_file)) {
        l->nfile++;
        *in_file = 0;
    }
    s.file = l->nfile - 1;
    *in_file = s.bytes < most - *in_file ? *in_file + s.bytes : most;
    l->bytes += s.bytes;
    l->v = xgrow(l->v, l->n, &l->cap, sizeof *l->v);
    l->v[l->n++] = s;
    return 0;
}

/* List all stored tensors.  Three walks over the model's tensors make the list:
 * shapes of compressed matrices, and shifts that alone are fp32, come first and
 * masks last, so that the numbers in between stay aligned. */
static int
list_stored(struct stored_list *l, const struct model *m, enum dtype as,
    size_t most, struct err *e)
{
    struct tensor_out p;
    size_t in_file = 0;

    for (int walk = 0; walk < 3; walk++)
        for (size_t i = 0; i < model_ntensors(m); i++) {
            struct stored s = { .tensor = i, .part = COMPRESSED_NOT };

            model_tensor(m, i, &p);
            if (m->compress && p.two_of_four)
                s.part = (enum compressed)(COMPRESSED_SHAPE + walk);
            else if (walk != (numbers_as(&p, as) != as ? 0 : 1))
                continue;
            if (add_stored(l, m, as, s, most, &in_file, e) < 0)
                return -1;
        }
    return 0;
}

/* Write the header of the stored tensors v[n] to *st. */
static void
put_header(const struct model *m, enum dtype as, const struct stored *v,
    size_t n, struct st_out *st)
{
    struct tensor_out p;
    char name[sizeof p.name + 8];
    size_t shape[3];

    st_out_begin(st);
    st_out_meta(st, "format", "pt"); /* transformers asks for it */
    for (size_t i = 0; i < n; i++) {
        const enum dtype type =
            stored_tensor(m, &v[i], as, &p, name, sizeof name, shape);

        /* transformers has these two without a dimension */
        st_out_tensor(st, name, type,
            p.matrix == W_XIELU_BETA || p.matrix == W_XIELU_EPS ? 0 : p.ndim,
            shape, NULL);
    }
    st_out_end(st);
}

/* Fetch the weights of a stored tensor; only if r is 0, write it to o. */
static int
write_stored(const struct model *m, enum dtype as, const struct stored *s,
    struct io_out *o, int r, struct err *e)
{
    struct tensor_out p;
    unsigned char shape[16];

    model_tensor(m, s->tensor, &p);
    p.part = s->part;
    if (p.part == COMPRESSED_SHAPE) {
        le_put(shape, p.shape[0], 8);
        le_put(shape + 8, p.shape[1], 8);
        return r < 0 ? r : io_out_write(o, shape, sizeof shape, e);
    }
    fetch_now(m, p.group);
    if (m->fetch != NULL) { /* one expert's weights are there only now */
        model_tensor(m, s->tensor, &p);
        p.part = s->part;
    }
    if (r == 0)
        r = tensor_write(m, &p, numbers_as(&p, as), NULL, o, e);
    fetch_done(m, p.group);
    return r;
}

/* Write the stored tensors v[n] to the file `path`.  After an error, also an
 * earlier one (r < 0), go on fetching weights: the other ranks wait for this
 * one in each fetch. */
static int
write_shard(const struct model *m, enum dtype as, const struct stored *v,
    size_t n, const char *path, int r, struct err *e)
{
    struct st_out st = { 0 };
    struct io_out o;
    int begun = 0;

    put_header(m, as, v, n, &st);
    if (r == 0) {
        r = io_out_begin(&o, path, e);
        begun = r == 0;
    }
    if (r == 0)
        r = io_out_write(&o, st.head.p, st.head.n, e);
    for (size_t i = 0; i < n; i++)
        r = write_stored(m, as, &v[i], &o, r, e);
    if (r == 0)
        r = io_out_commit(&o, e);
    if (r < 0 && begun)
        io_out_abort(&o);
    st_out_release(&st);
    return r;
}

static char *
shard_path(const char *dir, size_t k, size_t n)
{
    return n == 1
        ? xasprintf("%s/model.safetensors", dir)
        : xasprintf("%s/model-%05zu-of-%05zu.safetensors", dir, k + 1, n);
}

static char *
index_path(const char *dir)
{
    return xasprintf("%s/model.safetensors.index.json", dir);
}

/* Write the index of the shards. */
static int
write_index(const struct stored_list *l, const struct model *m, enum dtype as,
    const char *dir, struct err *e)
{
    json_t *map = json_object(),
           *j = json_pack("{s:{s:I},s:o}", "metadata", "total_size",
               (json_int_t)l->bytes, "weight_map", map);
    char *path = index_path(dir);
    int r;

    for (size_t i = 0; i < l->n; i++) {
        struct tensor_out p;
        char name[sizeof p.name + 8];
        char *file = shard_path(dir, l->v[i].file, l->nfile);
        size_t shape[3];

        stored_tensor(m, &l->v[i], as, &p, name, sizeof name, shape);
        json_object_set_new(map, name, json_string(strrchr(file, '/') + 1));
        free(file);
    }
    r = js_save(j, path, e);
    json_decref(j);
    free(path);
    return r;
}

static int
remove_there(const char *path, struct err *e)
{
    return unlink(path) < 0 && errno != ENOENT ? err_set(e, EX_SYS, "%s:", path)
                                               : 0;
}

/* Remove shards of exports with another number of shards than n; n 1: all
 * shards. */
static int
remove_shards(const char *dir, size_t n, struct err *e)
{
    struct dir_list l;
    int r = dir_list(dir, &l, e);

    for (size_t i = 0; r == 0 && i < l.n; i++) {
        size_t k, of;
        char end[13], *path;

        if (sscanf(l.name[i], "model-%5zu-of-%5zu.%12s", &k, &of, end) != 3 ||
            strcmp(end, "safetensors") != 0 || (of == n && n > 1))
            continue;
        path = xasprintf("%s/%s", dir, l.name[i]);
        r = remove_there(path, e);
        free(path);
    }
    dir_list_release(&l);
    return r;
}

/* Remove, before shards are written, the files by which an older export is
 * found. */
static int
remove_older(const char *dir, struct err *e)
{
    char *one = shard_path(dir, 0, 1), *index = index_path(dir);
    int r = remove_there(index, e);

    if (r == 0)
        r = remove_there(one, e);
    free(one);
    free(index);
    return r;
}

/* Finish: write the index of the shards, or for one file remove an older index;
 * then remove older shards. */
static int
finish_files(const struct stored_list *l, const struct model *m, enum dtype as,
    const char *dir, struct err *e)
{
    char *index = index_path(dir);
    int r =
        l->nfile > 1 ? write_index(l, m, as, dir, e) : remove_there(index, e);

    free(index);
    return r == 0 ? remove_shards(dir, l->nfile, e) : r;
}

int
weights_write(const struct model *m, const char *dir, enum dtype as,
    size_t most, struct err *e)
{
    struct stored_list l = { 0 };
    int r = 0;

    /* fetch_each has the order of fp32 */
    assert(m->fetch == NULL || (as == DT_F32 && !m->compress));
    if (as != DT_F32 && as != DT_F16 && as != DT_BF16)
        return err_set(e, EX_USAGE,
            "%s: weights are written as F32, F16 or BF16 there, not %s", dir,
            dtype_name(as));
    if (list_stored(&l, m, as, most, e) < 0) {
        free(l.v);
        return -1;
    }
    if (l.nfile > 1)
        r = remove_older(dir, e);
    for (size_t i = 0, n; i < l.n; i += n) {
        char *path = shard_path(dir, l.v[i].file, l.nfile);

        for (n = 1; i + n < l.n && l.v[i + n].file == l.v[i].file; n++)
            ;
        r = write_shard(m, as, l.v + i, n, path, r, e);
        free(path);
    }
    if (r == 0)
        r = finish_files(&l, m, as, dir, e);
    free(l.v);
    return r;
}
