/* Families of models, against tiny models of transformers: logits in prefill
 * and with a KV cache, gradients of the cross-entropy, and logits after an
 * export. */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "model/pass/backward.h"
#include "../lib/tap.h"
#include "../lib/golden.h"
#include "model/files/export.h"
#include "../lib/export_as.h"
#include "model/config/family.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"

#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 20 };

struct family_case {
    const char *name;
    struct golden g;
    uint32_t ids[B * T], first[B * T];
    struct rows r;
    size_t d, V;
    double limit; /* of the distance of a logit: 1e-5 of the largest one */
};

/* A folder of cases other than tests/golden/family; or NULL. */
static const char *cases;

static char *
case_path(const char *name, const char *end)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";

    return cases != NULL
        ? xasprintf("%s/%s%s", cases, name, end)
        : xasprintf("%s/tests/golden/family/%s%s", top, name, end);
}

static double
largest_logit(const struct family_case *c)
{
    const struct st_tensor *z = golden_get(&c->g, "logits");
    double top = 0.0;

    for (size_t i = 0; i < z->n; i++)
        top = fmax(top, fabs(golden_at(z, i)));
    return top;
}

static void
case_open(struct family_case *c, const char *name)
{
    char *path = case_path(name, ".safetensors");
    const struct st_tensor *ids, *first;

    golden_open(&c->g, path);
    free(path);
    c->name = name;
    ids = golden_get(&c->g, "ids");
    first = golden_get(&c->g, "first");
    for (size_t i = 0; i < B * T; i++) {
        uint16_t id;

        memcpy(&id, (const char *)ids->data + 2 * i, sizeof id);
        c->ids[i] = id;
        memcpy(&c->first[i], (const char *)first->data + 4 * i, sizeof(id) * 2);
    }
    c->r = (struct rows){ B, T, c->ids, c->first };
    c->limit = largest_logit(c) * 1e-5;
}

static void
case_model(struct family_case *c, const char *path, struct model *m)
{
    struct err e;

    if (model_open(m, path, &e) != 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    c->d = m->c.d;
    c->V = m->c.V;
}

/* The largest distance of z from row `at` of the golden logits. */
static double
off_by(const struct family_case *c, size_t at, const float *z)
{
    const struct st_tensor *want = golden_get(&c->g, "logits");
    double off = 0.0;

    for (size_t v = 0; v < c->V; v++)
        off = farther(off, fabs(z[v] - golden_at(want, at * c->V + v)));
    return off;
}

static double
prefill(const struct family_case *c, const struct model *m, struct pool *pool)
{
    struct fwd *f = fwd_new(m, pool, B, T);
    float *x = xcalloc(B * T * c->d, sizeof *x);
    float *z = xcalloc(c->V, sizeof *z);
    double off = 0.0;

    fwd_states(f, &c->r, x);
    for (size_t i = 0; i < B * T; i++) {
        fwd_head(f, x + i * c->d, 1, z);
        off = farther(off, off_by(c, i, z));
    }
    fwd_free(f);
    free(x);
    free(z);
    return off;
}

/* The number of tokens of the piece that begins at token i of the batch. */
static size_t
piece_length(const struct family_case *c, size_t i)
{
    size_t n = 1;

    while ((i + n) % T != 0 && c->first[i + n] == c->first[i])
        n++;
    return n;
}

/* Generate each piece in turn, in a cache of its length: `now` tokens at once,
 * then one by one.  Returns the largest error of the logits. */
static double
generate(const struct family_case *c, const struct model *m, struct pool *pool,
    size_t now)
{
    struct kv_more more = { .text = 1, .logits = 1 };
    struct kvcache *k = NULL;
    float *z = xcalloc(c->V, sizeof *z);
    double off = 0.0;

    for (size_t i = 0; i < B * T; i += more.n) {
        const int start = i % T == c->first[i];

        if (start) {
            kv_free(k);
            k = kv_new(m, pool, 2, 2, T + 1);
            more.length = piece_length(c, i);
        }
        more.ids = c->ids + i;
        more.n = start ? now : 1;
        if (kv_feed(k, &more, 1, z) < 0)
            off = INFINITY;
        off = farther(off, off_by(c, i + more.n - 1, z));
    }
    kv_free(k);
    free(z);
    return off;
}

/* Replace the final states by the cross-entropy's gradients with respect to
 * them, and add those of the head and of its bias to their groups.  The logits
 * are the golden ones. */
static void
loss_grad(const struct family_case *c, struct tmodel *t, float *final)
{
    const struct group *head = &t->group[t->m.c.L + (t->m.c.tied ? 0 : 2)];
    const struct st_tensor *z = golden_get(&c->g, "logits");
    const double cap = t->m.c.final_cap;
    float *db = family_has_outer(&t->m.c, OUTER_HEAD_BIAS)
        ? t->group[t->m.c.L + OUTER_HEAD_BIAS].g
        : NULL;
    float *h = xmalloc(c->d * sizeof *h);
    size_t n = 0;

    for (size_t i = 0; i + 1 < B * T; i++)
        n += c->first[i] == c->first[i + 1] && (i + 1) % T != 0;
    for (size_t i = 0; i < B * T; i++) {
        const int in = (i + 1) % T != 0 && c->first[i] == c->first[i + 1];
        double sum = 0.0;

        memcpy(h, final + i * c->d, c->d * sizeof *h);
        memset(final + i * c->d, 0, c->d * sizeof *h);
        for (size_t v = 0; in && v < c->V; v++)
            sum += exp(golden_at(z, i * c->V + v));
        for (size_t v = 0; in && v < c->V; v++) {
            const double zv = golden_at(z, i * c->V + v);
            const double capped = cap > 0 ? zv / cap : 0;
            const double dz = (exp(zv) / sum - (v == c->ids[i + 1])) /
                (double)n * (1 - capped * capped);

            for (size_t k = 0; k < c->d; k++) {
                final[i * c->d + k] += (float)(dz * head->p[v * c->d + k]);
                head->g[v * c->d + k] += (float)(dz * h[k]);
            }
            if (db != NULL)
                db[v] += (float)dz;
        }
    }
    free(h);
}

static size_t
size_at(const struct tmodel *t, size_t i, int k)
{
    return t->m.block[i].w[k].rows * t->m.block[i].w[k].cols;
}

/* The number of golden numbers in the tensor `name`. */
static size_t
count(const struct golden *g, const char *name)
{
    const struct st_tensor *t = st_find(&g->st, name);

    return t != NULL ? t->n : 0;
}

/* How far the gradient of tensor k of block i is from `want`.  The terms of a
 * single number cancel, so it is measured by the gradient of W_DOWN. */
static double
tensor_off(const struct tmodel *t, const struct golden *g, size_t i, int k,
    const struct st_tensor *want)
{
    const float *got = t->group[i].g + t->group[i].at[k];
    double top = fabs(golden_at(want, 0));
    const struct st_tensor *down;
    char name[100];

    if (!block_is_xielu(k))
        return golden_off(got, want);
    snprintf(name, sizeof name, "grad.%s%zu.%s", family_blocks(&t->m.c), i,
        block_tensor_name(&t->m.c, W_DOWN));
    down = golden_get(g, name);
    for (size_t n = 0; n < down->n; n++)
        top = fmax(top, fabs(golden_at(down, n)));
    return fabs(*got - golden_at(want, 0)) / top;
}

static double
all(const struct tmodel *t, const struct golden *g)
{
    const size_t L = t->m.c.L;
    size_t n = 0, want = 0;
    double w = 0.0;
    char name[100];

    for (size_t i = 0; i < L; i++) {
        for (int k = 0; k < W_N; k++) {
            const struct stored_rows part = block_stored(&t->m.c, k, 0);

            if (part.name == NULL)
                continue;
            n += size_at(t, i, k);
            if (part.first != k) /* its gradient follows the first one's */
                continue;
            snprintf(name, sizeof name, "grad.%s%zu.%s", family_blocks(&t->m.c),
                i, part.name);
            if (size_at(t, i, k) > 0)
                w = farther(w, tensor_off(t, g, i, k, golden_get(g, name)));
            want += count(g, name);
        }
    }
    for (enum outer_tensor k = OUTER_EMBED; k < OUTER_N; k++) {
        if (!family_has_outer(&t->m.c, k))
            continue;
        snprintf(name, sizeof name, "grad.%s",
            family_outer_name(&t->m.c, k, 0));
        w = farther(w, golden_off(t->group[L + k].g, golden_get(g, name)));
    }
    return n == want ? w : INFINITY;
}

/* Run both passes; the gradients are in t. */
static void
pass(struct family_case *c, struct tmodel *t, struct pool *pool, int how)
{
    struct bwd *b = bwd_new(t, pool, B, T, how);

    tmodel_zero_grad(t);
    bwd_forward(b, &c->r);
    loss_grad(c, t, bwd_final(b));
    bwd_backward(b, &c->r, NULL, NULL);
    bwd_flush(b);
    bwd_free(b);
}

/* Activations are kept rounded to bf16: recomputing them changes no bit. */
static void
rounded(struct family_case *c, struct tmodel *t, struct pool *pool)
{
    float *was = xcalloc(t->nparam, sizeof *was), *p = was;
    int same = 1;

    pass(c, t, pool, BWD_BF16);
    for (size_t i = 0; i < t->ngroup; p += t->group[i++].n)
        if (t->group[i].n > 0)
            memcpy(p, t->group[i].g, t->group[i].n * sizeof *p);
    pass(c, t, pool, BWD_BF16 | BWD_RECOMPUTE);
    p = was;
    for (size_t i = 0; i < t->ngroup; p += t->group[i++].n)
        same &= t->group[i].n == 0 ||
            memcmp(p, t->group[i].g, t->group[i].n * sizeof *p) == 0;
    ok(same && all(t, &c->g) < 0.1, "%s: bf16, kept or recomputed: %.2g",
        c->name, all(t, &c->g));
    free(was);
}

static void
gradients(struct family_case *c, const struct model *m, struct pool *pool)
{
    struct block_shape shape[16];
    struct tmodel t;

    tmodel_init(&t, m);
    model_shape(m, shape);
    ok(t.nparam == model_params(m) && t.nparam == config_params(&m->c, shape),
        "%s: %zu parameters", c->name, t.nparam);
    for (int recompute = 0; recompute < 2; recompute++) {
        double w;

        pass(c, &t, pool, recompute);
        w = all(&t, &c->g);
        ok(w <= 1e-4, "%s: gradients%s (%.2g)", c->name,
            recompute ? ", recomputed" : "", w);
    }
    rounded(c, &t, pool);
    tmodel_release(&t);
}

/* transformers asks for lists of one number, but beta and eps without a
 * dimension. */
static int
scalars_fit(const char *file)
{
    struct golden g;
    int fit = 1;

    golden_open(&g, file);
    for (size_t i = 0; i < g.st.nt; i++)
        if (strstr(g.st.t[i].name, ".act_fn.") != NULL)
            fit &=
                g.st.t[i].ndim == (strstr(g.st.t[i].name, ".alpha_") != NULL);
    golden_close(&g);
    return fit;
}

static void
test_family(const char *name, struct pool *pool)
{
    char *path = case_path(name, "");
    struct family_case c;
    struct model m, again;
    struct err e;
    double off;

    case_open(&c, name);
    case_model(&c, path, &m);
    off = prefill(&c, &m, pool);
    ok(off <= c.limit, "%s: logits (%.2g)", name, off);
    off = generate(&c, &m, pool, 1);
    ok(off <= c.limit, "%s: token by token (%.2g)", name, off);
    off = generate(&c, &m, pool, 7);
    ok(off <= c.limit, "%s: after a prompt of 7 (%.2g)", name, off);
    gradients(&c, &m, pool);
    if (ok(model_export(&m, "out", DT_BF16, NULL, NULL, &e) == 0 &&
                scalars_fit("out/model.safetensors") &&
                model_open(&again, "out", &e) == 0,
            "%s: it is exported, read", name)) {
        off = prefill(&c, &again, pool);
        ok(off <= c.limit, "%s: the same after that (%.2g)", name, off);
        model_close(&again);
    } else {
        printf("# %s\n", e.msg);
    }
    dir_remove("out", NULL);
    model_close(&m);
    golden_close(&c.g);
    free(path);
}

/* Export m as a GGUF, open that as *again, and return how far its logits are
 * from the golden ones.  The caller closes *again and removes out.gguf. */
static double
through_gguf(struct family_case *c, const char *name, const struct model *m,
    struct model *again, struct pool *pool)
{
    struct err e;

    ok(export_as(m, "out.gguf", "f32", &e) == 0, "%s: as a GGUF", name);
    case_model(c, "out.gguf", again);
    return prefill(c, again, pool);
}

/* Blocks with fewer groups or channels than the widest.  A directory keeps
 * their shapes.  In a GGUF they are padded with zeros, so they come back whole,
 * with the same logits. */
static void
test_cut(const char *name, struct pool *pool)
{
    static const struct block_shape want[] = { { 2, 8, 0, 0, 0 },
        { 1, 5, 1, 0, 0 }, { 0, 8, 2, 0, 0 }, { 2, 0, 3, 0, 0 } };
    char *path = case_path(name, "");
    struct block_shape shape[4];
    struct family_case c;
    struct model m, again;
    struct err e;
    double off;

    case_open(&c, name);
    case_model(&c, path, &m);
    model_shape(&m, shape);
    ok(m.c.L == 4 && memcmp(shape, want, sizeof want) == 0,
        "%s: shapes of its blocks", name);
    ok(model_export(&m, "out", DT_F32, NULL, NULL, &e) == 0,
        "%s: it is exported", name);
    case_model(&c, "out", &again);
    model_shape(&again, shape);
    ok(memcmp(shape, want, sizeof want) == 0, "%s: which come back", name);
    model_close(&again);
    dir_remove("out", NULL);
    off = through_gguf(&c, name, &m, &again, pool);
    ok(again.block[2].groups == 2 && off <= c.limit,
        "%s: whole there, the same (%.2g)", name, off);
    model_close(&again);
    model_close(&m);
    remove("out.gguf");
    golden_close(&c.g);
    free(path);
}

/* The model read from a GGUF, and what is exported from it, are the same. */
static void
test_gguf(const char *name, struct pool *pool)
{
    char *path = case_path(name, ".gguf");
    struct family_case c;
    struct model m;
    struct err e;
    double off;

    case_open(&c, name);
    case_model(&c, path, &m);
    if (m.c.attn_scalar > 0 && cases == NULL)
        m.c.attn_scalar = 11; /* a GGUF cannot hold this scale */
    if (strcmp(name, "smollm3") == 0 && cases == NULL)
        config_set_rope(&m.c, 1, 0); /* a GGUF cannot hold this either */
    off = prefill(&c, &m, pool);
    ok(off <= c.limit, "%s.gguf: logits (%.2g)", name, off);
    ok(model_export(&m, "out", DT_F32, NULL, NULL, &e) == 0,
        "%s.gguf: it is exported", name);
    model_close(&m);
    case_model(&c, "out", &m);
    off = prefill(&c, &m, pool);
    ok(off <= c.limit, "%s.gguf: the same after that (%.2g)", name, off);
    model_close(&m);
    dir_remove("out", NULL);
    golden_close(&c.g);
    free(path);
}

/* A type that is another name of a family, such as ernie4_5 of llama, is
 * exported as a GGUF of that family, which has its logits. */
static void
test_written(const char *name, struct pool *pool)
{
    char *path = case_path(name, "");
    struct family_case c;
    struct model m, again;
    double off;

    case_open(&c, name);
    case_model(&c, path, &m);
    off = through_gguf(&c, name, &m, &again, pool);
    ok(off <= c.limit, "%s: the logits of that GGUF (%.2g)", name, off);
    model_close(&again);
    model_close(&m);
    remove("out.gguf");
    golden_close(&c.g);
    free(path);
}

/* Test the cases argv[2..] of the folder argv[1], such as those that
 * scripts/oracle/family_sweep.py makes. */
static int
test_folder(char **argv, struct pool *pool)
{
    cases = argv[1];
    for (char **name = argv + 2; *name != NULL; name++) {
        char *gguf = case_path(*name, ".gguf");

        test_family(*name, pool);
        if (io_exists(gguf))
            test_gguf(*name, pool);
        free(gguf);
    }
    pool_free(pool);
    return done_testing();
}

int
main(int argc, char **argv)
{
    static const char *const names[] = { "llama", "mistral", "mistral-full",
        "qwen2", "qwen3", "gemma3", "gemma2", "gemma", "cohere", "cohere2",
        "olmo2", "olmo2-full", "olmo3", "smollm3", "granite", "phi3",
        "ministral3", "mistral3", "seed_oss", "ministral", "ministral-full",
        "ernie4_5", "granitemoehybrid", "qwen2_5_vl", "qwen3_vl", "youtu",
        "gpt_neox", "gpt_neox-serial", "gpt_neox-published", "gpt2",
        "gpt2-untied", "gpt2-published", "starcoder2", "starcoder2-window",
        "phi", "phi-tied", "glm4", "glm4-bare", "glm", "exaone4",
        "exaone4-full", "lfm2", "lfm2-sees", "apertus", "qwen3_5",
        "qwen3_5-sees", "llama-cut", "qwen2-cut", "qwen3-cut", "gemma3-cut",
        "apertus-cut", "gpt_neox-cut", "gpt2-cut", "starcoder2-cut", "phi-cut",
        "glm4-cut", "exaone4-cut" };
    static const char *const ggufs[] = { "llama", "mistral-full", "qwen2",
        "qwen3", "gemma3", "gemma2", "gemma", "cohere", "cohere2", "olmo2-full",
        "olmo3", "smollm3", "granite", "phi3", "ministral3", "seed_oss",
        "ministral-full", "lfm2", "apertus", "gpt_neox", "gpt2", "starcoder2",
        "phi", "glm4", "glm", "exaone4-full", "qwen3_5" };
    static const char *const written[] = { "ernie4_5", "granitemoehybrid",
        "qwen2_5_vl", "qwen3_vl", "youtu" };
    struct pool *pool = pool_new(2, NULL);

    if (argc > 2)
        return test_folder(argv, pool);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_family(names[i], pool);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(names[i], "-cut") != NULL)
            test_cut(names[i], pool);
    for (size_t i = 0; i < sizeof ggufs / sizeof *ggufs; i++)
        test_gguf(ggufs[i], pool);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        test_written(written[i], pool);
    pool_free(pool);
    return done_testing();
}
