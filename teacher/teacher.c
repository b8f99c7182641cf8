/* teacher - add what a model knows to a stream of batches; see teacher(1) */
#include "teacher.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "msg/batch.h"
#include "model/compute.h"

#include <math.h>
#include <stdlib.h>

static const char *const dtypes[] = { "bf16", "f32", NULL };

static const char *const shards[] = { "none", "node", "world", NULL };

static const char *const formats[] = { "text", "tsv", NULL };

static struct args a = { .tau = NAN,
    .field = "prompt",
    .length = 64,
    .at_once = OPT_NONE,
    .tensor = 1,
    .rank_timeout = 30.0,
    .context = 1,
    .count = 100,
    .prompt_length = 128,
    .top_p = 1.0 };

static const struct opt options[] = { OPT_STR('m', "model", &a.model, "model",
                                          "the teacher"),
    OPT_STR('o', "output", &a.out, "address", "stream to write"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_STR(0, "cpus", &a.cpus, "list",
        "run on these processors, such as 0-3,8"),
    OPT_STR(0, "numa", &a.numa, "node",
        "run on this memory node; rank: ranks take them in turn"),
    OPT_FLAG(0, "final", &a.final,
        "add final hidden states (default: with those of all blocks)"),
    OPT_SIZE(0, "top", &a.top, 0, 1e6, "k",
        "add the k most probable tokens of each prediction (0: none)"),
    OPT_SIZE(0, "sample", &a.sample, 0, UINT16_MAX, "n",
        "add n tokens drawn by chance for each prediction (0: none)"),
    OPT_SIZE('s', "seed", &a.seed, 0, 1e18, "seed", "of --sample and of texts"),
    OPT_REAL(0, "temperature", &a.tau, 0, 1000, "T",
        "of the student's training, with --top and --sample, or of texts "
        "(default: 3; 0, the most probable token, for texts)"),
    OPT_STR(0, "hidden", &a.hidden, "blocks",
        "add outputs of blocks: all, none, mapped or a list such as 0,3,7"),
    OPT_STR(0, "student", &a.student, "model",
        "whose blocks --hidden mapped means"),
    OPT_ENUM(0, "dtype", &a.dtype, dtypes, "type",
        "of the added tensors, bf16 being f16 for --top"),
    OPT_FLAG(0, "no-head", &a.no_head,
        "leave the head out: the student has it by student --teacher"),
    OPT_ENUM(0, "compute", &a.compute, compute_names, "type",
        "what matrix products multiply"),
    OPT_SIZE(0, "micro", &a.micro, 0, 1e6, "rows",
        "rows at a time (0: one, or as many as 1024 tokens hold)"),
    OPT_GROUP("ranks, started by mpirun"),
    OPT_FLAG(0, "mpi", &a.mpi, "be one of several ranks"),
    OPT_SIZE(0, "tensor", &a.tensor, 1, 4096, "ranks",
        "ranks that have a share of each block's heads and channels"),
    OPT_SIZE(0, "context-ranks", &a.context, 1, 4096, "ranks",
        "ranks that share the tokens of each row"),
    OPT_ENUM(0, "shard", &a.shard, shards, "where",
        "ranks of it have parts of each block's matrices"),
    OPT_FLAG(0, "overlap", &a.overlap,
        "gather the next of these blocks while one is run"),
    OPT_TIME(0, "rank-timeout", &a.rank_timeout, 0.1, 1e9, "time",
        "end when one is not heard of so long"),
    OPT_STR(0, "comm-log", &a.comm_log, "prefix",
        "log what ranks send: prefix.log, .tsv, -log2.tsv"),
    OPT_GROUP("instead of a stream"),
    OPT_MAYBE(0, "generate", &a.prompt, "prompt",
        "print the prompt and its continuation"),
    OPT_STR(0, "prompts", &a.prompts, "file",
        "go on with the prompts of a file of JSON lines (-: standard input)"),
    OPT_STR(0, "field", &a.field, "name",
        "member of a line that is the prompt"),
    OPT_SIZE('n', "max-new-tokens", &a.length, 1, 1e6, "tokens",
        "longest continuation"),
    OPT_LIST(0, "stop", &a.stop, "string",
        "end a text where this begins (\\n: newline); may be repeated"),
    OPT_REAL(0, "top-p", &a.top_p, 1e-6, 1, "p",
        "draw from the most probable tokens that hold so much"),
    OPT_SIZE(0, "at-once", &a.at_once, 1, 4096, "texts",
        "texts at a time (default: 16, with --bench 1)"),
    OPT_STR('t', "tokenizer", &a.tokenizer, "tokenizer",
        "of texts (default: the model's)"),
    OPT_FLAG(0, "bench", &a.bench, "measure how fast texts come"),
    OPT_STR(0, "against", &a.against, "model", "measure this too, in turn"),
    OPT_SIZE(0, "count", &a.count, 1, 1e6, "prompts", "to measure"),
    OPT_SIZE(0, "prompt-length", &a.prompt_length, 1, 1e6, "tokens",
        "of each prompt to measure"),
    OPT_ENUM(0, "format", &a.format, formats, "name", "of what was measured"),
    OPT_END };

/* Are there texts to go on with, instead of a stream? */
static int
wants_texts(void)
{
    const int kinds = (a.prompt != NULL && a.prompt != opt_absent) +
        (a.prompts != NULL) + a.bench;

    if (kinds > 1)
        die(EX_USAGE, "--generate with a prompt, --prompts or --bench?");
    if (kinds == 0 && a.prompt == opt_absent)
        die(EX_USAGE, "--generate needs a prompt, --prompts or --bench");
    if (kinds == 1 && a.mpi)
        die(EX_USAGE, "--mpi: texts are made by one process");
    if (kinds == 1 && a.out != NULL)
        die(EX_USAGE, "-o: texts go to standard output");
    if (kinds == 1 && isnan(a.tau))
        a.tau = 0.0;
    else if (isnan(a.tau))
        a.tau = 3.0;
    else if (a.tau < 0.01 && (kinds == 0 || a.tau > 0.0))
        die(EX_USAGE, "--temperature: %g is too low: it is 0.01 at least%s",
            a.tau, kinds == 0 ? "" : ", or 0 for the most probable token");
    if (a.at_once == OPT_NONE)
        a.at_once = a.bench ? 1 : 16;
    return kinds == 1;
}

int
main(int argc, char **argv)
{
    static struct teacher t = { .a = &a, .options = options };
    char **input = opt_parse(argc, argv, options,
        "add what a model knows to a stream of batches", "[input]", 0, 1, NULL);
    const int texts = wants_texts();
    struct err e;

    if (a.model == NULL)
        die(EX_USAGE, "-m is needed; see teacher -h");
    if (!texts && a.out == NULL)
        out_refuse_tty(1);
    rank_begin(&t);
    mem_settle();
    if (model_open(&t.m, a.model, &e) < 0)
        die_err(&e);
    rank_same_model(&t);
    if (!texts)
        choose_taps(&t);
    rank_share(&t);
    /* of a model in parts, one rank of a node looks at all */
    if ((t.shard == NULL || dist_node()->rank == 0) &&
        model_check_finite(t.shard != NULL ? &t.m : t.run, &e) < 0)
        die_err(&e);
    if ((t.pool = pool_new(dist_threads(a.threads), &e)) == NULL)
        die_err(&e);
    if (texts) {
        (a.bench ? bench : generate)(&t.m, t.pool, &a);
    } else {
        if (speaks(&t))
            t.top = top_new(&t.m, t.pool,
                &(struct top_opt){ a.top, a.dtype == 0, a.sample, a.seed,
                    a.tau });
        filter(&t, *input);
    }
    out_done();
    top_free(t.top);
    rank_end(&t);
    model_close(&t.m);
    pool_free(t.pool);
    return 0;
}
