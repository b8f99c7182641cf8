/* Models whose matrices are stored in F8_E4M3 with scales: logits are those of
 * transformers with the weights that it makes of them (scripts/oracle/fp8.py),
 * in rows and in generation; exports are in BF16; other ways to store weights
 * are refused by name. */
#include "base/dir.h"
#include "format/gguf_file.h"
#include "format/json.h"
#include "kern/kern.h"
#include "kern/quant.h"
#include "model/decode/forward_kv.h"
#include "model/files/export.h"
#include "model/files/f8.h"
#include "model/files/model.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"
#include "../lib/export_as.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <math.h>

enum { B = 2, T = 20 };

static struct pool *pool;
static struct golden g;
static uint32_t ids[B * T], first[B * T];

static void
open_model(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

static void
open_case(struct model *m, const char *name)
{
    char *path = xasprintf("tests/golden/fp8/%s", name);
    char *file = xasprintf("%s.safetensors", path);
    const unsigned char *p;

    golden_open(&g, file);
    p = golden_get(&g, "ids")->data;
    for (size_t i = 0; i < B * T; i++)
        ids[i] = p[2 * i] + 256u * p[2 * i + 1];
    memcpy(first, golden_get(&g, "first")->data, sizeof first);
    open_model(m, path);
    free(path);
    free(file);
}

/* Compare the logits of a batch with those of transformers.  Returns the
 * largest difference, divided by the largest logit. */
static double
rows_off(const struct model *m)
{
    const struct rows r = { B, T, ids, first };
    const struct st_tensor *want = golden_get(&g, "logits");
    struct fwd *f = fwd_new(m, pool, B, T);
    float *x = xcalloc(B * T * m->c.d, sizeof *x);
    float *z = xcalloc(m->c.V, sizeof *z);
    double off = 0.0, most = 0.0;

    fwd_states(f, &r, x);
    for (size_t i = 0; i < B * T; i++) {
        fwd_head(f, x + i * m->c.d, 1, z);
        for (size_t v = 0; v < m->c.V; v++) {
            const double to = golden_at(want, i * m->c.V + v);

            most = fmax(most, fabs(to));
            off = farther(off, fabs(z[v] - to));
        }
    }
    fwd_free(f);
    free(x);
    free(z);
    return off / most;
}

/* The same of row 0 in generation: a prompt of 7, then token by token. */
static double
text_off(const struct model *m)
{
    const struct st_tensor *want = golden_get(&g, "logits");
    struct kvcache *k = kv_new(m, pool, 1, kv_pages(T), T);
    float *z = xcalloc(m->c.V, sizeof *z);
    double off = 0.0, most = 0.0;

    for (size_t t = 0, n; t < T; t += n) {
        const struct kv_more more = { .ids = ids + t,
            .n = n = t == 0 ? 7 : 1,
            .length = T,
            .logits = 1 };

        if (kv_feed(k, &more, 1, z) < 0)
            off = INFINITY;
        for (size_t v = 0; v < m->c.V; v++) {
            const double to = golden_at(want, (t + n - 1) * m->c.V + v);

            most = fmax(most, fabs(to));
            off = farther(off, fabs(z[v] - to));
        }
    }
    kv_free(k);
    free(z);
    return off / most;
}

/* Are the weights of b those of a, rounded to BF16? */
static int
rounded(const struct weight *a, const struct weight *b)
{
    float *x = xcalloc(a->cols, sizeof *x), *y = xcalloc(a->cols, sizeof *y);
    uint16_t *half = xcalloc(a->cols, sizeof *half);
    int same = b->dtype == DT_BF16 && a->rows == b->rows && a->cols == b->cols;

    for (size_t r = 0; same && r < a->rows; r++) {
        weight_rows(a, r, 1, x);
        kern.narrow_bf16(half, x, a->cols);
        weight_rows(b, r, 1, y);
        kern.widen_bf16(x, half, a->cols);
        same = memcmp(x, y, a->cols * sizeof *x) == 0;
    }
    free(x);
    free(y);
    free(half);
    return same;
}

static void
test_case(const char *name)
{
    struct model m, again;
    struct err e;
    double off;
    char hash[33], other[33];

    open_case(&m, name);
    ok(model_is_f8(&m) && m.block[0].w[W_Q].dtype == DT_F8_E4M3 &&
            m.block[0].w[W_Q].stride == m.c.d,
        "%s: matrices stay one byte a number", name);
    ok((off = rows_off(&m)) <= 1e-5, "%s: logits are transformers' (%.1e)",
        name, off);
    ok((off = text_off(&m)) <= 1e-5, "%s: in generation, too (%.1e)", name,
        off);
    ok(model_check_finite(&m, &e) == 0, "%s: all weights are finite", name);
    ok(model_export(&m, "out", DT_BF16, NULL, NULL, &e) == 0,
        "%s: it is exported", name);
    open_model(&again, "out");
    ok(!model_is_f8(&again) &&
            rounded(&m.block[1].w[W_K], &again.block[1].w[W_K]) &&
            rounded(&m.block[0].w[W_O], &again.block[0].w[W_O]),
        "%s: the export has the same weights in BF16", name);
    model_close(&again);
    dir_remove("out", NULL);
    ok(model_export_gguf(&m, "out.gguf", &(struct gguf_how){ 0 }, NULL, &e) ==
            0,
        "%s: a GGUF is written", name);
    open_model(&again, "out.gguf");
    ok(again.block[0].w[W_O].dtype == DT_BF16 &&
            rounded(&m.block[0].w[W_O], &again.block[0].w[W_O]),
        "%s: which has BF16 where nothing else is asked for", name);
    model_close(&again);
    remove("out.gguf");
    model_hash(&m, hash);
    ((float *)(uintptr_t)m.block[0].w[W_Q].scales->x)[0] *= 2;
    model_hash(&m, other);
    ok(strcmp(hash, other) != 0, "%s: its hash is of the scales, too", name);
    model_close(&m);
    golden_close(&g);
}

/* Rows of blocks that do not divide them, whole and in slices, by the
 * definition. */
static void
test_partial(void)
{
    enum { ROWS = 70, COLS = 50, HIGH = 32, WIDE = 24 };
    static unsigned char q[ROWS * COLS];
    static float x[2 * ROWS * COLS], want[ROWS * COLS];
    const size_t across = (COLS + WIDE - 1) / WIDE;
    float scale[9], code[256];
    unsigned char all[256];
    struct weight w = { .data = q,
        .dtype = DT_F8_E4M3,
        .rows = ROWS,
        .cols = COLS,
        .stride = COLS };
    const size_t block[2] = { HIGH, WIDE };
    struct st_tensor t = { .name = "scales",
        .dtype = DT_F32,
        .ndim = 2,
        .shape = { 3, 3 },
        .n = 9,
        .data = scale };
    struct f8_scales *s, *two;
    struct weight slice;
    struct err e;
    int same = 1;

    for (size_t i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    quant_f8_widen(code, all, 256);
    ok(code[0x7e] == 448.0f && code[0x08] == 0x1p-6f && code[1] == 0x1p-9f &&
            code[0xb8] == -1.0f && isnan(code[0x7f]) && isnan(code[0xff]) &&
            signbit(code[0x80]) && code[0x80] == 0.0f,
        "codes of F8_E4M3 are the published numbers");
    for (size_t i = 0; i < 9; i++)
        scale[i] = 0.1f * (float)(i + 1);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        q[i] = (unsigned char)(i * 37 % 127);
        want[i] =
            code[q[i]] * scale[i / COLS / HIGH * across + i % COLS / WIDE];
    }
    s = f8_make(&w, &t, block, &e);
    w.scales = s;
    weight_rows(&w, 0, ROWS, x);
    ok(memcmp(x, want, sizeof want) == 0,
        "blocks at the ends of rows and columns may be smaller");
    slice = weight_slice(&w, 37, 20);
    weight_rows(&slice, 3, 10, x);
    ok(memcmp(x, want + 40 * COLS, 10 * COLS * sizeof *x) == 0,
        "a slice of rows keeps its scales");
    two = f8_join((const struct f8_scales *const[]){ s, s }, 2, ROWS);
    w.part = (const unsigned char *const[]){ q, q };
    w.part_rows = ROWS;
    w.rows = 2 * ROWS;
    w.scales = two;
    weight_rows(&w, 0, 2 * ROWS, x);
    for (size_t i = 0; i < 2 * ROWS * COLS; i++)
        same &= x[i] == want[i % (ROWS * COLS)];
    ok(same, "blocks of an expert begin at its first row");
    free(two);
    free(s);
    w = (struct weight){ .data = q, .rows = ROWS, .cols = COLS };
    t.shape[0] = 2;
    ok(f8_make(&w, &t, block, &e) == NULL && strstr(e.msg, "weight_block_size"),
        "scales of other blocks are refused: %s", e.msg);
}

static void
accept(const char *text)
{
    struct err e = { 0 };
    json_t *j = js_load("tests/golden/fp8/tensor/config.json", JS_MAX, &e);
    struct config c;

    json_object_set_new(j, "quantization_config", json_loads(text, 0, NULL));
    ok(config_from_json(&c, j, &e) == 0, "%s is accepted %s", text, e.msg);
    json_decref(j);
}

/* Read the configuration of `blocks` with another quantization_config. */
static void
refuse(const char *text, const char *why)
{
    struct err e = { 0 };
    json_t *j = js_load("tests/golden/fp8/blocks/config.json", JS_MAX, &e);
    struct config c;

    json_object_set_new(j, "quantization_config", json_loads(text, 0, NULL));
    ok(config_from_json(&c, j, &e) < 0 && strstr(e.msg, why) != NULL,
        "%s is refused: %s", text, e.msg);
    json_decref(j);
}

int
main(void)
{
    tap_scratch();
    kern_init();
    pool = pool_new(2, NULL);
    test_case("blocks");
    test_case("tensor");
    test_case("experts");
    test_partial();
    refuse("{\"quant_method\":\"gptq\",\"bits\":4}",
        "quant_method: \"gptq\" is not supported");
    refuse("{\"quant_method\":\"awq\"}", "\"awq\"");
    refuse("{\"quant_method\":\"fp8\",\"fmt\":\"e5m2\"}", "fmt: \"e5m2\"");
    refuse("{\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\"}",
        "quant_algo: \"NVFP4\"");
    refuse("{\"quant_method\":\"fp8\",\"expert_dtype\":\"fp4\"}",
        "expert_dtype: \"fp4\"");
    refuse("{\"quant_method\":\"compressed-tensors\",\"config_groups\":{}}",
        "config_groups: is not known");
    accept("{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\"}");
    accept("{\"quant_algo\":\"FP8\",\"config_groups\":{}}");
    pool_free(pool);
    return done_testing();
}
