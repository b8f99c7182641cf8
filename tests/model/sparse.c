/* Sparse tensors: named in config.json and read back. */
#include "base/mem.h"
#include "format/json.h"
#include "model/files/export.h"
#include "model/files/sparse.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

static const char golden[] = "tests/golden/grad/tied-teacher";
static const char down[] = "model.layers.2.mlp.down_proj.weight";

static void
check(int r, const struct err *e)
{
    if (r < 0) {
        printf("Bail out! %s\n", e->msg);
        exit(1);
    }
}

/* model_open reads the sparsity that model_export writes. */
static void
test_round(void)
{
    struct model m, back;
    struct err e;
    json_t *j;

    check(model_open(&m, golden, &e), &e);
    check(model_export(&m, "dense", DT_F32, NULL, NULL, &e), &e);
    strcpy(m.c.sparse, "2:4");
    m.block[0].sparse = 1u << W_Q | 1u << W_UP;
    m.block[2].sparse = 1u << W_DOWN;
    check(model_export(&m, "sparse", DT_F32, NULL, NULL, &e), &e);
    model_close(&m);
    check(model_open(&back, "sparse", &e), &e);
    ok(strcmp(back.c.sparse, "2:4") == 0 &&
            back.block[0].sparse == (1u << W_Q | 1u << W_UP) &&
            back.block[1].sparse == 0 && back.block[2].sparse == 1u << W_DOWN,
        "the same pattern and tensors");
    model_close(&back);
    j = js_load("sparse/config.json", JS_MAX, &e);
    ok(strcmp(json_string_value(
                  json_array_get(js_get(j, "retort.sparse.tensors"), 2)),
           down) == 0,
        "named as in the file of weights");
    json_decref(j);
    j = js_load("dense/config.json", JS_MAX, &e);
    ok(j != NULL && js_get(j, "retort") == NULL, "nothing of a dense model");
    json_decref(j);
}

static void
refused(const char *own, const char *why)
{
    json_t *j, *sparse;
    struct model m;
    struct err e;
    char want[300];

    check((j = js_load("dense/config.json", JS_MAX, &e)) != NULL ? 0 : -1, &e);
    check((sparse = js_parse(own, strlen(own), &e)) != NULL ? 0 : -1, &e);
    json_object_set_new(j, "retort", json_pack("{s:o}", "sparse", sparse));
    check(js_save(j, "dense/config.json", &e), &e);
    json_decref(j);
    snprintf(want, sizeof want, "dense/config.json: retort.sparse.%s", why);
    ok(model_open(&m, "dense", &e) < 0 && e.code == EX_INPUT &&
            strcmp(e.msg, want) == 0,
        "refused: %s", e.msg);
}

static void
test_refused(void)
{
#define NO_MATRIX "is no matrix of a block"
    refused("{}", "pattern: is missing");
    refused("{\"pattern\":\"4\"}",
        "pattern: '4' is no pattern such as 2:4 or unstructured");
    refused("{\"pattern\":\"2:4x\"}",
        "pattern: '2:4x' is no pattern such as 2:4 or unstructured");
    refused("{\"pattern\":\"4:4\"}", "pattern: '4:4': not 0 < 4 < 4");
    refused("{\"pattern\":\"0:4\"}", "pattern: '0:4': not 0 < 0 < 4");
    refused("{\"pattern\":\"2:4\"}", "tensors: is no list");
    refused("{\"pattern\":\"2:4\",\"tensors\":[1]}",
        "tensors: number 0, '', " NO_MATRIX);
    refused("{\"pattern\":\"2:4\",\"tensors\":"
            "[\"model.layers.2.mlp.down_proj.weight\","
            "\"model.layers.3.mlp.down_proj.weight\"]}",
        "tensors: number 1, 'model.layers.3.mlp.down_proj.weight', " NO_MATRIX);
    refused("{\"pattern\":\"2:4\",\"tensors\":"
            "[\"model.layers.02.mlp.down_proj.weight\"]}",
        "tensors: number 0, "
        "'model.layers.02.mlp.down_proj.weight', " NO_MATRIX);
    refused("{\"pattern\":\"2:4\",\"tensors\":[\"model.embed_tokens.weight\"]}",
        "tensors: number 0, 'model.embed_tokens.weight', " NO_MATRIX);
    refused("{\"pattern\":\"2:4\",\"tensors\":"
            "[\"model.layers.0.input_layernorm.weight\"]}",
        "tensors: number 0, "
        "'model.layers.0.input_layernorm.weight', " NO_MATRIX);
}

static void
test_patterns(void)
{
    static const char *const good[] = { "2:4", "1:8", "16:32", "unstructured" };
    static const size_t kept[] = { 2, 1, 16, 0 }, of[] = { 4, 8, 32, 0 };
    struct err e;
    size_t n, m;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ok(sparse_pattern(good[i], &n, &m, &e) == 0 && n == kept[i] &&
                m == of[i],
            "the pattern %s is read", good[i]);
}

int
main(void)
{
    tap_scratch();
    test_round();
    test_refused();
    test_patterns();
    return done_testing();
}
