/* Running and sending batches: see states.h. */
#include "states.h"
#include "introduce.h"
#include "rank.h"
#include "round.h"
#include "shard.h"
#include "student_tokenizer.h"
#include "teacher.h"
#include "top.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/profile.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "kern/kern.h"
#include "model/pass/compute.h"
#include "model/pass/depth_map.h"
#include "model/files/fetch.h"
#include "model/pass/forward.h"
#include "train/plan.h"

#include <stdlib.h>
#include <string.h>

/* Choose the teacher's blocks that the student's blocks are matched with. */
static void
tap_mapped(struct teacher *t)
{
    const char *how;
    size_t *map;
    struct model s;
    struct err e;

    if (t->a->student == NULL)
        die(EX_USAGE, "--hidden mapped needs the student: give --student");
    if (model_open(&s, t->a->student, &e) < 0)
        die_err(&e);
    map = xcalloc(s.c.L, sizeof(*map));
    if (depth_map(&s, t->m.c.L, t->m.c.d, map, &how, &e) < 0)
        die(e.code, "%s: %s", t->a->student, e.msg);
    for (size_t i = 0; i < s.c.L; i++)
        t->tap[map[i]] = 1;
    free(map);
    model_close(&s);
}

/* Choose the blocks whose numbers are in a list with commas. */
static void
tap_listed(struct teacher *t, const char *list)
{
    for (const char *p = list; *p != '\0';) {
        char *end;
        const unsigned long k = strtoul(p, &end, 10);

        if (end == p || *p < '0' || *p > '9' || k >= t->m.c.L ||
            (*end != ',' && *end != '\0'))
            die(EX_USAGE,
                "--hidden %s: is neither all, none, mapped nor a list of "
                "numbers below %zu, such as 0,3",
                list, t->m.c.L);
        t->tap[k] = 1;
        p = *end == ',' ? end + 1 : end;
    }
}

void
choose_taps(struct teacher *t)
{
    const size_t L = t->m.c.L;
    const char *h = t->a->hidden != NULL ? t->a->hidden
        : t->a->final || adds_tokens(t)  ? "none"
                                         : "all";

    t->tap = xcalloc(L, 1);
    if (strcmp(h, "all") == 0)
        memset(t->tap, 1, L);
    else if (strcmp(h, "mapped") == 0)
        tap_mapped(t);
    else if (strcmp(h, "none") != 0)
        tap_listed(t, h);
    if (t->a->hidden == NULL && !adds_tokens(t))
        t->a->final = 1;
    for (size_t i = 0; i < L; i++)
        if (t->tap[i])
            t->last = i + 1;
    t->sends_states = t->a->final || t->last > 0;
    if (t->a->final || adds_tokens(t))
        t->last = L;
    if (t->last == 0)
        die(EX_USAGE,
            "there is nothing to add: give --final, --top, --sample or "
            "--hidden");
}

/* Make work space for batches of B rows of T tokens. */
static void
reserve_space(struct teacher *t, size_t B, size_t T)
{
    const size_t want = B * T * t->m.c.d;
    const size_t micro = plan_teacher_micro(t->a->micro, B, T);

    if (t->fwd == NULL || T > t->T || micro > t->micro) {
        fwd_free(t->fwd);
        t->fwd = fwd_new_blocks(t->run, t->pool, micro, T);
        if (t->run == &t->m && plan_holds(&t->m))
            fwd_hold(t->fwd);
        if (t->a->tensor > 1)
            fwd_sum(t->fwd, rank_sum, &t->team);
        if (t->a->context > 1)
            fwd_context(t->fwd, t->team.rank, t->team.n, rank_context,
                &t->team);
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
larger_size(size_t x, size_t y)
{
    return x > y ? x : y;
}

/* Bytes of weights that this rank holds all the time, with --tensor or --shard.
 */
static size_t
own_bytes(const struct teacher *t)
{
    return t->share.mem.cap +
        (t->shard != NULL ? shard_own_bytes(t->shard) : 0);
}

/* Most bytes of weights that are in memory at once. */
static size_t
weights_at_a_time(const struct teacher *t, size_t tokens)
{
    const struct weight *head = &t->m.head;

    if (t->run == &t->m)
        return plan_window(&t->m, tokens, t->top != NULL);
    return (t->shard != NULL ? shard_bytes(t->shard) : own_bytes(t)) +
        (t->top != NULL ? head->rows * head->stride : 0);
}

/* Print a note of the memory before the first batch; die if it does not fit. */
static void
note_teacher_memory(const struct teacher *t, const struct msg *m)
{
    const struct config *c = &t->m.c;
    const size_t tok = t->batch.B * t->batch.T;
    const size_t weights = weights_at_a_time(t, tok);
    const size_t work =
        fwd_bytes(t->fwd) + (t->top != NULL ? top_bytes(t->top, tok) : 0);
    const size_t states = plan_states(&t->m, tok);
    const size_t sent = !t->sends_states ? 0
        : t->a->dtype == 0               ? states / 2
                                         : states;
    const size_t tokens =
        tok * larger_size(t->a->top, t->a->sample) * sizeof(uint32_t);
    const size_t messages = msg_in_memory(t->in, m->nraw) +
        msg_out_memory(t->out, larger_size(sent, tokens));
    const size_t probe = t->rounding != NULL ? rounding_bytes(t->rounding) : 0;
    const size_t batch =
        t->program + states + messages + larger_size(probe, weights + work);
    /* The peak may have been earlier, when a large tokenizer was read. */
    const size_t all = larger_size(batch, prog_peak());
    struct block_shape *b = xcalloc(c->L, sizeof *b);
    const double mb = 1e-6;
    struct err e;

    model_shape(&t->m, b);
    note("%zu parameters, %.4g GFLOP a token, memory in all %.1f MB",
        model_params(&t->m), plan_flop_forward(c, b, t->batch.T) * 1e-9,
        (double)all * mb);
    vnote("memory in MB: program %.1f, weights at a time %.1f, work %.1f, "
          "states %.1f, messages %.1f; until now %.1f",
        (double)t->program * mb, (double)weights * mb, (double)work * mb,
        (double)states * mb, (double)messages * mb, (double)prog_peak() * mb);
    free(b);
    if (plan_fits(all, "fewer rows a batch or a shorter T (stream -B, -T)",
            &e) < 0)
        die_err(&e);
}

/* Look up the embeddings of the batch.  Few rows of the large table are used,
 * so the pages read for them are dropped. */
static void
embed_rows(struct teacher *t)
{
    const struct batch *b = &t->batch;
    const size_t n = t->row1 * b->T, most_rows = b->T < 64 ? b->T : 64;

    for (size_t i = t->row0 * b->T; i < n; i += most_rows) {
        const size_t k = n - i < most_rows ? n - i : most_rows;
        const struct rows r = { 1, k, b->ids + i, b->first + i };

        fwd_embed(t->fwd, &r, t->x + i * t->m.c.d);
        model_forget(&t->m, &t->m.embed);
    }
}

/* Drop the pages of weights that all rows of a large batch have used. */
static void
forget_weights(const struct teacher *t)
{
    if (t->batch.B * t->batch.T >= PLAN_WINDOW_TOKENS)
        model_forget(&t->m, NULL);
}

/* Gather block k for fwd_block, and begin to gather the next one.  Ranks
 * without rows take part too. */
static void
fetch_block(const struct teacher *t, size_t k)
{
    if (k >= t->m.c.L)
        return;
    fetch_now(t->run, k);
    if (k + 1 < t->m.c.L)
        fetch_next(t->run, k + 1);
    fetch_done(t->run, k);
}

/* Run this rank's rows through block k, or the final norm (k = L), `micro` at a
 * time, in place. */
static void
block_rows(struct teacher *t, size_t k)
{
    const struct batch *b = &t->batch;

    fetch_block(t, k);
    for (size_t i = t->row0; i < t->row1; i += t->micro) {
        const size_t n = t->row1 - i < t->micro ? t->row1 - i : t->micro;
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

/* Write a state for each of the student's tokens, in the type sent.  A token
 * with a target gets the state of the teacher's token that ends at the same
 * byte; others get zeros. */
static void
write_aligned(const struct teacher *t, void *out)
{
    const struct align_target *target = student_tokenizer_targets(t->student);
    const size_t d = t->m.c.d, size = d * (t->a->dtype == 0 ? 2 : 4);
    unsigned char *to = out;

    for (size_t i = 0; i < t->came.B * t->came.T; i++, to += size) {
        const float *x = t->x + target[i].at * d;

        if (target[i].kind == ALIGN_NONE)
            memset(to, 0, size);
        else if (t->a->dtype == 0)
            kern.narrow_bf16((uint16_t *)(void *)to, x, d);
        else
            memcpy(to, x, size);
    }
}

/* Gather the states of the team's ranks; with `sends` send them as the next
 * tensor. */
static int
send_states(struct teacher *t, int final, int sends, struct err *e)
{
    const size_t d = t->m.c.d, n = t->batch.B * t->batch.T * d;
    double begin;
    void *out;

    if (!final || t->a->context == 1)
        rank_gather(t);
    if (!sends)
        return 0;
    out = msg_room(t->out, t->a->dtype == 0 ? 2 : 4);
    begin = profile_begin();
    if (t->student != NULL)
        write_aligned(t, out);
    else if (t->a->dtype == 0)
        kern.narrow_bf16(out, t->x, n);
    else
        memcpy(out, t->x, n * sizeof(float));
    profile_end("narrowing", begin, 0.0, 6.0 * (double)n);
    if (t->rounding != NULL)
        rounding_add(t->rounding, &t->m, t->x, t->batch.first, n / d, final);
    return msg_send_next(t->out, e);
}

/* Begin the message: announce the teacher's tensors, and send the tensors that
 * the batch came with. */
static int
begin_message(struct teacher *t, const struct msg *m, struct err *e)
{
    const struct batch *b = t->student != NULL ? &t->came : &t->batch;
    const enum dtype type = t->a->dtype == 0 ? DT_BF16 : DT_F32;
    const size_t shape[3] = { b->B, b->T, t->m.c.d };
    struct st_out *o = msg_copy(t->out, m);

    for (size_t i = 0; i < t->m.c.L; i++) {
        char name[40];

        if (!t->tap[i])
            continue;
        snprintf(name, sizeof(name), "teacher.hidden.%zu", i);
        st_out_tensor(o, name, type, 3, shape, NULL);
    }
    if (t->a->final)
        st_out_tensor(o, "teacher.final", type, 3, shape, NULL);
    if (t->top != NULL)
        top_begin(t->top, o, b->B, b->T);
    if (!t->told++) {
        if (t->sends_states && t->a->dtype == 0 && verbosity >= 0)
            t->rounding = rounding_new(&t->m, t->pool);
        note_teacher_memory(t, m);
    }
    return msg_send_begin(t->out, e);
}

/* Before the first batch: print notes of the model's positions and of the cost
 * of --compute, and set t->program. */
static void
note_first_batch(struct teacher *t)
{
    const struct batch *b = &t->batch;
    struct err e;

    if (t->told)
        return;
    if (config_check_positions(&t->m.c, b->T, t->a->model, &e) < 0)
        die_err(&e);
    compute_note(&t->m, t->pool, &(struct rows){ 1, b->T, b->ids, b->first },
        t->a->setup.compute, t->a->model);
    mem_trim();
    t->program =
        plan_program(prog_resident() - own_bytes(t), pool_size(t->pool));
}

void
run_none(struct teacher *t)
{
    for (size_t k = 0; k < t->last; k++)
        fetch_block(t, k);
}

/* Apply the final norm.  With --context-ranks gather the states first: from
 * here on each rank has all tokens. */
static void
last_norm(struct teacher *t)
{
    if (t->a->context > 1)
        rank_gather(t);
    block_rows(t, t->m.c.L);
}

/* Must this rank go on with the batch?  r: 0; > 0 if the reader of this rank's
 * output has left; < 0 after an error.  A rank whose reader has left still
 * computes if other ranks may need its part. */
static int
goes_on(const struct teacher *t, int r)
{
    return r == 0 || (r > 0 && (t->team.n > 1 || t->shard != NULL));
}

int
send_batch(struct teacher *t, const struct msg *m, struct err *e)
{
    const struct batch *b = &t->batch;
    const int first = t->team.rank == 0;
    int r;

    note_first_batch(t);
    reserve_space(t, b->B, b->T);
    r = first ? begin_message(t, m, e) : 0;
    embed_rows(t);
    for (size_t k = 0; goes_on(t, r) && k < t->last; k++) {
        block_rows(t, k);
        if (t->tap[k])
            r |= send_states(t, 0, first && r == 0, e);
    }
    if (goes_on(t, r) && (t->a->final || t->top != NULL))
        last_norm(t);
    if (goes_on(t, r) && t->a->final)
        r |= send_states(t, 1, first && r == 0, e);
    if (goes_on(t, r) && t->top != NULL) {
        r |= top_send(t->top, t->fwd, t->x, b, &t->team, t->at,
            first && r == 0 ? t->out : NULL, e);
        forget_weights(t);
    }
    if (t->rounding != NULL) {
        fwd_free(t->fwd); /* frees memory; reserve_space makes a new one */
        t->fwd = NULL;
        rounding_tell(t->rounding, &t->m, t->pool);
        t->rounding = NULL;
    }
    return r;
}
