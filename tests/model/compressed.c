/* Compressed 2:4 matrices: those that another program has written are read,
 * ours are read back, damaged ones are refused. */
#include "base/io.h"
#include "format/json.h"
#include "model/files/compressed.h"
#include "../lib/tap.h"
#include "model/files/export.h"
#include "model/config/family.h"

#include <stdlib.h>
#include <string.h>

static const char golden[] = "tests/golden/compressed";
static const char v_proj[] = "model.layers.0.self_attn.v_proj";

static void
check(int r, const struct err *e)
{
    if (r < 0) {
        printf("Bail out! %s\n", e->msg);
        exit(1);
    }
}

static void
open_it(struct model *m, const char *dir, const char *name, struct err *e)
{
    char path[100];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    check(model_open(m, path, e), e);
}

/* Are the numbers of v and w the same in fp32?  w is read as a whole and in
 * parts. */
static int
same_numbers(const struct weight *v, const struct weight *w)
{
    enum { MOST = 20 * 20 };
    float a[MOST], b[MOST];

    if (v->rows != w->rows || v->cols != w->cols || v->rows * v->cols > MOST)
        return 0;
    weight_rows(v, 0, v->rows, a);
    weight_rows(w, 0, w->rows, b);
    if (memcmp(a, b, v->rows * v->cols * sizeof *a) != 0)
        return 0;
    weight_rows(w, w->rows - 1, 1, b);
    return memcmp(a + (v->rows - 1) * v->cols, b, v->cols * sizeof *a) == 0;
}

/* Are all matrices of the only block the same, and sparse in b? */
static int
same(const struct model *a, const struct model *b)
{
    int r = strcmp(b->c.sparse, "2:4") == 0;

    for (int t = W_Q; t <= W_DOWN; t++) {
        const struct weight *v = &a->block[0].w[t], *w = &b->block[0].w[t];

        if (!block_is_vector(t))
            r &= b->block[0].sparse >> t & 1;
        r &= v->dtype == w->dtype && same_numbers(v, w);
    }
    return r;
}

static void
test_round(void)
{
    struct model dense, theirs, ours, half;
    struct err e;

    open_it(&dense, golden, "dense", &e);
    open_it(&theirs, golden, "packed", &e);
    ok(same(&dense, &theirs), "what compressed-tensors has written");
    ok(compressed_count(&dense) == 0 && compressed_count(&theirs) == 7,
        "7 matrices");
    theirs.compress = 1;
    check(model_export(&theirs, "ours", DT_F32, NULL, NULL, &e), &e);
    check(model_export(&theirs, "half", DT_BF16, NULL, NULL, &e), &e);
    open_it(&ours, ".", "ours", &e);
    ok(same(&dense, &ours), "our own are the same numbers");
    open_it(&half, ".", "half", &e);
    ours.compress = 0;
    check(model_export(&ours, "narrow", DT_BF16, NULL, NULL, &e), &e);
    check(model_export(&half, "again", DT_BF16, NULL, NULL, &e), &e);
    model_close(&half);
    model_close(&ours);
    open_it(&half, ".", "again", &e);
    open_it(&ours, ".", "narrow", &e);
    ok(same(&ours, &half), "numbers in bf16 are the same too");
    model_close(&half);
    model_close(&ours);
    model_close(&theirs);
    model_close(&dense);
}

/* ---- damage ---- */

/* The tensor `name` of the file p. */
static struct st_tensor
at(struct st *s, const char *p, const char *name)
{
    char key[80];

    snprintf(key, sizeof key, "%s.%s", v_proj, name);
    st_set_data(s, p + s->data_at);
    return *st_find(s, key);
}

static void
save(const char *dir, const char *p, size_t n)
{
    char path[60];
    struct io_out o;
    struct err e;

    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    check(io_out_begin(&o, path, &e), &e);
    check(io_out_write(&o, p, n, &e), &e);
    check(io_out_commit(&o, &e), &e);
}

static void
refused(const char *dir, const char *p, size_t n, const char *why)
{
    char want[300];
    struct model m;
    struct err e;

    save(dir, p, n);
    snprintf(want, sizeof want, "%s/model.safetensors: tensor %s.%s", dir,
        v_proj, why);
    ok(model_open(&m, dir, &e) < 0 && e.code == EX_INPUT &&
            strcmp(e.msg, want) == 0,
        "refused: %s", e.msg);
}

/* A row's mask of v_proj [6,12] has 2 bytes; the second half of the last one is
 * empty. */
static void
test_damage(void)
{
    struct err e;
    struct st s;
    unsigned char *byte, was;
    char *p, *name, want[100];
    struct model m;
    size_t n;

    check(io_slurp("ours/model.safetensors", 1 << 20, &p, &n, &e), &e);
    check(st_parse(&s, p, n, &e), &e);
    byte = (unsigned char *)at(&s, p, "bitmask").data + 2 * 2;
    was = *byte;
    *byte |= 0xf;
    refused("ours", p, n, "bitmask: row 2 has 4 bits in columns 0 to 3");
    *byte = (unsigned char)(was & 0xf);
    refused("ours", p, n, "bitmask: row 2 has 0 bits in columns 4 to 7");
    *byte = was;
    byte[1] |= 0x80;
    refused("ours", p, n, "bitmask: row 2 has 1 bits in columns 12 to 15");
    byte[1] &= 0x7f;
    byte = (unsigned char *)at(&s, p, "shape").data + 8;
    *byte = 16;
    refused("ours", p, n,
        "shape is not I64 [2] of 6 and 12, as config.json means");
    *byte = 12;
    name = strstr(strstr(p + 8, "v_proj.bitmask"), "[6,2]");
    memcpy(name, "[2,6]", 5);
    refused("ours", p, n,
        "bitmask is U8 of 12 elements, where "
        "model.layers.0.self_attn.v_proj.shape [6,12] is [6,2]");
    memcpy(name, "[6,2]", 5);
    name = strstr(strstr(p + 8, "v_proj.compressed"), "[6,6]");
    memcpy(name, "[36 ]", 5);
    refused("ours", p, n,
        "compressed is F32 of 36 elements, where "
        "model.layers.0.self_attn.v_proj.shape [6,12] is [6,6]");
    memcpy(name, "[6,6]", 5);
    memcpy(strstr(p + 8, "v_proj.bitmask"), "v_proj.bitmast", 14);
    snprintf(want, sizeof want, "ours: tensor %s.bitmask is missing", v_proj);
    save("ours", p, n);
    ok(model_open(&m, "ours", &e) < 0 && strcmp(e.msg, want) == 0,
        "refused: %s", e.msg);
    st_release(&s);
    free(p);
}

/* A matrix that retort.sparse calls 2:4, but of which more than two of four
 * numbers are not zero, is refused. */
static void
test_not(void)
{
    struct model m;
    struct err e;

    open_it(&m, "tests/golden/grad", "tied-teacher", &e);
    strcpy(m.c.sparse, "2:4");
    m.block[1].sparse = 1u << W_UP;
    m.compress = 1;
    ok(model_export(&m, "not", DT_F32, NULL, NULL, &e) < 0 &&
            e.code == EX_INPUT &&
            strstr(e.msg,
                "tensor model.layers.1.mlp.up_proj.weight is not 2:4: row 0 "
                "has more than two numbers in columns 0 to 3") != NULL,
        "a matrix that is not 2:4 is refused: %s", e.msg);
    ok(!io_exists("not"), "nothing is left");
    strcpy(m.c.sparse, "1:4");
    ok(compressed_count(&m) == 0, "1:4 is another pattern");
    model_close(&m);
}

static void
test_config(void)
{
    static const char *const bad[][2] = {
        { "{\"quant_method\":\"gptq\"}", "quant_method" },
        { "{\"config_groups\":{}}", "config_groups" },
        { "{\"sparsity_config\":{\"format\":\"sparse-bitmask\"}}",
            "sparsity_config.format" },
    };
    struct config c;
    struct err e;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *j = js_load("narrow/config.json", JS_MAX, &e);
        char want[80];

        json_object_set_new(j, "quantization_config",
            js_parse(bad[i][0], strlen(bad[i][0]), &e));
        snprintf(want, sizeof want, "quantization_config.%s: ", bad[i][1]);
        ok(config_from_json(&c, j, &e) < 0 &&
                strncmp(e.msg, want, strlen(want)) == 0,
            "refused: %s", e.msg);
        json_decref(j);
    }
}

int
main(void)
{
    tap_scratch();
    test_round();
    test_not();
    test_config();
    test_damage();
    return done_testing();
}
