/* Cutting a vocabulary: on every text whose old ids are all kept, the new
 * tokenizer gives the old ids, those of the reference (tests/golden/tok), under
 * their new numbers; what is kept is closed; rows of weights are the old
 * ones. */
#include "../lib/tok_answers.h"
#include "../lib/tok_open.h"
#include "base/dir.h"
#include "base/pool.h"
#include "base/rng.h"
#include "format/json.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"
#include "model/files/tokfile.h"
#include "prune/cut_model.h"
#include "prune/vocab_files.h"
#include "prune/derivation.h"

#include <stdlib.h>
#include <string.h>

static char *dir; /* of the files that are cut */

/* A tokenizer and, cut, its successor. */
struct pair {
    struct tokenizer *old, *new;
    struct tok_scratch *so, *sn;
    struct vocab v;
    size_t same, wrong, other; /* texts; other: with an id that has gone */
};

/* The old tokenizer gives the ids `want` for text[n].  Count in p whether all
 * are kept, and whether the new tokenizer then gives the same tokens. */
static void
compare(struct pair *p, const char *text, size_t n, int flags,
    const struct tok_ids *want)
{
    struct tok_ids got = { 0 };
    int same;

    for (size_t i = 0; i < want->n; i++)
        if (p->v.to[want->v[i]] == VOCAB_GONE) {
            p->other++;
            return;
        }
    tok_encode(p->new, p->sn, text, n, flags, &got);
    same = got.n == want->n;
    for (size_t i = 0; same && i < got.n; i++)
        same = got.v[i] == p->v.to[want->v[i]];
    p->same += (size_t)same;
    if (!same && p->wrong++ < 3) {
        printf("# %.200s\n", text);
        show_ids("want, old ", want);
        show_ids("got,  new ", &got);
    }
    tok_ids_release(&got);
}

/* Parse a line of answers, "K FLAG IDS": its text, flags and ids. */
static const json_t *
answer(const char *line, const json_t *texts, size_t *k, int *flags,
    struct tok_ids *ids)
{
    char *p;

    *k = strtoul(line, &p, 10);
    *flags = p[1] == 't' ? 0
        : p[1] == 's'    ? TOK_SPECIAL
        : p[1] == 'b'    ? TOK_BOS | TOK_EOS
                         : TOK_SPECIAL | TOK_BOS | TOK_EOS;
    read_ids(p + 3, ids);
    return json_array_get(texts, *k);
}

/* Walk the answers: count the ids of every text but each `skip`-th (p->new
 * NULL), or compare all. */
static void
walk(struct pair *p, const char *path, const json_t *texts, size_t skip)
{
    struct tok_ids ids = { 0 };
    struct err e;
    char *all, *line, *next;
    size_t n, k;
    int flags;

    if (io_slurp(path, (size_t)1 << 30, &all, &n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (line = all; line && *line; line = next) {
        const json_t *text;

        if ((next = strchr(line, '\n')) != NULL)
            *next++ = '\0';
        if (*line == '#')
            continue;
        text = answer(line, texts, &k, &flags, &ids);
        if (p->new)
            compare(p, json_string_value(text), json_string_length(text), flags,
                &ids);
        for (size_t i = 0; !p->new &&k % skip > 0 && i < ids.n; i++) {
            p->v.count[ids.v[i]]++;
            p->v.total++;
        }
    }
    free(all);
    tok_ids_release(&ids);
}

/* Texts of kept tokens at random, encoded by the old tokenizer. */
static void
random_texts(struct pair *p, size_t n)
{
    const uint64_t key = rng_key(20261122, p->v.kept);
    struct buf b = { 0 };
    struct tok_ids ids = { 0 };
    uint64_t at = 0;
    struct err e;

    for (size_t i = 0; i < n; i++) {
        const size_t len = 1 + rng_u64(key, at++) % 12;

        buf_clear(&b);
        ids.n = 0;
        for (size_t k = 0; k < len; k++) {
            const uint32_t id = p->v.from[rng_u64(key, at++) % p->v.kept];

            tok_decode(p->old, &id, 1, TOK_MIDDLE, &b, &e);
        }
        tok_encode(p->old, p->so, b.p ? b.p : "", b.n, TOK_SPECIAL, &ids);
        compare(p, b.p ? b.p : "", b.n, TOK_SPECIAL, &ids);
    }
    buf_release(&b);
    tok_ids_release(&ids);
}

/* For every kept token: are the tokens of its derivation, characters and
 * results of merges, kept too? */
static int
is_closed(const struct vocab *v)
{
    struct tok_ids parts = { 0 };
    int closed = 1;

    for (size_t id = 0; id < v->n; id++) {
        parts.n = 0;
        if (v->why[id] != WHY_NOT)
            tok_derivation(v->t, (uint32_t)id, &parts);
        for (size_t i = 0; i < parts.n; i++)
            closed = closed && v->why[parts.v[i]] != WHY_NOT;
    }
    tok_ids_release(&parts);
    return closed;
}

/* Cut the tokenizer at path to what p->v has counted; 0, or -1. */
static int
cut(struct pair *p, const char *path, size_t size, struct err *e)
{
    struct vocab_files f;
    int r;

    dir_remove(dir, NULL);
    if (io_mkdirs(dir, e) < 0 || tokenizer_export(path, dir, e) < 0)
        return -1;
    r = vocab_files_open(&f, dir, e);
    if (r == 0) {
        vocab_files_named(&f, &p->v);
        r = vocab_choose(&p->v, size, size == 0, e);
    }
    if (r == 0) {
        vocab_number(&p->v);
        r = vocab_files_cut(&f, &p->v, e);
    }
    if (r == 0)
        r = vocab_files_check(&p->v, dir, e);
    vocab_files_release(&f);
    return r;
}

static void
begin(struct pair *p, const char *path)
{
    memset(p, 0, sizeof *p);
    p->old = must_tok(path);
    p->so = tok_scratch_new(p->old);
    vocab_init(&p->v, p->old, tok_vocab(p->old));
}

static void
end(struct pair *p)
{
    if (p->new) {
        tok_scratch_free(p->sn);
        tok_free(p->new);
    }
    vocab_release(&p->v);
    tok_scratch_free(p->so);
    tok_free(p->old);
}

/* share: percentage of the ids that may stay; 0: as many ids as are used. */
static void
test_answers(const char *name, const char *path, const char *answers,
    const json_t *texts, size_t share)
{
    struct pair p;
    struct err e = { 0 };
    size_t n, size;

    begin(&p, path);
    size = p.v.n * share / 100;
    walk(&p, answers, texts, 3);
    if (ok(cut(&p, path, size, &e) == 0,
            "%s, share %zu: the tokenizer is cut %s", name, share, e.msg)) {
        p.new = must_tok(dir);
        p.sn = tok_scratch_new(p.new);
        ok(p.v.kept == tok_vocab(p.new) && p.v.kept < p.v.n &&
                (size == 0 || p.v.kept == size),
            "%s, share %zu: %zu of %zu ids are kept", name, share, p.v.kept,
            p.v.n);
        ok(is_closed(&p.v), "%s, share %zu: kept ids are closed", name, share);
        walk(&p, answers, texts, 1);
        n = p.same;
        ok(n > 100 && p.wrong == 0, "%s, share %zu: %zu answers, %zu differ",
            name, share, n, p.wrong);
        random_texts(&p, 3000);
        ok(p.same > n + 300 && p.wrong == 0,
            "%s, share %zu: %zu random texts, %zu differ", name, share,
            p.same - n, p.wrong);
        ok(p.other > 0, "%s, share %zu: %zu texts have dropped ids", name,
            share, p.other);
    }
    end(&p);
}

static void
test_refused(void)
{
    struct pair p;
    struct err e = { 0 };
    const char *path = golden("family", "tekken-v7", "/tekken.json");

    begin(&p, path);
    p.v.count[0] = p.v.total = 1;
    ok(cut(&p, path, 0, &e) < 0 && strncmp(e.msg, "tekken.json: ", 13) == 0,
        "tekken.json alone is refused by name: %s", e.msg);
    end(&p);
    path = golden("family", "llama3", ".json");
    begin(&p, path);
    ok(cut(&p, path, 20, &e) < 0 && e.code == EX_USAGE,
        "a size below the bytes is refused: %s", e.msg);
    end(&p);
}

/* A vocabulary of 8, with two added tokens. */
static const char small_json[] =
    "{\"version\":\"1.0\",\"normalizer\":null,\"post_processor\":null,"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
    "\"trim_offsets\":true,\"use_regex\":true},"
    "\"decoder\":{\"type\":\"ByteLevel\"},\"added_tokens\":["
    "{\"id\":8,\"content\":\"acc\",\"single_word\":true,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":false},"
    "{\"id\":9,\"content\":\"cc\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":false}],"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":null,\"vocab\":{\"a\":0,"
    "\"b\":1,\"c\":2,\"ab\":3,\"bc\":4,\"abc\":5,\"ca\":6,\"cab\":7},"
    "\"merges\":[\"b c\",\"a bc\",\"a b\",\"c ab\"]}}";

/* Parts of a token, in the order of its merges. */
static void
test_made(void)
{
    static const uint32_t abc[] = { 0, 1, 2, 4, 5 };
    struct err e = { 0 };
    struct tokenizer *t =
        tok_parse(small_json, strlen(small_json), NULL, 0, &e);
    struct tok_ids ids = { 0 };
    struct vocab v;

    if (!ok(t != NULL, "a vocabulary of 8 is read %s", e.msg))
        return;
    ok(tok_derivation(t, 5, &ids) && ids.n == 5 &&
            memcmp(ids.v, abc, sizeof abc) == 0,
        "abc is made of a, b, c, bc: not of ab, whose merge comes later");
    ids.n = 0;
    ok(!tok_derivation(t, 6, &ids) && ids.n == 0, "no merges lead to ca");
    vocab_init(&v, t, tok_vocab(t));
    ok(vocab_add(&v, 5, WHY_USED, 4) == 0 && v.kept == 0 && v.why[0] == WHY_NOT,
        "abc does not fit in 4, so nothing is kept");
    ok(vocab_add(&v, 5, WHY_USED, 5) == 1 && v.kept == 5 &&
            v.why[4] == WHY_PART && v.why[5] == WHY_USED && v.why[3] == WHY_NOT,
        "abc fits in 5 with its parts");
    vocab_release(&v);
    tok_ids_release(&ids);
    tok_free(t);
}

/* The order of what is kept: a, b, c and both added tokens (5), then used
 * tokens, the rarest last, then the lowest ids. */
static void
test_order(void)
{
    struct err e = { 0 };
    struct tokenizer *t =
        tok_parse(small_json, strlen(small_json), NULL, 0, &e);
    struct vocab v;

    vocab_init(&v, t, tok_vocab(t));
    v.count[3] = 2; /* ab */
    v.count[4] = 3; /* bc */
    v.count[5] = 1; /* abc */
    v.total = 6;
    ok(vocab_choose(&v, 6, 0, &e) == 0 && v.kept == 6 && v.why[4] == WHY_USED &&
            v.why[3] == WHY_NOT && v.left == 2 && v.left_uses == 3,
        "6: bc is kept, the rarer ab and abc are told");
    vocab_release(&v);
    vocab_init(&v, t, tok_vocab(t));
    v.count[4] = v.total = 1;
    ok(vocab_choose(&v, 7, 0, &e) == 0 && v.kept == 7 && v.why[3] == WHY_FILL &&
            v.left == 0,
        "7: ab, of the lowest id, fills up");
    vocab_release(&v);
    tok_free(t);
}

/* Added tokens stay, used or not: cc (9), and acc (8), which matches whole
 * words only and hides cc where it does not match. */
static void
test_added(void)
{
    struct pair p;
    struct err e = { 0 };
    struct tok_ids ids = { 0 };
    char *path = xasprintf("%s.json", dir);

    if (io_put_file(path, small_json, strlen(small_json), &e) < 0)
        printf("Bail out! %s\n", e.msg);
    begin(&p, path);
    p.v.count[0] = p.v.count[1] = p.v.count[2] = 1;
    p.v.total = 3;
    if (ok(cut(&p, path, 0, &e) == 0,
            "a vocabulary with added tokens is cut %s", e.msg)) {
        p.new = must_tok(dir);
        p.sn = tok_scratch_new(p.new);
        tok_encode(p.old, p.so, "bacc", 4, 0, &ids);
        compare(&p, "bacc", 4, 0, &ids);
        ok(p.same == 1 && ids.n == 4 && p.v.why[8] == WHY_ADDED &&
                p.v.why[9] == WHY_ADDED,
            "both stay unused; bacc is b, a, c, c as before");
    }
    tok_ids_release(&ids);
    end(&p);
    free(path);
}

/* A model with fewer rows of embedding and head gives the same final states and
 * logits of the kept ids. */
static void
test_rows(const char *path)
{
    const uint32_t id[] = { 0, 1, 2, 5, 9, 20, 31 };
    enum { N = sizeof id / sizeof *id };
    uint32_t first[N] = { 0 }, new[N];
    const struct rows whole = { 1, N, id, first }, less = { 1, N, new, first };
    struct pool *pool = pool_new(1, NULL);
    struct model m, small;
    struct arena a;
    struct fwd *f, *g;
    struct err e;
    float *x, *y, *z, *zs;
    int same = 1;

    if (!ok(model_open(&m, path, &e) == 0, "%s: is opened %s", path, e.msg))
        return;
    model_cut_rows(&small, &m, id, N, &a);
    for (size_t i = 0; i < N; i++)
        new[i] = (uint32_t)i;
    f = fwd_new(&m, pool, 1, N);
    g = fwd_new(&small, pool, 1, N);
    x = xcalloc(N * m.c.d, sizeof *x);
    y = xcalloc(N * m.c.d, sizeof *y);
    z = xcalloc(N * m.c.V, sizeof *z);
    zs = xcalloc(N * N, sizeof *zs);
    fwd_embed(f, &whole, x);
    fwd_embed(g, &less, y);
    for (size_t i = 0; i < m.c.L; i++) {
        fwd_block(f, i, &whole, x, x);
        fwd_block(g, i, &less, y, y);
    }
    fwd_norm(f, &whole, x, x);
    fwd_norm(g, &less, y, y);
    ok(memcmp(x, y, N * m.c.d * sizeof *x) == 0,
        "%s: final states have the same bits", path);
    fwd_head(f, x, N, z);
    fwd_head(g, y, N, zs);
    for (size_t t = 0; t < N; t++)
        for (size_t i = 0; i < N; i++)
            same &= near(zs[t * N + i], z[t * m.c.V + id[i]], 1e-6, 1e-6);
    ok(same, "%s: logits of the kept rows are the same", path);
    ok(small.c.V == N && (m.c.bos != 1 || small.c.bos == 1) &&
            model_params(&m) - model_params(&small) ==
                (m.c.V - N) * (m.c.d * (m.c.tied ? 1 : 2) + m.head_bias.rows),
        "%s: parameters of the kept rows are counted", path);
    free(x);
    free(y);
    free(z);
    free(zs);
    fwd_free(f);
    fwd_free(g);
    model_cut_free(&small, &a);
    model_close(&m);
    pool_free(pool);
}

/* Rewrite the answers at path, JSON Lines, as lines of the form of .ids files
 * in another file, and append their texts to `texts`.  Returns that file's
 * path. */
static char *
as_lines(const char *path, json_t *texts)
{
    struct buf b = { 0 };
    FILE *f = fopen(path, "r");
    json_t *line;
    struct err e;
    char *out = xasprintf("%s.ids", dir);

    while (f &&
        (line = json_loadf(f, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)) !=
            NULL) {
        const json_t *ids = json_object_get(line, "ids");

        buf_addf(&b, "%zu s ", json_array_size(texts));
        json_array_append(texts, json_object_get(line, "text"));
        for (size_t i = 0; i < json_array_size(ids); i++)
            buf_addf(&b, "%s%d", i > 0 ? "," : "",
                (int)json_integer_value(json_array_get(ids, i)));
        buf_adds(&b, json_array_size(ids) > 0 ? "\n" : "-\n");
        json_decref(line);
    }
    if (f)
        fclose(f);
    if (io_put_file(out, b.p, b.n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    buf_release(&b);
    return out;
}

int
main(void)
{
    static const char *const family[] = { "llama3", "llama3merges",
        "gpt2legacy", "nemo", "qwen", "qwenflags", "llama2", "llama2norm",
        "llama2flags", "mistral3", "gemma", "gemma3", "spbytes", "spunk",
        "spfuse", "spdrop" };
    static const char *const spm[] = { "spm", "spm-bare", "spm-runs",
        "spm-ties", "spm-flat" };
    static const char *const bytes[] = { "digits", "flags", "gpt2", "holes" };
    const char *scratch = getenv("RETORT_SCRATCH");
    json_t *texts = read_texts(golden("family", "texts", ".jsonl"));

    dir = xasprintf("%s/vocab", scratch ? scratch : "/tmp");
    test_made();
    test_order();
    test_added();
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        for (size_t share = 0; share < 100; share += 80)
            test_answers(family[i], golden("family", family[i], ".json"),
                golden("family", family[i], ".ids"), texts, share);
    for (size_t i = 0; i < sizeof spm / sizeof *spm; i++)
        test_answers(spm[i], golden("spm", spm[i], ".gguf"),
            golden("spm", spm[i], ".ids"), texts, 0);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        json_t *own = json_array();
        char *lines = as_lines(golden(".", bytes[i], ".jsonl"), own);

        test_answers(bytes[i], golden(".", bytes[i], ".json"), lines, own, 0);
        json_decref(own);
        free(lines);
    }
    test_refused();
    test_rows("tests/golden/grad/tied-teacher");
    test_rows("tests/golden/grad/untied-teacher");
    test_rows("tests/golden/gguf/q4_1.gguf");
    test_rows("tests/golden/family/gemma3");
    test_rows("tests/golden/family/phi");
    json_decref(texts);
    dir_remove(dir, NULL);
    free(dir);
    return done_testing();
}
