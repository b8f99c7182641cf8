/* What arrives: batches, and what the teacher knows of them. */
#include "student.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/die.h"
#include "shard/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keep the teacher's head of the message, or check that --teacher has it. */
static void
take_head(struct feed *f, const struct msg *m)
{
    const struct st_tensor *h = st_find(&m->st, "head");
    const char *hash = st_meta(&m->st, "head_hash");
    char mine[33];

    snprintf(f->head_hash, sizeof(f->head_hash), "%s", hash ? hash : "");
    if (f->have_model) {
        model_head_hash(&f->teacher, mine);
        if (hash == NULL || strcmp(hash, mine) != 0)
            die(EX_INPUT,
                "%s: the teacher of the stream has head %s, "
                "--teacher has %s",
                f->name, hash != NULL ? hash : "?", mine);
        return;
    }
    if (h == NULL)
        return;
    if (h->ndim != 2 ||
        (h->dtype != DT_F32 && h->dtype != DT_BF16 && h->dtype != DT_F16))
        die(EX_INPUT,
            "%s: message %llu: head is not a matrix of F32, F16 or "
            "BF16",
            f->name, (unsigned long long)m->seq);
    f->head_mem = xmalloc(h->nbytes);
    memcpy(f->head_mem, h->data, h->nbytes);
    f->head = (struct weight){
        .data = f->head_mem,
        .dtype = h->dtype,
        .rows = h->shape[0],
        .cols = h->shape[1],
        .stride = h->nbytes / (h->shape[0] + !h->shape[0]),
    };
}

static void
check_vocab(const struct feed *f, size_t vocab)
{
    if (vocab != f->V)
        die(EX_INPUT,
            "%s: the teacher's vocabulary is %zu, the student's "
            "%zu",
            f->name, vocab, f->V);
}

/* What the `teacher` message says. */
static void
take_teacher(struct feed *f, const struct msg *m)
{
    const char *norm = st_meta(&m->st, "final");
    const char *vocab = st_meta(&m->st, "vocab");
    const char *tau = st_meta(&m->st, "temperature");

    if (norm == NULL || strcmp(norm, "post-norm") != 0)
        die(EX_INPUT,
            "%s: message %llu: teacher's final states are '%s', "
            "not post-norm",
            f->name, (unsigned long long)m->seq,
            norm != NULL ? norm : "not described");
    f->taught = 1;
    f->temperature = NAN;
    if (vocab != NULL)
        number_size(vocab, 1, 1e18, &f->vocab);
    if (tau != NULL)
        number_real(tau, 0, 1e18, &f->temperature);
    take_head(f, m);
    if (f->head.data != NULL) {
        check_vocab(f, f->head.rows);
        f->td = f->head.cols;
    }
}

/* What the first batch holds of the teacher.  A head that reads nothing in it
 * does not stay in memory. */
static void
take_first(struct feed *f)
{
    const struct st *s = &f->first.st;
    const struct st_tensor *top = st_find(s, "teacher.top.ids");
    const struct st_tensor *draws = st_find(s, "teacher.sample.ids");

    f->top = f->taught && top != NULL ? top->shape[2] : 0;
    f->draws = f->taught && draws != NULL ? draws->shape[2] : 0;
    if (st_find(s, "teacher.final") == NULL) {
        free(f->head_mem);
        f->head_mem = NULL;
        f->td = 0;
        if (f->have_model)
            model_forget(&f->teacher, NULL);
    } else if (f->taught && f->td == 0 && f->top + f->draws == 0) {
        die(EX_INPUT,
            "%s: the stream has no teacher head (teacher "
            "--no-head): name the teacher with --teacher",
            f->name);
    }
}

void
feed_open(struct feed *f, const char *input, const char *teacher_path,
    size_t ahead, const struct model *student, const size_t *map)
{
    struct err e;
    int r;

    memset(f, 0, sizeof(*f));
    f->L = student->c.L;
    f->d = student->c.d;
    f->V = student->c.V;
    f->map = map;
    f->hidden = xcalloc(f->L, sizeof(*f->hidden));
    if (teacher_path != NULL) {
        if (model_open(&f->teacher, teacher_path, &e) < 0)
            die_err(&e);
        f->have_model = 1;
        f->head = f->teacher.head;
    }
    f->in = set_in_open(input, 0, &e);
    if (f->in == NULL)
        die_err(&e);
    if (ahead > 0)
        msg_in_ahead(f->in, ahead);
    f->name = msg_in_name(f->in);
    while ((r = msg_read(f->in, &f->first, &e)) > 0 &&
        f->first.kind != MSG_BATCH) {
        if (f->first.kind == MSG_DOCS)
            die(EX_INPUT, "%s: documents, not batches: put stream between",
                f->name);
        if (f->first.kind == MSG_TEACHER)
            take_teacher(f, &f->first);
    }
    if (r < 0)
        die_err(&e);
    f->ahead = r > 0;
    if (f->ahead)
        take_first(f);
    if (stream_info_read(&f->info, msg_in_head(f->in), &e) < 0)
        die_err(&e);
    if (f->info.vocab > f->V)
        die(EX_INPUT, "%s: the stream's vocabulary is %zu, the model's %zu",
            f->name, f->info.vocab, f->V);
}

static const struct st_tensor *
hidden_tensor(const struct feed *f, const struct msg *m, size_t l)
{
    char name[40];

    snprintf(name, sizeof(name), "teacher.hidden.%zu", f->map[l]);
    return st_find(&m->st, name);
}

int
feed_has_final(const struct feed *f)
{
    return f->ahead && f->td > 0;
}

int
feed_has_hidden(const struct feed *f)
{
    if (!f->ahead || !f->taught)
        return 0;
    for (size_t l = 0; l < f->L; l++)
        if (hidden_tensor(f, &f->first, l) == NULL)
            return 0;
    return 1;
}

void
feed_check_tokens(const struct feed *f, double tau)
{
    if (!isfinite(f->temperature) || f->vocab == 0)
        die(EX_INPUT,
            "%s: the teacher does not say its vocabulary and the "
            "temperature of its tokens",
            f->name);
    check_vocab(f, f->vocab);
    if (f->temperature != tau)
        die(EX_INPUT,
            "%s: the teacher's tokens are for temperature %g, not "
            "%g: train with --temperature %g or make them with teacher "
            "--temperature %g",
            f->name, f->temperature, tau, f->temperature, tau);
}

void
feed_check_successor(struct feed *f, const struct position *p)
{
    const char *chain;

    if (!f->ahead)
        return;
    chain = st_meta(&f->first.st, "chain");
    if (f->first.seq != p->seq + 1 || chain == NULL ||
        strcmp(chain, p->chain) != 0)
        die(EX_INPUT,
            "%s: the first batch is number %llu after %s, but the "
            "checkpoint ends at %llu with %s: resume the stream too (stream "
            "--resume RUN)",
            f->name, (unsigned long long)f->first.seq,
            chain != NULL ? chain : "?", (unsigned long long)p->seq, p->chain);
}

static int
teacher_tensor(const struct feed *f, const struct msg *m,
    const struct st_tensor *x, const char *what, size_t d, const void **data,
    enum dtype *dtype, struct err *e)
{
    if (x == NULL)
        return err_set(e, EX_INPUT,
            "%s: message %llu: no %s, which earlier "
            "batches had",
            f->name, (unsigned long long)m->seq, what);
    if (x->ndim != 3 || x->shape[0] != f->batch.B ||
        x->shape[1] != f->batch.T || x->shape[2] != d ||
        (x->dtype != DT_BF16 && x->dtype != DT_F32))
        return err_set(e, EX_INPUT,
            "%s: message %llu: %s is not [%zu,%zu,"
            "%zu] of BF16 or F32",
            f->name, (unsigned long long)m->seq, x->name, f->batch.B,
            f->batch.T, d);
    *data = x->data;
    *dtype = x->dtype;
    return 0;
}

/* The reader has checked them, but not that they are there: k a token. */
static const struct st_tensor *
token_ids(const struct feed *f, const struct msg *m, const char *name, size_t k,
    struct err *e)
{
    const struct st_tensor *ids = st_find(&m->st, name);

    if (ids != NULL && ids->shape[2] == k)
        return ids;
    err_set(e, EX_INPUT,
        "%s: message %" PRIu64 ": not the %zu %s a token "
        "that earlier batches had",
        f->name, m->seq, k, name);
    return NULL;
}

static int
top_tensors(struct feed *f, const struct msg *m, struct err *e)
{
    const struct st_tensor *ids = token_ids(f, m, "teacher.top.ids", f->top, e);
    const struct st_tensor *logp = st_find(&m->st, "teacher.top.logp");

    if (ids == NULL)
        return -1;
    f->top_ids = ids->data;
    f->top_logp = logp->data;
    f->top_dtype = logp->dtype;
    f->top_lse = st_find(&m->st, "teacher.lse")->data;
    return 0;
}

static int
draw_tensors(struct feed *f, const struct msg *m, struct err *e)
{
    const struct st_tensor *ids =
        token_ids(f, m, "teacher.sample.ids", f->draws, e);
    const struct st_tensor *count = st_find(&m->st, "teacher.sample.count");

    if (ids == NULL)
        return -1;
    f->draw_ids = ids->data;
    f->draw_count = count->data;
    f->draw_dtype = count->dtype;
    f->draw_self = st_find(&m->st, "teacher.sample.plogp")->data;
    return 0;
}

static int
take_tensors(struct feed *f, const struct msg *m, struct err *e)
{
    f->final = NULL;
    if ((f->use_top && top_tensors(f, m, e) < 0) ||
        (f->use_draws && draw_tensors(f, m, e) < 0))
        return -1;
    if (f->use_final &&
        teacher_tensor(f, m, st_find(&m->st, "teacher.final"), "teacher.final",
            f->td, &f->final, &f->final_dtype, e) < 0)
        return -1;
    for (size_t l = 0; f->use_hidden && l < f->L; l++) {
        enum dtype was = f->hidden_dtype;

        if (teacher_tensor(f, m, hidden_tensor(f, m, l), "teacher.hidden", f->d,
                &f->hidden[l], &f->hidden_dtype, e) < 0)
            return -1;
        if (l > 0 && f->hidden_dtype != was)
            return err_set(e, EX_INPUT,
                "%s: message %llu: hidden states of "
                "two types",
                f->name, (unsigned long long)m->seq);
    }
    return 0;
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
        do {
            r = msg_read(f->in, m, e);
        } while (r > 0 && m->kind != MSG_BATCH);
    }
    if (r <= 0)
        return r;
    if (batch_unpack(&f->batch, m, f->V, e) < 0)
        return err_prefix(e, "%s", f->name);
    if (take_tensors(f, m, e) < 0)
        return -1;
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
    free(f->hidden);
}
