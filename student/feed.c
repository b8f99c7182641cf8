/* The input: batches, and the teacher's part of them; see feed.h. */
#include "feed.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/die.h"
#include "base/note.h"
#include "format/json.h"
#include "kern/kern.h"
#include "kern/rounding.h"
#include "model/pass/depth_map.h"
#include "shard/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Store the bias of the head of the `teacher` message, if it has one. */
static void
store_bias(struct feed *f, const struct msg *m)
{
    const struct st_tensor *b = st_find(&m->st, "head_bias");

    if (b == NULL)
        return;
    if (b->dtype != DT_F32 || b->ndim != 1 || b->n != f->head.rows)
        die(EX_INPUT,
            "%s: message %llu: head_bias is not an F32 for each row of head",
            f->name, (unsigned long long)m->seq);
    f->bias_mem = xmalloc(b->nbytes);
    memcpy(f->bias_mem, b->data, b->nbytes);
    f->head.bias = f->bias_mem;
    f->head.bias_dtype = DT_F32;
}

/* Store the head of the `teacher` message; with --teacher only check that
 * --teacher's head has the hash that the message gives. */
static void
store_head(struct feed *f, const struct msg *m)
{
    const struct st_tensor *h = st_find(&m->st, "head");
    const char *hash = st_meta(&m->st, "head_hash");
    char mine[33];

    snprintf(f->head_hash, sizeof(f->head_hash), "%s", hash ? hash : "");
    if (f->have_model) {
        model_head_hash(&f->teacher, mine);
        if (hash == NULL || strcmp(hash, mine) != 0)
            die(EX_INPUT,
                "%s: the teacher of the stream has head %s, --teacher has %s",
                f->name, hash != NULL ? hash : "?", mine);
        return;
    }
    if (h == NULL)
        return;
    if (h->ndim != 2 ||
        (h->dtype != DT_F32 && h->dtype != DT_BF16 && h->dtype != DT_F16))
        die(EX_INPUT,
            "%s: message %llu: head is not a matrix of F32, F16 or BF16",
            f->name, (unsigned long long)m->seq);
    f->head = (struct weight){
        .dtype = h->dtype,
        .rows = h->shape[0],
        .cols = h->shape[1],
        .stride = h->nbytes / (h->shape[0] + !h->shape[0]),
    };
    if (f->half && h->dtype == DT_F32) {
        uint16_t *half = xreallocarray(NULL, h->n, sizeof(*half));

        factor_bf16(half, h->data, h->n);
        f->head.dtype = DT_BF16;
        f->head.stride /= 2;
        f->head_mem = (unsigned char *)half;
    } else {
        f->head_mem = xmalloc(h->nbytes);
        memcpy(f->head_mem, h->data, h->nbytes);
    }
    f->head.data = f->head_mem;
    store_bias(f, m);
}

/* Match the student's blocks with the teacher's, whose configuration is in the
 * `teacher` message. */
static void
match_blocks(struct feed *f, const struct model *student, const struct msg *m)
{
    const char *text = st_meta(&m->st, "config");
    struct config c;
    struct err e;
    json_t *j;

    if (text == NULL)
        return;
    if ((j = js_parse(text, strlen(text), &e)) == NULL ||
        config_from_json(&c, j, &e) < 0)
        die(EX_INPUT, "%s: message %llu: config of the teacher: %s", f->name,
            (unsigned long long)m->seq, e.msg);
    json_decref(j);
    f->tL = c.L;
    f->td = c.d;
    f->cap = c.final_cap;
    f->map = xcalloc(f->L, sizeof(*f->map));
    if (depth_map(student, c.L, c.d, f->map, &f->map_how, &e) < 0) {
        note("no SquareHead: %s", e.msg);
        free(f->map);
        f->map = NULL;
    }
}

/* Read the `teacher` message. */
static void
read_teacher(struct feed *f, const struct model *student, const struct msg *m)
{
    const char *norm = st_meta(&m->st, "final");
    const char *vocab = st_meta(&m->st, "vocab");
    const char *tau = st_meta(&m->st, "temperature");

    if (norm == NULL || strcmp(norm, "post-norm") != 0)
        die(EX_INPUT,
            "%s: message %llu: teacher's final states are '%s', not post-norm",
            f->name, (unsigned long long)m->seq,
            norm != NULL ? norm : "not described");
    f->taught = 1;
    f->temperature = NAN;
    if (vocab != NULL)
        number_size(vocab, 1, 1e18, &f->vocab);
    if (tau != NULL)
        number_real(tau, 0, 1e18, &f->temperature);
    store_head(f, m);
    match_blocks(f, student, m);
}

/* If the first batch has no final states, free the teacher's head.  If it has
 * final states but no head to use them, and neither top tokens nor draws, die.
 */
static void
check_teacher_head(struct feed *f)
{
    const struct st *s = &f->first.st;

    if (targets_width(s, TARGETS_FINAL) == 0) {
        free(f->head_mem);
        free(f->bias_mem);
        f->head_mem = f->bias_mem = NULL;
        f->head = (struct weight){ 0 };
        if (f->have_model)
            model_forget(&f->teacher, NULL);
    } else if (f->taught && feed_kind(f) == TARGETS_NONE) {
        die(EX_INPUT,
            "%s: the stream has no teacher head (teacher --no-head): name the "
            "teacher with --teacher",
            f->name);
    }
}

/* Read the `stream` message, and check that the student has all of its ids. */
static int
read_stream(struct feed *f, struct err *e)
{
    stream_info_release(&f->info);
    return stream_info_read(&f->info, &f->first.st, e) < 0
        ? -1
        : msg_in_fit(f->in, &f->info, f->V, e);
}

/* Open input and read up to its first batch.  student NULL: skip the `teacher`
 * message. */
static int
open_batches(struct feed *f, const char *input, size_t ahead,
    const struct model *student, struct err *e)
{
    int r;

    f->in = set_in_open(input, 0, e);
    if (f->in == NULL)
        return -1;
    if (ahead > 0)
        msg_in_ahead(f->in, ahead);
    f->name = msg_in_name(f->in);
    while (
        (r = msg_read(f->in, &f->first, e)) > 0 && f->first.kind != MSG_BATCH) {
        if (f->first.kind == MSG_STREAM && read_stream(f, e) < 0)
            return -1;
        if (f->first.kind == MSG_DOCS)
            die(EX_INPUT, "%s: documents, not batches: put stream between",
                f->name);
        if (f->first.kind == MSG_TEACHER && student != NULL)
            read_teacher(f, student, &f->first);
    }
    f->ahead = r > 0;
    return r < 0 ? -1 : 0;
}

int
feed_again(struct feed *f, const char *input, size_t ahead, struct err *e)
{
    msg_in_close(f->in);
    return open_batches(f, input, ahead, NULL, e);
}

void
feed_open(struct feed *f, const char *input, const char *teacher_path,
    size_t ahead, int half, const struct model *student)
{
    struct err e;

    memset(f, 0, sizeof(*f));
    f->half = half;
    f->L = student->c.L;
    f->d = student->c.d;
    f->V = student->c.V;
    if (teacher_path != NULL) {
        if (model_open(&f->teacher, teacher_path, &e) < 0)
            die_err(&e);
        f->have_model = 1;
        f->head = f->teacher.head;
    }
    if (open_batches(f, input, ahead, student, &e) < 0)
        die_err(&e);
    if (f->ahead)
        check_teacher_head(f);
}

const size_t *
feed_shape(const struct feed *f)
{
    return st_find(&f->first.st, "ids")->shape; /* lib/msg/rules.c checks it */
}

enum targets_kind
feed_kind(const struct feed *f)
{
    const struct st *s = &f->first.st;

    if (!f->ahead || !f->taught)
        return TARGETS_NONE;
    return f->head.data != NULL && targets_width(s, TARGETS_FINAL) > 0
        ? TARGETS_FINAL
        : targets_width(s, TARGETS_DRAWS) > 0  ? TARGETS_DRAWS
        : targets_width(s, TARGETS_SHARED) > 0 ? TARGETS_SHARED
        : targets_width(s, TARGETS_TOP) > 0    ? TARGETS_TOP
                                               : TARGETS_NONE;
}

int
feed_has_hidden(const struct feed *f)
{
    if (!f->ahead || f->map == NULL)
        return 0;
    for (size_t l = 0; l < f->L; l++)
        if (targets_hidden(&f->first.st, f->map[l]) == NULL)
            return 0;
    return 1;
}

/* Number of ids over which the distributions are compared: ids that the
 * student, the tokenizer and a teacher of `teacher` ids share.  0: all, as both
 * models have the same number. */
static size_t
shared_vocab(const struct feed *f, size_t teacher)
{
    size_t n = f->info.vocab < f->V ? f->info.vocab : f->V;

    n = teacher < n ? teacher : n;
    return teacher == f->V ? 0 : n;
}

void
feed_use(struct feed *f, enum targets_kind kind, int hidden, double tau)
{
    f->targets = (struct targets){
        .kind = kind,
        .width = targets_width(&f->first.st, kind),
        .block = f->map,
        .nblock = hidden ? f->L : 0,
        .depth = f->td,
    };
    if (kind == TARGETS_FINAL) {
        f->targets.width = f->head.cols;
        f->targets.cap = f->have_model ? f->teacher.c.final_cap : f->cap;
        f->targets.vocab = shared_vocab(f, f->head.rows);
    }
    if (kind == TARGETS_NONE || kind == TARGETS_FINAL)
        return;
    if (!isfinite(f->temperature) || f->vocab == 0)
        die(EX_INPUT,
            "%s: the teacher does not say its vocabulary and the temperature "
            "of its tokens",
            f->name);
    /* TARGETS_SHARED needs no limit: its rest holds all other ids */
    if (kind != TARGETS_SHARED)
        f->targets.vocab = shared_vocab(f, f->vocab);
    if (f->temperature != tau)
        die(EX_INPUT,
            "%s: the teacher's tokens are for temperature %g, not %g: train "
            "with --temperature %g or make them with teacher --temperature %g",
            f->name, f->temperature, tau, f->temperature, tau);
}

/* Read the next batch into *m.  1: done; 0: the stream is over; -1 and *e. */
static int
skip_to_batch(struct feed *f, struct msg *m, struct err *e)
{
    int r;

    do {
        r = msg_read(f->in, m, e);
    } while (r > 0 && m->kind != MSG_BATCH);
    return r;
}

void
feed_follow(struct feed *f, const struct position *p, int recorded)
{
    struct position at = { 0 }; /* of the batch before f->first */
    const char *chain;
    struct err e;
    int r;

    if (!f->ahead)
        return;
    chain = st_meta(&f->first.st, "chain");
    at.seq = f->first.seq - 1;
    snprintf(at.chain, sizeof at.chain, "%s", chain != NULL ? chain : "?");
    while (recorded && f->ahead && at.seq < p->seq) {
        at.seq = f->first.seq;
        chain_hex(msg_in_chain(f->in), at.chain);
        if ((r = skip_to_batch(f, &f->first, &e)) < 0)
            die_err(&e);
        f->ahead = r > 0;
    }
    if (at.seq != p->seq || strcmp(at.chain, p->chain) != 0)
        die(EX_INPUT,
            "%s: has batch %llu with hash %s, but the checkpoint ends at batch "
            "%llu with hash %s: %s",
            f->name, (unsigned long long)at.seq, at.chain,
            (unsigned long long)p->seq, p->chain,
            recorded ? "give the batches that the run began with, or those "
                       "that follow (stream --resume RUN)"
                     : "resume the stream too (stream --resume RUN)");
}

int
feed_next(struct feed *f, struct err *e)
{
    struct msg next, *m = &next;
    const char *cursor;
    int r = 1;

    if (f->ahead) {
        m = &f->first;
        f->ahead = 0;
    } else {
        r = skip_to_batch(f, m, e);
    }
    if (r <= 0)
        return r;
    if (targets_read(&f->targets, &m->st, e) < 0)
        return err_prefix(e, "%s: message %" PRIu64, f->name, m->seq);
    batch_unpack(&f->batch, m);
    position_release(&f->pos);
    f->pos.seq = m->seq;
    chain_hex(msg_in_chain(f->in), f->pos.chain);
    if ((cursor = st_meta(&m->st, "cursor")) != NULL)
        f->pos.cursor = xstrdup(cursor);
    return 1;
}

void
feed_close(struct feed *f)
{
    msg_in_close(f->in);
    batch_release(&f->batch);
    position_release(&f->pos);
    stream_info_release(&f->info);
    if (f->have_model)
        model_close(&f->teacher);
    free(f->head_mem);
    free(f->bias_mem);
    free(f->map);
    targets_release(&f->targets);
}
