/* Models: opened, refused, written and read back. */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/files/export.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"
#include "model/files/model.h"
#include "model/files/tensor_out.h"
#include "model/files/weights_out.h"
#include "../lib/tap.h"
#include "../lib/golden.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GRAD "tests/golden/grad/"
#define GGUF "tests/golden/gguf/"

static void
must_open(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

/* A whole weight in fp32; the caller frees it. */
static float *
all_rows(const struct weight *w)
{
    float *x = xreallocarray(NULL, w->rows * w->cols, sizeof *x);

    weight_rows(w, 0, w->rows, x);
    return x;
}

static int
same_weight(const struct weight *a, const struct weight *b, int bf16)
{
    const size_t n = a->rows * a->cols;
    float *x, *y;
    uint16_t *h;
    int r;

    if (a->rows != b->rows || a->cols != b->cols)
        return 0;
    x = all_rows(a);
    y = all_rows(b);
    if (bf16) {
        h = xreallocarray(NULL, n, sizeof *h);
        kern.narrow_bf16(h, x, n);
        kern.widen_bf16(x, h, n);
        free(h);
    }
    r = memcmp(x, y, n * sizeof *x) == 0;
    free(x);
    free(y);
    return r;
}

/* Are the values of a and b the same, in logical order?  bf16: a's are rounded
 * first. */
static int
same_model(const struct model *a, const struct model *b, int bf16)
{
    int r = a->c.L == b->c.L && a->c.tied == b->c.tied &&
        same_weight(&a->embed, &b->embed, bf16) &&
        same_weight(&a->norm, &b->norm, bf16) &&
        same_weight(&a->head, &b->head, bf16);

    for (size_t i = 0; r && i < a->c.L; i++) {
        r = a->block[i].mlp == b->block[i].mlp &&
            a->block[i].source == b->block[i].source;
        for (int t = 0; r && t < W_N; t++)
            r = same_weight(&a->block[i].w[t], &b->block[i].w[t], bf16);
    }
    return r;
}

static void
test_export(const char *path, enum dtype as)
{
    struct model a, b;
    struct err e = { 0 };
    char what[200];

    must_open(&a, path);
    snprintf(what, sizeof what, "%s as %s", path + strlen("tests/golden/"),
        dtype_name(as));
    ok(model_export(&a, "out", as, NULL, NULL, &e) == 0,
        "%s: it is exported %s", what, e.msg);
    ok(model_open(&b, "out/", &e) == 0, "%s: it opens %s", what, e.msg);
    ok(same_model(&a, &b, as == DT_BF16), "%s: its values are the same", what);
    ok(a.c.theta == b.c.theta && a.c.eps == b.c.eps && a.c.neos == b.c.neos &&
            memcmp(a.c.eos, b.c.eos, sizeof a.c.eos) == 0 && a.c.D == b.c.D,
        "%s: its configuration is the same", what);
    ok(model_params(&a) == model_params(&b), "%s: it has as many parameters",
        what);
    ok(!io_exists("out.tmp"), "%s: no unfinished folder is left", what);
    ok(model_export(&a, "out", as, NULL, NULL, &e) < 0 && e.code == EX_USAGE,
        "%s: an old export is not overwritten: %s", what, e.msg);
    model_close(&b);
    model_close(&a);
    dir_remove("out", NULL);
}

/* Padding that has more rows than are written at a time. */
static void
test_wide(void)
{
    struct model a, b;
    struct err e = { 0 };

    must_open(&a, GRAD "tied-student");
    a.c.mlp = 20000;
    ok(model_export(&a, "out", DT_BF16, NULL, NULL, &e) == 0 &&
            model_open(&b, "out", &e) == 0 && b.c.mlp == 20000 &&
            same_model(&a, &b, 1),
        "padded to 20000 channels %s", e.msg);
    model_close(&a);
    model_close(&b);
    dir_remove("out", NULL);
}

/* The pruned student: block 1 has 20 of 24 channels. */
static void
test_padding(void)
{
    const size_t up[] = { 24, 16 }, down[] = { 16, 24 };
    const struct st_tensor *t;
    struct model m;
    struct io_map map;
    struct st s;
    struct err e;
    float x[16 * 24];
    int zero = 1;

    must_open(&m, GRAD "tied-student");
    ok(m.block[0].mlp == 24 && m.block[1].mlp == 20 && m.block[1].source == 2 &&
            m.block[1].w[W_DOWN].cols == 20 && m.block[1].w[W_UP].rows == 20,
        "blocks have their true widths");
    ok(!weight_f32(&m.block[1].w[W_DOWN]) && weight_f32(&m.block[0].w[W_DOWN]),
        "columns of padded rows are not contiguous");
    ok(model_export(&m, "out", DT_F32, NULL, NULL, &e) == 0,
        "a cut model is exported");
    if (io_map(&map, "out/model.safetensors", &e) < 0 ||
        st_parse(&s, map.p, map.n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    t = st_need(&s, "model.layers.1.mlp.up_proj.weight", DT_F32, 2, up, &e);
    ok(t != NULL, "up is padded to the widest");
    memcpy(x, t->data, t->nbytes);
    for (int i = 20 * 16; i < 24 * 16; i++)
        zero &= x[i] == 0;
    t = st_need(&s, "model.layers.1.mlp.down_proj.weight", DT_F32, 2, down, &e);
    ok(t != NULL, "down is padded to the widest");
    memcpy(x, t->data, t->nbytes);
    for (int i = 0; i < 16; i++)
        for (int k = 20; k < 24; k++)
            zero &= x[i * 24 + k] == 0;
    ok(zero && x[0] != 0, "padding holds zeros alone");
    st_release(&s);
    io_unmap(&map);
    model_close(&m);
    dir_remove("out", NULL);
}

static void
test_gguf(void)
{
    static const char *const twin[][2] = { { "f32.gguf", "f32-hf" },
        { "q4_1.gguf", "q4_1-hf" } };
    static const char *const files[] = { "f32", "f16", "bf16", "q8_0", "q4_0",
        "q4_1" };
    struct model a, b;
    struct err e;
    char path[80], ha[33], hb[33];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, GGUF "%s", twin[i][0]);
        must_open(&a, path);
        snprintf(path, sizeof path, GGUF "%s", twin[i][1]);
        must_open(&b, path);
        ok(same_model(&a, &b, 0),
            "%s equals its twin: Q and K as Hugging "
            "Face orders them",
            twin[i][0]);
        model_head_hash(&a, ha);
        model_head_hash(&b, hb);
        ok(strcmp(ha, hb) == 0, "%s: the hashes of the heads are the same",
            files[i]);
        model_close(&a);
        model_close(&b);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct stat st;

        snprintf(path, sizeof path, GGUF "%s.gguf", files[i]);
        must_open(&a, path);
        ok(a.c.tied == (i != 2) && a.c.D == 16 && a.c.H == 4 && a.c.KV == 2 &&
                a.c.theta == (i == 1 ? 1e4 : 1e5) &&
                model_check_finite(&a, &e) == 0,
            "%s has its configuration", path);
        ok(model_export(&a, "out", DT_F32, path, NULL, &e) == 0 &&
                model_open(&b, "out", &e) == 0 && same_model(&a, &b, 0),
            "%s is exported and read back", path);
        for (const char *const *f = (const char *const[]){ "tokenizer.json",
                 "tokenizer_config.json", "special_tokens_map.json",
                 "generation_config.json", NULL };
             *f; f++) {
            snprintf(path, sizeof path, "out/%s", *f);
            ok(stat(path, &st) == 0 && st.st_size > 10,
                "%s.gguf: %s is written", files[i], path);
        }
        model_close(&a);
        model_close(&b);
        dir_remove("out", NULL);
    }
}

static float
f32_at(const void *p, size_t i)
{
    float x;

    memcpy(&x, (const char *)p + 4 * i, sizeof x);
    return x;
}

/* Logits of every GGUF as transformers gives them for the same values. */
static void
test_logits(struct pool *pool)
{
    static const char *const files[] = { "f32", "f16", "bf16", "q8_0", "q4_0",
        "q4_1" };
    enum { T = 48, N = 8, V = 300 };
    struct golden g;
    const struct st_tensor *t, *pos;
    uint32_t ids[T], first[T] = { 0 }, target[T] = { 0 };
    const struct rows r = { 1, T, ids, first };
    char path[80];

    golden_open(&g, GGUF "logits.safetensors");
    t = st_find(&g.st, "ids");
    for (size_t i = 0; i < T; i++) {
        uint16_t h = 0;
        uint32_t u = 0;

        memcpy(t->dtype == DT_U16 ? (void *)&h : (void *)&u,
            (const char *)t->data + i * t->nbytes / T, t->nbytes / T);
        ids[i] = t->dtype == DT_U16 ? h : u;
    }
    pos = st_find(&g.st, "positions");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        float x[T * 32], z[V];
        double lse[T], off = 0, off_lse = 0;
        struct model m;
        struct fwd *f;

        snprintf(path, sizeof path, GGUF "%s.gguf", files[i]);
        must_open(&m, path);
        f = fwd_new(&m, pool, 1, T);
        fwd_states(f, &r, x);
        snprintf(path, sizeof path, "%s.logits", files[i]);
        t = st_find(&g.st, path);
        for (size_t k = 0; k < N; k++) {
            int32_t p;

            memcpy(&p, (const char *)pos->data + 4 * k, sizeof p);
            fwd_head(f, x + p * 32, 1, z);
            for (size_t v = 0; v < V; v++) {
                const double d =
                    fabs((double)z[v] - f32_at(t->data, k * V + v));

                off = d <= off ? off : d;
            }
        }
        head_score(f, x, target, T, NULL, lse, NULL);
        snprintf(path, sizeof path, "%s.lse", files[i]);
        t = st_find(&g.st, path);
        for (size_t k = 0; k < T; k++) {
            const double d = fabs(lse[k] - f32_at(t->data, k));

            off_lse = d <= off_lse ? off_lse : d;
        }
        ok(off <= 1e-4 && off_lse <= 1e-4,
            "%s: logits off by %.2g, lse by "
            "%.2g",
            files[i], off, off_lse);
        fwd_free(f);
        model_close(&m);
    }
    golden_close(&g);
}

/* Write to `out` f32.gguf with the first text `from` replaced by `to`.  value
 * >= 0: `from` is a metadata key, and its 32-bit value becomes `value`. */
static void
patched(const char *out, const char *from, const char *to, long value)
{
    const size_t n = strlen(from);
    struct io_map map;
    struct err e;
    unsigned char *p, *at = NULL;

    if (io_map(&map, GGUF "f32.gguf", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    p = xmalloc(map.n);
    memcpy(p, map.p, map.n);
    for (size_t i = 0; !at && i + n + 8 <= map.n; i++)
        if (memcmp(p + i, from, n) == 0)
            at = p + i;
    if (!at) {
        printf("Bail out! no %s in f32.gguf\n", from);
        exit(1);
    }
    memcpy(at, to, n);
    for (int i = 0; value >= 0 && i < 4; i++)
        at[n + 4 + (size_t)i] = (unsigned char)(value >> 8 * i);
    io_put_file(out, p, map.n, &e);
    free(p);
    io_unmap(&map);
}

static void refuse(const char *dir, const char *why);

static void
test_gguf_refused(void)
{
    static const struct {
        const char *from, *to;
        long v;
        const char *why;
    } bad[] = {
        { "llama", "lamda", -1,
            "general.architecture: \"lamda\" is not supported: retort(7)" },
        { "llama", "bloom", -1,
            "\"bloom\" is not supported: such models have" },
        { "llama.embedding_length", "llama.embedding_lengtx", -1,
            "llama.embedding_length: is missing" },
        { "llama.embedding_length", "llama.embedding_length", 64,
            "token_embd.weight: has" },
        { "llama.embedding_length", "llama.embedding_length", 0,
            "llama.embedding_length: 0 is outside" },
        { "llama.feed_forward_length", "llama.feed_forward_length", 32,
            "blk.0.ffn_gate.weight: has" },
        { "llama.block_count", "llama.block_count", 3,
            "blk.2.attn_norm.weight: is missing" },
        { "llama.block_count", "llama.block_count", 1,
            "blk.1.attn_norm.weight: is no part" },
        { "llama.attention.head_count_kv", "llama.attention.head_count_kv", 3,
            "num_key_value_heads: 3" },
        { "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eos_token_id", 300,
            "eos_token_id: 300 is outside" },
        { "blk.0.attn_q.weight", "blk.0.attn_x.weight", -1,
            "blk.0.attn_q.weight: is missing" },
        { "blk.1.ffn_up.weight", "blk.1.ffn_up.biases", -1,
            "blk.1.ffn_up.weight: is missing" },
        { "output_norm.weight", "output_nurm.weight", -1,
            "output_norm.weight: is missing" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        patched("bad.gguf", bad[i].from, bad[i].to, bad[i].v);
        refuse("bad.gguf", bad[i].why);
    }
    remove("bad.gguf");
}

/* Write the model directory dir: config.json is the file `config`; the tensors
 * are those of tied-student, with tensor `which` changed by `how`. */
enum how {
    KEEP,
    DROP,
    RENAME,
    RESHAPE,
    RETYPE,
    POISON,
    UNPAD,
    EXTRA,
    HEAD,
    OTHER_HEAD
};
static void
make(const char *dir, const char *config, const char *which, enum how how)
{
    struct io_map map, c;
    struct st s;
    struct st_out o = { 0 };
    struct err e;
    struct buf b = { 0 };
    char path[80];
    float *copy, *head;

    dir_remove(dir, NULL);
    if (io_mkdirs(dir, &e) < 0 || io_map(&c, config, &e) < 0 ||
        io_map(&map, GRAD "tied-student/model.safetensors", &e) < 0 ||
        st_parse(&s, map.p, map.n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    snprintf(path, sizeof path, "%s/config.json", dir);
    io_put_file(path, c.p, c.n, &e);
    copy = xmalloc(s.data_len);
    head = xmalloc(s.data_len);
    memcpy(copy, map.p + s.data_at, s.data_len);
    st_out_begin(&o);
    for (size_t i = 0; i < s.nt; i++) {
        struct st_tensor t = s.t[i];
        size_t flip[2] = { t.shape[1], t.shape[0] };
        float *x = copy + t.off / 4;

        if (strcmp(t.name, which) != 0 || how == KEEP || how == EXTRA) {
            st_out_tensor(&o, t.name, t.dtype, t.ndim, t.shape, x);
            continue;
        }
        if (how == POISON)
            x[t.n / 2] = (float)NAN;
        if (how == UNPAD)
            x[t.n - 1] = 1;
        if (how == HEAD || how == OTHER_HEAD) { /* added, not replaced */
            st_out_tensor(&o, "lm_head.weight", t.dtype, 2, t.shape, head);
            memcpy(head, x, t.nbytes);
            head[t.n - 1] += how == OTHER_HEAD;
        }
        if (how != DROP)
            st_out_tensor(&o, how == RENAME ? "other.weight" : t.name,
                how == RETYPE ? DT_I32 : t.dtype, t.ndim,
                how == RESHAPE ? flip : t.shape, x);
    }
    if (how == EXTRA)
        st_out_tensor(&o, which, DT_F32, 1, (size_t[]){ 4 }, copy);
    st_out_end(&o);
    buf_add(&b, o.head.p, o.head.n);
    for (size_t i = 0; i < o.npiece; i++)
        buf_add(&b, o.piece[i].p, o.piece[i].n);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    io_put_file(path, b.p, b.n, &e);
    buf_release(&b);
    st_out_release(&o);
    st_release(&s);
    free(copy);
    free(head);
    io_unmap(&map);
    io_unmap(&c);
}

static void
refuse(const char *dir, const char *why)
{
    struct model m;
    struct err e = { 0 };

    if (!ok(model_open(&m, dir, &e) < 0 && strstr(e.msg, why) &&
                strstr(e.msg, dir),
            "%s is refused: %s", dir, why))
        printf("# %s\n", e.msg);
}

/* Write `config` to `file`, with one group instead of two in block 1. */
static void
fewer_groups(const char *config, const char *file)
{
    struct err e;
    json_t *j = js_load(config, 1 << 20, &e);

    json_object_set_new(json_object_get(j, "retort"), "groups",
        json_pack("[i,i]", 2, 1));
    js_save(j, file, &e);
    json_decref(j);
}

static void
test_refused(void)
{
    static const char config[] = GRAD "tied-student/config.json";
    static const char q[] = "model.layers.0.self_attn.q_proj.weight";
    static const char up[] = "model.layers.1.mlp.up_proj.weight";
    struct model m;
    struct err e = { 0 };

    make("d", config, q, KEEP);
    ok(model_open(&m, "d", &e) == 0, "a plain copy %s", e.msg);
    ok(model_check_finite(&m, &e) == 0, "its weights are finite");
    model_close(&m);
    make("d", config, q, DROP);
    refuse("d", "q_proj.weight is missing");
    make("d", config, q, RENAME);
    refuse("d", "q_proj.weight is missing");
    make("d", config, q, RESHAPE);
    refuse("d", "but config.json means [24,16]");
    make("d", config, q, RETYPE);
    refuse("d", "dtype I32 is not supported for weights");
    make("d", config, up, UNPAD);
    refuse("d", "its padding is not zero");
    fewer_groups(config, "fewer.json");
    make("d", "fewer.json", q, KEEP);
    refuse("d",
        "block 1 has 1 key-value heads by retort.groups, but its "
        "padding is not zero");
    make("d", config, "model.layers.0.self_attn.q_proj.bias", EXTRA);
    refuse("d", "q_proj.bias is no part of a llama model");
    make("d", config, "model.layers.0.self_attn.rotary_emb.inv_freq", EXTRA);
    ok(model_open(&m, "d", &e) == 0, "a table of frequencies is passed over");
    model_close(&m);
    make("d", config, "model.embed_tokens.weight", HEAD);
    ok(model_open(&m, "d", &e) == 0, "the copy of a tied head is passed over");
    model_close(&m);
    make("d", config, "model.embed_tokens.weight", OTHER_HEAD);
    refuse("d", "lm_head.weight differs from model.embed_tokens.weight");
    make("d", config, "lm_head.weight", EXTRA);
    refuse("d", "tensor lm_head.weight has 4 elements");
    make("d", GRAD "untied-student/config.json", q, KEEP);
    refuse("d", "lm_head.weight is missing");
    make("d", config, q, POISON);
    ok(model_open(&m, "d", &e) == 0 && model_check_finite(&m, &e) < 0 &&
            e.code == EX_NUM && strstr(e.msg, q),
        "a weight that is NaN is found: %s", e.msg);
    ok(model_export(&m, "out", DT_F32, NULL, NULL, &e) < 0 &&
            e.code == EX_NUM && !io_exists("out") && !io_exists("out.tmp"),
        "a weight that is NaN is never written: %s", e.msg);
    model_close(&m);
    make("d", config, q, KEEP);
    remove("d/config.json");
    refuse("d", "config.json");
    io_put_file("d/config.json", "{\"model_type\":\"llama\"", 21, &e);
    refuse("d", "config.json: offset");
    make("d", config, q, KEEP);
    remove("d/model.safetensors");
    refuse("d", "holds neither");
    io_put_file("d/model.safetensors", "", 0, &e);
    refuse("d", "model.safetensors: offset 0");
    refuse("none.gguf", "none.gguf");
    io_put_file("d/x.gguf", "GGUF", 4, &e);
    refuse("d/x.gguf", "offset 4");
    dir_remove("d", NULL);
}

/* Weights in two files, and an index. */
static void
test_index(void)
{
    static const char *const bad[][3] = {
        { "lm.safetensors", "../a.safetensors", "is no file name" },
        { "lm.safetensors", "/etc/passwd", "is no file name" },
        { "lm.safetensors", "no.safetensors", "no.safetensors" },
    };
    struct io_map map;
    struct st s;
    struct st_out o[2] = { { .npiece = 0 }, { .npiece = 0 } };
    struct model m, one;
    struct err e = { 0 };
    json_t *w = json_object(), *j;

    io_mkdirs("d", &e);
    if (io_map(&map, GRAD "tied-teacher/model.safetensors", &e) < 0 ||
        st_parse(&s, map.p, map.n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (size_t i = 0; i < s.nt; i++) {
        struct st_tensor *t = &s.t[i];

        st_out_tensor(&o[i % 2], t->name, t->dtype, t->ndim, t->shape, t->data);
        json_object_set_new(w, t->name,
            json_string(i % 2 ? "b.safetensors" : "lm.safetensors"));
    }
    for (int k = 0; k < 2; k++) {
        struct buf b = { 0 };

        st_out_end(&o[k]);
        buf_add(&b, o[k].head.p, o[k].head.n);
        for (size_t i = 0; i < o[k].npiece; i++)
            buf_add(&b, o[k].piece[i].p, o[k].piece[i].n);
        io_put_file(k ? "d/b.safetensors" : "d/lm.safetensors", b.p, b.n, &e);
        buf_release(&b);
        st_out_release(&o[k]);
    }
    must_open(&one, GRAD "tied-teacher");
    j = js_load(GRAD "tied-teacher/config.json", 1 << 20, &e);
    js_save(j, "d/config.json", &e);
    json_decref(j);
    j = json_pack("{s:O}", "weight_map", w);
    js_save(j, "d/model.safetensors.index.json", &e);
    ok(model_open(&m, "d", &e) == 0 && same_model(&m, &one, 0),
        "two files and an index %s", e.msg);
    model_close(&m);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_object_set_new(w, "model.norm.weight", json_string(bad[i][1]));
        js_save(j, "d/model.safetensors.index.json", &e);
        refuse("d", bad[i][2]);
    }
    json_object_del(w, "model.norm.weight");
    js_save(j, "d/model.safetensors.index.json", &e);
    refuse("d", "but its files hold");
    json_object_set_new(w, "no.weight", json_string("b.safetensors"));
    js_save(j, "d/model.safetensors.index.json", &e);
    refuse("d", "no.weight is missing");
    json_decref(j);
    json_decref(w);
    st_release(&s);
    io_unmap(&map);
    model_close(&one);
    dir_remove("d", NULL);
}

/* The number of files of weights in a folder. */
static size_t
weight_files(const char *dir)
{
    struct dir_list l;
    struct err e;
    size_t n = 0;

    if (dir_list(dir, &l, &e) < 0)
        return 0;
    for (size_t i = 0; i < l.n; i++)
        n += strstr(l.name[i], ".safetensors") != NULL &&
            strstr(l.name[i], ".json") == NULL;
    dir_list_release(&l);
    return n;
}

/* Does "d" hold the model a in n files, with an index of all tensors that gives
 * their bytes in all? */
static int
is_sharded(const struct model *a, size_t n, size_t bytes)
{
    struct model b;
    struct err e;
    json_t *j = js_load("d/model.safetensors.index.json", 1 << 20, &e);
    const json_t *total =
        json_object_get(json_object_get(j, "metadata"), "total_size");
    int r = (size_t)json_integer_value(total) == bytes &&
        weight_files("d") == n && model_open(&b, "d", &e) == 0;

    json_decref(j);
    if (!r)
        return 0;
    r = same_model(a, &b, 0);
    model_close(&b);
    return r;
}

/* Weights in several files, which replace others. */
static void
test_shards(void)
{
    struct model a, b;
    struct err e = { 0 };
    size_t bytes;

    must_open(&a, GRAD "untied-teacher");
    bytes = 4 * model_params(&a);
    io_mkdirs("d", &e);
    model_write_config(&a, "d/config.json", &e);
    ok(weights_write(&a, "d", DT_F32, bytes, &e) == 0 &&
            weight_files("d") == 1 && io_exists("d/model.safetensors") &&
            !io_exists("d/model.safetensors.index.json"),
        "weights of as many bytes as the limit are one file: %s", e.msg);
    ok(weights_write(&a, "d", DT_F32, bytes - 1, &e) == 0 &&
            is_sharded(&a, 2, bytes) &&
            io_exists("d/model-00001-of-00002.safetensors"),
        "weights of a byte more are two shards, and the file is gone: %s",
        e.msg);
    ok(weights_write(&a, "d", DT_F32, 1, &e) == 0 &&
            is_sharded(&a, model_ntensors(&a), bytes),
        "a tensor above the limit has a shard of its own: %s", e.msg);
    ok(weights_write(&a, "d", DT_F32, bytes / 3, &e) == 0 &&
            is_sharded(&a, 4, bytes),
        "shards replace more shards, which are removed: %s", e.msg);
    io_mkdirs("d/model-00002-of-00002.safetensors/x", &e);
    ok(weights_write(&a, "d", DT_F32, bytes - 1, &e) < 0 &&
            model_open(&b, "d", &e) < 0 && strstr(e.msg, "holds neither"),
        "a write that fails at its second shard leaves no model: %s", e.msg);
    dir_remove("d/model-00002-of-00002.safetensors", &e);
    ok(weights_write(&a, "d", DT_F32, bytes, &e) == 0 &&
            weight_files("d") == 1 && model_open(&b, "d", &e) == 0 &&
            same_model(&a, &b, 0),
        "one file replaces the shards, which are removed: %s", e.msg);
    model_close(&b);
    model_close(&a);
    dir_remove("d", NULL);
}

/* All ids of a list of EOS are in both files that hold it. */
static void
test_eos(void)
{
    static const char *const file[] = { "out/config.json",
        "out/generation_config.json" };
    json_t *want = json_pack("[i,i,i]", 2, 9, 4), *j;
    struct model m;
    struct err e = { 0 };

    must_open(&m, GRAD "tied-student");
    for (size_t i = 0; i < 3; i++)
        m.c.eos[i] = json_integer_value(json_array_get(want, i));
    m.c.neos = 3;
    ok(model_export(&m, "out", DT_F32, NULL, NULL, &e) == 0,
        "it is exported %s", e.msg);
    for (int i = 0; i < 2; i++) {
        j = js_load(file[i], 1 << 20, &e);
        ok(json_equal(json_object_get(j, "eos_token_id"), want), "%s: all ids",
            file[i]);
        json_decref(j);
    }
    json_decref(want);
    model_close(&m);
    dir_remove("out", NULL);
}

static void
test_tokenizer_files(void)
{
    struct model m;
    struct err e = { 0 };
    json_t *j;

    must_open(&m, GGUF "f32-hf");
    ok(model_export(&m, "out", DT_BF16, GGUF "f32-hf", NULL, &e) == 0,
        "a directory's tokenizer is copied %s", e.msg);
    j = js_load("out/tokenizer_config.json", 1 << 20, &e);
    ok(j != NULL, "its configuration too");
    json_decref(j);
    dir_remove("out", NULL);
    ok(model_export(&m, "out", DT_F32, GGUF "f32-hf/tokenizer.json", NULL,
           &e) == 0,
        "a tokenizer.json alone %s", e.msg);
    j = js_load("out/tokenizer_config.json", 1 << 20, &e);
    ok(j &&
            strcmp(json_string_value(json_object_get(j, "eos_token")),
                "<|im_end|>") == 0 &&
            strcmp(json_string_value(json_object_get(j, "tokenizer_class")),
                "PreTrainedTokenizerFast") == 0,
        "its configuration gets the EOS of config.json");
    json_decref(j);
    dir_remove("out", NULL);
    io_mkdirs("out.tmp", &e);
    io_put_file("out.tmp/old", "x", 1, &e);
    ok(model_export(&m, "out/", DT_F32, NULL, NULL, &e) < 0 &&
            e.code == EX_USAGE && io_exists("out.tmp/old") && !io_exists("out"),
        "a folder of that name that is not ours stays: %s", e.msg);
    io_put_file("out.tmp/" DIR_MARK, "", 0, &e);
    ok(model_export(&m, "out/", DT_F32, NULL, NULL, &e) == 0 &&
            !io_exists("out/old") && !io_exists("out.tmp"),
        "what a killed export left is swept away");
    dir_remove("out", NULL);
    ok(model_export(&m, "out", DT_F32, GRAD "tied-student", NULL, &e) < 0 &&
            strstr(e.msg, "tokenizer.json") && !io_exists("out") &&
            !io_exists("out.tmp"),
        "no tokenizer there: %s", e.msg);
    ok(model_export(&m, "out", DT_Q8_0, NULL, NULL, &e) < 0 &&
            e.code == EX_USAGE,
        "no other types: %s", e.msg);
    model_close(&m);
}

int
main(void)
{
    static const char *const models[] = { GRAD "tied-student",
        GRAD "tied-teacher", GRAD "untied-student", GRAD "untied-teacher",
        GGUF "bf16.gguf", GGUF "q8_0.gguf" };
    const char *why = kern_init();
    struct pool *pool = pool_new(2, NULL);

    ok(!why, "kernels are chosen: %s", why ? why : kern_name());
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        test_export(models[i], DT_F32);
        test_export(models[i], DT_BF16);
    }
    test_padding();
    test_wide();
    test_gguf();
    test_logits(pool);
    test_gguf_refused();
    test_refused();
    test_index();
    test_shards();
    test_tokenizer_files();
    test_eos();
    pool_free(pool);
    return done_testing();
}
