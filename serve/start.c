/* Opening the model, the bounds, and all parts of the server; see start.h. */
#include "start.h"
#include "http.h"
#include "origin.h"
#include "base/io.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "format/ckpt.h"
#include "gen/defaults.h"
#include "model/pass/compute.h"
#include "model/decode/forward_kv.h"
#include "train/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void
open_model(struct server *s, const struct serve_args *a)
{
    const char *path = a->tokenizer != NULL ? a->tokenizer : a->model;
    struct err e;

    setup_begin(&a->setup);
    setup_model(&s->m, a->model, a->adapter);
    if ((s->tok = tok_open(path, &e)) == NULL ||
        tok_fit(s->tok, path, s->m.c.V, NULL, &e) < 0)
        die_err(&e);
    if (tok_warning(s->tok))
        warn("%s: %s", path, tok_warning(s->tok));
    if ((s->chat = chat_open(a->model, a->template, &e)) == NULL) {
        if (a->template != NULL)
            die_err(&e);
        note("no chats: %s", e.msg);
    }
    if ((s->vocab = mask_vocab_new(s->tok, &s->m.c, &e)) == NULL)
        s->no_vocab = xstrdup(e.msg);
    s->pool = setup_rank_pool(a->setup.threads);
}

/* Set the limits of an engine.  Without --longest a text may be as long as the
 * model has positions and the engine's cache has room for.  Two engines have
 * half of --cache each. */
static void
choose_limits(struct server *s, const struct serve_args *a)
{
    const size_t most = config_positions(&s->m.c);
    const size_t page = gen_page_bytes(&s->m);
    const size_t cache = s->packed != NULL ? a->cache / 2 : a->cache;
    struct gen_limits *l = &s->limits;

    *l = (struct gen_limits){ .texts = a->at_once,
        .pages = cache / page,
        .longest = a->longest > 0 ? a->longest
            : most > 0            ? most
                                  : 2048,
        .slice = a->slice,
        .scores = 1,
        .vocab = s->vocab };
    if (most > 0 && a->targets > most)
        die(EX_USAGE, "--targets %zu: give at most %zu, the model's positions",
            a->targets, most);
    if (most > 0 && l->longest > most)
        die(EX_USAGE, "--longest %zu: give at most %zu, the model's positions",
            l->longest, most);
    if (kv_pages(l->longest) > l->pages && a->longest > 0)
        die(EX_USAGE,
            "--cache: a text of %zu tokens needs %zu bytes: give more, or a "
            "lower --longest",
            l->longest, kv_pages(l->longest) * page * (a->cache / cache));
    if (kv_pages(l->longest) > l->pages)
        l->longest = l->pages * KV_PAGE;
    if (l->pages == 0)
        die(EX_USAGE, "--cache: give %zu bytes or more, a page of %d tokens",
            page * (a->cache / cache), KV_PAGE);
}

/* Tell how much memory the server will take at most.  Dies if the machine has
 * less. */
static void
check_memory(const struct server *s, const struct serve_args *a)
{
    /* bytes of a connection's headers and socket; a body parsed as JSON takes
     * up to 60 times its text, and only one is parsed at a time */
    const size_t http = a->connections * 24000 + a->body * 60;
    const size_t targets = s->targets != NULL ? teach_bytes(s->targets) : 0;
    const size_t exact = s->exact != NULL ? gen_bytes(s->exact) : 0;
    const size_t all = gen_bytes(s->engine) + exact + targets +
        plan_window(&s->m, 1, 1) +
        plan_program(prog_resident(), pool_size(s->pool)) + a->buffers + http;
    struct err e;

    note("%zu texts at a time of at most %zu tokens, %zu waiting; %.1f MB at "
         "most: %.1f MB of keys and values, %.1f MB of requests and answers, "
         "%.1f MB of connections",
        a->at_once, s->limits.longest, a->queue, 1e-6 * (double)all,
        1e-6 * (double)(s->limits.pages * gen_page_bytes(&s->m)) *
            (s->exact != NULL ? 2 : 1),
        1e-6 * (double)a->buffers, 1e-6 * (double)http);
    if (plan_fits(all, "fewer bytes of --cache or --buffers", &e) < 0)
        die_err(&e);
}

/* Read the key, the file's first line; the caller frees it. */
static char *
read_key(const char *path)
{
    struct err e;
    size_t n;
    char *key;

    if (io_slurp(path, 4096, &key, &n, &e) < 0)
        die_err(&e);
    key[strcspn(key, "\r\n")] = '\0';
    if (key[0] == '\0')
        die(EX_INPUT, "%s: its first line must be the key, but is empty", path);
    return key;
}

/* Raise the limit of open files so that n connections fit.  Dies if the system
 * does not allow it. */
static void
allow_connections(size_t n)
{
    struct rlimit r;
    const rlim_t need = (rlim_t)n + 64;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0)
        die(EX_SYS, "limit of open files:");
    if (r.rlim_cur >= need)
        return;
    r.rlim_cur = need < r.rlim_max ? need : r.rlim_max;
    if (r.rlim_cur < need || setrlimit(RLIMIT_NOFILE, &r) < 0)
        die(EX_USAGE,
            "--connections %zu: the system allows %llu open files: give at "
            "most %llu, or raise ulimit -n",
            n, (unsigned long long)r.rlim_max,
            (unsigned long long)(r.rlim_max > 64 ? r.rlim_max - 64 : 0));
}

/* Name of the model for clients: the last part of its path. */
static const char *
model_name(const char *path)
{
    const char *slash;
    char *copy = xstrdup(path);
    size_t n = strlen(copy);

    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = '\0';
    slash = strrchr(copy, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : copy;
}

/* Hash model, adapter and --compute, on which the answers to /v1/targets
 * depend. */
static void
hash_taught(const struct serve_args *a, char hash[33])
{
    char model[33], adapter[33] = "";
    struct buf b = { 0 };
    struct err e;

    if (ckpt_hash_model(a->model, model, &e) < 0 ||
        (a->adapter != NULL && ckpt_hash_model(a->adapter, adapter, &e) < 0))
        die_err(&e);
    buf_addf(&b, "%s %s %s", model, adapter, compute_names[a->setup.compute]);
    ckpt_hash_bytes(b.p, b.n, hash);
    buf_release(&b);
}

static void
fill_api(struct server *s, const struct serve_args *a)
{
    const struct queue_bounds b = { a->at_once + a->queue, a->buffers };
    struct api *api = &s->api;
    struct sampling how;
    struct err e;

    if (defaults_read(&how, DEFAULTS_SERVE, a->model, &e) < 0)
        die_err(&e);
    api->bounds = (struct request_bounds){ .model = a->name != NULL
            ? a->name
            : model_name(a->model),
        .tok = s->tok,
        .chat = s->chat,
        .vocab = s->vocab,
        .no_vocab = s->no_vocab,
        .scratch = tok_scratch_new(s->tok),
        .how = how,
        .V = s->m.c.V,
        .context = s->limits.longest,
        .texts = a->texts < b.texts ? a->texts : b.texts };
    api->queue = queue_new(&b, http_wake);
    api->metrics = metrics_new(api->bounds.model, s->limits.longest);
    api->target_tokens = a->targets;
    if (a->targets > 0)
        hash_taught(a, api->taught);
    api->seed = a->seed;
    api->created = (long long)time(NULL);
}

/* Make the engine for texts and, if it computes in 8-bit integers, another in
 * floating point, which also scores prompts. */
static void
make_engines(struct server *s)
{
    struct gen_limits unscored = s->limits;
    struct gen_engine *exact = gen_new(&s->m, s->pool, s->tok, &s->limits);

    if (s->packed == NULL) {
        s->engine = exact;
        return;
    }
    unscored.scores = 0;
    s->exact = exact;
    s->engine = gen_new(packed_model(s->packed), s->pool, s->tok, &unscored);
}

void
server_open(struct server *s, const struct serve_args *a)
{
    if (a->model == NULL)
        die(EX_USAGE, "give a model by -m; see serve -h");
    for (size_t i = 0; i < a->origins.n; i++)
        if (!origin_is_one(a->origins.v[i]))
            die(EX_USAGE,
                "--origin %s: give what browsers send, such as "
                "https://example.org or http://localhost:3000, without a path",
                a->origins.v[i]);
    if (a->key_file != NULL)
        s->key = read_key(a->key_file);
    allow_connections(a->connections);
    open_model(s, a);
    if (!a->setup.exact && (s->packed = packed_new(&s->m, s->pool)) != NULL)
        note("%.1f MB of weights packed for products in 8-bit integers",
            1e-6 * (double)packed_bytes(s->packed));
    choose_limits(s, a);
    make_engines(s);
    if (a->targets > 0)
        s->targets = teach_new(&s->m, s->pool, a->targets);
    check_memory(s, a);
    fill_api(s, a);
}

void
server_close(struct server *s)
{
    queue_free(s->api.queue);
    metrics_free(s->api.metrics);
    tok_scratch_free(s->api.bounds.scratch);
    teach_free(s->targets);
    gen_free(s->engine);
    gen_free(s->exact);
    packed_free(s->packed);
    chat_free(s->chat);
    mask_vocab_free(s->vocab);
    free(s->no_vocab);
    tok_free(s->tok);
    model_close(&s->m);
    pool_free(s->pool);
    free(s->key);
}
