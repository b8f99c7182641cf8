/* A cut model computes what the kept parts computed before. */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/files/export.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"
#include "prune/cost.h"
#include "prune/cut_model.h"
#include "../lib/choice_whole.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { T = 24 };

static struct pool *pool;
static uint32_t ids[T], first[T];
static const struct rows rows = { 1, T, ids, first };

static void
open_model(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (size_t t = 0; t < T; t++) {
        ids[t] = (uint32_t)((t * t * 5 + 3) % m->c.V);
        first[t] = t < 10 ? 0 : t < 20 ? 10 : UINT32_MAX;
    }
}

/* Logits after the listed blocks of m, of which block[i] computes part[i] alone
 * (part NULL: all of it). */
static float *
logits(const struct model *m, const size_t *block, size_t n,
    const struct fwd_part *part)
{
    struct fwd *f = fwd_new(m, pool, 1, T);
    float *x = xcalloc(T * m->c.d, sizeof *x);
    float *z = xcalloc(T * m->c.V, sizeof *z);

    fwd_embed(f, &rows, x);
    for (size_t i = 0; i < n; i++)
        fwd_block_part(f, block[i], &rows, x, x,
            part != NULL ? &part[i] : NULL);
    fwd_norm(f, &rows, x, x);
    fwd_head(f, x, T, z);
    free(x);
    fwd_free(f);
    return z;
}

static const size_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static double
worst(const float *a, const float *b, size_t n)
{
    double w = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double e = fabs((double)a[i] - b[i]);

        w = e <= w ? w : isnan(e) ? INFINITY : e;
    }
    return w;
}

/* Set b to block i of m, with those groups and channels: "all", "last",
 * "thirds" (two of three), or "-" for none. */
static void
keep(struct choice_block *b, const struct model *m, size_t i,
    const char *groups, const char *chan)
{
    const char *const text[2] = { groups, chan };
    const size_t all[2] = { m->block[i].groups, m->block[i].mlp };

    memset(b, 0, sizeof *b);
    b->block = i;
    for (int k = 0; k < 2; k++) {
        size_t *list = xcalloc(all[k], sizeof *list), n = 0;

        if (strcmp(text[k], "thirds") == 0) {
            for (size_t c = 0; c < all[k]; c++)
                if (c % 3 != 1)
                    list[n++] = c;
        } else if (strcmp(text[k], "last") == 0) {
            list[n++] = all[k] - 1;
        } else if (strcmp(text[k], "all") == 0) {
            for (; n < all[k]; n++)
                list[n] = n;
        }
        (k == 0 ? choice_set_groups : choice_set_channels)(b, list, n, all[k]);
    }
}

/* The part that computes only the channels and groups of b; the caller frees
 * its lists. */
static struct fwd_part
part_of(const struct model *m, const struct choice_block *b)
{
    float *group = xcalloc(m->block[b->block].groups, sizeof *group);
    float *chan = xcalloc(m->block[b->block].mlp, sizeof *chan);

    for (size_t i = 0; i < b->ngroups; i++)
        group[b->group != NULL ? b->group[i] : i] = 1.0f;
    for (size_t i = 0; i < b->nchan; i++)
        chan[b->chan != NULL ? b->chan[i] : i] = 1.0f;
    /* a branch that is left out takes its bias with it */
    return (struct fwd_part){ b->ngroups == 0 &&
            block_tensor_name(&m->c, W_BO) != NULL,
        b->nchan == 0 && block_tensor_name(&m->c, W_BDOWN) != NULL, group,
        chan };
}

/* Parameters that a search counts for c. */
static size_t
params_of(const struct model *m, const struct choice *c)
{
    const struct costs k = { .m = m, .T = 1, .width = 1 };
    struct conf conf;
    struct cost cost;

    conf_of_choice(&conf, c, m);
    cost_of(&k, &conf, &cost);
    conf_release(&conf);
    return (size_t)cost.params;
}

/* Keep all, then drop block `gone`. */
static void
test_blocks(const char *path, size_t gone)
{
    struct model m, all, less;
    struct choice c;
    struct arena a1, a2;
    size_t left[8], n = 0;
    float *z, *y;

    open_model(&m, path);
    choice_whole(&c, &m);
    model_cut(&all, &m, &c, &a1);
    z = logits(&m, order, m.c.L, NULL);
    y = logits(&all, order, m.c.L, NULL);
    ok(memcmp(z, y, T * m.c.V * sizeof *z) == 0 &&
            model_params(&all) == model_params(&m) && all.c.KV == m.c.KV &&
            all.c.H == m.c.H && all.c.mlp == m.c.mlp,
        "%s: keeping everything changes no bit", path);
    free(z);
    free(y);

    for (size_t i = 0; i < m.c.L; i++)
        if (i != gone) {
            c.b[n] = c.b[i];
            left[n++] = i;
        }
    c.n = n;
    model_cut(&less, &m, &c, &a2);
    z = logits(&m, left, n, NULL);
    y = logits(&less, order, n, NULL);
    ok(less.c.L == n && memcmp(z, y, T * m.c.V * sizeof *z) == 0,
        "%s: the other blocks compute the same without block %zu", path, gone);
    free(z);
    free(y);
    for (size_t i = 0; i < n; i++)
        ok(less.block[i].source == m.block[left[i]].source,
            "%s without block %zu: block %zu names its source", path, gone, i);
    ok(model_params(&less) == params_of(&m, &c),
        "%s without block %zu: parameters are counted", path, gone);
    choice_release(&c);
    model_cut_free(&less, &a2);
    model_cut_free(&all, &a1);
    model_close(&m);
}

/* Cut one block of m, and compare with the block whose other parts are zero. */
static void
test_parts(const char *path, size_t i, const char *groups, const char *chan)
{
    struct model m, cut;
    struct choice_block b;
    struct choice c = { 1, &b };
    struct fwd_part part;
    struct arena a;
    float *z, *y, *whole;

    open_model(&m, path);
    keep(&b, &m, i, groups, chan);
    model_cut(&cut, &m, &c, &a);
    part = part_of(&m, &b);
    z = logits(&m, &i, 1, &part);
    y = logits(&cut, order, 1, NULL);
    whole = logits(&m, &i, 1, NULL);
    ok(worst(z, y, T * m.c.V) <= 4e-6,
        "%s: groups %s, channels %s compute as if zeroed (off by %.2g)", path,
        groups, chan, worst(z, y, T * m.c.V));
    ok(worst(whole, y, T * m.c.V) > 1e-3,
        "%s: groups %s, channels %s compute otherwise than all", path, groups,
        chan);
    ok(cut.block[0].source == m.block[i].source &&
            cut.block[0].groups == b.ngroups && cut.block[0].mlp == b.nchan &&
            cut.c.mlp == (b.nchan > 0 ? b.nchan : 1) &&
            cut.c.KV ==
                (family_of(&m.c)->even_heads ? m.c.KV
                        : b.ngroups > 0      ? b.ngroups
                                             : 1) &&
            cut.c.H == cut.c.KV * (m.c.H / m.c.KV) &&
            model_params(&cut) == params_of(&m, &c),
        "%s: groups %s, channels %s have the shapes of the choice", path,
        groups, chan);
    free(z);
    free(y);
    free(whole);
    free((void *)(uintptr_t)part.group);
    free((void *)(uintptr_t)part.chan);
    free(b.group);
    free(b.chan);
    model_cut_free(&cut, &a);
    model_close(&m);
}

/* Cut a model that was cut: the result is that of one cut by both lists. */
static void
test_twice(const char *path)
{
    struct model m, once, twice;
    struct choice_block b1[2], b2;
    struct arena a1, a2;
    struct fwd_part part;
    size_t last, chan[300], n = 0;
    float *flag, *z, *y;

    open_model(&m, path);
    last = m.c.L - 1;
    keep(&b1[0], &m, 0, "all", "all");
    keep(&b1[1], &m, last, "last", "thirds");
    model_cut(&once, &m, &(struct choice){ 2, b1 }, &a1);
    keep(&b2, &once, 1, "all", "thirds");
    model_cut(&twice, &once, &(struct choice){ 1, &b2 }, &a2);
    for (size_t i = 0; i < b2.nchan; i++)
        chan[n++] = b1[1].chan[b2.chan[i]];
    flag = xcalloc(m.block[last].mlp, sizeof *flag);
    for (size_t i = 0; i < n; i++)
        flag[chan[i]] = 1.0f;
    part = part_of(&m, &b1[1]);
    free((void *)(uintptr_t)part.chan);
    part.chan = flag;
    z = logits(&m, &last, 1, &part);
    y = logits(&twice, order, 1, NULL);
    ok(worst(z, y, T * m.c.V) <= 4e-6 &&
            twice.block[0].source == m.block[last].source,
        "%s: a model that is cut twice computes as if cut once", path);
    free(z);
    free(y);
    free(flag);
    free((void *)(uintptr_t)part.group);
    free(b1[1].group);
    free(b1[1].chan);
    free(b2.chan);
    model_cut_free(&twice, &a2);
    model_cut_free(&once, &a1);
    model_close(&m);
}

/* A sparse matrix stays sparse if a cut keeps all of its columns. */
static void
test_sparse(const char *path)
{
    struct model m, cut;
    struct choice_block b;
    struct arena a;

    open_model(&m, path);
    m.block[1].sparse =
        1u << W_Q | 1u << W_O | 1u << W_GATE | 1u << W_UP | 1u << W_DOWN;
    keep(&b, &m, 1, "last", "thirds");
    model_cut(&cut, &m, &(struct choice){ 1, &b }, &a);
    ok(cut.block[0].sparse == (1u << W_Q | 1u << W_GATE | 1u << W_UP),
        "matrices that keep their columns stay sparse");
    model_cut_free(&cut, &a);
    free(b.group);
    free(b.chan);
    keep(&b, &m, 1, "-", "all");
    model_cut(&cut, &m, &(struct choice){ 1, &b }, &a);
    ok(cut.block[0].sparse == (1u << W_GATE | 1u << W_UP | 1u << W_DOWN),
        "matrices of a dropped attention are not sparse");
    model_cut_free(&cut, &a);
    free(b.group);
    model_close(&m);
}

/* A cut model that is exported and opened again computes the same. */
static void
test_export(const char *path, const char *groups, const char *chan)
{
    struct model m, cut, back;
    struct choice_block b[2];
    struct arena a;
    struct err e;
    float *z, *y;

    open_model(&m, path);
    keep(&b[0], &m, 0, "all", "all");
    keep(&b[1], &m, 2, groups, chan);
    model_cut(&cut, &m, &(struct choice){ 2, b }, &a);
    dir_remove("export", NULL);
    ok(model_export(&cut, "export", DT_F32, NULL, NULL, &e) == 0,
        "groups %s, channels %s: the cut model is exported", groups, chan);
    open_model(&back, "export");
    z = logits(&cut, order, 2, NULL);
    y = logits(&back, order, 2, NULL);
    ok(memcmp(z, y, T * m.c.V * sizeof *z) == 0,
        "groups %s, channels %s: the export computes the same logits", groups,
        chan);
    ok(back.block[1].mlp == b[1].nchan &&
            back.block[1].groups == b[1].ngroups &&
            back.c.mlp == m.block[0].mlp && back.c.KV == m.c.KV &&
            back.block[1].source == 2 &&
            model_params(&back) == model_params(&cut),
        "groups %s, channels %s: shapes, sources and parameters survive",
        groups, chan);
    free(z);
    free(y);
    free(b[1].group);
    free(b[1].chan);
    model_close(&back);
    model_cut_free(&cut, &a);
    model_close(&m);
}

static void
test_family(const char *path, size_t block)
{
    test_blocks(path, block);
    test_parts(path, block, "all", "thirds");
    test_parts(path, block, "-", "all");
    test_parts(path, block, "all", "-");
}

/* The tests of test_family, and those that need several groups. */
static void
test_groups(const char *path, size_t block)
{
    test_family(path, block);
    test_parts(path, block, "last", "all");
    test_parts(path, block, "last", "thirds");
    test_twice(path);
}

int
main(void)
{
    tap_scratch();
    pool = pool_new(2, NULL);
    test_groups("tests/golden/grad/tied-teacher", 1);
    test_groups("tests/golden/grad/untied-teacher", 0);
    test_groups("tests/golden/grad/tied-student", 0);
    test_groups("tests/golden/gguf/q4_1.gguf", 0);
    test_groups("tests/golden/gguf/bf16.gguf", 1);
    test_family("tests/golden/family/mistral", 0);
    test_family("tests/golden/family/qwen2", 0);
    test_family("tests/golden/family/qwen3", 0);
    test_family("tests/golden/family/gemma3", 1);
    test_family("tests/golden/family/olmo2", 0);
    test_family("tests/golden/family/olmo3", 1);
    test_groups("tests/golden/family/gemma2", 1);
    test_groups("tests/golden/family/smollm3", 1);
    test_groups("tests/golden/family/granite", 0);
    test_groups("tests/golden/family/phi3", 0);
    test_groups("tests/golden/family/ministral3", 1);
    test_groups("tests/golden/family/seed_oss", 0);
    test_groups("tests/golden/family/apertus", 0);
    test_groups("tests/golden/family/gpt_neox", 0);
    test_groups("tests/golden/family/gpt2-untied", 1);
    test_groups("tests/golden/family/starcoder2", 0);
    test_groups("tests/golden/family/starcoder2-window", 1);
    test_groups("tests/golden/family/phi", 0);
    test_groups("tests/golden/family/phi", 1);
    test_groups("tests/golden/family/glm4", 0);
    test_groups("tests/golden/family/glm4-bare", 1);
    test_groups("tests/golden/family/glm", 1);
    test_groups("tests/golden/family/exaone4", 0);
    test_groups("tests/golden/family/ministral", 1);
    test_groups("tests/golden/family/cohere", 0);
    test_groups("tests/golden/family/cohere2", 1);
    test_family("tests/golden/family/lfm2", 1);
    test_parts("tests/golden/family/lfm2", 1, "last", "thirds");
    test_blocks("tests/golden/family/lfm2", 0);
    test_parts("tests/golden/family/lfm2", 2, "all", "thirds");
    /* biases and norms of heads, beside blocks of other shapes */
    for (int i = 0; i < 3; i++) {
        static const char *const cut[] = { "tests/golden/family/qwen2-cut",
            "tests/golden/family/qwen3-cut", "tests/golden/family/gemma3-cut" };

        test_blocks(cut[i], 1);
        test_parts(cut[i], 0, "last", "all");
        test_parts(cut[i], 0, "last", "thirds");
    }
    test_sparse("tests/golden/grad/tied-teacher");
    test_export("tests/golden/grad/tied-teacher", "all", "thirds");
    test_export("tests/golden/grad/tied-teacher", "last", "all");
    test_export("tests/golden/grad/tied-teacher", "-", "thirds");
    test_export("tests/golden/grad/tied-teacher", "last", "-");
    pool_free(pool);
    return done_testing();
}
