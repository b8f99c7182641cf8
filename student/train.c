/* student train: see train.h. */
#include "train.h"
#include "again.h"
#include "command.h"
#include "record.h"
#include "rank.h"
#include "rounding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/timeline.h"
#include "cli/die.h"
#include "model/files/card.h"
#include "model/config/experts_config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char *const loss_names[] = { "nll", "dft", NULL };
static struct args a = { ARGS_DEFAULT, .outer = "1,0" };
static int loss;
static double balance;

static const struct opt options[] = { OPTIONS_MODEL(a),
    OPT_GROUP("loss (auto: CE 0.25; KL, SquareHead 1 if the stream has them; "
              "CE alone 1)"),
    OPT_ENUM(0, "loss", &loss, loss_names, "name", "loss that is minimised"),
    OPT_STR(0, "ce", &a.ce, "weight", "weight of cross entropy"),
    OPT_STR(0, "kl", &a.kl, "weight", "weight of KL(teacher || student)"),
    OPT_STR(0, "kl-direction", &a.direction, "name",
        "direction of KL: forward (teacher || student), reverse, or js:beta "
        "(Jensen-Shannon)"),
    OPT_STR(0, "squarehead", &a.sh, "weight",
        "weight of the SquareHead loss on hidden states"),
    OPT_REAL(0, "balance", &balance, 0, 1000, "weight",
        "weight of the load-balancing loss of a mixture of experts"),
    OPT_REAL(0, "temperature", &a.tau, 0.01, 1000, "T",
        "temperature of the softmax (default: 1)"),
    OPT_FLAG(0, "published", &a.published,
        "use the published loss: T = 3; weights 0.25 of CE, 1 of KL, 1 of "
        "SquareHead"),
    OPT_STR(0, "teacher", &a.teacher, "model", "the teacher's model"),
    OPT_STR(0, "taught-by", &a.taught_by, "model",
        "name this model in the card: it teaches, or wrote the texts"),
    OPTIONS_OPTIMISER(a, "1e-4, with random weights 3e-4"), OPTIONS_WEIGHTS(a),
    OPTIONS_LORA(a), OPTIONS_STEPS(a),
    OPT_SIZE(0, "grad-accum", &a.accum, 1, 1e6, "n",
        "batches of the stream in one step"),
    OPTIONS_PASSES(a),
    OPT_SIZE(0, "ahead", &a.ahead, 0, 1e15, "bytes",
        "bytes of the next batch to read while a step runs (0: all)"),
    OPTIONS_PRECISION(a), OPTIONS_RANKS(a),
    OPT_SIZE(0, "sync-every", &a.sync, 0, 1e6, "n",
        "exchange weights after every n steps, not gradients at each (0: "
        "gradients)"),
    OPT_STR(0, "outer", &a.outer, "lr,momentum",
        "step with the mean change of weights, of --sync-every"),
    OPTIONS_SAVE(a),
    OPT_STR(0, "eval", &a.eval, "input",
        "evaluate the student on these held-out batches"),
    OPT_SIZE(0, "eval-every", &a.eval_every, 1, 1e12, "n",
        "steps from one evaluation to the next"),
    OPT_SIZE(0, "patience", &a.patience, 0, 1e12, "n",
        "stop after n evaluations that are no better (0: never)"),
    OPTIONS_RESUME(a), OPT_END };

/* Refuse options that do not go with --sync-every. */
static void
check_sync(void)
{
    const char *with = a.level > 0 ? "--shard-level"
        : a.stages > 0             ? "--stages"
        : a.deterministic          ? "--deterministic"
        : a.overlap                ? "--overlap"
        : a.mask != NULL           ? "--mask"
        : a.grad == 1              ? "--grad bf16"
                                   : NULL;

    if (a.sync > 0 && with != NULL)
        die(EX_USAGE, "--sync-every does not go with %s: leave one out", with);
    if (a.sync == 0 && strcmp(a.outer, "1,0") != 0)
        die(EX_USAGE, "--outer %s: is the step of --sync-every: give that too",
            a.outer);
}

static void
check_options(struct student *s)
{
    const char *const weight[] = { "0.25", "1", "1" };
    const char **const given[] = { &a.ce, &a.kl, &a.sh };
    struct err e;

    (void)s;
    check_sync();
    if (isnan(a.tau))
        a.tau = a.published ? 3.0 : 1.0;
    for (int i = 0; i < 3 && a.published; i++)
        if (strcmp(*given[i], "auto") == 0)
            *given[i] = weight[i];
    if (a.patience > 0 && a.eval == NULL)
        die(EX_USAGE, "--patience counts evaluations: give --eval too");
    if (a.taught_by != NULL && card_can_name(a.taught_by, &e) < 0)
        die_err(&e);
}

/* ---- losses ---- */

/* Weight of a loss term: the number in text; for auto: `value` if the stream
 * has what the term needs (`present`), else 0. */
static double
loss_weight(const char *what, const char *text, int present, double value)
{
    double w;

    if (strcmp(text, "auto") == 0)
        return present ? value : 0.0;
    if (number_real(text, 0, 1e6, &w) < 0)
        die(EX_USAGE, "--%s: '%s' is neither a number of at least 0 nor auto",
            what, text);
    if (w > 0.0 && !present)
        die(EX_INPUT, "--%s %s: the stream holds no %s", what, text,
            strcmp(what, "kl") == 0 ? "final states or tokens of a teacher"
                                    : "hidden states of the student's blocks");
    return w;
}

/* Print a note of the loss; how: more words about KL. */
static void
note_loss(const struct loss_opt *l, const char *how)
{
    static const char *const name[] = { "KL", "reverse KL", "JS" };
    char ce[40] = "", kl[160] = "", sh[40] = "", beta[40] = "";
    char even[40] = "";

    if (l->w_ce > 0.0)
        snprintf(ce, sizeof(ce), " + %g %s", l->w_ce, l->dft ? "DFT" : "CE");
    if (l->direction == KL_JS)
        snprintf(beta, sizeof(beta), ", beta = %g", l->beta);
    if (l->w_kl > 0.0)
        snprintf(kl, sizeof(kl), " + %g %s (T = %g%s%s)", l->w_kl,
            name[l->direction], l->tau, beta, how);
    if (l->w_sh > 0.0)
        snprintf(sh, sizeof(sh), " + %g SquareHead", l->w_sh);
    if (l->w_balance > 0.0)
        snprintf(even, sizeof(even), " + %g balance", l->w_balance);
    if (*ce || *kl || *sh) {
        char sum[sizeof(ce) + sizeof(kl) + sizeof(sh) + sizeof(even)];

        snprintf(sum, sizeof(sum), "%s%s%s%s", ce, kl, sh, even);
        note("loss = %s", sum + strlen(" + "));
    }
}

/* Print notes on which ids and blocks of teacher and student are compared. */
static void
note_match(const struct feed *f)
{
    struct buf list = { 0 };
    char wide[80] = "";

    if (f->targets.vocab > 0)
        note("KL is over the tokenizer's %zu ids: the teacher's vocabulary is "
             "%zu, the student's %zu",
            f->targets.vocab,
            f->targets.kind == TARGETS_FINAL ? f->head.rows : f->vocab, f->V);
    if (f->targets.nblock == 0)
        return;
    for (size_t i = 0, n; i < f->L; i += n) {
        for (n = 1; i + n < f->L && f->map[i + n] == f->map[i] + n; n++)
            ;
        buf_addf(&list, "%s%zu", i > 0 ? "," : "", f->map[i]);
        if (n > 1)
            buf_addf(&list, "-%zu", f->map[i] + n - 1);
    }
    if (f->targets.depth != f->d)
        snprintf(wide, sizeof(wide), "; their %zu numbers averaged to %zu",
            f->targets.depth, f->d);
    note("SquareHead: the teacher's blocks %s of %zu, %s%s", list.p, f->tL,
        f->map_how, wide);
    buf_release(&list);
}

/* Set the weights of losses when there is no batch that shows what the stream
 * has; auto becomes NAN (not known). */
static void
choose_unseen(struct student *s)
{
    s->loss.w_ce = loss_weight("ce", a.ce, 1, NAN);
    s->loss.w_kl = loss_weight("kl", a.kl, 1, NAN);
    s->loss.w_sh = loss_weight("squarehead", a.sh, 1, NAN);
}

/* Check --balance, and set the weight of its loss. */
static void
choose_balance(struct student *s)
{
    if (balance > 0.0 && !config_is_mixture(&s->t.m.c))
        die(EX_USAGE, "--balance: %s has no experts, so leave --balance out",
            a.model);
    if (balance > 0.0 && stages_any(&s->t.stages))
        die(EX_USAGE,
            "--balance: with --stages a rank does not have all experts: take "
            "--shard-level instead");
    s->loss.w_balance = balance;
}

static void
choose_losses(struct student *s)
{
    const enum targets_kind kind = feed_kind(&s->feed);
    const int sh = feed_has_hidden(&s->feed);
    char how[60] = "";

    s->loss.tau = a.tau;
    s->loss.direction = s->settings.direction;
    s->loss.beta = s->settings.beta;
    choose_balance(s);
    s->loss.dft = loss == 1;
    if (!s->feed.ahead) {
        choose_unseen(s);
        return;
    }
    s->loss.w_kl = loss_weight("kl", a.kl, kind != TARGETS_NONE, 1.0);
    s->loss.w_sh = loss_weight("squarehead", a.sh, sh, 1.0);
    s->loss.w_ce = loss_weight("ce", a.ce, 1,
        s->loss.w_kl > 0.0 || s->loss.w_sh > 0.0 ? 0.25 : 1.0);
    if (s->loss.direction != KL_FORWARD && kind != TARGETS_FINAL &&
        kind != TARGETS_TOP)
        die(EX_INPUT,
            "--kl-direction %s needs final states and the teacher's head, or "
            "its top tokens, and the stream holds %s",
            s->loss.direction == KL_JS ? "js" : "reverse",
            kind == TARGETS_SHARED      ? "tokens of another tokenizer"
                : kind == TARGETS_DRAWS ? "tokens drawn from it"
                                        : "neither");
    feed_use(&s->feed, s->loss.w_kl > 0.0 ? kind : TARGETS_NONE,
        s->loss.w_sh > 0.0, a.tau);
    if (s->feed.targets.kind == TARGETS_DRAWS)
        snprintf(how, sizeof(how), ", %zu draws", s->feed.targets.width);
    if (s->feed.targets.kind == TARGETS_TOP)
        snprintf(how, sizeof(how), ", top %zu and their rest",
            s->feed.targets.width);
    if (s->feed.targets.kind == TARGETS_SHARED)
        snprintf(how, sizeof(how),
            ", top %zu of both tokenizers and their rest",
            s->feed.targets.width);
    note_loss(&s->loss, how);
    note_match(&s->feed);
}

/* ---- inputs ---- */

/* Number of batches that the stream announces; 0: none announced. */
static size_t
announced_batches(const struct feed *f)
{
    const char *text = st_meta(msg_in_head(f->in), "batches");
    size_t n;

    return text != NULL && number_size(text, 1, 1e18, &n) == 0 ? n : 0;
}

/* Describe the inputs in s->in. */
static void
describe_inputs(struct student *s)
{
    const struct feed *f = &s->feed;
    struct inputs *in = &s->in;
    const char *cursor, *at;
    char hash[33];

    in->name = f->name;
    in->batches = announced_batches(f);
    in->accum = a.accum;
    record_stream(&f->info, hash);
    depends_on_stream(s, "stream", hash);
    if (f->ahead || *f->head_hash != '\0') /* else it is not known */
        depends_on_stream(s, "teacher", f->head_hash);
    depends_on(s, "eval", s->held.hash);
    snprintf(in->tokenizer, sizeof in->tokenizer, "%s", f->info.tokenizer);
    in->targets = &f->targets;
    in->head = &f->head;
    if (!f->ahead)
        return;
    in->rows = feed_shape(f)[0];
    in->T = feed_shape(f)[1];
    in->longest = s->held.T > in->T ? s->held.T : in->T;
    in->last = in->batches > 0 && f->first.seq >= in->batches;
    in->memory = msg_in_memory(f->in, f->first.nraw);
    cursor = st_meta(&f->first.st, "cursor");
    at = cursor != NULL ? strstr(cursor, " rank=") : NULL;
    if (at == NULL || sscanf(at, " rank=%zu/%zu:", &in->rank, &in->of) != 2)
        in->of = 0;
}

static void
open_inputs(struct student *s, const char *input)
{
    feed_open(&s->feed, input, a.teacher, a.ahead, a.setup.compute != 0,
        &s->t.m);
    if (a.resume != NULL && s->st.step > 0)
        feed_follow(&s->feed, &s->at, again_can_read(input));
    /* a new model takes the stream's EOS */
    if (s->t.m.c.neos == 0 && s->feed.info.eos >= 0)
        s->t.m.c.eos[s->t.m.c.neos++] = s->feed.info.eos;
    if (s->t.m.c.bos < 0)
        s->t.m.c.bos = s->feed.info.bos;
    choose_losses(s);
    held_out_open(s);
    describe_inputs(s);
}

/* Append a line for the word KEY=VALUE of a cursor. */
static void
add_cursor_word(struct buf *b, const char *cursor, const char *key)
{
    char *word = xasprintf(" %s=", key);
    const char *at = cursor != NULL ? strstr(cursor, word) : NULL;
    const char *value = at != NULL ? at + strlen(word) : "not said";
    const size_t n = at != NULL ? strcspn(value, " ") : strlen(value);

    buf_addf(b, "the stream's %s\t%.*s\n", key, (int)n, value);
    free(word);
}

/* Append lines for the first batch.  With stream --rank each rank has rows of
 * its own, which are not compared. */
static void
add_first(struct buf *b, const struct feed *f)
{
    const struct st *st = &f->first.st;
    const struct st_tensor *ids = st_find(st, "ids");
    const char *cursor = st_meta(st, "cursor");
    const int of_rank = cursor != NULL && strstr(cursor, " rank=") != NULL;

    buf_addf(b, "the stream's first message\t%" PRIu64 "\n", f->first.seq);
    add_cursor_word(b, cursor, "seed");
    add_cursor_word(b, cursor, "shuffle");
    add_cursor_word(b, cursor, "data");
    buf_addf(b, "the stream's rows\t%s\n", of_rank ? "its own" : "all");
    buf_addf(b, "the length of the stream's rows\t%zu\n", ids->shape[1]);
    if (!of_rank)
        buf_addf(b,
            "the stream's first batch\t%zu tokens of hash %016" PRIx64 "\n",
            ids->n, XXH3_64bits(ids->data, ids->nbytes));
}

static void
stream_lines(const struct student *s, struct buf *b)
{
    const struct feed *f = &s->feed;
    const char *batches = st_meta(msg_in_head(f->in), "batches");

    buf_addf(b, "the stream's batches\t%s\n",
        batches != NULL ? batches : "not said");
    buf_addf(b, "the stream's teacher\t%s\n", f->taught ? "one" : "none");
    buf_addf(b, "the teacher's tensors\tkind %d, width %zu, blocks %zu\n",
        (int)f->targets.kind, f->targets.width, f->targets.nblock);
    if (f->ahead)
        add_first(b, f);
    else
        buf_adds(b, "the stream's first message\tnone\n");
}

/* ---- steps ---- */

/* Read the next message, on all ranks. */
static int
next_message(struct student *s, struct err *e)
{
    const struct batch *b = &s->feed.batch;
    const double t = clock_now();
    int r = feed_next(&s->feed, e);

    timeline_add("data", "next message", t);

    if (r > 0 && s->a->deterministic && b->B > s->rows * s->row_stride)
        r = err_set(e, EX_INPUT,
            "%s: a message has %zu rows, the first one had %zu", s->feed.name,
            b->B, s->rows * s->row_stride);
    /* in a round of --sync-every each rank reads by itself */
    return a.sync > 0 ? r : rank_agree(s, r, e);
}

/* Read up to --grad-accum messages and add their gradients.  1: there was at
 * least one; 0: the stream is over; -1 and *e: it is damaged. */
static int
gather_step(struct student *s, struct loss_sum *sum, struct err *e)
{
    const struct batch *b = &s->feed.batch;
    size_t n = 0;
    int r = 1;

    memset(sum, 0, sizeof(*sum));
    for (; n < a.accum && (r = next_message(s, e)) > 0; n++) {
        if (n == 0 && s->st.step == 0)
            note_compute(s);
        ranks_add(s->sum, &(struct rows){ b->B, b->T, b->ids, b->first },
            b->scored, &s->feed.targets, s->first_row, s->row_stride, sum);
    }
    if (r >= 0 && n > 0)
        ranks_finish(s->sum, sum);
    return r < 0 ? -1 : n > 0;
}

/* Store the position of the last batch, from which a resumed run continues. */
static void
store_position(struct student *s)
{
    position_release(&s->at);
    s->at = s->feed.pos;
    s->at.cursor = s->feed.pos.cursor ? xstrdup(s->feed.pos.cursor) : NULL;
}

static double
step_result(struct student *s, const struct loss_sum *sum, size_t *count,
    struct buf *b)
{
    const double n = (double)sum->n;

    *count = sum->n;
    buf_addf(b, "%.9g\t%.9g\t%.9g\t", sum->ce / n, sum->kl / n, sum->sh / n);
    return loss_sum_mean(sum, &s->loss);
}

static void
close_inputs(struct student *s)
{
    held_out_close(s);
    feed_close(&s->feed);
}

const struct command train_command = {
    .name = "student",
    .word = "train",
    .about = "train or distil a model on a stream of batches",
    .operand = "[input]",
    .options = options,
    .args = &a,
    .columns = "ce\tkl\tsquarehead\t",
    .check = check_options,
    .open = open_inputs,
    .begin = held_out_begin,
    .lines = stream_lines,
    .planned = held_out_plan,
    .gather = gather_step,
    .result = step_result,
    .place = store_position,
    .judge = held_out_judge,
    .finish = held_out_tell,
    .close = close_inputs,
};

int
train_main(int argc, char **argv)
{
    return command_main(argc, argv, &train_command, NULL);
}
