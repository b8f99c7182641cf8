/* stream - shuffle, mix and pack shards into batches; see stream(1) */
#include "stream.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/note.h"
#include "base/number.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/addr.h"
#include "msg/wire.h"
#include "sampler.h"
#include "format/ckpt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEM_DEFAULT ((size_t)256 << 20)
enum { THREADS_MOST = 4 };
#define WHOLE 9007199254740992.0 /* 2^53 */

/* What was given; else the cursor's or the default is taken. */
struct given {
    size_t B, T, seed, open; /* OPT_NONE: not given */
    size_t length[3];        /* by enum length */
    double alpha, unimax;    /* NAN: not given */
    int pack;                /* -1: not given */
    const char *weights, *curriculum, *rank, *cpus, *node;
    int shuffle, no_shuffle;
    const char *out, *resume;
    struct opt_list tee;
    int partial, dry;
    size_t mem, threads;
};

struct stream {
    struct dirs d;
    struct cursor c;    /* the state before the next batch */
    struct cursor from; /* resumed: as it was read */
    struct position at; /* resumed: the consumer's */
    int resumed;
    struct feed *feed;
    uint64_t batches_all;  /* of the whole stream; 0: not known */
    uint64_t head;         /* messages before the first batch */
    struct buf text;       /* of the cursor */
    struct chain h;        /* H(c.seq - 1) */
    uint64_t made, padded; /* tokens and room for tokens in this run */
    uint64_t batches;      /* in this run */
    double sending;        /* seconds */
    double begun, first;   /* when the program began, when the first batch was
                             * sent */
    struct ahead_times before; /* what was spent until then */
};

/* Was anything given that determines content? */
static int
is_said(const struct given *g)
{
    return g->B != OPT_NONE || g->T != OPT_NONE || g->seed != OPT_NONE ||
        g->open != OPT_NONE || g->length[0] != OPT_NONE ||
        g->length[1] != OPT_NONE || g->length[2] != OPT_NONE || g->pack >= 0 ||
        !isnan(g->alpha) || !isnan(g->unimax) || g->weights || g->curriculum ||
        g->rank || g->shuffle || g->no_shuffle;
}

/* Where to go on.  s->resumed stays 0 when RUN has nothing yet. */
static void
read_position(struct stream *s, const struct given *g)
{
    const char *const run = g->resume;
    char *path = xasprintf("%s/%s", run, SHARD_MANIFEST), *dir = NULL;
    struct manifest m;
    struct err e;
    int r = 0;

    if (io_exists(path)) {
        if (manifest_read(&m, run, &e) < 0)
            die_err(&e);
        if (m.complete)
            die(EX_USAGE, "%s: is complete: there is nothing to resume", run);
        if (m.nfile > 0) {
            s->at.seq = m.seq;
            chain_hex(&m.chain, s->at.chain);
            s->at.cursor = m.cursor ? xstrdup(m.cursor) : NULL;
            r = 1;
        } else if (!is_said(g)) {
            die(EX_USAGE,
                "%s: was begun, but holds no shard yet, so nothing says with "
                "which options: give them again (-s 0 if there were none)",
                run);
        }
        manifest_release(&m);
    } else if ((r = ckpt_newest(run, &dir, NULL, &s->at, &e)) < 0) {
        die_err(&e);
    }
    free(path);
    free(dir);
    if (r == 0) {
        note("%s: nothing to resume, starting at the beginning", run);
        return;
    }
    /* A run that has consumed no batch yet. */
    if (!s->at.cursor && s->at.seq == 0)
        return;
    if (!s->at.cursor)
        die(EX_INPUT,
            "%s: holds no cursor: what it has read was not written by stream",
            run);
    if (cursor_read(&s->from, s->at.cursor, &e) < 0)
        die(e.code, "%s: %s", run, e.msg);
    s->resumed = 1;
}

static void
check_cursor(const struct stream *s, const char *run, const char *algorithm)
{
    char a[33], b[33];

    if (strcmp(s->from.algorithm, algorithm) != 0)
        die(EX_INPUT,
            "%s: its cursor is of algorithm %s, but this data is streamed by "
            "%s",
            run, s->from.algorithm, algorithm);
    chain_hex(&s->from.data, a);
    chain_hex(&s->d.hash, b);
    if (strcmp(a, b) != 0)
        die(EX_INPUT,
            "%s: its cursor belongs to other data (%.8s, these directories are "
            "%.8s)",
            run, a, b);
}

static void
contradict(const char *name, const char *given, const char *cursor)
{
    die(EX_USAGE, "%s %s contradicts the resumed stream, which has %s", name,
        given, cursor);
}

static void
contradict_number(const char *name, size_t given, const char *cursor)
{
    char text[24];

    snprintf(text, sizeof text, "%zu", given);
    contradict(name, text, cursor);
}

/* A whole number: what is given, else what the cursor says, else a default. */
static uint64_t
whole(const struct stream *s, const char *name, size_t v, uint64_t cursor,
    uint64_t otherwise)
{
    char was[24];

    if (v == OPT_NONE)
        return s->resumed ? cursor : otherwise;
    snprintf(was, sizeof was, "%" PRIu64, cursor);
    if (s->resumed && v != cursor)
        contradict_number(name, v, was);
    return v;
}

static void
choose_length(const struct stream *s, const struct given *g,
    struct cursor_spec *r)
{
    const char *const name[] = { "--batches", "--tokens", "--epochs" };
    const struct cursor_spec *was = &s->from.spec;
    char said[40];

    r->length = s->resumed ? was->length : LENGTH_EPOCHS;
    r->limit = s->resumed ? was->limit : 1;
    for (int i = 0, n = 0; i < 3; i++) {
        if (g->length[i] == OPT_NONE)
            continue;
        if (n++)
            die(EX_USAGE,
                "--batches, --tokens and --epochs exclude each other");
        snprintf(said, sizeof said, "--%s %" PRIu64, length_names[was->length],
            was->limit);
        if (s->resumed && (int)was->length != i)
            contradict_number(name[i], g->length[i], said);
        r->length = (enum length)i;
        r->limit = whole(s, name[i], g->length[i], was->limit, 1);
    }
}

static void
choose_pack(const struct stream *s, const struct given *g,
    struct cursor_spec *r)
{
    const int was = s->resumed ? (int)s->from.spec.pack : -1;

    r->pack = g->pack >= 0 ? (enum pack)g->pack
        : s->resumed       ? s->from.spec.pack
                           : PACK_BEST;
    if (was >= 0 && (int)r->pack != was)
        contradict("--pack", pack_names[r->pack], pack_names[was]);
}

static void
choose_weights(const struct stream *s, const struct given *g,
    struct cursor_spec *r)
{
    const size_t n = s->d.info.nsource;
    const struct cursor_spec *was = &s->from.spec;
    const int alpha = !isnan(g->alpha), unimax = !isnan(g->unimax);
    const int given = !!g->weights + alpha + unimax;
    const char *name = g->weights ? "--weights"
        : alpha                   ? "--alpha"
                                  : "--unimax";
    const char *text = g->weights;
    char number[32];
    struct err e;
    int bad;

    if (given > 1)
        die(EX_USAGE, "--weights, --alpha and --unimax exclude each other");
    r->natural = given ? 0 : s->resumed ? was->natural : 1;
    if (r->natural)
        return;
    r->nw = n;
    r->w = xcalloc(n, sizeof *r->w);
    if (!given && was->hashed)
        die(EX_USAGE,
            "the resumed stream has weights of %zu sources, which its cursor "
            "does not hold: give the same option again",
            n);
    if (!given) {
        if (was->nw != n)
            die(EX_INPUT, "cursor: %zu weights for %zu sources", was->nw, n);
        memcpy(r->w, was->w, n * sizeof *r->w);
        return;
    }
    if (!text) {
        snprintf(number, sizeof number, "%g", alpha ? g->alpha : g->unimax);
        text = number;
    }
    if (unimax && r->length == LENGTH_EPOCHS)
        die(EX_USAGE,
            "--unimax shares out a budget: give --tokens or --batches");
    bad = g->weights ? weights_parse(r->w, &s->d, g->weights, &e)
        : alpha      ? weights_alpha(r->w, &s->d, g->alpha, &e)
                     : weights_unimax(r->w, &s->d, g->unimax,
                      r->length == LENGTH_TOKENS
                               ? (double)r->limit
                               : (double)r->limit * (double)r->B * (double)r->T,
                           &e);
    if (bad < 0)
        die_err(&e);
    chain_of(&r->w_hash, r->w, n * sizeof *r->w);
    if (s->resumed &&
        (was->natural ||
            (was->hashed ? memcmp(was->w_hash.h, r->w_hash.h,
                               sizeof was->w_hash.h) != 0
                         : was->nw != n ||
                        memcmp(was->w, r->w, n * sizeof *r->w) != 0)))
        contradict(name, text,
            was->natural ? "natural proportions" : "other weights");
}

static void
choose_curriculum(const struct stream *s, const struct given *g,
    struct cursor_spec *r)
{
    const struct cursor_spec *was = &s->from.spec;
    char a[33] = "none", b[33] = "none";
    struct err e;

    if (g->curriculum && curriculum_read(r, &s->d, g->curriculum, &e) < 0)
        die_err(&e);
    if (r->staged && r->length == LENGTH_EPOCHS)
        die(EX_USAGE, "--curriculum counts tokens: give --tokens or --batches");
    if (r->staged)
        chain_hex(&r->curriculum, a);
    if (s->resumed && was->staged)
        chain_hex(&was->curriculum, b);
    if (s->resumed && strcmp(a, b) != 0)
        die(EX_USAGE,
            "the resumed stream has a --curriculum of hash %.8s, not %.8s", b,
            a);
}

/* R/N; of the cursor when it is not given, but another one is no
 * contradiction: rows do not depend on it. */
static void
choose_rank(const struct stream *s, const struct given *g,
    struct cursor_spec *r)
{
    const char *const slash = g->rank ? strchr(g->rank, '/') : NULL;
    char *text;

    r->rank = s->resumed ? s->from.spec.rank : 0;
    r->ranks = s->resumed ? s->from.spec.ranks : 1;
    if (!g->rank)
        return;
    text = xstrdup(g->rank);
    if (slash)
        text[slash - g->rank] = '\0';
    if (!slash || number_size(slash + 1, 1, 1 << 20, &r->ranks) < 0 ||
        number_size(text, 0, (double)r->ranks - 1.0, &r->rank) < 0)
        die(EX_USAGE, "--rank: \"%.100s\" is not R/N with 0 <= R < N", g->rank);
    free(text);
    if (r->ranks > r->B)
        die(EX_USAGE, "--rank %s: a batch has only %zu rows for all ranks",
            g->rank, r->B);
}

/* As many frames open as memory allows. */
static size_t
fit(const struct stream *s, const struct given *g)
{
    struct err e;
    const size_t n = s->d.info.T ? rows_fit(&s->d, g->mem, &e)
                                 : sampler_fit(&s->d, g->mem, &e);

    if (n == 0)
        die_err(&e);
    return n;
}

/* Options, cursor and defaults together. */
static void
choose(const struct stream *s, const struct given *g, struct cursor_spec *r)
{
    const int docs = s->d.info.T == 0;
    const struct cursor_spec *was = &s->from.spec;

    memset(r, 0, sizeof *r);
    if (!docs &&
        (g->weights || !isnan(g->alpha) || g->pack >= 0 || !isnan(g->unimax) ||
            g->curriculum))
        die(EX_USAGE,
            "%s: holds batches, whose mixture and packing are recorded: "
            "--weights, --alpha, --unimax, --curriculum and --pack are for "
            "documents",
            dirs_name(&s->d, 0));
    if (g->shuffle && g->no_shuffle)
        die(EX_USAGE, "--shuffle and --no-shuffle exclude each other");
    r->B = (size_t)whole(s, "-B", g->B, was->B, 8);
    r->T = (size_t)whole(s, "-T", g->T, was->T, docs ? 1024 : s->d.info.T);
    if (!docs && r->T != s->d.info.T)
        die(EX_USAGE, "-T %zu: %s holds rows of %zu tokens", r->T,
            dirs_name(&s->d, 0), s->d.info.T);
    r->seed = whole(s, "-s", g->seed, was->seed, 0);
    r->shuffle = g->shuffle ? 1
        : g->no_shuffle     ? 0
        : s->resumed        ? was->shuffle
                            : docs;
    if (!docs && !r->shuffle && g->open != OPT_NONE)
        die(EX_USAGE, "--open is for what is shuffled");
    r->open = docs || r->shuffle
        ? (size_t)whole(s, "--open", g->open, was->open,
              g->open != OPT_NONE || s->resumed ? 0 : fit(s, g))
        : 0;
    if (s->resumed && r->shuffle != was->shuffle)
        die(EX_USAGE,
            "--%sshuffle contradicts the resumed stream, which has --%sshuffle",
            r->shuffle ? "" : "no-", was->shuffle ? "" : "no-");
    choose_length(s, g, r);
    choose_pack(s, g, r);
    r->natural = 1;
    choose_rank(s, g, r);
    if (docs) {
        choose_weights(s, g, r);
        choose_curriculum(s, g, r);
    }
    if (r->length == LENGTH_BATCHES && r->limit > UINT64_MAX / r->B)
        die(EX_USAGE, "--batches: too many");
}

/* Rows of the next batch.  1; 0: the stream is at its end; -1.  A last batch
 * that has no row for some rank is left out: all ranks have as many. */
static int
make_batch(struct stream *s, struct err *e)
{
    const struct cursor_spec *p = &s->c.spec;
    struct feed *f = s->feed;

    f->clear(f);
    while (f->B < p->B) {
        int r;

        if (p->length == LENGTH_BATCHES && f->rows >= p->limit * p->B)
            break;
        if (p->length == LENGTH_TOKENS && s->c.tokens + f->tokens >= p->limit)
            break;
        if ((r = f->row(f, e)) < 0)
            return -1;
        if (r == 0)
            break;
    }
    return f->B >= p->ranks;
}

/* Begin the message of the next batch in w, and make its rows. */
static int
next_batch(struct stream *s, struct msg_out *w, struct err *e)
{
    struct st_out *o;
    int r;

    s->c.chain = s->h;
    s->feed->save(s->feed, &s->c);
    buf_clear(&s->text);
    cursor_write(&s->text, &s->c);
    if ((r = make_batch(s, e)) <= 0)
        return r;
    o = msg_begin(w, MSG_BATCH);
    st_out_meta(o, "cursor", s->text.p);
    s->feed->put(s->feed, o);
    msg_out_tokens(w, s->feed->own_tokens);
    s->c.tokens += s->feed->tokens;
    s->c.own += s->feed->own_tokens;
    return 1;
}

/* Take up after the cursor's message: make it again without sending it. */
static void
go_on(struct stream *s, const char *run)
{
    const size_t rank = s->c.spec.rank, ranks = s->c.spec.ranks;
    const struct cursor *c = &s->from;
    struct msg_out *w;
    struct err e;

    if (s->at.seq < c->seq)
        die(EX_INPUT,
            "%s: stands at message %" PRIu64
            ", before that of its cursor, %" PRIu64,
            run, s->at.seq, c->seq);
    s->c.seq = c->seq;
    s->c.tokens = c->tokens;
    s->c.own = c->own;
    s->h = c->chain;
    /* That message was of this rank. */
    s->c.spec.rank = c->spec.rank;
    s->c.spec.ranks = c->spec.ranks;
    if (s->feed->load(s->feed, c, &e) < 0)
        die(e.code, "%s: %s", run, e.msg);
    if (!(w = msg_out_open("/dev/null", &e)))
        die_err(&e);
    msg_out_resume(w, c->seq, &c->chain);
    switch (next_batch(s, w, &e)) {
    case 0:
        die(EX_INPUT, "%s: its cursor stands behind the end of the stream",
            run);
    case -1: die_err(&e);
    }
    if (msg_send(w, &e) < 0)
        die_err(&e);
    s->h = *msg_out_chain(w);
    s->c.seq++;
    msg_out_close(w);
    s->c.spec.rank = rank;
    s->c.spec.ranks = ranks;
    s->feed->pieces = s->feed->cuts = 0;
}

/* How many batches will the whole stream be? */
static int
count_batches(struct stream *s, struct err *e)
{
    const struct cursor_spec *p = &s->c.spec;
    const double t = clock_now();
    uint64_t rows = p->limit * p->B;

    if (p->length != LENGTH_BATCHES && s->feed->total(s->feed, &rows, e) < 0)
        return -1;
    /* A last batch that has no row for some rank is left out. */
    s->batches_all = rows / p->B + (rows % p->B >= p->ranks);
    if (s->batches_all)
        vnote("%" PRIu64 " batches, counted in %.2f s", s->batches_all,
            clock_now() - t);
    return 0;
}

/* Keys of a `stream` message that are said anew. */
static int
is_known(const char *key)
{
    static const char *const known[] = { "kind", "seq", "version", "content",
        "tokenizer", "vocab", "bos", "eos", "sources", "T", "algorithm",
        "next_seq", "next_tokens", "chain", "chain_down", "batches", "cursor" };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i]) == 0)
            return 1;
    return 0;
}

/* The `teacher` message all directories agree on; NULL: there is none. */
static const struct msg *
find_teacher(const struct stream *s)
{
    const struct msg *first = NULL;
    struct err e = { 0 };

    for (size_t i = 0; i < s->d.n; i++) {
        const struct msg *m = NULL;

        if (set_manifest(s->d.set[i])->teacher &&
            !(m = set_teacher(s->d.set[i], &e)))
            die_err(&e);
        if (i == 0)
            first = m;
        else if (!m != !first ||
            (m &&
                (m->nraw != first->nraw ||
                    memcmp(m->raw, first->raw, m->nraw) != 0)))
            die(EX_INPUT, "%s: its teacher is not that of %s",
                dirs_name(&s->d, i), dirs_name(&s->d, 0));
    }
    return first;
}

static int
send_preamble(struct stream *s, struct msg_out *w, const struct msg *teacher,
    struct err *e)
{
    const struct cursor_spec *p = &s->c.spec;
    const struct msg *head = set_head(s->d.set[0], e);
    struct stream_info i = s->d.info;
    struct st_out *o;
    char text[40];
    int r;

    if (!head)
        return -1;
    i.content = "batch";
    i.T = p->T;
    i.algorithm = s->c.algorithm;
    if (s->resumed) {
        msg_out_resume(w, s->c.seq, &s->h);
        msg_out_tokens(w, s->c.own);
    }
    o = msg_begin(w, MSG_STREAM);
    stream_info_put(o, &i);
    if (s->batches_all)
        st_out_number(o, "batches", s->batches_all);
    for (size_t k = 0; k < head->st.nmeta; k++)
        if (!is_known(head->st.key[k]))
            st_out_meta(o, head->st.key[k], head->st.val[k]);
    chain_hex(&s->h, text);
    if (s->resumed && strcmp(text, s->at.chain) != 0)
        st_out_meta(o, "chain_down", s->at.chain);
    if ((r = msg_send(w, e)) != 0 || !teacher)
        return r;
    msg_copy(w, teacher);
    return msg_send(w, e);
}

/* What share of t is it, in percent? */
static double
share(double x, double t)
{
    return t > 0.0 ? 100.0 * x / t : 0.0;
}

/* Where time went, the start left out, where all wait. */
static void
show(struct stream *s, const struct means *how)
{
    const double now = clock_now(), t = now - s->begun;
    const double after = s->batches ? now - s->first : 0.0;
    const double threads = how->threads ? (double)how->threads : 1.0;
    const struct feed *f = s->feed;
    struct ahead_times x;
    char late[40] = "never ahead";

    s->feed->times(s->feed, &x);
    if (x.ahead)
        snprintf(late, sizeof late,
            "since they were ahead %" PRIu64 " frames late", x.late);
    prog_closing("%" PRIu64 " tokens in %" PRIu64
                 " batches, %.0f tokens/s, padding %.2f %%",
        s->made, s->batches, t > 0.0 ? (double)s->made / t : 0.0,
        s->padded ? 100.0 - share((double)s->made, (double)s->padded) : 0.0);
    prog_detail("%.1f %% of %" PRIu64
                " pieces are cuts; first batch after %.2f s, then of %.1f s "
                "writing took %.1f (%.1f %%), waiting for frames %.1f (%.1f "
                "%%), decoding here %.1f (%.1f %%); %zu threads ahead: "
                "decoding %.1f, waiting for room %.1f (%.1f %%), %s",
        share((double)f->cuts, (double)f->pieces), f->pieces,
        s->batches ? s->first - s->begun : 0.0, after, s->sending,
        share(s->sending, after), x.waited - s->before.waited,
        share(x.waited - s->before.waited, after),
        x.decoded - s->before.decoded,
        share(x.decoded - s->before.decoded, after), how->threads,
        x.busy - s->before.busy, x.idle - s->before.idle,
        share(x.idle - s->before.idle, after * threads), late);
}

/* Everything after the preamble.  0 the end was sent, 1 the reader has left,
 * -1. */
static int
send_batches(struct stream *s, struct msg_out *w, struct err *e)
{
    char extra[40];
    int r;

    while ((r = next_batch(s, w, e)) > 0) {
        const double t = clock_now();

        if (stop_asked)
            return err_set(e, EX_STOP, "interrupted");
        if ((r = msg_send(w, e)) != 0)
            return r;
        if (s->batches++ == 0) {
            s->first = clock_now();
            s->feed->times(s->feed, &s->before);
        } else {
            s->sending += clock_now() - t;
        }
        s->h = *msg_out_chain(w);
        s->c.seq++;
        s->made += s->feed->own_tokens;
        s->padded += s->feed->own_B * s->c.spec.T;
        snprintf(extra, sizeof extra, "%.3g M tokens",
            (double)s->c.tokens / 1e6);
        progress_at((double)(s->c.seq - s->head), extra);
    }
    return r < 0 ? -1 : msg_end(w, e);
}

static void
run(struct stream *s, const struct means *how, const struct given *g)
{
    const struct opt_list *tee = &g->tee;
    const struct msg *teacher = find_teacher(s);
    struct msg_out *w;
    struct err e = { 0 }, e2;
    int r;

    prog_catch_stop();
    for (size_t i = 0; i < tee->n; i++)
        for (size_t k = 0; k <= i; k++)
            if (addr_same(tee->v[i], k < i ? tee->v[k] : g->out))
                die(EX_USAGE, "%s: stands twice among the outputs", tee->v[i]);
    if (!(w = msg_out_open(g->out, &e)))
        die_err(&e);
    for (size_t i = 0; i < tee->n; i++)
        if (msg_out_tee(w, tee->v[i], &e) < 0)
            die_err(&e);
    s->head = teacher ? 2 : 1;
    progress_begin("streamed", 0.0, "batches");
    if (s->resumed)
        progress_from((double)(s->c.seq - s->head));
    r = count_batches(s, &e);
    progress_total((double)s->batches_all);
    if (r == 0 && s->resumed)
        go_on(s, g->resume);
    if (r == 0 && (r = send_preamble(s, w, teacher, &e)) == 0) {
        if (!s->resumed) {
            s->c.seq = msg_out_seq(w);
            s->h = *msg_out_chain(w);
        }
        r = send_batches(s, w, &e);
    }
    /* Ctrl-C may take the reader a moment earlier. */
    if (r > 0 && stop_asked)
        r = err_set(&e, EX_STOP, "interrupted");
    progress_end();
    show(s, how);
    if (r < 0) {
        msg_abort(w, e.msg, &e2);
        msg_out_close(w);
        die_err(&e);
    }
    msg_out_close(w);
}

/* Threads that read ahead, beside the one that packs and writes. */
static size_t
threads_ahead(size_t given)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = given ? given : cpus > 1 ? (size_t)cpus : 1;

    if (!given && n > THREADS_MOST)
        n = THREADS_MOST;
    return n - 1;
}

int
main(int argc, char **argv)
{
    struct given g = { .B = OPT_NONE,
        .T = OPT_NONE,
        .seed = OPT_NONE,
        .open = OPT_NONE,
        .length = { OPT_NONE, OPT_NONE, OPT_NONE },
        .alpha = NAN,
        .unimax = NAN,
        .pack = -1,
        .mem = MEM_DEFAULT };
    struct means how;
    struct stream s = { .begun = clock_now() };
    const struct opt opts[] = { OPT_STR('o', "output", &g.out, "stream",
                                    "write there (default stdout)"),
        OPT_LIST(0, "tee", &g.tee, "stream", "write there too"),
        OPT_SIZE('B', "batch-size", &g.B, 1, 1 << 20, "rows",
            "rows a batch (default: 8)"),
        OPT_SIZE('T', "length", &g.T, 1, 1 << 24, "tokens",
            "tokens a row (default: 1024, or what is recorded)"),
        OPT_FLAG(0, "partial", &g.partial, "read unfinished directories"),
        OPT_FLAG(0, "dry-run", &g.dry, "print what would be streamed"),
        OPT_GROUP("order"),
        OPT_SIZE('s', "seed", &g.seed, 0, WHOLE, "seed",
            "of the order (default: 0)"),
        OPT_FLAG(0, "shuffle", &g.shuffle, "permute (default for documents)"),
        OPT_FLAG(0, "no-shuffle", &g.no_shuffle,
            "keep the stored order (default for recorded batches)"),
        OPT_SIZE(0, "open", &g.open, 1, 1 << 20, "frames",
            "open at once for shuffling (default: half of --mem)"),
        OPT_SIZE(0, "mem", &g.mem, 1 << 20, WHOLE, "bytes",
            "memory for frames, open and read ahead"),
        OPT_SIZE('j', "threads", &g.threads, 0, 64, "threads",
            "threads, 1: none reads ahead (0: one a processor, at most 4)"),
        OPT_STR(0, "cpus", &g.cpus, "list",
            "run on these processors, such as 0-3,8"),
        OPT_STR(0, "numa", &g.node, "node",
            "run on this memory node, with buffers there"),
        OPT_STR(0, "rank", &g.rank, "r/n",
            "write rows r, r+n, ... of each batch, of n ranks (default 0/1)"),
        OPT_STR(0, "resume", &g.resume, "run",
            "go on after the newest checkpoint of a run or directory"),
        OPT_GROUP("length"),
        OPT_SIZE(0, "batches", &g.length[LENGTH_BATCHES], 1, WHOLE, "n",
            "end after n batches"),
        OPT_SIZE(0, "tokens", &g.length[LENGTH_TOKENS], 1, WHOLE, "n",
            "end with the row that reaches n tokens"),
        OPT_SIZE(0, "epochs", &g.length[LENGTH_EPOCHS], 1, WHOLE, "n",
            "end when every source was read n times (default: 1)"),
        OPT_GROUP("documents"),
        OPT_ENUM(0, "pack", &g.pack, pack_names, "how",
            "how documents fill rows, by default best"),
        OPT_STR(0, "weights", &g.weights, "name=x,...",
            "shares of the sources (default: in proportion to tokens)"),
        OPT_REAL(0, "alpha", &g.alpha, 0, 10, "a",
            "shares in proportion to tokens to the power a"),
        OPT_REAL(0, "unimax", &g.unimax, 0.001, 1e6, "cap",
            "equal shares, but no source more than cap times"),
        OPT_STR(0, "curriculum", &g.curriculum, "file",
            "shares that change at given tokens"),
        OPT_END };
    struct err e;
    int n;
    char **dir = opt_parse(argc, argv, opts,
        "Shuffle, mix and pack shards into batches; replay batches.", "dir ...",
        1, -1, &n);
    const char *algorithm;

    for (int i = 0; i < n; i++)
        if (strcmp(dir[i], "-") == 0)
            die(EX_USAGE,
                "-: a stream cannot be read in any order; store it with shard "
                "-o, and name the directory");
    if (place(g.cpus, g.node, &e) < 0)
        die_err(&e);
    if (dirs_open(&s.d, dir, (size_t)n, g.partial, &e) < 0)
        die_err(&e);
    algorithm = s.d.info.T ? CURSOR_ROWS : CURSOR_DOCS;
    if (g.resume)
        read_position(&s, &g);
    if (s.resumed)
        check_cursor(&s, g.resume, algorithm);
    choose(&s, &g, &s.c.spec);
    snprintf(s.c.algorithm, sizeof s.c.algorithm, "%s", algorithm);
    s.c.data = s.d.hash;
    how = (struct means){ g.mem, threads_ahead(g.threads), g.dry };
    s.feed = s.d.info.T ? rows_feed(&s.d, &s.c.spec, &how, &e)
                        : docs_feed(&s.d, &s.c.spec, &how, &e);
    if (!s.feed)
        die_err(&e);
    if (g.dry) {
        if (s.feed->plan(s.feed, &e) < 0)
            die_err(&e);
    } else {
        run(&s, &how, &g);
    }
    s.feed->free(s.feed);
    dirs_release(&s.d);
    position_release(&s.at);
    buf_release(&s.text);
    free(s.c.spec.w);
    curriculum_release(&s.c.spec);
    if (s.resumed)
        cursor_release(&s.from);
    if (g.dry)
        out_done();
    return 0;
}
