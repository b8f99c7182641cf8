/* Importance of columns: files of llama-imatrix, such as
 * tests/golden/gguf/imatrix.gguf, and profiles are read, others refused, and
 * numbers are rounded by them. */
#include "base/io.h"
#include "base/pool.h"
#include "format/ckpt.h"
#include "format/gguf_write.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/files/export_gguf.h"
#include "model/config/family.h"
#include "model/files/random.h"
#include "../lib/golden.h"
#include "../lib/small_config.h"
#include "../lib/tap.h"

#include <math.h>

enum { L = 2, D = 64, MLP = 96, PLANTED = 5 };

static struct model *
small_model(struct arena *a)
{
    static struct model m;
    const struct config c = small_config("llama", 40, D, L, 32);

    model_random(&m, &c, NULL, 47, a);
    return &m;
}

/* Contents of a file of llama-imatrix that a case writes. */
struct imatrix {
    size_t blocks, down; /* down: columns of ffn_down */
    float planted, count;
};

/* Write a file in which every sum is 4, but that of column PLANTED of ffn_down
 * is how.planted. */
static void
write_imatrix(const char *path, const struct model *m, struct imatrix how)
{
    struct gguf_out g = { 0 };
    struct io_out o;
    struct buf head = { 0 }, data = { 0 };
    struct err e;

    gguf_out_str(&g, "general.type", "imatrix", 7);
    for (size_t i = 0; i < how.blocks * W_N; i++) {
        const int t = (int)(i % W_N);
        char name[80];
        size_t rows, shape[2] = { 1, 1 };

        block_dims(&m->c, t, NULL, &rows, &shape[1]);
        if (rows == 0 || block_is_vector(t))
            continue;
        shape[1] = t == W_DOWN ? how.down : shape[1];
        snprintf(name, sizeof name, "blk.%zu.%s.in_sum2", i / W_N,
            block_stored(&m->c, t, 1).gguf);
        gguf_out_tensor(&g, name, DT_F32, 2, shape);
        for (size_t k = 0; k < (shape[1] + 7) / 8 * 8; k++) {
            const float v = t == W_DOWN && k == PLANTED ? how.planted : 4.0f;

            buf_add(&data, &v, sizeof v);
        }
        snprintf(name, sizeof name, "blk.%zu.%s.counts", i / W_N,
            block_stored(&m->c, t, 1).gguf);
        shape[1] = 1;
        gguf_out_tensor(&g, name, DT_F32, 2, shape);
        for (size_t k = 0; k < 8; k++)
            buf_add(&data, &how.count, sizeof how.count);
    }
    gguf_out_head(&g, &head);
    if (io_out_begin(&o, path, &e) < 0 ||
        io_out_write(&o, head.p, head.n, &e) < 0 ||
        io_out_write(&o, data.p, data.n, &e) < 0 || io_out_commit(&o, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    buf_release(&head);
    buf_release(&data);
    gguf_out_release(&g);
}

static void
refused(const struct model *m, struct imatrix how, const char *what,
    const char *word)
{
    struct importance *p;
    struct err e = { 0 };

    write_imatrix("wrong.gguf", m, how);
    p = importance_open("wrong.gguf", m, &e);
    ok(p == NULL && e.code == EX_INPUT && strstr(e.msg, "wrong.gguf: ") &&
            strstr(e.msg, word),
        "a file %s is refused: %s", what, e.msg);
    importance_free(p);
}

static void
test_golden(const char *top)
{
    char *file = xasprintf("%s/tests/golden/gguf/f32.gguf", top);
    char *path = xasprintf("%s/tests/golden/gguf/imatrix.gguf", top);
    struct importance *p;
    struct model m;
    struct err e = { 0 };
    float sum = 0.0f;

    if (model_open(&m, file, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    p = importance_open(path, &m, &e);
    for (size_t i = 0; p != NULL && i < m.c.mlp; i++)
        sum += importance_of(p, W_DOWN, 1)[i];
    /* gguf-py: in_sum2.sum() / counts of blk.1.ffn_down.weight */
    ok(near(sum, 101.80262611806393, 0.0, 1e-6),
        "a file of llama-imatrix is read (mean squares of a block add up to "
        "%.9g)",
        (double)sum);
    ok(p != NULL && importance_of(p, MATRIX_HEAD, 0) == NULL &&
            importance_of(p, MATRIX_EMBED, 0) == NULL,
        "the head has no importance in such a file");
    importance_free(p);
    model_close(&m);
    free(file);
    free(path);
}

/* The squared error of ffn_down's column PLANTED, and of all others, in a
 * file. */
static void
column_error(const char *file, const struct model *m, double error[2])
{
    struct model q;
    struct err e;
    float x[MLP], y[MLP];

    error[0] = error[1] = 0.0;
    if (model_open(&q, file, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (size_t r = 0; r < L * D; r++) {
        weight_rows(&m->block[r / D].w[W_DOWN], r % D, 1, x);
        weight_rows(&q.block[r / D].w[W_DOWN], r % D, 1, y);
        for (size_t i = 0; i < MLP; i++)
            error[i != PLANTED] +=
                ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    }
    model_close(&q);
}

static void
test_written(const struct model *m)
{
    struct gguf_how how = { .mixture = mixture_of("q4_1") };
    struct err e = { 0 };
    struct importance *p;
    double with[2], without[2];
    char one[33], three[33];
    int r;

    write_imatrix("planted.gguf", m, (struct imatrix){ L, MLP, 4000.0f, 2.0f });
    p = importance_open("planted.gguf", m, &e);
    ok(p != NULL && importance_of(p, W_DOWN, 1)[PLANTED] == 2000.0f &&
            importance_of(p, W_DOWN, 1)[PLANTED + 1] == 2.0f &&
            importance_of(p, W_Q, 0)[0] == 2.0f,
        "sums are divided by the number of tokens %s", e.msg);
    r = model_export_gguf(m, "without.gguf", &how, NULL, &e);
    how.importance = p;
    r |= model_export_gguf(m, "with.gguf", &how, NULL, &e);
    r |= ckpt_hash("with.gguf", one, &e);
    how.pool = pool_new(3, &e);
    r |= model_export_gguf(m, "with.gguf", &how, NULL, &e);
    r |= ckpt_hash("with.gguf", three, &e);
    ok(r == 0 && strcmp(one, three) == 0,
        "three threads write the same file with importance");
    column_error("with.gguf", m, with);
    column_error("without.gguf", m, without);
    ok(with[0] < 0.2 * without[0] && with[1] < 2.0 * without[1],
        "a planted column is rounded more precisely: error %.3g of that "
        "without, others %.3g",
        with[0] / without[0], with[1] / without[1]);
    pool_free(how.pool);
    importance_free(p);
}

/* Write sums.safetensors and profile.json as prune profile does. */
static void
write_profile(const struct model *m, const char *hash)
{
    static const char *const inputs[] = { "attn", "o", "mlp", "down" };
    static const int reads[] = { W_Q, W_O, W_UP, W_DOWN };
    static const uint64_t tokens[2] = { 1, 3 };
    struct st_out st = { 0 };
    struct err e;
    double *x = xcalloc(10 * 256, sizeof *x);
    char name[64], sums[33];
    json_t *j;
    int r;

    st_out_begin(&st);
    for (size_t i = 0; i < 10 * 256; i++)
        x[i] = 1.0 + (double)i;
    for (size_t i = 0; i < L * 4; i++) {
        const size_t shape[] = { 2, 5, m->block[0].w[reads[i % 4]].cols };

        snprintf(name, sizeof name, "%zu.%s.sums", i / 4, inputs[i % 4]);
        st_out_tensor(&st, name, DT_F64, 3, shape, x);
    }
    st_out_tensor(&st, "tokens", DT_U64, 1, (const size_t[]){ 2 }, tokens);
    st_out_end(&st);
    r = io_mkdirs("profile", &e);
    r |= st_out_save(&st, "profile/sums.safetensors", &e);
    r |= ckpt_hash("profile/sums.safetensors", sums, &e);
    j = json_pack("{s:s, s:s, s:{s:s}}", "model", "another", "model_hash", hash,
        "xxh3_128", "sums", sums);
    r |= js_save(j, "profile/profile.json", &e);
    if (r != 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    json_decref(j);
    st_out_release(&st);
    free(x);
}

static void
test_profile(const struct model *m)
{
    struct importance *p;
    struct err e = { 0 };
    char hash[33];
    const double n = MLP, i = 7;

    model_hash(m, hash);
    write_profile(m, hash);
    p = importance_open("profile", m, &e);
    /* of 5 sums, number 2 is that of x^2; the tokens of both classes count */
    ok(p != NULL &&
            near(importance_of(p, W_DOWN, 1)[(size_t)i],
                (1.0 + 2 * n + i + 1.0 + 7 * n + i) / 4.0, 0.0, 1e-6) &&
            importance_of(p, W_GATE, 0)[3] == importance_of(p, W_UP, 0)[3],
        "a profile's sums of squares are divided by its tokens %s", e.msg);
    importance_free(p);
    write_profile(m, "0123");
    p = importance_open("profile", m, &e);
    ok(p == NULL && e.code == EX_INPUT && strstr(e.msg, "not the profile"),
        "the profile of another model is refused: %s", e.msg);
    remove("profile/sums.safetensors");
    p = importance_open("profile", m, &e);
    ok(p == NULL, "half a profile is refused: %s", e.msg);
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP");
    const struct imatrix good = { L, MLP, 4.0f, 2.0f };
    struct arena a = { 0 };
    struct model *m;
    struct imatrix how;

    kern_init();
    test_golden(top != NULL ? top : ".");
    tap_scratch();
    m = small_model(&a);
    test_written(m);
    how = good, how.blocks = L - 1;
    refused(m, how, "with fewer blocks", "blk.1.attn_q.weight");
    how = good, how.blocks = L + 1;
    refused(m, how, "with more blocks", "more blocks");
    how = good, how.down = MLP - 32;
    refused(m, how, "with other columns", "64 columns, not 96");
    how = good, how.planted = -1.0f;
    refused(m, how, "with a negative sum", "column 5");
    how = good, how.planted = (float)NAN;
    refused(m, how, "with NaN", "column 5");
    how = good, how.count = 0.0f;
    refused(m, how, "without tokens", "column 0");
    test_profile(m);
    model_random_free(m);
    arena_release(&a);
    return done_testing();
}
