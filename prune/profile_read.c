/* Reads a profile: see profile_read.h. */
#include "profile_read.h"
#include "hessian.h"
#include "format/ckpt.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

const char *const profile_files[PROFILE_FILES] = { "sums", "hessian" };

char *
profile_path(const char *dir, size_t file)
{
    return xasprintf("%s/%s.safetensors", dir, profile_files[file]);
}

char *
profile_tensor(char out[64], size_t block, enum fwd_input input,
    const char *suffix)
{
    snprintf(out, 64, "%zu.%s%s", block, profile_inputs[input], suffix);
    return out;
}

/* Fail if the file's hash is not the one in profile.json. */
static int
check_file_hash(const struct profile *p, size_t file, const char *path,
    struct err *e)
{
    const json_t *hashes = json_object_get(p->json, "xxh3_128");
    char hex[33];

    if (ckpt_hash(path, hex, e) < 0)
        return -1;
    return strcmp(hex, js_text_of(hashes, profile_files[file])) == 0
        ? 0
        : err_set(e, EX_INPUT,
              "%s: is damaged: its hash is not the one in profile.json", path);
}

static int
map_checked(struct profile *p, size_t i, struct st *st, struct err *e)
{
    char *path = profile_path(p->dir, i);
    int r = check_file_hash(p, i, path, e);

    r = r == 0 ? io_map(&p->map[i], path, e) : r;
    if (r == 0 && (r = st_parse(st, p->map[i].p, p->map[i].n, e)) < 0) {
        memset(st, 0, sizeof *st);
        err_prefix(e, "%s", path);
    }
    free(path);
    return r;
}

size_t
profile_width(const struct profile *p, size_t block, enum fwd_input input)
{
    char name[64];
    const struct st_tensor *t =
        st_find(&p->sums, profile_tensor(name, block, input, ".max"));

    return t != NULL && t->ndim == 2 ? t->shape[1] : 0;
}

void
input_tensors(struct input_tensor t[INPUT_TENSORS], size_t block,
    enum fwd_input input, const struct input_sums *s)
{
    const struct input_tensor all[INPUT_TENSORS] = {
        { ".gradient", DT_F64, 1, { s->n }, s->grad, "" },
        { ".sums", DT_F64, 3, { CLASSES, SUMS, s->n }, s->sum, "" },
        { ".max", DT_F32, 2, { CLASSES, s->n }, s->max, "" },
        { ".counts", DT_U32, 3, { CLASSES, s->n, 1 + s->bins }, s->count, "" },
        { ".from", DT_U32, 1, { 1 }, &s->from, "" },
    };

    for (size_t j = 0; j < INPUT_TENSORS; j++) {
        t[j] = all[j];
        profile_tensor(t[j].name, block, input, all[j].suffix);
    }
}

/* Fail if tensors of an input are missing or have other shapes. */
static int
check_input(const struct profile *p, size_t i, enum fwd_input k, struct err *e)
{
    /* any number of bins */
    const struct input_sums s = { .n = profile_width(p, i, k),
        .bins = SIZE_MAX - 1 };
    const size_t square[] = { s.n, s.n };
    const struct st_tensor *at[INPUT_TENSORS];
    struct input_tensor t[INPUT_TENSORS];
    size_t bins;
    char name[64];

    if (s.n == 0)
        return 0;
    input_tensors(t, i, k, &s);
    for (size_t j = p->gradients ? 0 : T_SUMS; j < INPUT_TENSORS; j++)
        if ((at[j] = st_need(&p->sums, t[j].name, t[j].type, t[j].ndim,
                 t[j].shape, e)) == NULL)
            return -1;
    bins = at[T_COUNTS]->shape[2];
    if (bins < 1 || bins - 1 > SKETCH_BINS ||
        st_u32(at[T_FROM], 0) + bins - 1 > SKETCH_BINS)
        return err_set(e, EX_INPUT, "%s: names bins past the last",
            t[T_COUNTS].name);
    return p->hessian.nt > 0 &&
            st_need(&p->hessian, profile_tensor(name, i, k, ""), DT_F32, 2,
                square, e) == NULL
        ? -1
        : 0;
}

static int
check_tensors(struct profile *p, struct err *e)
{
    const size_t tokens[] = { CLASSES }, turn[] = { CLASSES, TURNS };
    const struct st_tensor *t =
        st_need(&p->sums, "tokens", DT_U64, 1, tokens, e);

    for (size_t i = 0; i < p->sums.nt; i++)
        p->gradients |= strstr(p->sums.t[i].name, ".gradient") != NULL;
    for (size_t i = 0; t != NULL && i < p->L; i++) {
        char name[64];

        snprintf(name, sizeof name, "%zu.turn", i);
        if (st_need(&p->sums, name, DT_F64, 2, turn, e) == NULL)
            return -1;
        for (size_t k = 0; k < FWD_INPUTS; k++)
            if (check_input(p, i, k, e) < 0)
                return -1;
    }
    for (size_t c = 0; t != NULL && c < CLASSES; c++)
        p->tokens[c] = st_uint(t, c);
    if (t != NULL && (p->tokens[0] > UINT32_MAX || p->tokens[1] > UINT32_MAX))
        return err_set(e, EX_INPUT, "tokens: more than 2^32 - 1");
    return t != NULL ? 0 : -1;
}

static int
read_about(struct profile *p, int *hessian, struct err *e)
{
    static const char *const texts[] = { "model", "model_hash", "compute" };
    char *path = xasprintf("%s/profile.json", p->dir);
    size_t version;
    int r;

    p->json = js_load(path, JS_MAX, e);
    free(path);
    if (p->json == NULL)
        return -1;
    r = js_size(p->json, "version", 1, PROFILE_VERSION, &version, e);
    if (r > 0 && version < PROFILE_VERSION)
        return err_set(e, EX_INPUT,
            "%s/profile.json: is of version %zu, without hashes: make the "
            "profile again",
            p->dir, version);
    if (r <= 0 || (r = js_size(p->json, "blocks", 1, 1000000, &p->L, e)) <= 0 ||
        (r = js_size(p->json, "rows", 0, 1e15, &p->rows, e)) <= 0 ||
        (r = js_size(p->json, "parts", 1, 1e15, &p->parts, e)) <= 0 ||
        (r = js_bool(p->json, "hessian", hessian, e)) <= 0)
        return r < 0 ? -1 : err_set(e, EX_INPUT, "profile.json: incomplete");
    for (size_t i = 0; i < 3; i++)
        if (*js_text_of(p->json, texts[i]) == '\0')
            return err_set(e, EX_INPUT, "profile.json: %s: missing", texts[i]);
    return 0;
}

/* Fail if the profile is of another model than m. */
static int
check_profiled(const struct profile *p, const struct model *m, struct err *e)
{
    char hash[33];
    int same = p->L == m->c.L;

    for (size_t i = 0; same && i < m->c.L * FWD_INPUTS; i++)
        same = profile_width(p, i / FWD_INPUTS, i % FWD_INPUTS) ==
            input_width(m, i / FWD_INPUTS, i % FWD_INPUTS);
    if (same) {
        model_hash(m, hash);
        same = strcmp(hash, js_text_of(p->json, "model_hash")) == 0;
    }
    return same ? 0
                : err_set(e, EX_INPUT,
                      "is not the profile of %s: it was made of %s with other "
                      "weights or another config.json",
                      m->path, js_text_of(p->json, "model"));
}

int
profile_open(struct profile *p, const char *dir, const struct model *m,
    struct err *e)
{
    int hessian = 0;

    memset(p, 0, sizeof *p);
    p->dir = xstrdup(dir);
    if (read_about(p, &hessian, e) < 0 ||
        map_checked(p, PROFILE_SUMS, &p->sums, e) < 0 ||
        (hessian && map_checked(p, PROFILE_HESSIAN, &p->hessian, e) < 0)) {
        profile_close(p);
        return -1;
    }
    if (check_tensors(p, e) < 0 || (m != NULL && check_profiled(p, m, e) < 0)) {
        profile_close(p);
        return err_prefix(e, "%s", dir);
    }
    return 0;
}

void
profile_close(struct profile *p)
{
    st_release(&p->sums);
    st_release(&p->hessian);
    for (size_t i = 0; i < PROFILE_FILES; i++)
        if (p->map[i].p != NULL)
            io_unmap(&p->map[i]);
    json_decref(p->json);
    free(p->dir);
    memset(p, 0, sizeof *p);
}

void
profile_sum_sq(const struct profile *p, size_t block, enum fwd_input input,
    size_t kind, double *out)
{
    const size_t n = profile_width(p, block, input);
    char name[64];
    const struct st_tensor *t =
        st_find(&p->sums, profile_tensor(name, block, input, ".sums"));

    if (n > 0)
        memcpy(out,
            (const char *)t->data + (kind * SUMS + SUM_2) * n * sizeof *out,
            n * sizeof *out);
}

int
profile_gradient(const struct profile *p, size_t block, enum fwd_input input,
    double *out)
{
    char name[64];
    const struct st_tensor *t =
        st_find(&p->sums, profile_tensor(name, block, input, ".gradient"));

    if (t != NULL)
        memcpy(out, t->data, t->nbytes);
    return t != NULL ? 0 : -1;
}

const float *
profile_hessian(const struct profile *p, size_t block, enum fwd_input input,
    struct err *e)
{
    char name[64];
    const struct st_tensor *t =
        st_find(&p->hessian, profile_tensor(name, block, input, ""));

    if (t == NULL)
        err_set(e, EX_USAGE,
            "%s: has no Hessian of %s of block %zu: make it with --hessian",
            p->dir, profile_inputs[input], block);
    /* aligned, since headers are padded */
    return t != NULL ? (const float *)t->data : NULL;
}
