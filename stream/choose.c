/* Combines options, cursor and defaults: see choose.h */
#include "choose.h"
#include "groups.h"
#include "weights.h"
#include "base/io.h"
#include "base/note.h"
#include "base/number.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set *at to the position after the last shard of an unfinished directory.  1:
 * set.  0: there is no shard. */
static int
directory_position(struct position *at, const char *run, int said)
{
    struct manifest m;
    struct err e;
    int r;

    if (manifest_read(&m, run, &e) < 0)
        die_err(&e);
    if (m.complete)
        die(EX_USAGE, "%s: is complete: there is nothing to resume", run);
    r = m.nfile > 0;
    if (r) {
        at->seq = m.seq;
        chain_hex(&m.chain, at->chain);
        at->cursor = m.cursor ? xstrdup(m.cursor) : NULL;
    } else if (!said) {
        die(EX_USAGE,
            "%s: was begun, but holds no shard yet, so nothing says with which "
            "options: give them again (-s 0 if there were none)",
            run);
    }
    manifest_release(&m);
    return r;
}

void
resume_read(struct resume *s, const char *run, int said)
{
    char *manifest = xasprintf("%s/%s", run, SHARD_MANIFEST), *dir = NULL;
    struct err e;
    int r;

    s->run = run;
    if (io_exists(manifest))
        r = directory_position(&s->at, run, said);
    else if ((r = ckpt_newest(run, &dir, NULL, &s->at, &e)) < 0)
        die_err(&e);
    free(manifest);
    free(dir);
    if (r == 0) {
        note("%s: nothing to resume, starting at the beginning", run);
        return;
    }
    /* the run has not consumed a batch yet */
    if (!s->at.cursor && s->at.seq == 0)
        return;
    if (!s->at.cursor)
        die(EX_INPUT,
            "%s: holds no cursor: what it has read was not written by stream",
            run);
    if (cursor_read(&s->from, s->at.cursor, &e) < 0)
        die(e.code, "%s: %s", run, e.msg);
    s->is = 1;
}

void
resume_release(struct resume *s)
{
    position_release(&s->at);
    if (s->is)
        cursor_release(&s->from);
}

static void
check_cursor(const struct resume *s, const struct cursor *c)
{
    char was[33], is[33];

    if (strcmp(s->from.algorithm, c->algorithm) != 0)
        die(EX_INPUT,
            "%s: its cursor is of algorithm %s, but this data is streamed by "
            "%s",
            s->run, s->from.algorithm, c->algorithm);
    chain_hex(&s->from.data, was);
    chain_hex(&c->data, is);
    if (strcmp(was, is) != 0)
        die(EX_INPUT,
            "%s: its cursor belongs to other data (%.8s, these directories are "
            "%.8s)",
            s->run, was, is);
}

static void
contradict(const char *name, const char *given, const char *cursor)
{
    die(EX_USAGE, "%s %s contradicts the resumed stream, which has %s", name,
        given, cursor);
}

/* Return `given`, or if that is OPT_NONE, `was` (the cursor's number or the
 * default).  Dies if `given` contradicts the cursor. */
static uint64_t
choose_number(const struct resume *from, const char *name, size_t given,
    uint64_t was)
{
    char a[24], b[24];

    if (given == OPT_NONE)
        return was;
    snprintf(a, sizeof a, "%zu", given);
    snprintf(b, sizeof b, "%" PRIu64, was);
    if (from->is && given != was)
        contradict(name, a, b);
    return given;
}

static void
choose_stream_length(struct cursor_spec *r, const struct given *g,
    const struct resume *from)
{
    const char *const name[] = { "--batches", "--tokens", "--epochs" };
    const struct cursor_spec was = *r;
    char given[24], said[40];

    for (int i = 0, n = 0; i < 3; i++) {
        if (g->length[i] == OPT_NONE)
            continue;
        if (n++)
            die(EX_USAGE,
                "--batches, --tokens and --epochs exclude each other: give "
                "one");
        snprintf(given, sizeof given, "%zu", g->length[i]);
        snprintf(said, sizeof said, "--%s %" PRIu64, length_names[was.length],
            was.limit);
        r->length = (enum length)i;
        r->limit = g->length[i];
        if (!from->is || (r->length == was.length && r->limit == was.limit))
            continue;
        if (r->length != was.length || r->length != LENGTH_BATCHES ||
            r->limit < was.limit)
            die(EX_USAGE,
                "%s %s contradicts the resumed stream, which has %s: only "
                "--batches can be made longer",
                name[i], given, said);
        note("%s: goes on to %s batches; it was begun with %" PRIu64, from->run,
            given, was.limit);
    }
    if (r->length == LENGTH_BATCHES && r->limit > UINT64_MAX / r->B)
        die(EX_USAGE, "--batches: %" PRIu64 " are too many; give fewer",
            r->limit);
}

/* Does the cursor's spec, `was`, have the weights of spec a?  0 if the cursor's
 * weights are natural. */
static int
same_weights(const struct cursor_spec *a, const struct cursor_spec *was)
{
    if (was->natural)
        return 0;
    if (was->hashed)
        return memcmp(was->w_hash.h, a->w_hash.h, sizeof a->w_hash.h) == 0;
    return was->nw == a->nw && memcmp(was->w, a->w, a->nw * sizeof *a->w) == 0;
}

/* Set the weights by --weights, --alpha or --unimax, whichever is given. */
static void
given_weights(struct cursor_spec *r, const struct given *g,
    const struct dirs *d, const struct resume *from)
{
    const double rows = (double)r->B * (double)r->T;
    /* a stream that is made longer keeps the weights it began with */
    const double limit = (double)(from->is ? from->from.spec.limit : r->limit);
    const char *name = "--weights";
    char number[32];
    struct err e;
    int bad;

    if (g->weights) {
        bad = weights_parse(r->w, d, g->weights, &e);
    } else if (!isnan(g->alpha)) {
        name = "--alpha";
        bad = weights_alpha(r->w, d, g->alpha, &e);
    } else {
        name = "--unimax";
        if (r->length == LENGTH_EPOCHS)
            die(EX_USAGE,
                "--unimax shares out a budget: give --tokens or --batches");
        bad = weights_unimax(r->w, d, g->unimax,
            limit * (r->length == LENGTH_TOKENS ? 1.0 : rows), &e);
    }
    if (bad < 0)
        die_err(&e);
    chain_of(&r->w_hash, r->w, r->nw * sizeof *r->w);
    snprintf(number, sizeof number, "%g",
        isnan(g->alpha) ? g->unimax : g->alpha);
    if (from->is && !same_weights(r, &from->from.spec))
        contradict(name, g->weights ? g->weights : number,
            from->from.spec.natural ? "natural proportions" : "other weights");
}

static void
choose_source_weights(struct cursor_spec *r, const struct given *g,
    const struct dirs *d, const struct resume *from)
{
    const size_t n = d->info.nsource;
    const struct cursor_spec *was = &from->from.spec;
    const int given = !!g->weights + !isnan(g->alpha) + !isnan(g->unimax);

    if (given > 1)
        die(EX_USAGE,
            "--weights, --alpha and --unimax exclude each other: give one");
    if (!given && r->natural)
        return;
    r->natural = 0;
    r->nw = n;
    r->w = xcalloc(n, sizeof *r->w);
    if (given)
        given_weights(r, g, d, from);
    else if (was->hashed)
        die(EX_USAGE,
            "the resumed stream has weights of %zu sources, which its cursor "
            "does not hold: give the same option again",
            n);
    else if (was->nw != n)
        die(EX_INPUT, "cursor: %zu weights for %zu sources", was->nw, n);
    else
        memcpy(r->w, was->w, n * sizeof *r->w);
}

static void
choose_curriculum(struct cursor_spec *r, const struct given *g,
    const struct dirs *d, const struct resume *from)
{
    char is[33] = "none", was[33] = "none";
    struct err e;

    if (g->curriculum && curriculum_read(r, d, g->curriculum, &e) < 0)
        die_err(&e);
    if (r->staged && r->length == LENGTH_EPOCHS)
        die(EX_USAGE, "--curriculum counts tokens: give --tokens or --batches");
    if (r->staged)
        chain_hex(&r->curriculum, is);
    if (from->is && from->from.spec.staged)
        chain_hex(&from->from.spec.curriculum, was);
    if (from->is && strcmp(is, was) != 0)
        die(EX_USAGE,
            "the resumed stream has a --curriculum of hash %.8s, not %.8s: "
            "give that file",
            was, is);
}

/* Apply --rank R/N; without the option the cursor's rank stays.  R/N may differ
 * from the cursor's, because the order of rows does not depend on ranks. */
static void
choose_rank(struct cursor_spec *r, const struct given *g)
{
    const char *const slash = g->rank ? strchr(g->rank, '/') : NULL;
    char *text;

    if (!g->rank)
        return;
    text = xstrdup(g->rank);
    if (slash)
        text[slash - g->rank] = '\0';
    if (!slash || number_size(slash + 1, 1, 1 << 20, &r->ranks) < 0 ||
        number_size(text, 0, (double)r->ranks - 1.0, &r->rank) < 0)
        die(EX_USAGE, "--rank: \"%.100s\" is not R/N: give one with 0 <= R < N",
            g->rank);
    free(text);
    if (r->ranks > r->B)
        die(EX_USAGE,
            "--rank %s: a batch has only %zu rows for all ranks: give a larger "
            "-B",
            g->rank, r->B);
}

static void
choose_order(struct cursor_spec *r, const struct given *g, const struct dirs *d,
    const struct resume *from)
{
    const int docs = d->info.T == 0, was = r->shuffle;
    struct err e;

    if (g->shuffle && g->no_shuffle)
        die(EX_USAGE,
            "--shuffle and --no-shuffle exclude each other: give one");
    if (g->shuffle || g->no_shuffle)
        r->shuffle = g->shuffle;
    if (from->is && r->shuffle != was)
        die(EX_USAGE,
            "--%sshuffle contradicts the resumed stream, which has "
            "--%sshuffle",
            r->shuffle ? "" : "no-", was ? "" : "no-");
    if (!docs && !r->shuffle && g->open != OPT_NONE)
        die(EX_USAGE,
            "--open is for rows that are shuffled: give --shuffle too");
    if (!docs && !r->shuffle)
        return;
    r->open = (size_t)choose_number(from, "--open", g->open, r->open);
    /* open as many frames as half of --mem holds */
    if (r->open == 0)
        r->open = docs ? sampler_fit(d, g->mem, &e) : groups_fit(d, g->mem, &e);
    if (r->open == 0)
        die_err(&e);
}

/* The cursor's choices if a stream is resumed, else the defaults. */
static struct cursor_spec
spec_before(const struct dirs *d, const struct resume *from)
{
    const int docs = d->info.T == 0;
    const struct cursor_spec *was = &from->from.spec;

    if (!from->is)
        return (struct cursor_spec){ .B = 8,
            .T = docs ? 1024 : d->info.T,
            .shuffle = docs,
            .length = LENGTH_EPOCHS,
            .limit = 1,
            .natural = 1,
            .ranks = 1 };
    return (struct cursor_spec){ .B = was->B,
        .T = was->T,
        .seed = was->seed,
        .shuffle = was->shuffle,
        .open = was->open,
        .length = was->length,
        .limit = was->limit,
        .pack = was->pack,
        .natural = docs ? was->natural : 1,
        .rank = was->rank,
        .ranks = was->ranks };
}

void
choose_cursor(struct cursor *c, const struct given *g, const struct dirs *d,
    const struct resume *from)
{
    const int docs = d->info.T == 0;
    struct cursor_spec *r = &c->spec;

    memset(c, 0, sizeof *c);
    snprintf(c->algorithm, sizeof c->algorithm, "%s",
        docs ? CURSOR_DOCS : CURSOR_ROWS);
    c->data = d->hash;
    if (from->is)
        check_cursor(from, c);
    if (!docs &&
        (g->weights || !isnan(g->alpha) || g->pack >= 0 || !isnan(g->unimax) ||
            g->curriculum))
        die(EX_USAGE,
            "%s: holds batches, whose mixture and packing are recorded: "
            "--weights, --alpha, --unimax, --curriculum and --pack are for "
            "documents",
            dirs_name(d, 0));
    *r = spec_before(d, from);
    r->B = (size_t)choose_number(from, "-B", g->B, r->B);
    r->T = (size_t)choose_number(from, "-T", g->T, r->T);
    if (!docs && r->T != d->info.T)
        die(EX_USAGE, "-T %zu: %s holds rows of %zu tokens: leave -T out", r->T,
            dirs_name(d, 0), d->info.T);
    r->seed = choose_number(from, "-s", g->seed, r->seed);
    choose_order(r, g, d, from);
    choose_stream_length(r, g, from);
    if (from->is && g->pack >= 0 && g->pack != (int)r->pack)
        contradict("--pack", pack_names[g->pack], pack_names[r->pack]);
    if (g->pack >= 0)
        r->pack = (enum pack)g->pack;
    choose_rank(r, g);
    if (docs) {
        choose_source_weights(r, g, d, from);
        choose_curriculum(r, g, d, from);
    }
}
