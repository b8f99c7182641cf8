/* The files of a profile: written, read, added up; see prune-profile(1). */
#include "profile.h"
#include "hessian.h"
#include "format/ckpt.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 2 };

/* The files that programs read; profile.json has their hashes. */
enum { FILE_SUMS, FILE_HESSIAN, FILES };
static const char *const files[FILES] = { "sums", "hessian" };

static char *
file_path(const char *dir, size_t file)
{
    return xasprintf("%s/%s.safetensors", dir, files[file]);
}

static char *
tensor_name(char out[64], size_t block, enum fwd_input input, const char *what)
{
    snprintf(out, 64, "%zu.%s%s", block, profile_inputs[input], what);
    return out;
}

/* ---- written ---- */

static int
write_tensors(struct st_out *o, const char *path, struct err *e)
{
    struct io_out f;
    int r = io_out_begin(&f, path, e);

    st_out_end(o);
    r = r == 0 ? io_out_write(&f, o->head.p, o->head.n, e) : r;
    for (size_t i = 0; r == 0 && i < o->npiece; i++)
        r = io_out_write(&f, o->piece[i].p, o->piece[i].n, e);
    r = r == 0 ? io_out_commit(&f, e) : r;
    if (r < 0)
        io_out_abort(&f);
    return r;
}

static void
put_input(struct st_out *o, size_t block, enum fwd_input input,
    const struct input_sums *s, const uint32_t *from)
{
    const size_t sums[] = { CLASSES, SUMS, s->n }, max[] = { CLASSES, s->n };
    const size_t counts[] = { CLASSES, s->n, 1 + s->bins }, one[] = { 1 };
    char name[64];

    if (s->grad != NULL)
        st_out_tensor(o, tensor_name(name, block, input, ".gradient"), DT_F64,
            1, &s->n, s->grad);
    st_out_tensor(o, tensor_name(name, block, input, ".sums"), DT_F64, 3, sums,
        s->sum);
    st_out_tensor(o, tensor_name(name, block, input, ".max"), DT_F32, 2, max,
        s->max);
    st_out_tensor(o, tensor_name(name, block, input, ".counts"), DT_U32, 3,
        counts, s->count);
    st_out_tensor(o, tensor_name(name, block, input, ".from"), DT_U32, 1, one,
        from);
}

static int
write_sums(const struct profile_sums *s, const char *path, struct err *e)
{
    const size_t tokens[] = { CLASSES }, turn[] = { CLASSES, TURNS };
    uint32_t *from = xcalloc(s->L * FWD_INPUTS, sizeof *from);
    struct st_out o = { 0 };
    int r;

    st_out_begin(&o);
    st_out_tensor(&o, "tokens", DT_U64, 1, tokens, s->tokens);
    for (size_t i = 0; i < s->L; i++) {
        char name[64];

        snprintf(name, sizeof name, "%zu.turn", i);
        st_out_tensor(&o, name, DT_F64, 2, turn, s->b[i].turn);
        for (size_t k = 0; k < FWD_INPUTS; k++) {
            const struct input_sums *in = &s->b[i].in[k];

            from[i * FWD_INPUTS + k] = (uint32_t)in->from;
            if (in->n > 0)
                put_input(&o, i, k, in, &from[i * FWD_INPUTS + k]);
        }
    }
    r = write_tensors(&o, path, e);
    st_out_release(&o);
    free(from);
    return r;
}

static int
write_channels(const struct profile_sums *s, const char *path, struct err *e)
{
    struct buf b = { 0 };
    struct io_out f;
    int r = io_out_begin(&f, path, e);

    buf_adds(&b, sums_tsv_head);
    for (size_t i = 0; r == 0 && i < s->L; i++) {
        for (size_t k = 0; k < FWD_INPUTS; k++)
            sums_tsv(&s->b[i].in[k], i, k, s->tokens, &b);
        r = io_out_write(&f, b.p, b.n, e);
        buf_clear(&b);
    }
    r = r == 0 ? io_out_commit(&f, e) : r;
    if (r < 0)
        io_out_abort(&f);
    buf_release(&b);
    return r;
}

static int
write_blocks(const struct profile_sums *s, const char *path, struct err *e)
{
    static const char *const name[] = { "influence", "attention", "mlp",
        "norm_in", "norm_out" };
    const double rest = (double)s->tokens[CLASS_REST];
    const double all = (double)s->tokens[CLASS_FIRST] + rest;
    struct buf b = { 0 };
    int r;

    buf_adds(&b, "block");
    for (size_t k = 0; k < 2 * TURNS; k++)
        buf_addf(&b, "\t%s%s", k < TURNS ? "" : "rest_", name[k % TURNS]);
    for (size_t i = 0; i < s->L; i++) {
        const double *first = s->b[i].turn[CLASS_FIRST];
        const double *other = s->b[i].turn[CLASS_REST];

        buf_addf(&b, "\n%zu", i);
        for (size_t k = 0; k < TURNS; k++)
            buf_addf(&b, "\t%.9g", (first[k] + other[k]) / all);
        for (size_t k = 0; k < TURNS; k++)
            buf_addf(&b, "\t%.9g", rest > 0.0 ? other[k] / rest : 0.0);
    }
    buf_addc(&b, '\n');
    r = io_put_file(path, b.p, b.n, e);
    buf_release(&b);
    return r;
}

/* Of a row of tokens, mean over them; a profile without them has no file. */
static int
write_gradients(const struct profile_sums *s, const char *path, struct err *e)
{
    struct buf b = { 0 };
    int there = 0, r;

    buf_adds(&b, "block\tinput\tchannel\tgradient\n");
    for (size_t i = 0; i < s->L * FWD_INPUTS; i++) {
        const size_t block = i / FWD_INPUTS, k = i % FWD_INPUTS;
        const struct input_sums *in = &s->b[block].in[k];

        there |= in->grad != NULL;
        for (size_t c = 0; in->grad != NULL && c < in->n; c++)
            buf_addf(&b, "%zu\t%s\t%zu\t%.9g\n", block, profile_inputs[k], c,
                in->grad[c] / (double)s->rows);
    }
    r = there ? io_put_file(path, b.p, b.n, e) : 0;
    buf_release(&b);
    return r;
}

/* Hashes of the files in folder dir; NULL: one cannot be read. */
static json_t *
hash_files(const char *dir, int hessian, struct err *e)
{
    json_t *j = json_object();
    int r = 0;

    for (size_t i = 0; r == 0 && i < FILES; i++) {
        char *path = file_path(dir, i), hex[33];

        if ((i == FILE_SUMS || hessian) && (r = ckpt_hash(path, hex, e)) == 0)
            json_object_set_new(j, files[i], json_string(hex));
        free(path);
    }
    if (r == 0)
        return j;
    json_decref(j);
    return NULL;
}

static int
write_about(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, const char *path, struct err *e)
{
    json_t *hashes = hash_files(dir, a->hessian, e), *j;
    int r;

    if (hashes == NULL)
        return -1;
    j = json_pack("{s:i,s:s,s:s,s:s?,s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:o}",
        "version", VERSION, "model", a->model, "model_hash", a->hash,
        "tokenizer", a->tokenizer, "compute", a->compute, "blocks",
        (json_int_t)s->L, "rows", (json_int_t)s->rows, "documents",
        (json_int_t)s->tokens[CLASS_FIRST], "tokens",
        (json_int_t)(s->tokens[CLASS_FIRST] + s->tokens[CLASS_REST]), "parts",
        (json_int_t)a->parts, "hessian", a->hessian, "xxh3_128", hashes);
    if (j == NULL)
        mem_exhausted("profile.json");
    if (a->hessian)
        json_object_set_new(j, "hessian_off", json_real(s->hess_off));
    r = js_save(j, path, e);
    json_decref(j);
    return r;
}

int
profile_write(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e)
{
    char *sums = file_path(dir, FILE_SUMS);
    char *channels = xasprintf("%s/channels.tsv", dir);
    char *blocks = xasprintf("%s/blocks.tsv", dir);
    char *gradients = xasprintf("%s/gradients.tsv", dir);
    char *about = xasprintf("%s/profile.json", dir);
    const int r = write_sums(s, sums, e) < 0 ||
            write_channels(s, channels, e) < 0 ||
            write_blocks(s, blocks, e) < 0 ||
            write_gradients(s, gradients, e) < 0 ||
            write_about(s, a, dir, about, e) < 0
        ? -1
        : 0;

    free(sums);
    free(channels);
    free(blocks);
    free(gradients);
    free(about);
    return r;
}

/* ---- read ---- */

/* Is the file the one that was written? */
static int
check_hash(const struct profile *p, size_t file, const char *path,
    struct err *e)
{
    const json_t *hashes = json_object_get(p->json, "xxh3_128");
    char hex[33];

    if (ckpt_hash(path, hex, e) < 0)
        return -1;
    return strcmp(hex, js_text_of(hashes, files[file])) == 0
        ? 0
        : err_set(e, EX_INPUT,
              "%s: is damaged: its hash is not the one in profile.json", path);
}

static int
map_tensors(struct profile *p, size_t i, struct st *st, struct err *e)
{
    char *path = file_path(p->dir, i);
    int r = check_hash(p, i, path, e);

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
        st_find(&p->sums, tensor_name(name, block, input, ".max"));

    return t != NULL && t->ndim == 2 ? t->shape[1] : 0;
}

/* Are the tensors of that input there, as long as they should be? */
static int
check_input(const struct profile *p, size_t i, enum fwd_input k, struct err *e)
{
    const size_t n = profile_width(p, i, k), square[] = { n, n };
    const size_t sums[] = { CLASSES, SUMS, n }, max[] = { CLASSES, n };
    const size_t counts[] = { CLASSES, n, SIZE_MAX }, one[] = { 1 };
    const struct st_tensor *c, *from;
    char a[64];

    if (n == 0)
        return 0;
    if (st_need(&p->sums, tensor_name(a, i, k, ".sums"), DT_F64, 3, sums, e) ==
            NULL ||
        st_need(&p->sums, tensor_name(a, i, k, ".max"), DT_F32, 2, max, e) ==
            NULL ||
        (from = st_need(&p->sums, tensor_name(a, i, k, ".from"), DT_U32, 1, one,
             e)) == NULL ||
        (c = st_need(&p->sums, tensor_name(a, i, k, ".counts"), DT_U32, 3,
             counts, e)) == NULL)
        return -1;
    if (c->shape[2] < 1 || c->shape[2] - 1 > SKETCH_BINS ||
        st_u32(from, 0) + c->shape[2] - 1 > SKETCH_BINS)
        return err_set(e, EX_INPUT, "%s: bins that there are not", c->name);
    if (p->gradients &&
        st_need(&p->sums, tensor_name(a, i, k, ".gradient"), DT_F64, 1, &n,
            e) == NULL)
        return -1;
    if (p->hessian.nt > 0 &&
        st_need(&p->hessian, tensor_name(a, i, k, ""), DT_F32, 2, square, e) ==
            NULL)
        return -1;
    return 0;
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
    r = js_size(p->json, "version", 1, VERSION, &version, e);
    if (r > 0 && version < VERSION)
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

/* Was it made of m? */
static int
check_model(const struct profile *p, const struct model *m, struct err *e)
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
        map_tensors(p, FILE_SUMS, &p->sums, e) < 0 ||
        (hessian && map_tensors(p, FILE_HESSIAN, &p->hessian, e) < 0)) {
        profile_close(p);
        return -1;
    }
    if (check_tensors(p, e) < 0 || (m != NULL && check_model(p, m, e) < 0)) {
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
    for (size_t i = 0; i < FILES; i++)
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
        st_find(&p->sums, tensor_name(name, block, input, ".sums"));

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
        st_find(&p->sums, tensor_name(name, block, input, ".gradient"));

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
        st_find(&p->hessian, tensor_name(name, block, input, ""));

    if (t == NULL)
        err_set(e, EX_USAGE,
            "%s: has no Hessian of %s of block %zu: make it with --hessian",
            p->dir, profile_inputs[input], block);
    /* headers are padded, so what lies there is aligned */
    return t != NULL ? (const float *)t->data : NULL;
}

/* ---- added up ---- */

static void
load_input(const struct profile *p, size_t i, enum fwd_input k,
    struct input_sums *s)
{
    static const char *const what[] = { ".sums", ".max", ".counts", ".from" };
    const struct st_tensor *t[4];
    char name[64];

    memset(s, 0, sizeof *s);
    if ((s->n = profile_width(p, i, k)) == 0)
        return;
    for (size_t j = 0; j < 4; j++)
        t[j] = st_find(&p->sums, tensor_name(name, i, k, what[j]));
    s->sum = xmalloc(t[0]->nbytes);
    memcpy(s->sum, t[0]->data, t[0]->nbytes);
    s->max = xmalloc(t[1]->nbytes);
    memcpy(s->max, t[1]->data, t[1]->nbytes);
    s->count = xmalloc(t[2]->nbytes);
    memcpy(s->count, t[2]->data, t[2]->nbytes);
    s->bins = t[2]->shape[2] - 1;
    s->from = st_u32(t[3], 0);
    if (p->gradients) {
        s->grad = xcalloc(s->n, sizeof *s->grad);
        profile_gradient(p, i, k, s->grad);
    }
}

static void
add_block(const struct profile *p, size_t i, struct block_sums *b, int first)
{
    double turn[CLASSES][TURNS];
    char name[64];

    snprintf(name, sizeof name, "%zu.turn", i);
    memcpy(turn, st_find(&p->sums, name)->data, sizeof turn);
    for (size_t k = 0; k < CLASSES * TURNS; k++)
        b->turn[k / TURNS][k % TURNS] += turn[k / TURNS][k % TURNS];
    for (size_t k = 0; k < FWD_INPUTS; k++) {
        struct input_sums s;

        load_input(p, i, k, first ? &b->in[k] : &s);
        if (first)
            continue;
        if (s.n > 0)
            sums_add(&b->in[k], &s);
        sums_release(&s);
    }
}

/* May q be added to p? */
static int
check_same(const struct profile *p, const struct profile *q, struct err *e)
{
    const char *why = NULL;

    if (p->L != q->L ||
        strcmp(js_text_of(p->json, "model_hash"),
            js_text_of(q->json, "model_hash")) != 0)
        why = "another model";
    for (size_t i = 0; why == NULL && i < p->L * FWD_INPUTS; i++)
        if (profile_width(p, i / FWD_INPUTS, i % FWD_INPUTS) !=
            profile_width(q, i / FWD_INPUTS, i % FWD_INPUTS))
            why = "another model";
    if (why == NULL &&
        strcmp(js_text_of(p->json, "compute"),
            js_text_of(q->json, "compute")) != 0)
        why = "another --compute";
    if (why == NULL &&
        strcmp(js_text_of(p->json, "tokenizer"),
            js_text_of(q->json, "tokenizer")) != 0)
        why = "another tokenizer";
    if (why == NULL && (p->hessian.nt > 0) != (q->hessian.nt > 0))
        why = "with Hessians, or without";
    if (why == NULL && p->gradients != q->gradients)
        why = "with gradients, or without";
    return why == NULL
        ? 0
        : err_set(e, EX_INPUT, "%s: is not of the kind of %s: %s", q->dir,
              p->dir, why);
}

/* h [n,n] = the sum of one input's Hessians, added in double. */
static int
add_hessians(const struct profile *p, size_t np, size_t i, enum fwd_input k,
    float *h, struct err *e)
{
    enum { PIECE = 4096 };
    const size_t n = profile_width(p, i, k);
    double sum[PIECE];

    for (size_t at = 0; at < n * n; at += PIECE) {
        const size_t m = n * n - at < PIECE ? n * n - at : PIECE;

        memset(sum, 0, sizeof sum);
        for (size_t q = 0; q < np; q++) {
            const float *x = profile_hessian(&p[q], i, k, e);

            if (x == NULL)
                return -1;
            for (size_t c = 0; c < m; c++)
                sum[c] += x[at + c];
        }
        for (size_t c = 0; c < m; c++)
            h[at + c] = (float)sum[c];
    }
    return 0;
}

static int
merge_hessians(const struct profile *p, size_t n, const char *path,
    struct profile_sums *s, struct err *e)
{
    size_t *width = xcalloc(s->L * FWD_INPUTS, sizeof *width);
    struct hess_out *o;
    struct err later; /* than what went wrong */
    int r = 0;

    for (size_t i = 0; i < s->L * FWD_INPUTS; i++)
        width[i] = profile_width(p, i / FWD_INPUTS, i % FWD_INPUTS);
    o = hess_out_new(path, width, s->L, 1, e);
    for (size_t i = 0; o != NULL && r == 0 && i < s->L; i++) {
        float *h = hess_out_take(o, e);

        for (size_t k = 0; h != NULL && r == 0 && k < FWD_INPUTS; k++) {
            const size_t w = width[i * FWD_INPUTS + k];

            r = add_hessians(p, n, i, k, h, e);
            s->hess_off = fmax(s->hess_off, hess_off(h, &s->b[i].in[k]));
            h += w * w;
        }
        hess_out_give(o);
        r = h == NULL ? -1 : r;
    }
    free(width);
    if (o == NULL)
        return -1;
    return hess_out_end(o, r == 0 ? e : &later) < 0 || r < 0 ? -1 : 0;
}

int
profile_merge(const struct profile *p, size_t n, const char *dir, struct err *e)
{
    struct profile_about a = { js_text_of(p->json, "model"),
        js_text_of(p->json, "model_hash"), js_text_of(p->json, "compute"),
        json_string_value(js_get(p->json, "tokenizer")), 0, p->hessian.nt > 0 };
    struct profile_sums s;
    char *path = file_path(dir, FILE_HESSIAN);
    int r = 0;

    profile_sums_init(&s, p->L);
    for (size_t q = 0; r == 0 && q < n; q++) {
        r = check_same(p, &p[q], e);
        s.rows += p[q].rows;
        a.parts += p[q].parts;
        for (size_t c = 0; c < CLASSES; c++)
            s.tokens[c] += p[q].tokens[c];
        for (size_t i = 0; r == 0 && i < p->L; i++)
            add_block(&p[q], i, &s.b[i], q == 0);
    }
    if (r == 0 && (s.tokens[0] | s.tokens[1]) > UINT32_MAX)
        r = err_set(e, EX_INPUT, "more than 2^32 - 1 tokens in all");
    for (size_t i = 0; r == 0 && i < p->L * FWD_INPUTS; i++)
        if (!sums_finite(&s.b[i / FWD_INPUTS].in[i % FWD_INPUTS]))
            r = err_set(e, EX_INPUT, "%s: block %zu: sums that are not finite",
                dir, i / FWD_INPUTS);
    if (r == 0 && a.hessian)
        r = merge_hessians(p, n, path, &s, e);
    if (r == 0 && !(s.hess_off <= PROFILE_OFF_BF16))
        r = err_set(e, EX_INPUT,
            "%s: Hessians are not those of the sums beside them", dir);
    r = r == 0 ? profile_write(&s, &a, dir, e) : r;
    profile_sums_release(&s);
    free(path);
    return r;
}
