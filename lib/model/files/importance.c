/* Importance of columns; see importance.h. */
#include "model/files/importance.h"

#include "base/io.h"
#include "base/mem.h"
#include "format/ckpt.h"
#include "format/gguf.h"
#include "format/json.h"
#include "model/config/experts_config.h"
#include "model/config/family.h"
#include "model/files/mixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct importance {
    size_t n;      /* places: W_N for each block, embedding, head */
    float **place; /* [n] importance of the columns, or NULL */
};

static size_t
place_of(const struct importance *p, int matrix, size_t block)
{
    return matrix == MATRIX_EMBED ? p->n - 2
        : matrix == MATRIX_HEAD   ? p->n - 1
                                  : block * W_N + (size_t)matrix;
}

const float *
importance_of(const struct importance *p, int matrix, size_t block)
{
    return matrix == MATRIX_POSITIONS ? NULL
                                      : p->place[place_of(p, matrix, block)];
}

void
importance_free(struct importance *p)
{
    for (size_t i = 0; p != NULL && i < p->n; i++)
        free(p->place[i]);
    if (p != NULL)
        free(p->place);
    free(p);
}

/* Return room [cols], of zeros, for the importance of a matrix's columns. */
static float *
importance_room(struct importance *p, int matrix, size_t block, size_t cols)
{
    float **at = &p->place[place_of(p, matrix, block)];

    free(*at);
    return *at = xcalloc(cols, sizeof **at);
}

/* --- files of llama-imatrix --- */

/* Set a matrix's importance to its sums, divided by its number of tokens. */
static int
take_sums(struct importance *p, int matrix, size_t block, size_t cols,
    const struct gguf *g, const struct gguf_tensor *sums, struct err *e)
{
    const size_t n = strlen(sums->name) - strlen(".in_sum2");
    char name[GGUF_NAME_MAX + 1];
    const struct gguf_tensor *counts;
    float count, *out;

    snprintf(name, sizeof name, "%.*s.counts", (int)n, sums->name);
    counts = gguf_tensor(g, name);
    if (counts == NULL || counts->dtype != DT_F32 || counts->n != 1 ||
        sums->dtype != DT_F32)
        return err_set(e, EX_INPUT,
            "%.*s: has no sums of type F32 with one "
            "count",
            (int)n, sums->name);
    if (sums->n != cols)
        return err_set(e, EX_INPUT,
            "%.*s: is of another model: it has %zu columns, not %zu", (int)n,
            sums->name, sums->n, cols);
    memcpy(&count, counts->data, sizeof count);
    out = importance_room(p, matrix, block, cols);
    memcpy(out, sums->data, cols * sizeof *out);
    for (size_t i = 0; i < cols; i++) {
        out[i] /= count;
        if (!(out[i] >= 0.0f && out[i] < HUGE_VALF))
            return err_set(e, EX_INPUT, "%s: column %zu is no mean of squares",
                sums->name, i);
    }
    return 0;
}

/* Take the sums of a block's matrix t, which the file must have. */
static int
take_block_matrix(struct importance *p, const struct model *m, int t,
    size_t block, const struct gguf *g, struct err *e)
{
    char name[GGUF_NAME_MAX + 1];
    const struct gguf_tensor *sums;
    size_t rows, cols;

    block_dims(&m->c, t, NULL, &rows, &cols);
    snprintf(name, sizeof name, "blk.%zu.%s.in_sum2", block,
        block_stored(&m->c, t, 1).gguf);
    sums = gguf_tensor(g, name);
    if (sums == NULL)
        return err_set(e, EX_INPUT,
            "%s: is missing: the file is of another model, or none of "
            "llama-imatrix",
            name);
    return take_sums(p, t, block, cols, g, sums, e);
}

static int
read_imatrix(struct importance *p, const char *path, const struct model *m,
    struct err *e)
{
    static const char *const ends[] = { "token_embd.weight.in_sum2",
        "output.weight.in_sum2" };
    struct io_map map;
    struct gguf g;
    char more[GGUF_NAME_MAX + 1];
    int r = 0;

    if (io_map(&map, path, e) < 0)
        return -1;
    if (gguf_parse(&g, map.p, map.n, e) < 0) {
        io_unmap(&map);
        return err_prefix(e, "%s", path);
    }
    if (config_is_mixture(&m->c))
        r = err_set(e, EX_USAGE,
            "--imatrix: %s is a mixture of experts, for which it is not "
            "implemented: leave it out",
            m->path);
    if (config_linear_name(&m->c) != NULL)
        r = err_set(e, EX_USAGE,
            "--imatrix: %s has blocks with %s, for which it is not "
            "implemented: leave it out",
            m->path, config_linear_name(&m->c));
    for (size_t i = 0; r == 0 && i < m->c.L * W_N; i++)
        if (block_tensor_name(&m->c, (int)(i % W_N)) != NULL &&
            !block_is_vector((int)(i % W_N)))
            r = take_block_matrix(p, m, (int)(i % W_N), i / W_N, &g, e);
    for (int k = 0; r == 0 && k < 2; k++) {
        const struct gguf_tensor *sums = gguf_tensor(&g, ends[k]);

        if (sums != NULL)
            r = take_sums(p, k == 0 ? MATRIX_EMBED : MATRIX_HEAD, 0, m->c.d, &g,
                sums, e);
    }
    snprintf(more, sizeof more, "blk.%zu.attn_q.weight.in_sum2", m->c.L);
    if (r == 0 && gguf_tensor(&g, more) != NULL)
        r = err_set(e, EX_INPUT, "%s: is of another model, with more blocks",
            more);
    gguf_release(&g);
    io_unmap(&map);
    return r < 0 ? err_prefix(e, "%s", path) : 0;
}

/* --- profiles --- */

/* The matrices that read each input of a block. */
static const struct reader {
    int matrix;
    const char *input;
} readers[] = { { W_Q, "attn" }, { W_K, "attn" }, { W_V, "attn" }, { W_O, "o" },
    { W_GATE, "mlp" }, { W_UP, "mlp" }, { W_DOWN, "down" } };

/* Set a matrix's importance from a profile: the sums of squares of both classes
 * of tokens, divided by the number of tokens (prune-profile(1)). */
static int
take_profile(struct importance *p, const struct model *m, size_t block,
    const struct reader *by, const struct st *st, double tokens, struct err *e)
{
    enum { CLASSES = 2, SUMS = 5, SQUARES = 2 };
    const struct weight *w = &m->block[block].w[by->matrix];
    const size_t shape[] = { CLASSES, SUMS, w->cols };
    const struct st_tensor *t;
    char name[64];
    size_t rows, cols;
    float *out;

    block_dims(&m->c, by->matrix, NULL, &rows, &cols);
    out = importance_room(p, by->matrix, block, cols);
    if (w->rows == 0)
        return 0;
    snprintf(name, sizeof name, "%zu.%s.sums", block, by->input);
    if ((t = st_need(st, name, DT_F64, 3, shape, e)) == NULL)
        return -1;
    for (size_t i = 0; i < w->cols; i++) {
        double sum = 0.0, s;

        for (size_t k = 0; k < CLASSES; k++) {
            memcpy(&s,
                (const char *)t->data +
                    ((k * SUMS + SQUARES) * w->cols + i) * sizeof s,
                sizeof s);
            sum += s;
        }
        out[i] = (float)(sum / tokens);
        if (!(out[i] >= 0.0f && out[i] < HUGE_VALF))
            return err_set(e, EX_INPUT, "%s: channel %zu is no sum of squares",
                name, i);
    }
    return 0;
}

/* Check profile.json: the hash of sums.safetensors, and the model. */
static int
check_profile(const char *dir, const char *sums, const struct model *m,
    struct err *e)
{
    char *about = xasprintf("%s/profile.json", dir), hash[33];
    json_t *j = js_load(about, JS_MAX, e);
    int r = j == NULL ? -1 : ckpt_hash(sums, hash, e);

    if (r == 0 &&
        strcmp(js_text_of(json_object_get(j, "xxh3_128"), "sums"), hash) != 0)
        r = err_set(e, EX_INPUT,
            "%s: is damaged: its hash is not the one in profile.json", sums);
    if (r == 0) {
        model_hash(m, hash);
        if (strcmp(js_text_of(j, "model_hash"), hash) != 0)
            r = err_set(e, EX_INPUT,
                "%s: is not the profile of %s: it was made of %s with other "
                "weights or another config.json",
                dir, m->path, js_text_of(j, "model"));
    }
    json_decref(j);
    free(about);
    return r;
}

static int
read_profile(struct importance *p, const char *dir, const struct model *m,
    struct err *e)
{
    static const size_t two[] = { 2 };
    char *path = xasprintf("%s/sums.safetensors", dir);
    const struct st_tensor *tokens;
    struct io_map map;
    struct st st;
    double n;
    int r = check_profile(dir, path, m, e);

    if (r == 0 && (r = io_map(&map, path, e)) == 0) {
        if ((r = st_parse(&st, map.p, map.n, e)) == 0) {
            tokens = st_need(&st, "tokens", DT_U64, 1, two, e);
            r = tokens == NULL ? -1 : 0;
            n = r == 0 ? (double)st_uint(tokens, 0) + (double)st_uint(tokens, 1)
                       : 0.0;
            for (size_t i = 0; r == 0 && i < m->c.L * 7; i++)
                r = take_profile(p, m, i / 7, &readers[i % 7], &st, n, e);
            st_release(&st);
        }
        io_unmap(&map);
        if (r < 0)
            err_prefix(e, "%s", path);
    }
    free(path);
    return r;
}

struct importance *
importance_open(const char *path, const struct model *m, struct err *e)
{
    struct importance *p = xcalloc(1, sizeof *p);

    p->n = m->c.L * W_N + 2;
    p->place = xcalloc(p->n, sizeof *p->place);
    if ((io_is_dir(path) ? read_profile : read_imatrix)(p, path, m, e) == 0)
        return p;
    importance_free(p);
    return NULL;
}
