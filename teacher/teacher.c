/* teacher - add what a model knows to a stream of batches; see teacher(1) */
#include "teacher.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "msg/batch.h"
#include "model/compute.h"

#include <stdlib.h>

static const char *const dtypes[] = { "bf16", "f32", NULL };

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
        "whose blocks --hidden mapped means"),
    OPT_ENUM(0, "dtype", &a.dtype, dtypes, "type",
        "of the added tensors, bf16 being f16 for --top"),
    OPT_FLAG(0, "no-head", &a.no_head,
        "leave the head out: the student has it by student --teacher"),
    OPT_ENUM(0, "compute", &a.compute, compute_names, "type",
        "what matrix products multiply"),
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

int
main(int argc, char **argv)
{
    static struct teacher t = { .a = &a };
    char **input = opt_parse(argc, argv, options,
        "add what a model knows to a stream of batches", "[input]", 0, 1, NULL);
    struct err e;

    if (a.model == NULL)
        die(EX_USAGE, "-m is needed; see teacher -h");
    if (a.prompt == NULL && a.out == NULL)
        out_refuse_tty(1);
    if (compute_init(a.compute, &e) < 0)
        die_err(&e);
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
        if (speaks(&t))
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
