/*
 * SmolLM2-135M-Instruct (its GGUF is argument 1) against golden values from
 * transformers, the tokenizers library and llama.cpp: ids, logits, greedy
 * continuation, export.  Run by tests/real/smollm2.sh.
 */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "model/files/export.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"
#include "tok/tok.h"
#include "format/json.h"
#include "kern/kern.h"
#include "model/pass/forward.h"
#include "../lib/tap.h"
#include "../lib/golden.h"
#include "../lib/tok_open.h"

#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/golden/smollm2/"

enum { B = 4, T = 512, NPOS = 16, NVOC = 128 };

static const void *
data(const struct golden *g, const char *name, enum dtype t)
{
    const struct st_tensor *x = st_find(&g->st, name);

    if (!x || x->dtype != t) {
        printf("Bail out! golden tensor %s\n", name);
        exit(1);
    }
    return x->data;
}

static int
same_ids(const struct tok_ids *a, const json_t *want)
{
    if (a->n != json_array_size(want))
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (json_integer_value(json_array_get(want, i)) != (json_int_t)a->v[i])
            return 0;
    return 1;
}

/* ids.jsonl: nasty cases and 24 languages; ids.bin: all of text.txt. */
static void
test_ids(const char *path, const char *what)
{
    struct tokenizer *t = must_tok(path);
    struct tok_scratch *s = tok_scratch_new(t);
    struct tok_ids a = { 0 };
    struct io_map text, ids, lines;
    struct err e;
    size_t cases = 0, wrong = 0, same = 0, at = 0;

    if (io_map(&text, GOLDEN "text.txt", &e) < 0 ||
        io_map(&ids, GOLDEN "ids.bin", &e) < 0 ||
        io_map(&lines, GOLDEN "ids.jsonl", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    tok_encode(t, s, (const char *)text.p, text.n, 0, &a);
    for (size_t i = 0; i < a.n && 2 * i + 1 < ids.n; i++)
        same += a.v[i] == (uint32_t)(ids.p[2 * i] | ids.p[2 * i + 1] << 8);
    ok(a.n == ids.n / 2 && same == a.n, "%s: %zu of %zu ids of text.txt", what,
        same, ids.n / 2);
    while (at < lines.n) {
        const unsigned char *end = memchr(lines.p + at, '\n', lines.n - at);
        const size_t n = end ? (size_t)(end - lines.p) - at : lines.n - at;
        json_t *j =
            json_loadb((const char *)lines.p + at, n, JSON_ALLOW_NUL, NULL);
        const json_t *x = json_object_get(j, "text");

        a.n = 0;
        tok_encode(t, s, json_string_value(x), json_string_length(x),
            TOK_SPECIAL, &a);
        cases++;
        if (!same_ids(&a, json_object_get(j, "ids"))) {
            wrong++;
            printf("# line %zu of ids.jsonl\n", cases);
        }
        json_decref(j);
        at += n + 1;
    }
    ok(cases == 101 && wrong == 0, "%s: %zu of %zu cases differ", what, wrong,
        cases);
    io_unmap(&text);
    io_unmap(&ids);
    io_unmap(&lines);
    tok_ids_release(&a);
    tok_scratch_free(s);
    tok_free(t);
}

/* Final hidden states [B*T,d] of the golden windows. */
static float *
run(const struct model *m, struct fwd *f, const struct golden *g, uint32_t *ids)
{
    const uint16_t *in = data(g, "ids", DT_U16);
    uint32_t *first = xcalloc(B * T, sizeof *first);
    float *x = xreallocarray(NULL, B * T * m->c.d, sizeof *x);
    const struct rows r = { B, T, ids, first };

    for (size_t i = 0; i < B * T; i++) {
        uint16_t v;

        memcpy(&v, in + i, sizeof v);
        ids[i] = v;
    }
    fwd_states(f, &r, x);
    free(first);
    return x;
}

/* Raise *w to |a - b| if that is larger or NaN. */
static void
worst(double *w, double a, double b)
{
    const double d = fabs(a - b);

    if (!(d <= *w))
        *w = d;
}

static void
test_logits(const struct model *m, struct pool *pool)
{
    struct golden g;
    struct fwd *f = fwd_new(m, pool, B, T);
    uint32_t *ids = xcalloc(B * T, sizeof *ids), *top, *target;
    const int32_t *pos, *voc, *argmax;
    const float *want, *want_lse, *want_nll, *want_max;
    float *h, *z = xreallocarray(NULL, m->c.V, sizeof *z);
    double *nll, *lse, w = 0, wl = 0, wn = 0;
    size_t tops = 0, near_ties = 0;

    golden_open(&g, GOLDEN "logits.safetensors");
    pos = data(&g, "positions", DT_I32);
    voc = data(&g, "vocab", DT_I32);
    argmax = data(&g, "argmax", DT_I32);
    want = data(&g, "logits", DT_F32);
    want_lse = data(&g, "lse", DT_F32);
    want_nll = data(&g, "nll", DT_F32);
    want_max = data(&g, "max", DT_F32);
    h = run(m, f, &g, ids);
    for (size_t b = 0; b < B; b++)
        for (size_t p = 0; p < NPOS; p++) {
            fwd_head(f, h + (b * T + (size_t)pos[p]) * m->c.d, 1, z);
            for (size_t v = 0; v < NVOC; v++)
                worst(&w, z[voc[v]], want[(b * NPOS + p) * NVOC + v]);
        }
    ok(w <= 2e-3, "logits of 4 windows: at most %.2g off", w);
    target = xcalloc(B * T, sizeof *target);
    top = xcalloc(B * T, sizeof *top);
    nll = xcalloc(B * T, sizeof *nll);
    lse = xcalloc(B * T, sizeof *lse);
    for (size_t i = 0; i < B * T; i++)
        target[i] = (i + 1) % T ? ids[i + 1] : 0;
    head_score(f, h, target, B * T, nll, lse, top);
    for (size_t i = 0; i < B * T; i++) {
        worst(&wl, lse[i], want_lse[i]);
        if ((i + 1) % T)
            worst(&wn, nll[i], want_nll[i / T * (T - 1) + i % T]);
        if (top[i] == (uint32_t)argmax[i]) {
            tops++;
        } else { /* another token may be best where two are as good */
            fwd_head(f, h + i * m->c.d, 1, z);
            near_ties += fabs((double)z[argmax[i]] - want_max[i]) <= 2e-3 &&
                fabs((double)z[top[i]] - want_max[i]) <= 2e-3;
        }
    }
    ok(wl <= 2e-3, "log sum exp of 2048: at most %.2g off", wl);
    ok(wn <= 2e-3, "nll of 2044: at most %.2g off", wn);
    ok(tops + near_ties == B * T, "argmax: %zu equal, %zu ties", tops,
        near_ties);
    free(h);
    free(z);
    free(ids);
    free(top);
    free(target);
    free(nll);
    free(lse);
    fwd_free(f);
    golden_close(&g);
}

static uint32_t
argmax(const float *z, size_t n)
{
    size_t k = 0;

    for (size_t i = 1; i < n; i++)
        if (z[i] > z[k])
            k = i;
    return (uint32_t)k;
}

static void
test_greedy(const struct model *m, struct pool *pool)
{
    struct err e;
    json_t *j = js_load(GOLDEN "values.json", 1 << 20, &e);
    const json_t *p = js_get(j, "greedy.prompt_ids");
    const json_t *want = js_get(j, "greedy.ids");
    struct kvcache *kv = kv_new(m, pool, 1, 1, 64);
    float *z = xreallocarray(NULL, m->c.V, sizeof *z);
    uint32_t prompt[16], id;
    size_t n = json_array_size(p), right = 0;

    for (size_t i = 0; i < n && i < 16; i++)
        prompt[i] = (uint32_t)json_integer_value(json_array_get(p, i));
    kv_feed(kv, &(struct kv_more){ 0, prompt, n, 1, NULL, 0 }, 1, z);
    for (size_t i = 0; i < json_array_size(want); i++) {
        id = argmax(z, m->c.V);
        right += json_integer_value(json_array_get(want, i)) == (json_int_t)id;
        kv_feed(kv, &(struct kv_more){ 0, &id, 1, 1, NULL, 0 }, 1, z);
    }
    ok(right == 32, "%zu of 32 ids of the greedy continuation", right);
    free(z);
    kv_free(kv);
    json_decref(j);
}

static int
same_rows(const struct weight *a, const struct weight *b)
{
    const size_t n = a->rows * a->cols;
    float *x, *y;
    int r;

    if (b->rows != a->rows || b->cols != a->cols)
        return 0;
    x = xreallocarray(NULL, n, sizeof *x);
    y = xreallocarray(NULL, n, sizeof *y);
    weight_rows(a, 0, a->rows, x);
    weight_rows(b, 0, b->rows, y);
    r = memcmp(x, y, n * sizeof *x) == 0;
    free(x);
    free(y);
    return r;
}

static void
test_export(const struct model *m, const char *from)
{
    struct model x;
    struct err e = { 0 };
    int same;

    if (!ok(model_export(m, "smollm2-hf", DT_F32, from, NULL, &e) == 0 &&
                model_open(&x, "smollm2-hf", &e) == 0,
            "exported and opened %s", e.msg))
        return;
    same = same_rows(&m->embed, &x.embed) && same_rows(&m->norm, &x.norm);
    for (size_t i = 0; same && i < m->c.L; i++)
        for (int t = 0; same && t < W_N; t++)
            same = same_rows(&m->block[i].w[t], &x.block[i].w[t]);
    ok(same && x.c.theta == m->c.theta && x.c.eps == m->c.eps &&
            x.c.eos[0] == 2 && x.c.bos == 1 && x.c.tied,
        "with the same values");
    model_close(&x);
    test_ids("smollm2-hf", "export");
    dir_remove("smollm2-hf", NULL);
}

int
main(int argc, char **argv)
{
    const char *why = kern_init();
    struct pool *pool = pool_new(0, NULL);
    struct model m;
    struct err e;

    if (argc != 2 || why) {
        printf("Bail out! %s\n", why ? why : "usage: real-smollm2 MODEL");
        return 1;
    }
    if (!ok(model_open(&m, argv[1], &e) == 0, "the model opens")) {
        printf("# %s\n", e.msg);
        return done_testing();
    }
    ok(model_params(&m) == 134515008 && m.c.L == 30 && m.c.theta == 1e5,
        "134515008 parameters");
    ok(model_check_finite(&m, &e) == 0, "all weights are finite");
    test_ids(argv[1], "GGUF");
    test_logits(&m, pool);
    test_greedy(&m, pool);
    test_export(&m, argv[1]);
    model_close(&m);
    pool_free(pool);
    return done_testing();
}
