/* student dpo: see student-dpo(1) */
#include "dpo.h"
#include "preference.h"
#include "command.h"
#include "pairs.h"
#include "reference.h"
#include "pair_references.h"
#include "student.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "cli/die.h"
#include "cli/out.h"
#include "format/ckpt.h"
#include "gen/date.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct args a = { ARGS_DEFAULT };
static const char *loss = "sigmoid", *reference, *store, *template, *date;
static struct tm day; /* parsed `date` */
static double beta = 0.1, smoothing;
static size_t B = 8, T = 2048, epochs = 1;

static const struct opt options[] = { OPTIONS_MODEL(a), OPT_GROUP("pairs"),
    OPT_SIZE('B', "batch-size", &B, 1, 1 << 20, "rows", "rows of a batch"),
    OPT_SIZE('T', "length", &T, 4, 1 << 24, "tokens", "tokens of a row"),
    OPT_SIZE(0, "epochs", &epochs, 1, 1e9, "n",
        "end when every source was read n times"),
    OPT_TEMPLATE(&template), OPT_DATE(&date), OPT_GROUP("loss"),
    OPT_STR(0, "loss", &loss, "name",
        "loss that is minimised: sigmoid, sigmoid_norm, ipo, hinge, robust, "
        "exo_pair, nca_pair, bco_pair, apo_zero, apo_down, sppo_hard, "
        "discopop, sft"),
    OPT_REAL(0, "beta", &beta, 1e-6, 1e6, "x",
        "strength of the tie to the reference model"),
    OPT_REAL(0, "label-smoothing", &smoothing, 0, 0.49, "e",
        "probability that a pair is the wrong way round"),
    OPT_STR(0, "reference", &reference, "model",
        "reference model (default: that of -m)"),
    OPT_STR(0, "store-reference", &store, "file",
        "write the pairs with the reference's log probabilities to this file "
        "first"),
    OPTIONS_OPTIMISER(a, "1e-6"), OPTIONS_WEIGHTS(a), OPTIONS_LORA(a),
    OPTIONS_STEPS(a), OPTIONS_PASSES(a), OPTIONS_PRECISION(a), OPTIONS_RANKS(a),
    OPTIONS_SAVE(a), OPTIONS_RESUME(a), OPT_END };

/* Indices in loss_sum.own of sums over pairs or tokens. */
enum {
    SUM_PAIRS,
    SUM_LOSS,   /* of losses of pairs */
    SUM_NLL,    /* of chosen tokens */
    SUM_CHOSEN, /* log ratios to the reference */
    SUM_REJECTED,
    SUM_RIGHT, /* pairs of which the chosen one has the higher ratio */
    SUM_LOGP,  /* log probabilities of chosen completions */
    SUM_LOGP_REJECTED,
    SUM_ENTROPY, /* over all tokens of completions */
    SUM_HITS,    /* chosen tokens that are the most probable */
    SUM_TOKENS,  /* chosen tokens */
    SUM_N
};

struct dpo {
    double weight[PREFERENCE_N]; /* of each loss */
    double sft;                  /* weight of the chosen tokens' mean nll */
    struct pairs pairs;
    struct pair_batch batch;
    struct reference *reference; /* NULL: all pairs have its log
                                  * probabilities */
    double (*ref)[2];            /* [B] the reference's log probabilities of
                                  * this rank's pairs */
    double nll_scale;            /* pairs / chosen tokens in the step */
    float *logp;                 /* [T] */
    struct logp_loss logp_loss;
};

static struct dpo dpo;

/* Read the losses NAME[:WEIGHT],... */
static void
parse_losses(const char *text)
{
    char *copy = xstrdup(text), *save = NULL;

    for (char *word = strtok_r(copy, ",", &save); word != NULL;
         word = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(word, ':');
        double w = 1.0;
        int k = 0;

        if (colon != NULL)
            *colon = '\0';
        while (k < PREFERENCE_N && strcmp(word, preference_names[k]) != 0)
            k++;
        if ((k == PREFERENCE_N && strcmp(word, "sft") != 0) ||
            (colon != NULL && number_real(colon + 1, 0, 1e6, &w) < 0))
            die(EX_USAGE,
                "--loss: '%s' is no loss, or has no number after its colon: "
                "give names of -h, such as sigmoid or sigmoid,sft:0.5",
                text);
        *(k == PREFERENCE_N ? &dpo.sft : &dpo.weight[k]) = w;
    }
    free(copy);
}

static void
check_dpo_options(struct student *s)
{
    struct err e;

    (void)s;
    if (isnan(a.lr))
        a.lr = 1e-6;
    if (date != NULL && date_parse(date, &day, &e) < 0)
        die_err(&e);
    out_differ("-o", a.run, "--store-reference", store, "--timeline",
        a.timeline, NULL);
    parse_losses(loss);
    if (dpo.weight[PREFERENCE_EXO_PAIR] > 0.0 && smoothing == 0.0)
        die(EX_USAGE,
            "--loss exo_pair needs a --label-smoothing above 0, such as 0.001");
}

/* Return the weighted sum of a pair's losses, and add to *g its gradients with
 * respect to the log ratios. */
static double
pair_loss(const struct preference_pair *p, struct preference_grad *g)
{
    double sum = 0.0;

    for (int k = 0; k < PREFERENCE_N; k++)
        if (dpo.weight[k] > 0.0)
            sum += dpo.weight[k] *
                preference_loss((enum preference)k, beta, smoothing, p,
                    dpo.weight[k], g);
    return sum;
}

/* The losses of a row, which is a pair: see struct logp_loss. */
static void
pair_row(void *ctx, const struct logp_row *r, struct loss_sum *sum)
{
    const struct pair *pair = dpo.batch.pair[r->row];
    const double *ref = dpo.ref[r->row];
    double logp[2] = { 0.0, 0.0 }, count[2] = { 0.0, 0.0 }, hits = 0.0,
           entropy = 0.0;
    struct preference_grad g = { 0.0, 0.0 };
    struct preference_pair p;

    (void)ctx;
    for (size_t i = 0; i < r->n; i++) {
        const int k = r->place[i] >= pair->n[0];

        logp[k] += r->logp[i];
        count[k]++;
        entropy += r->entropy[i];
        hits += k == 0 && r->hit[i];
    }
    p = (struct preference_pair){ logp[0] - ref[0], logp[1] - ref[1], count[0],
        count[1] };
    sum->own[SUM_LOSS] += pair_loss(&p, &g);
    g.chosen -= dpo.sft * dpo.nll_scale;
    for (size_t i = 0; i < r->n; i++)
        r->dlogp[i] =
            (float)(r->place[i] >= pair->n[0] ? g.rejected : g.chosen);
    sum->own[SUM_PAIRS]++;
    sum->own[SUM_NLL] -= logp[0];
    sum->own[SUM_CHOSEN] += p.chosen;
    sum->own[SUM_REJECTED] += p.rejected;
    sum->own[SUM_RIGHT] += p.chosen > p.rejected;
    sum->own[SUM_LOGP] += logp[0];
    sum->own[SUM_LOGP_REJECTED] += logp[1];
    sum->own[SUM_ENTROPY] += entropy;
    sum->own[SUM_HITS] += hits;
    sum->own[SUM_TOKENS] += count[0];
}

/* epoch_batches: number of batches of an epoch.  batch_pairs: number of pairs
 * in batch k of the run. */
static size_t
epoch_batches(void)
{
    return (dpo.pairs.n + B - 1) / B;
}

static size_t
batch_pairs(size_t k)
{
    const size_t at = k % epoch_batches() * B, left = dpo.pairs.n - at;

    return left < B ? left : B;
}

/* With --store-reference, compute the reference's log probabilities of all
 * pairs, and write them to that file. */
static void
store_references(struct student *s)
{
    if (store == NULL)
        return;
    pair_references_write(&dpo.pairs, dpo.reference, &s->ranks, store);
    reference_close(dpo.reference);
    dpo.reference = NULL;
}

static void
open_pairs(struct student *s, const char *input)
{
    const char *name = reference != NULL ? reference : a.model;
    struct pairs_from from = { .file = input,
        .tokenizer = a.tokenizer != NULL ? a.tokenizer : a.model,
        .template = template,
        .date = date != NULL ? &day : NULL,
        .V = s->t.m.c.V,
        .T = T,
        .records = store != NULL };
    struct inputs *in = &s->in;

    /* the model may be gone if the pairs have its log probabilities */
    depends_on_model(s, "reference", io_exists(name) ? name : NULL);
    from.reference = depends_value(s, "reference");
    pairs_open(&dpo.pairs, &from);
    depends_on(s, "tokenizer", dpo.pairs.tokenizer);
    depends_on(s, "template", dpo.pairs.template);
    depends_on(s, "stream", dpo.pairs.hash);
    if (dpo.pairs.given && store != NULL)
        die(EX_USAGE,
            "--store-reference %s: all pairs have log probabilities of a "
            "reference already: leave it out",
            store);
    B = B < dpo.pairs.n ? B : dpo.pairs.n;
    pair_batch_init(&dpo.batch, B, dpo.pairs.most);
    dpo.ref = xcalloc(B, sizeof *dpo.ref);
    dpo.logp = xcalloc(dpo.pairs.most, sizeof *dpo.logp);
    if (!dpo.pairs.given)
        dpo.reference =
            reference_open(name, s->t.m.c.V, dpo.pairs.most, s->pool);
    dpo.logp_loss = (struct logp_loss){ .row = pair_row };
    s->loss = (struct loss_opt){ .tau = 1.0, .logp = &dpo.logp_loss };
    in->name = input != NULL ? input : "<stdin>";
    in->batches = epochs * epoch_batches();
    in->accum = 1;
    in->T = in->longest = dpo.pairs.most;
    in->rows = s->st.step < in->batches ? B : 0;
    memcpy(in->tokenizer, dpo.pairs.tokenizer, sizeof in->tokenizer);
    in->memory = dpo.pairs.ids.n * sizeof(uint32_t) +
        dpo.pairs.n * sizeof(struct pair) + 9 * B * dpo.pairs.most;
}

static void
plan_reference(struct student *s, struct plan_load *l)
{
    (void)s;
    if (dpo.reference != NULL)
        l->judge += reference_bytes(dpo.reference);
}

/* Set the reference's log probabilities of the batch's row `row`. */
static void
refer_row(size_t row)
{
    const struct pair_batch *b = &dpo.batch;

    if (dpo.reference == NULL)
        memcpy(dpo.ref[row], b->pair[row]->reference, sizeof dpo.ref[row]);
    else
        pair_references_row(dpo.reference, b, row, dpo.logp, dpo.ref[row]);
}

static int
gather_pairs(struct student *s, struct loss_sum *sum, struct err *e)
{
    static const struct targets none;
    const size_t k = s->st.step, batches = epoch_batches();
    const struct pair_batch *b = &dpo.batch;
    size_t tokens = 0;
    struct rows rows;

    (void)e;
    memset(sum, 0, sizeof *sum);
    if (k >= s->in.batches)
        return 0;
    pair_batch_fill(&dpo.batch, &dpo.pairs, a.seed,
        k / batches * dpo.pairs.n + k % batches * B, batch_pairs(k));
    rows = pair_batch_rows(b);
    for (size_t i = 0; i < b->B; i++)
        tokens += b->pair[i]->n[0] - b->pair[i]->prompt;
    dpo.nll_scale = (double)b->B / (double)tokens;
    for (size_t i = s->first_row; i < b->B; i += s->row_stride)
        refer_row(i);
    ranks_add(s->sum, &rows, b->scored, &none, s->first_row, s->row_stride,
        sum);
    ranks_finish(s->sum, sum);
    return 1;
}

static double
pair_result(struct student *s, const struct loss_sum *sum, size_t *count,
    struct buf *b)
{
    const double *x = sum->own, n = x[SUM_PAIRS];
    const double chosen = beta * x[SUM_CHOSEN] / n,
                 rejected = beta * x[SUM_REJECTED] / n;

    (void)s;
    *count = (size_t)n;
    buf_addf(b, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t", chosen,
        rejected, x[SUM_RIGHT] / n, chosen - rejected, x[SUM_LOGP] / n,
        x[SUM_LOGP_REJECTED] / n, x[SUM_ENTROPY] / (double)sum->n,
        x[SUM_HITS] / x[SUM_TOKENS]);
    return x[SUM_LOSS] / n + dpo.sft * x[SUM_NLL] / x[SUM_TOKENS];
}

/* The number of steps alone says which pairs are next. */
static void
place_pairs(struct student *s)
{
    s->at.seq = s->st.step;
    memcpy(s->at.chain, dpo.pairs.hash, sizeof s->at.chain);
}

static void
close_pairs(struct student *s)
{
    (void)s;
    reference_close(dpo.reference);
    pair_batch_release(&dpo.batch);
    pairs_close(&dpo.pairs);
    free(dpo.ref);
    free(dpo.logp);
}

const struct command dpo_command = {
    .name = "student dpo",
    .word = "dpo",
    .about = "train on pairs of completions, of which one is preferred",
    .operand = "[pairs.jsonl]",
    .options = options,
    .args = &a,
    .columns = "rewards/chosen\trewards/rejected\trewards/accuracies\t"
               "rewards/margins\tlogps/chosen\tlogps/rejected\tentropy\t"
               "mean_token_accuracy\t",
    .check = check_dpo_options,
    .open = open_pairs,
    .begin = store_references,
    .planned = plan_reference,
    .gather = gather_pairs,
    .result = pair_result,
    .place = place_pairs,
    .close = close_pairs,
};

int
dpo_main(int argc, char **argv)
{
    return command_main(argc, argv, &dpo_command, NULL);
}
