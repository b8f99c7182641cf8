/* Options that the commands share; see common.h. */
#include "common.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "dist/dist.h"
#include "format/json.h"
#include "model/adapter_file.h"
#include "model/delta_config.h"
#include "train/plan.h"

#include <string.h>

/* Errors advise this when memory is too small. */
static const char less[] = "fewer texts (--at-once) or tokens (-n, --cache)";

enum { SCHEMA_MOST = 1 << 20 }; /* bytes of a schema's file */

void
common_begin(const struct common *c)
{
    struct err e;

    if (sampling_check(&c->how, SIZE_MAX, &e) < 0)
        die(EX_USAGE, "--%s", e.msg);
    if (dist_place(c->cpus, c->numa, &e) < 0 ||
        compute_init(c->compute, &e) < 0)
        die_err(&e);
    mem_settle();
}

void
common_open(struct model *m, const char *path, const char *adapter)
{
    struct err e;

    if (model_open(m, path, &e) < 0 || model_check_finite(m, &e) < 0 ||
        (adapter != NULL && model_adapt(m, adapter, &e) < 0))
        die_err(&e);
}

struct pool *
common_pool(const struct common *c)
{
    struct pool *pool;
    struct err e;

    if ((pool = pool_new(dist_threads(c->threads), &e)) == NULL)
        die_err(&e);
    return pool;
}

struct packed *
common_pack(const struct common *c, const struct model *m, struct pool *pool)
{
    struct packed *p;

    if (c->exact)
        return NULL;
    if ((p = packed_new(m, pool)) != NULL)
        note("%s: %.1f MB of weights packed for products in 8-bit integers",
            m->path, (double)packed_bytes(p) * 1e-6);
    return p;
}

static void
check_goes_back(const struct model *m)
{
    if (config_has_delta(&m->c))
        die(EX_USAGE,
            "%s: has blocks with the gated delta rule, whose state cannot go "
            "back before a wrong guess: leave --draft out",
            m->path);
}

/* Die unless the draft in the file has the tokenizer of the model m. */
static void
check_draft(const char *path, const struct model *draft, const struct model *m,
    const struct tokenizer *tok)
{
    char own[33], other[33];
    struct tokenizer *t;
    struct err e;

    if ((t = tok_open(path, &e)) == NULL)
        die_err(&e);
    if (tok_fit(t, path, draft->c.V, NULL, &e) < 0)
        die_err(&e);
    tok_hash(t, own);
    tok_hash(tok, other);
    if (strcmp(own, other) != 0)
        die(EX_USAGE,
            "--draft %s: its tokenizer is not that of %s, so its tokens mean "
            "other texts: give a model with the same tokenizer",
            path, m->path);
    tok_free(t);
}

const struct model *
common_draft(const struct common *c, const struct model *m,
    const struct tokenizer *tok, struct pool *pool)
{
    static struct model draft;
    static struct packed *packed;

    if (c->draft == NULL)
        return NULL;
    common_open(&draft, c->draft, NULL);
    check_goes_back(m);
    check_goes_back(&draft);
    check_draft(c->draft, &draft, m, tok);
    packed = common_pack(c, &draft, pool);
    return packed != NULL ? packed_model(packed) : &draft;
}

void
common_guessed(const struct gen_stats *s)
{
    if (s->guessed > 0)
        prog_detail("%llu of %llu guesses were right",
            (unsigned long long)s->accepted, (unsigned long long)s->guessed);
}

void
common_compare(const struct packed *p, struct pool *pool, const uint32_t *ids,
    size_t n)
{
    struct packed_error e;

    if (p == NULL || n == 0 || verbosity < 1)
        return;
    n = n < COMPARED ? n : COMPARED;
    e = packed_compare(p, pool, ids, 0, n);
    vnote("8-bit integers against exact products, %zu tokens of the prompt: "
          "KL(exact || integer) %.3g nats, KL(integer || exact) %.3g, the same "
          "most probable token in %.1f %%",
        n, e.kl, e.back, 100.0 * e.agree);
}

size_t
common_memory(const struct model *m, const struct pool *pool, size_t texts,
    size_t longest, size_t cache, size_t bytes)
{
    const size_t all = bytes + plan_window(m, 1, 1) +
        plan_program(prog_resident(), pool_size(pool));
    struct err e;

    note("%zu texts at a time, of %zu tokens at most: %.1f MB of keys and "
         "values, %.1f MB in all",
        texts, longest, (double)cache * 1e-6, (double)all * 1e-6);
    if (plan_fits(all, less, &e) < 0)
        die_err(&e);
    return all;
}

void
common_schema(struct common_schema *b, const char *file, const struct model *m,
    const struct tokenizer *tok)
{
    struct err e;
    json_t *j = js_load(file, SCHEMA_MOST, &e);

    if (j == NULL)
        die_err(&e);
    *b = (struct common_schema){ .schema = schema_read(j, &e) };
    json_decref(j);
    if (b->schema == NULL)
        die(e.code, "%s: %s", file, e.msg);
    if ((b->vocab = mask_vocab_new(tok, &m->c, &e)) == NULL ||
        mask_check_schema(b->vocab, b->schema, &e) < 0)
        die(EX_USAGE, "--schema: %s", e.msg);
}

void
common_schema_release(struct common_schema *b)
{
    schema_free(b->schema);
    mask_vocab_free(b->vocab);
}

struct gen_engine *
common_engine(const struct model *m, struct pool *pool,
    const struct tokenizer *tok, const struct gen_limits *l)
{
    struct gen_engine *g;
    struct err e;

    /* Check most of the memory before it is allocated. */
    if (plan_fits(l->pages * gen_page_bytes(m), less, &e) < 0)
        die_err(&e);
    g = gen_new(m, pool, tok, l);
    common_memory(m, pool, l->texts, l->longest, gen_cache_bytes(g),
        gen_bytes(g));
    return g;
}

void
common_check(const struct gen_event *ev)
{
    if (ev->reason == GEN_NAN)
        die(EX_NUM, "a logit is not finite");
}
