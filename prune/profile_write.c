/* Writes the files of a profile: see profile_write.h. */
#include "profile_write.h"
#include "profile_read.h"
#include "format/ckpt.h"
#include "format/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
write_sums(const struct profile_sums *s, const char *path, struct err *e)
{
    const size_t tokens[] = { CLASSES }, turn[] = { CLASSES, TURNS };
    struct input_tensor t[INPUT_TENSORS];
    struct st_out o = { 0 };
    int r;

    st_out_begin(&o);
    st_out_tensor(&o, "tokens", DT_U64, 1, tokens, s->tokens);
    for (size_t i = 0; i < s->L; i++) {
        char name[64];

        snprintf(name, sizeof name, "%zu.turn", i);
        st_out_tensor(&o, name, DT_F64, 2, turn, s->b[i].turn);
        for (size_t k = 0; k < FWD_INPUTS; k++) {
            input_tensors(t, i, k, &s->b[i].in[k]);
            for (size_t j = 0; s->b[i].in[k].n > 0 && j < INPUT_TENSORS; j++)
                if (t[j].data != NULL)
                    st_out_tensor(&o, t[j].name, t[j].type, t[j].ndim,
                        t[j].shape, t[j].data);
        }
    }
    st_out_end(&o);
    r = st_out_save(&o, path, e);
    st_out_release(&o);
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
write_block_table(const struct profile_sums *s, const char *path, struct err *e)
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

/* Write gradients.tsv, the means over rows; no file if there are no
 * gradients. */
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

/* Hashes of the files in folder dir, by name.  NULL and *e: a file cannot be
 * read. */
static json_t *
hash_profile(const char *dir, int hessian, struct err *e)
{
    json_t *j = json_object();
    int r = 0;

    for (size_t i = 0; r == 0 && i < PROFILE_FILES; i++) {
        char *path = profile_path(dir, i), hex[33];

        if ((i == PROFILE_SUMS || hessian) &&
            (r = ckpt_hash(path, hex, e)) == 0)
            json_object_set_new(j, profile_files[i], json_string(hex));
        free(path);
    }
    if (r == 0)
        return j;
    json_decref(j);
    return NULL;
}

static int
write_about(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e)
{
    json_t *hashes = hash_profile(dir, a->hessian, e), *j;
    char *path;
    int r;

    if (hashes == NULL)
        return -1;
    j = json_pack("{s:i,s:s,s:s,s:s?,s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:o}",
        "version", PROFILE_VERSION, "model", a->model, "model_hash", a->hash,
        "tokenizer", a->tokenizer, "compute", a->compute, "blocks",
        (json_int_t)s->L, "rows", (json_int_t)s->rows, "documents",
        (json_int_t)s->tokens[CLASS_FIRST], "tokens",
        (json_int_t)(s->tokens[CLASS_FIRST] + s->tokens[CLASS_REST]), "parts",
        (json_int_t)a->parts, "hessian", a->hessian, "xxh3_128", hashes);
    if (j == NULL)
        mem_exhausted("profile.json");
    if (a->hessian)
        json_object_set_new(j, "hessian_off", json_real(s->hess_off));
    path = xasprintf("%s/profile.json", dir);
    r = js_save(j, path, e);
    free(path);
    json_decref(j);
    return r;
}

int
profile_write(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e)
{
    static const struct {
        const char *name;
        int (*write)(const struct profile_sums *, const char *, struct err *);
    } file[] = { { "sums.safetensors", write_sums },
        { "channels.tsv", write_channels }, { "blocks.tsv", write_block_table },
        { "gradients.tsv", write_gradients } };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof file / sizeof *file; i++) {
        char *path = xasprintf("%s/%s", dir, file[i].name);

        r = file[i].write(s, path, e);
        free(path);
    }
    return r == 0 ? write_about(s, a, dir, e) : r;
}

/* ---- Hessians ---- */

size_t
hess_floats(const size_t *n)
{
    size_t floats = 0;

    for (size_t i = 0; i < FWD_INPUTS; i++)
        floats += n[i] * n[i];
    return floats;
}

int
hess_out_begin(struct io_out *o, const char *path, const size_t *width,
    size_t L, struct err *e)
{
    struct st_out st = { 0 };
    int r = io_out_begin(o, path, e);

    st_out_begin(&st);
    for (size_t i = 0; i < L * FWD_INPUTS; i++) {
        const size_t shape[] = { width[i], width[i] };
        char name[64];

        snprintf(name, sizeof name, "%zu.%s", i / FWD_INPUTS,
            profile_inputs[i % FWD_INPUTS]);
        if (width[i] > 0)
            st_out_tensor(&st, name, DT_F32, 2, shape, NULL);
    }
    st_out_end(&st);
    r = r == 0 ? io_out_write(o, st.head.p, st.head.n, e) : r;
    st_out_release(&st);
    return r;
}
