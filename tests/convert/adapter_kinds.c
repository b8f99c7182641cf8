/* Adapters of all families but DeepSeek's.  A model with an adapter has the
 * logits that PEFT computes: when rows are computed at once, when a text is
 * generated token by token, and when the adapter is merged.  Expected logits:
 * scripts/oracle/lora_kinds.py. */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "convert/adapter_out.h"
#include "format/gguf_file.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/decode/forward_kv.h"
#include "model/files/adapter_file.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"

#include <math.h>
#include <sys/stat.h>

enum { B = 2, T = 20, V = 80 };

static struct golden g;
static struct pool *pool;

struct kind {
    const char *name, *base;
};

static char *
adapter_path(const struct kind *k)
{
    return xasprintf("tests/golden/lora/%s", k->name);
}

/* a NULL: without the adapter */
static void
open_kind(const struct kind *k, struct model *m, struct adapter *a)
{
    char *base = xasprintf("tests/golden/%s", k->base), *path = adapter_path(k);
    struct err e;

    if (model_open(m, base, &e) < 0 ||
        (a != NULL && adapter_open(a, path, m, pool, &e) < 0)) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    free(base);
    free(path);
}

static const struct st_tensor *
of_kind(const struct kind *k, const char *what)
{
    char name[60];

    snprintf(name, sizeof name, "%s.%s", what, k->name);
    return golden_get(&g, name);
}

/* The largest distance of logits z [B*T,m->c.V] from PEFT's. */
static double
off_by(const struct kind *k, const float *z, double *most)
{
    const struct st_tensor *want = of_kind(k, "logits");
    double off = 0.0;

    *most = 0.0;
    for (size_t i = 0; i < want->n; i++) {
        *most = fmax(*most, fabs(golden_at(want, i)));
        off = farther(off, fabs(z[i] - golden_at(want, i)));
    }
    return off;
}

static void
read_ids(const struct kind *k, uint32_t *ids, uint32_t *first)
{
    const struct st_tensor *from = of_kind(k, "ids");
    uint16_t id[B * T];

    memcpy(id, from->data, sizeof id);
    for (size_t i = 0; i < B * T; i++)
        ids[i] = id[i];
    memcpy(first, of_kind(k, "first")->data, B * T * sizeof *first);
}

static void
row_logits(const struct kind *k, const struct model *m, float *z)
{
    uint32_t ids[B * T], first[B * T];
    const struct rows rows = { B, T, ids, first };
    struct fwd *f = fwd_new(m, pool, B, T);
    float *x = xcalloc(B * T * m->c.d, sizeof *x);

    read_ids(k, ids, first);
    fwd_states(f, &rows, x);
    for (size_t i = 0; i < B * T; i++)
        fwd_head(f, x + i * m->c.d, 1, z + i * m->c.V);
    fwd_free(f);
    free(x);
}

/* Logits of row 0, one piece, after a prompt of 7 and then token by token. */
static void
text_logits(const struct kind *k, const struct model *m, float *z)
{
    uint32_t ids[B * T], first[B * T];
    struct kvcache *c = kv_new(m, pool, 1, kv_pages(T), T);

    read_ids(k, ids, first);
    for (size_t t = 0, n; t < T; t += n) {
        const struct kv_more more = { .ids = ids + t,
            .n = n = t == 0 ? 7 : 1,
            .length = T,
            .logits = 1 };

        if (kv_feed(c, &more, 1, z + (t + n - 1) * m->c.V) < 0)
            printf("Bail out! no room for a token\n");
    }
    kv_free(c);
}

static void
test_logits(const struct kind *k)
{
    static float z[B * T * V], text[B * T * V];
    struct model m;
    struct adapter a;
    double off, most;

    open_kind(k, &m, &a);
    row_logits(k, &m, z);
    off = off_by(k, z, &most);
    ok(off <= 2e-5 * most,
        "an adapter of %s gives PEFT's logits (%.1e of %.1f)", k->name, off,
        most);
    memcpy(text, z, sizeof text);
    text_logits(k, &m, text);
    off = off_by(k, text, &most);
    ok(off <= 2e-5 * most && memcmp(text, z, 6 * m.c.V * sizeof *z) == 0,
        "an adapter of %s generates with PEFT's logits (%.1e)", k->name, off);
    adapter_close(&a);
    model_close(&m);
    open_kind(k, &m, NULL);
    row_logits(k, &m, z);
    off = off_by(k, z, &most);
    ok(off > 1e-2 * most, "without the adapter %s has other logits", k->name);
    model_close(&m);
}

static void
test_merged(const struct kind *k)
{
    static float z[B * T * V];
    struct arena room = { 0 };
    struct model m;
    struct adapter a;
    double off, most;

    open_kind(k, &m, &a);
    adapter_merge(&a, &m, pool, &room);
    row_logits(k, &m, z);
    off = off_by(k, z, &most);
    ok(off <= 2e-5 * most, "an adapter of %s merged gives PEFT's logits (%.1e)",
        k->name, off);
    adapter_close(&a);
    model_close(&m);
    arena_release(&room);
}

/* Read, then written, an adapter has the same tensors. */
static void
test_written(const struct kind *k)
{
    char *file =
        xasprintf("tests/golden/lora/%s/adapter_model.safetensors", k->name);
    struct golden was, is;
    struct model m;
    struct adapter a;
    struct err e;
    int same;

    open_kind(k, &m, &a);
    mkdir("again", 0777);
    ok(adapter_save(&a, &m, "again", &e) == 0, "the adapter of %s is written",
        k->name);
    golden_open(&was, file);
    golden_open(&is, "again/adapter_model.safetensors");
    same = was.st.nt == is.st.nt;
    for (size_t i = 0; i < was.st.nt && same; i++) {
        const struct st_tensor *t = &was.st.t[i], *u = st_find(&is.st, t->name);

        same = u != NULL && t->ndim == u->ndim && t->nbytes == u->nbytes &&
            memcmp(t->data, u->data, t->nbytes) == 0;
    }
    ok(same, "the adapter of %s keeps its tensors", k->name);
    golden_close(&was);
    golden_close(&is);
    adapter_close(&a);
    model_close(&m);
    free(file);
}

/* A GGUF of an adapter of phi3 has the names and rows of the fused tensors. */
static void
test_gguf(const struct kind *k)
{
    struct model m;
    struct adapter a;
    struct gguf_file f;
    const struct gguf_tensor *t, *u;
    struct err e;
    const struct st_tensor *b;
    struct golden was;

    open_kind(k, &m, &a);
    ok(adapter_export_gguf(&a, &m, "out.gguf", &e) == 0 &&
            gguf_open(&f, "out.gguf", &e) == 0,
        "an adapter of %s is written as a GGUF", k->name);
    golden_open(&was, "tests/golden/lora/phi3/adapter_model.safetensors");
    b = golden_get(&was,
        "base_model.model.model.layers.0.self_attn.qkv_proj.lora_B.weight");
    t = gguf_tensor(&f.g, "blk.0.attn_qkv.weight.lora_b");
    u = gguf_tensor(&f.g, "blk.1.ffn_up.weight.lora_a");
    ok(f.g.nt == 2 * 4 * m.c.L && t != NULL && u != NULL &&
            t->nbytes == b->nbytes && memcmp(t->data, b->data, b->nbytes) == 0,
        "the GGUF has B of Q, K and V as one tensor");
    golden_close(&was);
    gguf_close(&f);
    remove("out.gguf");
    adapter_close(&a);
    model_close(&m);
}

static void
test_refusal(void)
{
    const struct adapter_opt o = { .rank = 2, .alpha = 2, .targets = "o_proj" };
    struct adapter a;
    struct model m;
    struct err e = { .msg = "" };

    ok(model_open(&m, "tests/golden/experts/deepseek_v2", &e) == 0 &&
            adapter_new(&a, &o, &m, pool, &e) < 0 &&
            strstr(e.msg, "not supported") != NULL,
        "an adapter of latent attention is refused: %s", e.msg);
    model_close(&m);
}

int
main(void)
{
    static const struct kind kinds[] = { { "phi3", "family/phi3" },
        { "phi3-dora", "family/phi3" }, { "qwen3_moe", "experts/qwen3_moe" },
        { "gpt_oss", "experts/gpt_oss" }, { "qwen3_5", "family/qwen3_5" },
        { "cohere", "family/cohere" }, { "cohere2", "family/cohere2" },
        { "lfm2", "family/lfm2" }, { "apertus", "family/apertus" },
        { "gpt_neox", "family/gpt_neox" },
        { "gpt_neox-dora", "family/gpt_neox" }, { "gpt2", "family/gpt2" },
        { "gpt2-dora", "family/gpt2" }, { "starcoder2", "family/starcoder2" },
        { "phi", "family/phi" }, { "glm4", "family/glm4" },
        { "glm", "family/glm" }, { "exaone4", "family/exaone4" },
        { "qwen3_next", "experts/qwen3_next" },
        { "qwen3_5_moe", "experts/qwen3_5_moe" }, { "llama", "family/llama" },
        { "mistral", "family/mistral" }, { "qwen2", "family/qwen2" },
        { "qwen3", "family/qwen3" }, { "gemma3", "family/gemma3" },
        { "gemma2", "family/gemma2" }, { "gemma", "family/gemma" },
        { "olmo2", "family/olmo2" }, { "olmo3", "family/olmo3" },
        { "smollm3", "family/smollm3" }, { "granite", "family/granite" },
        { "ministral3", "family/ministral3" },
        { "seed_oss", "family/seed_oss" }, { "ministral", "family/ministral" },
        { "mixtral", "experts/mixtral" }, { "qwen2_moe", "experts/qwen2_moe" },
        { "olmoe", "experts/olmoe" } };

    tap_scratch();
    kern_init();
    pool = pool_new(2, NULL);
    golden_open(&g, "tests/golden/lora/kinds.safetensors");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        test_logits(&kinds[i]);
        test_merged(&kinds[i]);
        test_written(&kinds[i]);
    }
    test_gguf(&kinds[0]);
    test_refusal();
    golden_close(&g);
    pool_free(pool);
    return done_testing();
}
