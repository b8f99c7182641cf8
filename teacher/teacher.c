/* teacher - add what a model knows to a stream of batches; see teacher(1) */
#include "filter.h"
#include "introduce.h"
#include "rank.h"
#include "shard.h"
#include "states.h"
#include "student_tokenizer.h"
#include "teacher.h"
#include "top.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/shared.h"
#include "msg/batch.h"
#include "model/pass/compute.h"

#include <math.h>
#include <stdlib.h>

static const char *const dtypes[] = { "bf16", "f32", NULL };

static const char *const shards[] = { "none", "node", "world", NULL };

static struct args a = { .tau = NAN,
    .tensor = 1,
    .rank_timeout = 30.0,
    .context = 1 };

static const struct opt options[] = { OPT_MODEL(&a.model,
                                          "the teacher's model"),
    OPT_STR('o', "output", &a.out, "address", "address to write the stream to"),
    OPT_PLACE(a.setup, OPT_NUMA_RANK),
    OPT_FLAG(0, "final", &a.final,
        "add final hidden states (without --hidden, --top and --sample: the "
        "default, with all blocks' outputs)"),
    OPT_SIZE(0, "top", &a.top, 0, 1e6, "k",
        "targets hold the k most probable tokens of each prediction (0: none)"),
    OPT_SIZE(0, "sample", &a.sample, 0, UINT16_MAX, "n",
        "add n tokens drawn at random for each prediction (0: none)"),
    OPT_SEED(&a.seed),
    OPT_REAL(0, "temperature", &a.tau, 0.01, 1000, "T",
        "temperature of the softmax (default: 1)"),
    OPT_FLAG(0, "published", &a.published,
        "use the published loss: T = 3; weights 0.25 of CE, 1 of KL, 1 of "
        "SquareHead"),
    OPT_STR(0, "hidden", &a.hidden, "blocks",
        "add outputs of blocks: all, none, mapped or a list such as 0,3,7"),
    OPT_STR(0, "student", &a.student, "model",
        "student, whose record names the blocks that --hidden mapped adds"),
    OPT_STR(0, "student-tokenizer", &a.student_tokenizer, "tokenizer",
        "the student's tokenizer, if it is not the teacher's"),
    OPT_DTYPE(&a.dtype, dtypes),
    OPT_FLAG(0, "no-head", &a.no_head,
        "leave out the head (student then needs --teacher)"),
    OPT_COMPUTE(&a.setup.compute),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows computed together (0: one, or as many as 1024 tokens hold)"),
    OPT_GROUP("ranks, started by mpirun"),
    OPT_FLAG(0, "mpi", &a.mpi, "run as one of the ranks of this mpirun"),
    OPT_SIZE(0, "tensor", &a.tensor, 1, 4096, "ranks",
        "number of ranks that divide each block's heads and channels"),
    OPT_SIZE(0, "context-ranks", &a.context, 1, 4096, "ranks",
        "ranks that share the tokens of each row"),
    OPT_ENUM(0, "shard", &a.shard, shards, "where",
        "ranks over which each block's weights are split"),
    OPT_FLAG(0, "overlap", &a.overlap,
        "gather the next block while one is computed"),
    OPT_TIME(0, "rank-timeout", &a.rank_timeout, 0.1, 1e9, "time",
        "end the run when a rank is silent for this long"),
    OPT_STR(0, "comm-log", &a.comm_log, "prefix",
        "write logs of what ranks send: prefix.log, prefix.tsv, "
        "prefix-log2.tsv"),
    OPT_END };

/* Open --student-tokenizer. */
static void
open_student_tokenizer(struct teacher *t)
{
    if (a.top == 0)
        die(EX_USAGE,
            "--student-tokenizer needs the number of tokens to compare: give "
            "--top");
    if (a.final || a.sample > 0)
        die(EX_USAGE,
            "--student-tokenizer takes tokens from --top: leave out --final "
            "and --sample");
    if (a.tau != 1.0)
        die(EX_USAGE,
            "--student-tokenizer compares at temperature 1 alone: give "
            "--temperature 1");
    t->student = student_tokenizer_new(a.student_tokenizer, a.model, t->m.c.V);
    if (t->student == NULL)
        note("--student-tokenizer %s: is the teacher's tokenizer too, so "
             "tokens are compared as without the option",
            a.student_tokenizer);
}

int
main(int argc, char **argv)
{
    static struct teacher t = { .a = &a, .options = options };
    char **input = opt_parse(argc, argv, options,
        "add what a model knows to a stream of batches", "[input]", 0, 1, NULL);
    struct err e;

    if (a.model == NULL)
        die(EX_USAGE, "give the teacher with -m; see teacher -h");
    if (isnan(a.tau))
        a.tau = a.published ? 3.0 : 1.0;
    if (a.out == NULL)
        out_refuse_tty(1);
    rank_begin(&t);
    if (model_open(&t.m, a.model, &e) < 0)
        die_err(&e);
    rank_same_model(&t);
    if (a.student_tokenizer != NULL)
        open_student_tokenizer(&t);
    choose_taps(&t);
    rank_same_student(&t);
    rank_share(&t);
    /* with --shard one rank of a node checks the whole model */
    if ((t.shard == NULL || dist_node()->rank == 0) &&
        model_check_finite(t.shard != NULL ? &t.m : t.run, &e) < 0)
        die_err(&e);
    t.pool = setup_rank_pool(a.setup.threads);
    if (adds_tokens(&t))
        t.top = top_new(&t.m, t.pool,
            &(struct top_opt){ a.top, a.dtype == 0, a.sample, a.seed, a.tau,
                t.student });
    filter_streams(&t, *input);
    out_done();
    top_free(t.top);
    student_tokenizer_free(t.student);
    rank_end(&t);
    model_close(&t.m);
    pool_free(t.pool);
    return 0;
}
