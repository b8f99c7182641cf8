/* Adapters: PEFT's files read and written, and the logits that they give, in
 * rows and text by text (scripts/oracle/lora.py). */
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "format/gguf_file.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/files/adapter_file.h"
#include "convert/adapter_out.h"
#include "model/pass/forward.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"

#include <math.h>
#include <sys/stat.h>

#define DIR "tests/golden/lora/"
enum { B = 2, T = 20, V = 64, D = 16 };

static const char *const of_one[] = { "plain", "dora", "rs_embed" };
static struct golden g;
static struct pool *pool;
static uint32_t ids[B * T], first[B * T];
static const struct rows rows = { B, T, ids, first };

/* Remove what a test has written. */
static void
clear(const char *name)
{
    char path[100];

    snprintf(path, sizeof path, "%s/adapter_model.safetensors", name);
    remove(path);
    snprintf(path, sizeof path, "%s/adapter_config.json", name);
    remove(path);
    remove(name);
}

static void
bail(const struct err *e)
{
    printf("Bail out! %s\n", e->msg);
    exit(1);
}

/* Open a base model and an adapter of it; name NULL: no adapter. */
static void
open_both(struct model *m, struct adapter *a, const char *base,
    const char *name)
{
    char path[100];
    struct err e;

    snprintf(path, sizeof path, DIR "%s", base);
    if (model_open(m, path, &e) < 0)
        bail(&e);
    snprintf(path, sizeof path, DIR "%s", name != NULL ? name : "");
    if (name != NULL && adapter_open(a, path, m, pool, &e) < 0)
        bail(&e);
}

/* Logits z [B*T,V] of the golden rows, by the pass over rows. */
static void
row_logits(const struct model *m, float *z)
{
    struct fwd *f = fwd_new(m, pool, B, T);
    float x[B * T * D], head[V * D];

    fwd_states(f, &rows, x);
    weight_rows(&m->head, 0, V, head);
    kern.gemm_nt(B * T, V, D, x, D, head, D, GEMM_SET, z, V);
    fwd_free(f);
}

/* Logits after each token of row 0, which is one piece, by generation. */
static void
text_logits(const struct model *m, float *z)
{
    struct kvcache *k = kv_new(m, pool, 1, kv_pages(T), T);

    for (size_t t = 0; t < T; t++) {
        const struct kv_more more = { .ids = ids + t, .n = 1, .logits = 1 };

        if (kv_feed(k, &more, 1, z + t * V) < 0)
            printf("Bail out! no room for a token\n");
    }
    kv_free(k);
}

static void
logits_are_pefts(const char *base, const char *name)
{
    static float z[B * T * V], text[T * V];
    const struct st_tensor *want;
    struct model m;
    struct adapter a;
    char key[60];
    double most = 0.0;

    open_both(&m, &a, base, name);
    row_logits(&m, z);
    text_logits(&m, text);
    snprintf(key, sizeof key, "logits.%s", name);
    want = golden_get(&g, key);
    for (size_t i = 0; i < want->n; i++)
        most = farther(most, fabs(z[i] - golden_at(want, i)));
    ok(most < 1e-5, "%s: the adapter %s gives PEFT's logits (off by %.1e)",
        kern.name, name, most);
    ok(memcmp(z, text, sizeof text) == 0,
        "%s: with the adapter %s generation has the bits of the pass over rows",
        kern.name, name);
    adapter_close(&a);
    model_close(&m);
}

/* An adapter that is merged into the weights gives the same logits. */
static void
merged_is_pefts(const char *base, const char *name)
{
    static float z[B * T * V];
    const struct st_tensor *want;
    struct arena room = { 0 };
    struct model m;
    struct adapter a;
    char key[60];
    double most = 0.0;

    open_both(&m, &a, base, name);
    adapter_merge(&a, &m, pool, &room);
    ok(low_widest(&m) == 0 && m.embed.low == NULL,
        "nothing but weights is left of the merged adapter %s", name);
    row_logits(&m, z);
    snprintf(key, sizeof key, "logits.%s", name);
    want = golden_get(&g, key);
    for (size_t i = 0; i < want->n; i++)
        most = farther(most, fabs(z[i] - golden_at(want, i)));
    ok(most < 1e-5, "the adapter %s merged gives PEFT's logits (off by %.1e)",
        name, most);
    adapter_close(&a);
    model_close(&m);
    arena_release(&room);
}

/* Have the GGUF files a and b the same tensors? */
static int
same_gguf(const char *a, const char *b)
{
    struct gguf_file x, y;
    struct err e;
    int same;

    if (gguf_open(&x, a, &e) < 0 || gguf_open(&y, b, &e) < 0)
        bail(&e);
    same = x.g.nt == y.g.nt && x.g.nt > 0;
    for (size_t i = 0; i < x.g.nt && same; i++) {
        const struct gguf_tensor *t = &x.g.t[i],
                                 *u = gguf_tensor(&y.g, t->name);

        same = u != NULL && t->nbytes == u->nbytes &&
            t->shape[0] == u->shape[0] &&
            memcmp(t->data, u->data, t->nbytes) == 0;
    }
    gguf_close(&x);
    gguf_close(&y);
    return same;
}

static void
gguf_is_llama_cpps(void)
{
    struct model m;
    struct adapter a;
    struct gguf_file f;
    struct err e;
    double alpha = 0.0;

    open_both(&m, &a, "two", "start");
    ok(adapter_export_gguf(&a, &m, "out.gguf", &e) == 0,
        "an adapter is written as a GGUF");
    ok(same_gguf(DIR "start.gguf", "out.gguf"),
        "the GGUF has the tensors of llama.cpp's converter");
    ok(gguf_open(&f, "out.gguf", &e) == 0 &&
            gguf_is(&f.g, "general.type", "adapter") &&
            gguf_is(&f.g, "adapter.type", "lora") &&
            gguf_real(&f.g, "adapter.lora.alpha", 0, 100, &alpha, &e) == 1 &&
            alpha == 6.0,
        "the GGUF has the metadata of llama.cpp's converter");
    gguf_close(&f);
    clear("out.gguf");
    adapter_close(&a);
    model_close(&m);
}

/* Read, then written, an adapter has the same numbers and configuration. */
static void
written_again(const char *base, const char *name)
{
    struct golden was, is;
    struct model m;
    struct adapter a;
    struct err e;
    char path[100];
    json_t *old, *new;
    int same;

    open_both(&m, &a, base, name);
    ok(mkdir(name, 0777) == 0 && adapter_save(&a, &m, name, &e) == 0,
        "the adapter %s is written", name);
    snprintf(path, sizeof path, DIR "%s/adapter_model.safetensors", name);
    golden_open(&was, path);
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", name);
    golden_open(&is, path);
    same = was.st.nt == is.st.nt;
    for (size_t i = 0; i < was.st.nt && same; i++) {
        const struct st_tensor *t = &was.st.t[i], *u = st_find(&is.st, t->name);

        same = u != NULL && t->ndim == u->ndim && t->nbytes == u->nbytes &&
            memcmp(t->data, u->data, t->nbytes) == 0;
    }
    ok(same, "the adapter %s keeps its tensors", name);
    snprintf(path, sizeof path, DIR "%s/adapter_config.json", name);
    old = js_load(path, JS_MAX, &e);
    snprintf(path, sizeof path, "%s/adapter_config.json", name);
    new = js_load(path, JS_MAX, &e);
    ok(old != NULL && json_equal(old, new),
        "the adapter %s keeps its configuration", name);
    json_decref(old);
    json_decref(new);
    golden_close(&was);
    golden_close(&is);
    clear(name);
    adapter_close(&a);
    model_close(&m);
}

/* A new adapter: PEFT's initial values and the keys of its file. */
static void
new_adapter(void)
{
    const struct adapter_opt o = { .rank = 4,
        .alpha = 6,
        .targets = "q_proj,v_proj,o_proj,gate_proj,down_proj",
        .dora = 1,
        .seed = 1 };
    struct model m;
    struct adapter a;
    struct err e;
    json_t *peft = js_load(DIR "start_dora/adapter_config.json", JS_MAX, &e);
    const struct low_rank *l;
    static float z[B * T * V], bare[B * T * V], w[D * D];
    double sum = 0.0, most = 0.0, off = 0.0;

    open_both(&m, &a, "two", NULL);
    row_logits(&m, bare);
    if (adapter_new(&a, &o, &m, pool, &e) < 0)
        bail(&e);
    row_logits(&m, z);
    for (size_t i = 0; i < B * T * V; i++)
        off = farther(off, fabs((double)z[i] - bare[i]));
    ok(off < 1e-5, "a new DoRA changes no logit (off by %.1e)", off);
    l = &a.low[W_Q];
    for (size_t i = 0; i < 4 * D; i++) {
        sum += (double)l->a[i] * l->a[i];
        most = farther(most, fabs(l->a[i]));
    }
    ok(most <= 0.25 && most > 0.2 && near(sum / (4 * D), 0.0625 / 3, 0.0, 0.3),
        "A is uniform within 1 / sqrt(in)");
    weight_rows(&m.block[0].w[W_Q], 0, D, w);
    ok(near(l->m[3], sqrt(kern.sumsq(w + 3 * D, D)), 0.0, 1e-6),
        "the magnitudes are the lengths of rows");
    json_object_del(peft, "base_model_name_or_path");
    json_object_del(peft, "target_modules");
    json_object_del(a.config, "base_model_name_or_path");
    ok(json_array_size(json_object_get(a.config, "target_modules")) == 5,
        "the configuration names the matrices");
    json_object_del(a.config, "target_modules");
    ok(json_equal(peft, a.config), "its other keys and values are PEFT's");
    json_decref(peft);
    adapter_close(&a);
    model_close(&m);
}

/* Write the folder "whole": an adapter whose only tensor is the embedding
 * [V,D], saved whole. */
static void
write_whole(const float *embed, int tying)
{
    struct st_out o = { 0 };
    struct err e;
    json_t *config = js_load(DIR "start/adapter_config.json", JS_MAX, &e);

    json_object_set_new(config, "ensure_weight_tying", json_boolean(tying));
    st_out_begin(&o);
    st_out_tensor(&o, "base_model.model.model.embed_tokens.weight", DT_F32, 2,
        (const size_t[]){ V, D }, embed);
    st_out_end(&o);
    mkdir("whole", 0777);
    if (st_out_save(&o, "whole/adapter_model.safetensors", &e) < 0 ||
        js_save(config, "whole/adapter_config.json", &e) < 0)
        bail(&e);
    st_out_release(&o);
    json_decref(config);
}

/* An adapter with an embedding saved whole leaves the head, which was tied to
 * the model's embedding, as it was, unless ensure_weight_tying is true (as PEFT
 * 0.21.2). */
static void
whole_embedding(int tying)
{
    static float z[B * T * V], want[B * T * V], embed[V * D];
    struct model m, other;
    struct adapter a;
    struct err e;

    open_both(&other, NULL, "two", NULL);
    weight_rows(&other.embed, 0, V, embed);
    for (size_t i = 0; i < V * D; i++)
        embed[i] += (float)(i % 7) * 0.1f;
    write_whole(embed, tying);
    open_both(&m, NULL, "two", NULL);
    if (adapter_open(&a, "whole", &m, pool, &e) < 0)
        bail(&e);
    row_logits(&m, z);
    other.embed.data = (const unsigned char *)embed;
    if (tying)
        other.head = other.embed;
    row_logits(&other, want);
    ok(memcmp(z, want, sizeof z) == 0 && m.c.tied == tying,
        tying ? "a head follows an embedding that PEFT kept tied to it"
              : "a head stays where the embedding was saved whole");
    clear("whole");
    adapter_close(&a);
    model_close(&m);
    model_close(&other);
}

static void
all_adapters(void)
{
    for (size_t i = 0; i < 3; i++)
        logits_are_pefts("one", of_one[i]);
    logits_are_pefts("two", "start");
    logits_are_pefts("two", "start_dora");
    logits_are_pefts("two", "tied");
}

int
main(void)
{
    struct err e;

    golden_open(&g, DIR "lora.safetensors");
    for (size_t i = 0; i < B * T; i++) {
        ids[i] = st_u16(golden_get(&g, "ids"), i);
        first[i] = st_u32(golden_get(&g, "first"), i);
    }
    if ((pool = pool_new(2, &e)) == NULL)
        bail(&e);
    for (size_t i = 0; i < KERN_SETS; i++)
        if (kern_sets_use(kern_sets[i]))
            all_adapters();
    for (size_t i = 0; i < 3; i++)
        merged_is_pefts("one", of_one[i]);
    merged_is_pefts("two", "start");
    merged_is_pefts("two", "start_dora");
    merged_is_pefts("two", "tied");
    gguf_is_llama_cpps();
    written_again("one", "plain");
    written_again("one", "dora");
    written_again("two", "start_dora");
    new_adapter();
    whole_embedding(0);
    whole_embedding(1);
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
