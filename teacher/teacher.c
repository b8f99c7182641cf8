/* teacher - add what a model knows to a stream of batches; see teacher(1) */
#include "teacher.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/pool.h"
#include "base/profile.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "msg/addr.h"
#include "tok/tok.h"
#include "kern/kern.h"
#include "model/forward.h"
#include "train/plan.h"

#include <stdlib.h>
#include <string.h>

/* Of the head at a time, when it is sent. */
enum { HEAD_BYTES = 1 << 20 };

static const char *const dtypes[] = { "bf16", "f32", NULL };

struct args {
    const char *model, *out, *hidden, *student, *prompt, *tokenizer;
    size_t threads, micro, length, top, sample, seed;
    double tau;
    int final, no_head, dtype;
};

static struct args a = { .length = 64, .tau = 3.0 };

static const struct opt options[] = { OPT_STR('m', "model", &a.model, "model",
                                          "the teacher"),
    OPT_STR('o', "output", &a.out, "address", "stream to write"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_FLAG(0, "final", &a.final,
        "add final hidden states (default: with those of all blocks)"),
    OPT_SIZE(0, "top", &a.top, 0, 1e6, "k",
        "add the k most probable tokens of each prediction (0: none)"),
    OPT_SIZE(0, "sample", &a.sample, 0, UINT16_MAX, "n",
        "add n tokens drawn by chance for each prediction (0: none)"),
    OPT_SIZE('s', "seed", &a.seed, 0, 1e18, "seed", "of --sample"),
    OPT_REAL(0, "temperature", &a.tau, 0.01, 1000, "T",
        "that the student trains at with --top and --sample"),
    OPT_STR(0, "hidden", &a.hidden, "blocks",
        "add outputs of blocks: all, none, mapped or a list such as 0,3,7"),
    OPT_STR(0, "student", &a.student, "model",
        "whose kept blocks --hidden mapped means"),
    OPT_ENUM(0, "dtype", &a.dtype, dtypes, "type",
        "of the added tensors, bf16 being f16 for --top"),
    OPT_FLAG(0, "no-head", &a.no_head,
        "leave the head out: the student has it by student --teacher"),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows at a time (0: one, or as many as 1024 tokens hold)"),
    OPT_GROUP("instead of a stream"),
    OPT_STR(0, "generate", &a.prompt, "prompt",
        "print a greedy continuation of the prompt"),
    OPT_SIZE('n', "max-new-tokens", &a.length, 1, 1e6, "tokens",
        "longest continuation"),
    OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
        "for --generate (default: the model's)"),
    OPT_END };

struct teacher {
    struct model m;
    struct pool *pool;
    struct fwd *fwd; /* for micro rows of T tokens */
    size_t micro, T;
    float *x;                  /* [B,T,d] */
    unsigned char *tap;        /* [L] 1: hidden state of the block is sent */
    size_t last;               /* blocks to run when no final is wanted */
    size_t cap;                /* of x, floats */
    struct top *top;           /* --top, or NULL */
    int sends_states;          /* a final state or those of blocks */
    size_t program;            /* memory in use beside all of this */
    int told;                  /* the first batch has been sent */
    struct rounding *rounding; /* of the first batch; or NULL */
    struct batch batch;
    struct msg_in *in;
    struct msg_out *out;
};

/* Are tokens added? */
static int
speaks(void)
{
    return a.top > 0 || a.sample > 0;
}

/* Which blocks to tap: "all", "none", "mapped", "0,3,7". */
static void
choose_taps(struct teacher *t)
{
    const size_t L = t->m.c.L;
    const char *h = a.hidden != NULL ? a.hidden
        : a.final || speaks()        ? "none"
                                     : "all";
    struct model s;
    struct err e;

    t->tap = xcalloc(L, 1);
    if (strcmp(h, "all") == 0) {
        memset(t->tap, 1, L);
    } else if (strcmp(h, "mapped") == 0) {
        if (a.student == NULL)
            die(EX_USAGE, "--hidden mapped needs --student");
        if (model_open(&s, a.student, &e) < 0)
            die_err(&e);
        for (size_t i = 0; i < s.c.L; i++) {
            if (s.block[i].source >= L)
                die(EX_INPUT,
                    "%s: block %zu was cut from block %zu, the "
                    "teacher has %zu",
                    a.student, i, s.block[i].source, L);
            t->tap[s.block[i].source] = 1;
        }
        model_close(&s);
    } else if (strcmp(h, "none") != 0) {
        for (const char *p = h; *p != '\0';) {
            char *end;
            const unsigned long k = strtoul(p, &end, 10);

            if (end == p || *p < '0' || *p > '9' || k >= L ||
                (*end != ',' && *end != '\0'))
                die(EX_USAGE,
                    "--hidden %s: not all, none, mapped or block "
                    "numbers below %zu",
                    h, L);
            t->tap[k] = 1;
            p = *end == ',' ? end + 1 : end;
        }
    }
    if (a.hidden == NULL && !speaks())
        a.final = 1;
    for (size_t i = 0; i < L; i++)
        if (t->tap[i])
            t->last = i + 1;
    t->sends_states = a.final || t->last > 0;
    if (a.final || speaks())
        t->last = L;
    if (t->last == 0)
        die(EX_USAGE, "nothing to add: --final, --top, --sample or --hidden");
}

/* The head's type in the stream: its own where a stream can hold it. */
static enum dtype
head_type(const struct weight *w)
{
    return w->perm == 0 &&
            (w->dtype == DT_F32 || w->dtype == DT_BF16 || w->dtype == DT_F16)
        ? w->dtype
        : DT_F32;
}

/* The head a tile at a time, so that it is never all in memory. */
static int
send_head(struct teacher *t, struct err *e)
{
    const struct weight *w = &t->m.head;
    const int plain = head_type(w) == w->dtype;
    const size_t tile = HEAD_BYTES / (w->cols * sizeof(float)) + 1;
    float *wide =
        plain ? NULL : xreallocarray(NULL, tile * w->cols, sizeof *wide);
    int r = 0;

    for (size_t i = 0; r == 0 && i < w->rows; i += tile) {
        const size_t n = tile < w->rows - i ? tile : w->rows - i;

        if (!plain)
            weight_rows(w, i, n, wide);
        r = msg_send_part(t->out,
            plain ? w->data + i * w->stride : (const unsigned char *)wide,
            n * (plain ? w->stride : w->cols * sizeof *wide), e);
        model_forget_tile(&t->m, w, i, n);
    }
    free(wide);
    return r;
}

/* The `teacher` message. */
static int
send_self(struct teacher *t, struct err *e)
{
    const struct weight *w = &t->m.head;
    const size_t d = t->m.c.d, shape[2] = { w->rows, w->cols };
    const int head = !a.no_head && (a.final || !speaks());
    struct st_out *o = msg_begin(t->out, MSG_TEACHER);
    json_t *j = config_to_json(&t->m.c, NULL, NULL);
    char *config = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS), hash[33];
    char tau[32];
    float *norm = xreallocarray(NULL, d, sizeof(float));
    int r;

    model_head_hash(&t->m, hash);
    weight_rows(&t->m.norm, 0, 1, norm);
    for (size_t i = 0; t->m.norm.add != 0.0f && i < d; i++)
        norm[i] += t->m.norm.add;
    st_out_meta(o, "config", config);
    st_out_meta(o, "head_hash", hash);
    st_out_meta(o, "final", "post-norm");
    st_out_meta(o, "hidden", "block output, before the final norm");
    if (speaks()) {
        st_out_number(o, "vocab", t->m.c.V);
        snprintf(tau, sizeof(tau), "%.17g", a.tau);
        st_out_meta(o, "temperature", tau);
    }
    if (head)
        st_out_tensor(o, "head", head_type(w), 2, shape, NULL);
    st_out_tensor(o, "norm", DT_F32, 1, &d, NULL);
    r = msg_send_begin(t->out, e);
    if (r == 0 && head)
        r = send_head(t, e);
    if (r == 0)
        r = msg_send_part(t->out, norm, d * sizeof *norm, e);
    model_forget(&t->m, NULL);
    json_decref(j);
    free(config);
    free(norm);
    return r;
}

/* Work space for batches of B rows of T tokens. */
static void
fit(struct teacher *t, size_t B, size_t T)
{
    const size_t want = B * T * t->m.c.d;
    const size_t micro = plan_teacher_micro(a.micro, B, T);

    if (t->fwd == NULL || T > t->T || micro > t->micro) {
        fwd_free(t->fwd);
        t->fwd = fwd_new_blocks(&t->m, t->pool, micro, T);
        t->micro = micro;
        t->T = T;
    }
    if (want > t->cap) {
        free(t->x);
        t->x = xreallocarray(NULL, want, sizeof(float));
        t->cap = want;
    }
}

static size_t
most(size_t x, size_t y)
{
    return x > y ? x : y;
}

/* Memory, once the first batch has been prepared to be sent. */
static void
tell_memory(const struct teacher *t, const struct msg *m)
{
    const struct config *c = &t->m.c;
    const size_t tok = t->batch.B * t->batch.T;
    const size_t weights = plan_window(&t->m, tok, t->top != NULL);
    const size_t work =
        fwd_bytes(t->fwd) + (t->top != NULL ? top_bytes(t->top, tok) : 0);
    const size_t states = plan_states(&t->m, tok);
    const size_t sent = !t->sends_states ? 0
        : a.dtype == 0                   ? states / 2
                                         : states;
    const size_t tokens = tok * most(a.top, a.sample) * sizeof(uint32_t);
    const size_t messages = msg_in_memory(t->in, m->nraw) +
        msg_out_memory(t->out, most(sent, tokens));
    const size_t probe = t->rounding != NULL ? rounding_bytes(t->rounding) : 0;
    const size_t step = weights + work,
                 all = t->program + states + messages + most(probe, step);
    size_t *mlp = xcalloc(2 * c->L, sizeof *mlp);
    const double mb = 1e-6;
    struct err e;

    model_shape(&t->m, mlp, mlp + c->L);
    note("%zu parameters, %.4g GFLOP a token, memory in all %.1f MB",
        model_params(&t->m), plan_flop_forward(c, mlp, t->batch.T) * 1e-9,
        (double)all * mb);
    vnote("memory in MB: program %.1f, weights at a time %.1f, work %.1f, "
          "states %.1f, messages %.1f",
        (double)t->program * mb, (double)weights * mb, (double)work * mb,
        (double)states * mb, (double)messages * mb);
    free(mlp);
    if (plan_fits(all, "fewer rows a batch or a shorter T (stream -B, -T)",
            &e) < 0)
        die_err(&e);
}

/* The embedding's rows, which are few of many: what comes into memory with
 * them does not stay. */
static void
embed(struct teacher *t)
{
    const struct batch *b = &t->batch;
    const size_t d = t->m.c.d;

    for (size_t i = 0; i < b->B * b->T; i++) {
        if (b->first[i] == BATCH_PAD)
            memset(t->x + i * d, 0, d * sizeof(float));
        else
            weight_rows(&t->m.embed, b->ids[i], 1, t->x + i * d);
        if (i % 64 == 63)
            model_forget(&t->m, &t->m.embed);
    }
}

/* After a block, or the head, has seen all rows of the batch. */
static void
forget_weights(const struct teacher *t)
{
    if (t->batch.B * t->batch.T >= PLAN_WINDOW_TOKENS)
        model_forget(&t->m, NULL);
}

/* All rows through block k, or through the final norm (k = L), `micro` at a
 * time; in place. */
static void
run_block(struct teacher *t, size_t k)
{
    const struct batch *b = &t->batch;

    for (size_t i = 0; i < b->B; i += t->micro) {
        const size_t n = b->B - i < t->micro ? b->B - i : t->micro;
        const size_t at = i * b->T;
        const struct rows r = { n, b->T, b->ids + at, b->first + at };
        float *x = t->x + at * t->m.c.d;

        if (k < t->m.c.L)
            fwd_block(t->fwd, k, &r, x, x);
        else
            fwd_norm(t->fwd, &r, x, x);
    }
    forget_weights(t);
}

/* The states as they are now, as the next tensor of the message. */
static int
send_states(struct teacher *t, int final, struct err *e)
{
    const size_t n = t->batch.B * t->batch.T * t->m.c.d;
    void *out = msg_room(t->out, a.dtype == 0 ? 2 : 4);
    const double begin = profile_begin();

    if (a.dtype == 0)
        kern.narrow_bf16(out, t->x, n);
    else
        memcpy(out, t->x, n * sizeof(float));
    profile_end("narrowing", begin, 0.0, 6.0 * (double)n);
    if (t->rounding != NULL)
        rounding_add(t->rounding, &t->m, t->x, t->batch.first, n / t->m.c.d,
            final);
    return msg_send_next(t->out, e);
}

/* The batch and its states, of which only those of one block are in memory. */
static int
send_batch(struct teacher *t, const struct msg *m, struct err *e)
{
    const struct batch *b = &t->batch;
    const enum dtype type = a.dtype == 0 ? DT_BF16 : DT_F32;
    size_t shape[3] = { 0, 0, t->m.c.d };
    struct st_out *o;
    int r;

    if (batch_unpack(&t->batch, m, t->m.c.V, e) < 0)
        return err_prefix(e, "%s", msg_in_name(t->in));
    shape[0] = b->B;
    shape[1] = b->T;
    if (!t->told) {
        mem_trim();
        /* most of the code that a step brings is there by now */
        t->program = prog_resident() + PLAN_GROWS / 2;
    }
    fit(t, b->B, b->T);
    o = msg_copy(t->out, m);
    for (size_t i = 0; i < t->m.c.L; i++) {
        char name[40];

        if (!t->tap[i])
            continue;
        snprintf(name, sizeof(name), "teacher.hidden.%zu", i);
        st_out_tensor(o, name, type, 3, shape, NULL);
    }
    if (a.final)
        st_out_tensor(o, "teacher.final", type, 3, shape, NULL);
    if (t->top != NULL)
        top_begin(t->top, o, b->B, b->T);
    if (!t->told++) {
        if (t->sends_states && a.dtype == 0 && verbosity >= 0)
            t->rounding = rounding_new(&t->m, t->pool);
        tell_memory(t, m);
    }
    r = msg_send_begin(t->out, e);
    embed(t);
    for (size_t k = 0; r == 0 && k < t->last; k++) {
        run_block(t, k);
        if (t->tap[k])
            r = send_states(t, 0, e);
    }
    if (r == 0 && (a.final || t->top != NULL))
        run_block(t, t->m.c.L);
    if (r == 0 && a.final)
        r = send_states(t, 1, e);
    if (r == 0 && t->top != NULL) {
        r = top_send(t->top, t->fwd, t->x, b, t->out, e);
        forget_weights(t);
    }
    if (t->rounding != NULL) {
        fwd_free(t->fwd); /* for its memory; `fit` makes it again */
        t->fwd = NULL;
        rounding_tell(t->rounding, &t->m, t->pool);
        t->rounding = NULL;
    }
    return r;
}

/*
 * The `stream` message.  Ids of another tokenizer mean nothing to the model.
 * A resumed stream goes on in our numbering, which counts the `teacher`
 * message too, and in the chain of whoever is continued behind us.
 */
static int
take_stream(struct teacher *t, const struct msg *m, struct err *e)
{
    struct stream_info i;
    struct err none;
    int r = 0;

    if (stream_info_read(&i, &m->st, e) < 0)
        return -1;
    if (tok_matches(a.model, i.tokenizer, &none) == 0)
        r = err_set(e, EX_INPUT,
            "%s: was made with another tokenizer than "
            "that of %s",
            msg_in_name(t->in), a.model);
    else if (i.vocab > t->m.c.V)
        r = err_set(e, EX_INPUT,
            "%s: the stream's vocabulary is %zu, the "
            "model's %zu",
            msg_in_name(t->in), i.vocab, t->m.c.V);
    else if (i.resumed)
        msg_out_resume(t->out, i.next_seq + 1, &i.down);
    stream_info_release(&i);
    return r;
}

/* Pass one message on.  0; 1 the reader has left; -1 damage. */
static int
pass(struct teacher *t, const struct msg *m, int *introduced, struct err *e)
{
    int r = 0;

    if (m->kind == MSG_DOCS)
        return err_set(e, EX_INPUT,
            "%s: documents, not batches: put stream "
            "between",
            msg_in_name(t->in));
    if (m->kind == MSG_TEACHER)
        return err_set(e, EX_INPUT,
            "%s: message %llu: the stream has a "
            "teacher already",
            msg_in_name(t->in), (unsigned long long)m->seq);
    if (m->kind == MSG_BATCH) {
        if (!*introduced && (r = send_self(t, e)) != 0)
            return r;
        *introduced = 1;
        return send_batch(t, m, e);
    }
    (void)msg_copy(t->out, m);
    if (m->kind == MSG_STREAM && take_stream(t, m, e) < 0)
        return -1;
    return msg_send(t->out, e);
}

/* Damage upstream is told downstream, so that nothing there is taken for
 * whole. */
static void
fail(struct teacher *t, const struct err *why)
{
    struct err e;

    (void)msg_abort(t->out, why->msg, &e);
    die_err(why);
}

static void
filter(struct teacher *t, const char *input)
{
    double tokens = 0.0, start = clock_now();
    int introduced = 0, r, left = 0;
    struct msg m;
    struct err e;

    if (addr_is_special(a.out) && addr_same(a.out, input))
        die(EX_USAGE, "%s: is both input and output", a.out);
    if ((t->in = set_in_open(input, 0, &e)) == NULL ||
        (t->out = msg_out_open(a.out, &e)) == NULL)
        die_err(&e);
    progress_begin("computed", 0, "tokens");
    while (!left && (r = msg_read(t->in, &m, &e)) > 0) {
        if ((r = pass(t, &m, &introduced, &e)) < 0)
            break;
        left = r == 1;
        if (m.kind == MSG_BATCH) {
            tokens += (double)t->batch.ntok;
            profile_step(t->batch.ntok);
        }
        progress_total(msg_in_expect(t->in, tokens));
        progress_at(tokens, NULL);
    }
    progress_end();
    if (r < 0 || (!left && msg_end(t->out, &e) < 0))
        fail(t, &e);
    if (t->top != NULL)
        top_tell(t->top);
    prog_closing("%.0f tokens, %.1f tokens/s", tokens,
        tokens / (clock_now() - start + 1e-9));
    prog_detail("waited %.1f s for input", msg_in_wait(t->in));
    msg_in_close(t->in);
    msg_out_close(t->out);
}

int
main(int argc, char **argv)
{
    static struct teacher t;
    char **input = opt_parse(argc, argv, options,
        "add what a model knows to a stream of batches", "[input]", 0, 1, NULL);
    const char *why;
    struct err e;

    if (a.model == NULL)
        die(EX_USAGE, "-m is needed; see teacher -h");
    if (a.prompt == NULL && a.out == NULL)
        out_refuse_tty(1);
    if ((why = kern_init()) != NULL)
        die(EX_SYS, "%s", why);
    mem_settle();
    if (model_open(&t.m, a.model, &e) < 0 || model_check_finite(&t.m, &e) < 0)
        die_err(&e);
    if ((t.pool = pool_new(a.threads, &e)) == NULL)
        die_err(&e);
    if (a.prompt != NULL) {
        generate(&t.m, t.pool, a.tokenizer != NULL ? a.tokenizer : a.model,
            a.prompt, a.length);
        out_done();
    } else {
        choose_taps(&t);
        if (speaks())
            t.top = top_new(&t.m, t.pool,
                &(struct top_opt){ a.top, a.dtype == 0, a.sample, a.seed,
                    a.tau });
        filter(&t, *input);
    }
    top_free(t.top);
    model_close(&t.m);
    pool_free(t.pool);
    return 0;
}
