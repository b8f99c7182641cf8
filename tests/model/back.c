/* Models of every family are written as a folder and as a GGUF; read back, they
 * have the same logits.  They have every kind of RoPE, and every choice of
 * blocks with a window, experts, RoPE or the gated delta rule.  A model that a
 * GGUF cannot express is refused before a file is written. */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "kern/kern.h"
#include "model/config/config_rope.h"
#include "model/files/export.h"
#include "model/config/family.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"
#include "model/files/random.h"
#include "../lib/export_as.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 40, L = 3, SUBSETS = 1 << L };

static struct pool *pool;
static char said[1000]; /* the last warning */
static size_t written, refused;

static void
listen(const char *msg)
{
    snprintf(said, sizeof said, "%s", msg);
}

/* The logits [T,V] of a text; the caller frees them. */
static float *
logits(const struct model *m)
{
    uint32_t ids[T], first[T] = { 0 };
    const struct rows r = { 1, T, ids, first };
    struct fwd *f = fwd_new(m, pool, 1, T);
    float *x = xcalloc(T * m->c.d, sizeof *x);
    float *z = xcalloc(T * m->c.V, sizeof *z);

    for (size_t i = 0; i < T; i++)
        ids[i] = (uint32_t)((i * i * 7 + i * 3) % m->c.V);
    fwd_states(f, &r, x);
    fwd_head(f, x, T, z);
    fwd_free(f);
    free(x);
    return z;
}

/* Does the model at `path` compute the logits `want`?  *e has the
 * difference. */
static int
same_logits(const char *path, const struct config *c, const float *want,
    struct err *e)
{
    const size_t n = T * c->V;
    double most = 0, off = 0;
    struct model m;
    float *z;

    if (model_open(&m, path, e) < 0)
        return 0;
    z = logits(&m);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(want[i]));
        off = farther(off, fabs(z[i] - want[i]));
    }
    free(z);
    model_close(&m);
    err_set(e, EX_INPUT, "logits differ by %.2g of %.2g", off, most);
    return off <= 2e-5 * most;
}

/* Can a GGUF express c? */
static int
sayable(const struct config *c)
{
    static const char *const llamas[] = { "llama", "mistral", "ministral",
        "mixtral", "granite", "apertus", "exaone4", NULL };
    const uint64_t bit = family_of(c)->bit;
    const int deepseek = c->mla.kv_rank > 0;
    int windows = 0, dense = 0, i = 0;

    for (size_t k = 0; k < c->L; k++) {
        windows |= config_window(c, k) > 0;
        dense |= config_whole_block(c, k).experts == 0;
        if ((bit == FAMILY_SMOLLM3 || bit == FAMILY_COHERE2) &&
            config_rope(c, k) != ((k + 1) % 4 != 0))
            return 0;
    }
    if ((bit == FAMILY_GEMMA2 || bit == FAMILY_GPT_OSS) && !windows)
        return 0;
    if (bit == FAMILY_EXAONE4 && c->window > 0) /* of fewer than 64 blocks */
        return 0;
    if (c->router.n > 0 && dense && !deepseek)
        return 0;
    switch (c->rope) {
    case ROPE_LLAMA3:
        while (llamas[i] != NULL && strcmp(llamas[i], c->arch) != 0)
            i++;
        return llamas[i] != NULL;
    case ROPE_DYNAMIC: return 0;
    case ROPE_YARN:
        return c->rope_split == (bit == FAMILY_GPT_OSS) &&
            (!deepseek ||
                (c->rope_mscale > 0 && c->rope_mscale == c->rope_mscale_all));
    case ROPE_LONGROPE: return bit == FAMILY_PHI3;
    default: return 1;
    }
}

/* Write a random model of this configuration as a folder and as a GGUF, read
 * both back and compare logits. */
static void
check(const struct config *from, const char *what)
{
    struct config c = *from, whole;
    struct arena a;
    struct model m;
    struct err e = { 0 };
    float *want;
    int r;

    model_random(&m, &c, NULL, 3, &a);
    want = logits(&m);
    r = model_export(&m, "out", DT_F32, NULL, NULL, &e) == 0 &&
        same_logits("out", &c, want, &e);
    ok(r, "%s, %s: a folder is read back (%s)", c.arch, what, e.msg);
    dir_remove("out", NULL);
    said[0] = '\0';
    e.msg[0] = '\0';
    r = export_as(&m, "out.gguf", "f32", &e);
    if (strstr(said, "is lost") != NULL) {
        whole = c;
        whole.window = 0;
        m.c = whole;
        free(want);
        want = logits(&m);
    }
    if (r < 0) {
        refused++;
        ok(!sayable(&c) && strstr(e.msg, "has no key for") != NULL &&
                !io_exists("out.gguf"),
            "%s, %s: a GGUF is refused before it is written: %s", c.arch, what,
            e.msg);
    } else {
        written++;
        r = same_logits("out.gguf", &c, want, &e);
        ok(r && sayable(&c), "%s, %s: a GGUF is read back (%s)", c.arch, what,
            e.msg);
    }
    remove("out.gguf");
    free(want);
    model_random_free(&m);
    arena_release(&a);
}

/* ---- kinds of RoPE ---- */

static const struct rope_case {
    const char *name;
    enum rope_kind kind;
    double factor, low, high;
    size_t orig;
    double mscale, mscale_all;
    int split;
} ropes[] = {
    { "default", ROPE_DEFAULT, 0, 0, 0, 0, 0, 0, 0 },
    { "linear", ROPE_LINEAR, 2.5, 0, 0, 0, 0, 0, 0 },
    { "dynamic", ROPE_DYNAMIC, 2, 0, 0, 0, 0, 0, 0 },
    { "llama3 of Meta", ROPE_LLAMA3, 8, 1, 4, 8192, 0, 0, 0 },
    { "llama3 of 64 positions", ROPE_LLAMA3, 8, 1, 4, 64, 0, 0, 0 },
    { "llama3 of 8193 positions", ROPE_LLAMA3, 8, 1, 4, 8193, 0, 0, 0 },
    { "llama3 with other corners", ROPE_LLAMA3, 5.3, 1.7, 9.1, 77, 0, 0, 0 },
    { "llama3 with wide corners", ROPE_LLAMA3, 3, 0.001, 900, 50, 0, 0, 0 },
    { "llama3 with a step", ROPE_LLAMA3, 32, 1, 1.001, 40, 0, 0, 0 },
    { "llama3 of all frequencies", ROPE_LLAMA3, 4, 1, 4, 1, 0, 0, 0 },
    { "llama3 of none", ROPE_LLAMA3, 4, 1, 4, 1 << 28, 0, 0, 0 },
    { "yarn", ROPE_YARN, 4, 1, 32, 16, 0, 0, 0 },
    { "yarn with other corners", ROPE_YARN, 4, 0.5, 3, 16, 0, 0, 0 },
    { "yarn with split corners", ROPE_YARN, 4, 1, 32, 16, 0, 0, 1 },
    { "yarn with mscale", ROPE_YARN, 4, 1, 32, 16, 1, 1, 0 },
    { "yarn with two of mscale", ROPE_YARN, 4, 1, 32, 16, 1, 0.6, 0 },
    { "longrope", ROPE_LONGROPE, 0, 0, 0, 16, 0, 0, 0 },
};

static void
set_rope(struct config *c, const struct rope_case *r)
{
    c->rope = r->kind;
    c->rope_factor = r->factor;
    c->rope_low = r->low;
    c->rope_high = r->high;
    c->rope_orig =
        r->orig == 0 && family_of(c)->bit == FAMILY_MINISTRAL3 ? 50 : r->orig;
    c->rope_mscale = r->mscale;
    c->rope_mscale_all = r->mscale_all;
    c->rope_split = r->split;
    c->rope_scale = 0;
    for (size_t i = 0; i < CONFIG_ROTARY / 2; i++) {
        const int in = r->kind == ROPE_LONGROPE && i < config_rotary(c) / 2;

        c->rope_near[i] = in ? 1 + 0.1f * (float)i : 0;
        c->rope_far[i] = in ? 2 + 0.7f * (float)i : 0;
    }
    if (r->kind == ROPE_YARN || r->kind == ROPE_LONGROPE)
        config_rope_scale(c);
}

static void
test_ropes(const struct config *from)
{
    for (size_t i = 0; i < sizeof ropes / sizeof *ropes; i++) {
        struct config c = *from;

        if (family_of(&c)->bit == FAMILY_PHI3 &&
            ropes[i].kind != ROPE_DEFAULT && ropes[i].kind != ROPE_LONGROPE)
            continue; /* transformers has no other */
        if (family_of(&c)->bit == FAMILY_OLMO3 && ropes[i].split)
            continue; /* refused in config.json */
        set_rope(&c, &ropes[i]);
        if (i > 0 && c.rope == ROPE_LLAMA3 && ropes[i - 1].kind == c.rope &&
            !sayable(&c))
            continue; /* a folder has the numbers themselves */
        check(&c, ropes[i].name);
    }
}

/* ---- kinds of blocks ---- */

/* Check c with each set of blocks in `list`, a member of c with a bit for each
 * block. */
/* In a cohere2, and in an exaone4 that has windows, blocks without one have no
 * RoPE. */
static void
rope_by_window(struct config *c)
{
    const uint64_t bit = family_of(c)->bit;

    if (bit == FAMILY_EXAONE4 && c->window == 0)
        c->no_rope[0] = 0;
    else if (bit == FAMILY_COHERE2 || bit == FAMILY_EXAONE4)
        c->no_rope[0] = (unsigned char)~c->local[0] & (SUBSETS - 1);
}

static void
test_sets(struct config *c, unsigned char *list, const char *what)
{
    const unsigned char was = *list;
    char name[60];

    for (int i = 0; i < SUBSETS; i++) {
        *list = (unsigned char)i;
        rope_by_window(c);
        snprintf(name, sizeof name, "blocks %s%s%s%s with %s", i ? "" : "-",
            i & 1 ? "0" : "", i & 2 ? "1" : "", i & 4 ? "2" : "", what);
        check(c, name);
    }
    *list = was;
}

static void
test_blocks(const struct config *from)
{
    struct config c = *from;
    const struct family *f = family_of(&c);
    const size_t window = c.window > 0 ? c.window : 5;

    if (f->windows >= WINDOW_LISTED) {
        c.window = window;
        test_sets(&c, c.local, "a window");
        c.local[0] = 0;
        c.window = 0;
        rope_by_window(&c);
        check(&c, "no window");
    } else if (f->windows == WINDOW_ALL) {
        c.window = window;
        c.local[0] = SUBSETS - 1;
        check(&c, "windows");
    }
    c = *from;
    if (f->bit == FAMILY_SMOLLM3)
        test_sets(&c, c.no_rope, "no RoPE");
    if (c.conv > 0)
        test_sets(&c, c.linear, "a convolution");
    if (f->bit == FAMILY_QWEN2_MOE || f->bit == FAMILY_QWEN3_MOE ||
        f->bit == FAMILY_QWEN3_NEXT)
        test_sets(&c, c.dense, "no experts");
    for (int i = 0; c.mla.kv_rank > 0 && i <= L; i++) {
        c.dense[0] = (unsigned char)((1 << i) - 1);
        check(&c, "first blocks without experts");
    }
}

/* The configuration of a golden model, with L blocks, made so that a GGUF can
 * say it. */
static struct config
golden_config(const char *folder)
{
    const char *top = getenv("RETORT_TOP");
    char *path =
        xasprintf("%s/tests/golden/%s/config.json", top ? top : ".", folder);
    struct config c, fixed;
    struct err e;

    if (config_load(&c, NULL, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    free(path);
    c.L = L;
    c.init_range = 0.3;
    c.max_pos = 512;
    c.delta.dv = c.delta.dk;
    c.router.groups = c.router.groups > 0 ? 1 : 0;
    c.router.keep = c.router.groups;
    if (c.mla.kv_rank > 0 && c.rope == ROPE_YARN) {
        c.rope_mscale = c.rope_mscale_all;
        c.rope_scale = 0;
        config_rope_scale(&c);
    }
    fixed = c;
    config_gguf_fixed(&fixed);
    c.attn_scalar = fixed.attn_scalar;
    memcpy(c.no_rope, fixed.no_rope, sizeof c.no_rope);
    memset(c.local, 0, sizeof c.local);
    if (family_of(&c)->windows == WINDOW_EVERY)
        c.local[0] = fixed.local[0];
    else if (family_of(&c)->windows == WINDOW_ALL && c.window > 0)
        c.local[0] = SUBSETS - 1;
    return c;
}

/* ---- a GGUF without a key ---- */

/* Rename `key` in the file, so that a reader does not find it; 0: the file has
 * no such key. */
static int
drop_key(const char *path, const char *key)
{
    const size_t k = strlen(key);
    struct err e;
    char *p, *at = NULL;
    size_t n;

    if (io_slurp(path, SIZE_MAX, &p, &n, &e) < 0)
        return 0;
    for (size_t i = 0; at == NULL && i + k < n; i++)
        if (memcmp(p + i, key, k) == 0)
            at = p + i;
    if (at != NULL)
        *at = '_';
    if (io_put_file(path, p, n, &e) < 0)
        at = NULL;
    free(p);
    return at != NULL;
}

/* A GGUF without the key is refused, because the value that llama.cpp assumes
 * is wrong for models of the family. */
static void
test_missing(const char *folder, const char *key)
{
    const struct config c = golden_config(folder);
    struct arena a;
    struct model m, back;
    struct err e = { 0 };

    model_random(&m, &c, NULL, 3, &a);
    ok(export_as(&m, "out.gguf", "f32", &e) == 0 && drop_key("out.gguf", key) &&
            model_open(&back, "out.gguf", &e) < 0 &&
            strstr(e.msg, "is missing") != NULL && strstr(e.msg, key) != NULL,
        "a GGUF without %s is refused: %s", key, e.msg);
    remove("out.gguf");
    model_random_free(&m);
    arena_release(&a);
}

/* A Gemma 2 without the key has a window of 4096 in every other block, as in
 * llama.cpp. */
static void
test_gemma2(void)
{
    const struct config c = golden_config("family/gemma2");
    struct arena a;
    struct model m, back;
    struct err e = { 0 };

    model_random(&m, &c, NULL, 3, &a);
    if (ok(export_as(&m, "out.gguf", "f32", &e) == 0 &&
                drop_key("out.gguf", "gemma2.attention.sliding_window") &&
                model_open(&back, "out.gguf", &e) == 0,
            "a Gemma 2 without its window is read %s", e.msg)) {
        ok(back.c.window == 4096 &&
                memcmp(back.c.local, c.local, sizeof c.local) == 0,
            "every other block has a window of 4096");
        model_close(&back);
    }
    remove("out.gguf");
    model_random_free(&m);
    arena_release(&a);
}

/* llama.cpp gives 3 of 4 blocks of an EXAONE 4 the window if there are 64. */
static void
test_exaone4(void)
{
    struct config c = golden_config("family/exaone4-full");
    struct arena a;
    struct model m, back;
    struct err e = { 0 };

    c.L = 64;
    c.d = 8;
    c.window = 5;
    for (size_t i = 0; i < c.L; i++)
        config_set_local(&c, i, (i + 1) % 4 != 0);
    model_random(&m, &c, NULL, 3, &a);
    if (ok(export_as(&m, "out.gguf", "f32", &e) == 0 &&
                model_open(&back, "out.gguf", &e) == 0,
            "a GGUF says the windows of 64 blocks %s", e.msg)) {
        ok(back.c.window == 5 &&
                memcmp(back.c.local, c.local, sizeof c.local) == 0 &&
                memcmp(back.c.no_rope, c.no_rope, sizeof c.no_rope) == 0,
            "blocks without a window have no RoPE");
        model_close(&back);
    }
    m.c.window = 0;
    memset(m.c.local, 0, sizeof m.c.local);
    memset(m.c.no_rope, 0, sizeof m.c.no_rope);
    ok(export_as(&m, "out.gguf", "f32", &e) < 0 &&
            strstr(e.msg, "layer_types: windows that are not in 3 of 4") !=
                NULL,
        "64 blocks without windows are refused: %s", e.msg);
    remove("out.gguf");
    model_random_free(&m);
    arena_release(&a);
}

static void
test_all_missing(void)
{
    static const struct {
        const char *folder, *key;
    } keys[] = {
        { "family/granite", "granite.attention.scale" },
        { "family/granite", "granite.embedding_scale" },
        { "family/granite", "granite.residual_scale" },
        { "family/granite", "granite.logit_scale" },
        { "family/qwen3", "qwen3.attention.layer_norm_rms_epsilon" },
        { "family/gemma3", "gemma3.rope.freq_base" },
        { "experts/mixtral", "llama.rope.freq_base" },
        { "experts/gpt_oss", "gpt-oss.attention.sliding_window" },
        { "experts/gpt_oss", "gpt-oss.rope.scaling.factor" },
        { "family/phi3", "phi3.rope.dimension_count" },
        { "family/phi3", "phi3.rope.scaling.attn_factor" },
        { "family/phi3", "phi3.rope.scaling.original_context_length" },
        { "family/ministral3", "mistral3.attention.temperature_scale" },
        { "family/ministral3", "mistral3.rope.scaling.yarn_log_multiplier" },
        { "experts/deepseek_v3", "deepseek2.rope.scaling.yarn_log_multiplier" },
        { "experts/deepseek_v3", "deepseek2.expert_weights_scale" },
        { "experts/deepseek_v3", "deepseek2.expert_weights_norm" },
        { "experts/deepseek_v3", "deepseek2.expert_group_count" },
        { "experts/deepseek_v3", "deepseek2.expert_group_used_count" },
        { "family/lfm2", "lfm2.attention.head_count_kv" },
        { "family/lfm2", "lfm2.shortconv.l_cache" },
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        test_missing(keys[i].folder, keys[i].key);
}

int
main(void)
{
    static const char *const folders[] = { "gguf/f32-hf", "family/mistral",
        "family/qwen2", "family/qwen3", "family/gemma3", "family/gemma2",
        "family/gemma", "family/cohere", "family/cohere2", "family/olmo2",
        "family/olmo3", "family/smollm3", "family/granite", "family/phi3",
        "family/ministral3", "family/seed_oss", "family/ministral",
        "family/qwen3_5", "experts/qwen3_next", "experts/qwen3_5_moe",
        "experts/mixtral", "experts/qwen2_moe", "experts/qwen3_moe",
        "experts/olmoe", "experts/gpt_oss", "experts/deepseek_v2",
        "experts/deepseek_v3", "family/youtu", "family/lfm2", "family/apertus",
        "family/gpt_neox", "family/gpt2", "family/starcoder2", "family/phi",
        "family/glm4", "family/glm4-bare", "family/glm",
        "family/exaone4-full" };

    kern_init();
    note_sink = listen;
    pool = pool_new(2, NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const struct config c = golden_config(folders[i]);

        test_ropes(&c);
        test_blocks(&c);
    }
    test_all_missing();
    test_gemma2();
    test_exaone4();
    printf("# GGUFs written %zu, refused %zu\n", written, refused);
    pool_free(pool);
    return done_testing();
}
