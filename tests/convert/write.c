/* GGUF files as they are written: tensors are bit for bit those of gguf-py and
 * llama.cpp's converter (tests/golden/gguf, tests/golden/family);
 * configurations are read back; what a GGUF cannot hold is refused or warned
 * of. */
#include "base/io.h"
#include "base/note.h"
#include "format/gguf.h"
#include "kern/kern.h"
#include "../lib/export_as.h"
#include "model/config/family.h"
#include "model/files/model.h"
#include "../lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char said[1000]; /* the last warning */

static void
listen(const char *msg)
{
    snprintf(said, sizeof said, "%s", msg);
}

static const char *
golden(const char *name)
{
    static char path[500];
    const char *top = getenv("RETORT_TOP");

    snprintf(path, sizeof path, "%s/tests/golden/%s", top ? top : ".", name);
    return path;
}

static void
need(int r, const struct err *e)
{
    if (r < 0) {
        printf("Bail out! %s\n", e->msg);
        exit(1);
    }
}

struct file {
    struct io_map map;
    struct gguf g;
};

static void
file_open(struct file *f, const char *path)
{
    struct err e;

    need(io_map(&f->map, path, &e), &e);
    need(gguf_parse(&f->g, f->map.p, f->map.n, &e), &e);
}

static void
file_close(struct file *f)
{
    gguf_release(&f->g);
    io_unmap(&f->map);
}

/* The model `hf` written as type `as` has the tensors and the configuration of
 * the golden file `want`, which may also hold the head of a tied model. */
static void
test_bytes(const char *hf, const char *as, const char *want)
{
    struct model m, back, other;
    struct file a, b;
    struct err e = { 0 };
    size_t same = 0, all = 0;

    need(model_open(&m, golden(hf), &e), &e);
    if (family_of(&m.c)->gemma)
        m.c.attn_scalar = m.c.D; /* a GGUF has no key for another scale */
    need(export_as(&m, "x.gguf", as, &e), &e);
    file_open(&a, "x.gguf");
    file_open(&b, golden(want));
    for (size_t i = 0; i < b.g.nt; i++) {
        const struct gguf_tensor *t = &b.g.t[i];
        const struct gguf_tensor *u = gguf_tensor(&a.g, t->name);

        if (strcmp(t->name, "output.weight") == 0 && m.c.tied)
            continue;
        all++;
        same += u && u->dtype == t->dtype && u->ndim == t->ndim &&
            memcmp(u->shape, t->shape, sizeof t->shape) == 0 &&
            memcmp(u->data, t->data, t->nbytes) == 0;
    }
    ok(same == all && all == a.g.nt, "%s as %s: %zu of %zu tensors are %s's",
        hf, as, same, all, want);
    need(model_open(&back, "x.gguf", &e), &e);
    need(model_open(&other, golden(want), &e), &e);
    ok(strcmp(back.c.arch, other.c.arch) == 0 && back.c.d == other.c.d &&
            back.c.L == other.c.L && back.c.H == other.c.H &&
            back.c.KV == other.c.KV && back.c.D == other.c.D &&
            back.c.mlp == other.c.mlp && back.c.V == other.c.V &&
            back.c.max_pos == other.c.max_pos && back.c.eps == other.c.eps &&
            back.c.window == other.c.window &&
            back.c.theta_local == other.c.theta_local &&
            memcmp(back.c.local, other.c.local, sizeof back.c.local) == 0,
        "%s as %s: the configuration comes back", hf, as);
    model_close(&m);
    model_close(&back);
    model_close(&other);
    file_close(&a);
    file_close(&b);
    remove("x.gguf");
}

/* Write m, whose configuration was changed, and open it as *back.  The last
 * warning must contain `warning` (NULL: there must be none). */
static void
again(struct model *m, struct model *back, const char *what,
    const char *warning)
{
    struct err e = { 0 };

    said[0] = '\0';
    if (!ok(export_as(m, "x.gguf", "f32", &e) == 0 &&
                model_open(back, "x.gguf", &e) == 0,
            "%s: the GGUF is written and opens %s", what, e.msg))
        exit(1);
    ok(warning ? strstr(said, warning) != NULL : said[0] == '\0',
        "%s: what is warned of is \"%.100s\"", what, said);
    remove("x.gguf");
}

static void
test_rope(void)
{
    struct model m, b;
    struct err e = { 0 };

    need(model_open(&m, golden("gguf/f32-hf"), &e), &e);
    m.c.rope = ROPE_LINEAR;
    m.c.rope_factor = 2.5;
    again(&m, &b, "linear scaling", NULL);
    ok(b.c.rope == ROPE_LINEAR && b.c.rope_factor == 2.5,
        "a linear scale comes back");
    model_close(&b);
    m.c.rope = ROPE_LLAMA3;
    m.c.rope_factor = 32;
    m.c.rope_low = 1;
    m.c.rope_high = 4;
    m.c.rope_orig = 8192;
    again(&m, &b, "the scaling of Llama 3", NULL);
    ok(b.c.rope == ROPE_LLAMA3 && b.c.rope_factor == 32,
        "the scale of llama3 comes back");
    model_close(&b);
    model_close(&m);
    need(model_open(&m, golden("family/qwen2"), &e), &e);
    m.c.rope = ROPE_LLAMA3;
    ok(export_as(&m, "x.gguf", "f32", &e) < 0 &&
            strstr(e.msg, "llama3: a GGUF of qwen2 has no key for"),
        "llama3 in another family is refused: %s", e.msg);
    m.c.rope = ROPE_YARN;
    m.c.rope_factor = 4;
    m.c.rope_low = 1;
    m.c.rope_high = 32;
    m.c.rope_orig = 8;
    m.c.rope_scale = 0.9;
    again(&m, &b, "the scaling of yarn", NULL);
    ok(b.c.rope == ROPE_YARN && b.c.rope_factor == 4 && b.c.rope_orig == 8 &&
            b.c.rope_high == 32 && fabs(b.c.rope_scale - 0.9) <= 1e-6,
        "the numbers of yarn come back");
    model_close(&b);
    model_close(&m);
}

/* A key of config.json that a GGUF of the family cannot hold is named in the
 * error. */
static void
test_unsaid(void)
{
    struct model m, b;
    struct err e = { 0 };

    need(model_open(&m, golden("family/olmo2"), &e), &e);
    ok(export_as(&m, "x.gguf", "f32", &e) < 0 &&
            strstr(e.msg, "dynamic: a GGUF of olmo2 has no key for"),
        "dynamic rope is refused: %s", e.msg);
    model_close(&m);
    need(model_open(&m, golden("family/smollm3"), &e), &e);
    ok(export_as(&m, "x.gguf", "f32", &e) < 0 &&
            strstr(e.msg, "no_rope_layers: a GGUF of smollm3 has no key for"),
        "other blocks without RoPE are refused: %s", e.msg);
    model_close(&m);
    need(model_open(&m, golden("family/gemma2"), &e), &e);
    m.c.attn_scalar = m.c.D;
    m.c.attn_cap = 0;
    ok(export_as(&m, "x.gguf", "f32", &e) < 0 &&
            strstr(e.msg,
                "attn_logit_softcapping: null: a GGUF of gemma2 has no key "
                "for"),
        "a Gemma 2 without a cap of scores is refused: %s", e.msg);
    model_close(&m);
    need(model_open(&m, golden("family/ministral3"), &e), &e);
    m.c.rope = ROPE_DEFAULT;
    m.c.rope_orig = 0;
    m.c.rope_query = 0;
    again(&m, &b, "a Ministral without scaling", NULL);
    ok(b.c.rope == ROPE_DEFAULT && b.c.rope_orig == b.c.max_pos,
        "transformers need not divide a position by 0");
    model_close(&b);
    model_close(&m);
}

/* A list of windows that has more entries than the model has blocks. */
static void
test_short_list(const struct model *m)
{
    static const char key[] = "gemma3.block_count";
    struct model b;
    struct err e = { 0 };
    char *p, *at = NULL;
    size_t n;

    need(export_as(m, "x.gguf", "f32", &e), &e);
    need(io_slurp("x.gguf", SIZE_MAX, &p, &n, &e), &e);
    for (size_t i = 0; !at && i + sizeof key < n; i++)
        if (memcmp(p + i, key, sizeof key - 1) == 0)
            at = p + i + sizeof key - 1 + 4;
    if (at)
        *at = 5;
    need(io_put_file("x.gguf", p, n, &e), &e);
    ok(model_open(&b, "x.gguf", &e) < 0 &&
            strstr(e.msg, "sliding_window_pattern: is no list of 5"),
        "a shorter list: %s", e.msg);
    free(p);
    remove("x.gguf");
}

static void
test_windows(void)
{
    struct model m, b;
    struct err e = { 0 };

    need(model_open(&m, golden("family/gemma3"), &e), &e);
    ok(export_as(&m, "x.gguf", "f32", &e) < 0 && e.code == EX_INPUT &&
            strstr(e.msg, "query_pre_attn_scalar: 11"),
        "another scale of scores: %s", e.msg);
    m.c.attn_scalar = m.c.D;
    again(&m, &b, "Gemma's windows", NULL);
    model_close(&b);
    config_set_local(&m.c, 1, 0);
    config_set_local(&m.c, 5, 1);
    m.c.theta_local = 500;
    again(&m, &b, "other windows", "gemma3.attention.sliding_window_pattern");
    ok(memcmp(m.c.local, b.c.local, sizeof b.c.local) == 0 &&
            b.c.theta_local == 500,
        "Gemma's windows come back");
    model_close(&b);
    test_short_list(&m);
    for (size_t i = 0; i < m.c.L; i++)
        config_set_local(&m.c, i, 0);
    m.c.window = 0;
    again(&m, &b, "no window", NULL);
    ok(config_window(&b.c, 0) == 0 && b.c.window == 0,
        "no window comes back as none");
    model_close(&b);
    model_close(&m);
    need(model_open(&m, golden("family/mistral"), &e), &e);
    m.c.neos = 4;
    for (size_t i = 0; i < 4; i++)
        m.c.eos[i] = (int64_t)(2 + i);
    again(&m, &b, "four ends of text", "eos_token_id: a GGUF names three");
    model_close(&b);
    m.c.neos = 3;
    again(&m, &b, "three ends of text", NULL);
    model_close(&b);
    m.c.neos = 1;
    m.c.max_pos = 64;
    again(&m, &b, "a window that is lost", "sliding_window: 5 is lost");
    model_close(&b);
    model_close(&m);
}

/* An export as q4_0 has the blocks of gguf-py's q4_0.gguf, and the tensors
 * outside of blocks of its q8_0.gguf. */
static void
test_q4_0(void)
{
    struct file got, q4, q8;
    struct model m;
    struct err e;
    size_t same = 0;

    need(model_open(&m, golden("gguf/f32-hf"), &e), &e);
    need(export_as(&m, "x.gguf", "q4_0", &e), &e);
    file_open(&got, "x.gguf");
    file_open(&q4, golden("gguf/q4_0.gguf"));
    file_open(&q8, golden("gguf/q8_0.gguf"));
    for (size_t i = 0; i < got.g.nt; i++) {
        const struct gguf_tensor *t = &got.g.t[i];
        const struct gguf_tensor *u =
            gguf_tensor(strncmp(t->name, "blk.", 4) == 0 ? &q4.g : &q8.g,
                t->name);

        same += u != NULL && u->dtype == t->dtype && u->nbytes == t->nbytes &&
            memcmp(u->data, t->data, t->nbytes) == 0;
    }
    ok(same == got.g.nt && same == 2 + 9 * m.c.L,
        "tensors as Q4_0 are gguf-py's: %zu", same);
    file_close(&got);
    file_close(&q4);
    file_close(&q8);
    model_close(&m);
    remove("x.gguf");
}

/* Rows that are no whole blocks of Q8_0 become F16; numbers that a type cannot
 * hold are refused. */
static void
test_types(void)
{
    struct model m;
    struct file f;
    struct err e = { 0 };
    float *x;

    need(model_open(&m, golden("family/qwen3"), &e), &e);
    need(export_as(&m, "x.gguf", "q8_0", &e), &e);
    file_open(&f, "x.gguf");
    ok(gguf_tensor(&f.g, "blk.0.ffn_up.weight")->dtype == DT_F16 &&
            gguf_tensor(&f.g, "blk.0.attn_norm.weight")->dtype == DT_F32,
        "rows of 12 are F16");
    file_close(&f);
    model_close(&m);
    need(model_open(&m, golden("gguf/f32-hf"), &e), &e);
    x = malloc(m.embed.rows * m.embed.stride);
    memcpy(x, m.embed.data, m.embed.rows * m.embed.stride);
    x[77] = 70000;
    m.embed.data = (const unsigned char *)x;
    remove("x.gguf");
    ok(export_as(&m, "x.gguf", "f16", &e) < 0 && e.code == EX_NUM &&
            !io_exists("x.gguf") &&
            strstr(e.msg, "token_embd.weight is too large for F16"),
        "70000 is refused as F16: %s", e.msg);
    x[77] = (float)NAN;
    ok(export_as(&m, "x.gguf", "q8_0", &e) < 0 && e.code == EX_NUM &&
            strstr(e.msg, "is not finite"),
        "NaN is refused as Q8_0: %s", e.msg);
    free(x);
    model_close(&m);
}

int
main(void)
{
    const char *why = kern_init();

    note_sink = listen;
    ok(!why, "kernels are chosen: %s", why ? why : kern_name());
    test_bytes("gguf/f32-hf", "f32", "gguf/f32.gguf");
    test_bytes("gguf/f32-hf", "f16", "gguf/f16.gguf");
    test_bytes("gguf/f32-hf", "bf16", "gguf/bf16.gguf");
    test_bytes("gguf/f32-hf", "q8_0", "gguf/q8_0.gguf");
    test_bytes("family/qwen2", "bf16", "family/qwen2.gguf");
    test_bytes("family/qwen3", "bf16", "family/qwen3.gguf");
    test_bytes("family/gemma3", "bf16", "family/gemma3.gguf");
    test_rope();
    test_unsaid();
    test_windows();
    test_q4_0();
    test_types();
    return done_testing();
}
