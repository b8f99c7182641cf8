/* bpe - train a vocabulary on text; see bpe(1) */
#include "train.h"

#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "cli/shared.h"
#include "docs/options.h"

#include <inttypes.h>

static struct input_opts input = DOCS_INPUT_DEFAULTS;
static struct docs_opts reading = DOCS_DEFAULTS;
static const struct docs_progress progress = { progress_begin, progress_from,
    progress_at, progress_end };
static struct train_opts training = { .vocab = 4096,
    .min_frequency = 2,
    .eos = "<|endoftext|>" };

static void
check_bpe_options(void)
{
    struct err e;

    if (!training.out)
        die(EX_USAGE,
            "where does the tokenizer go? -o takes a directory, or a file that "
            "ends in .json");
    if (docs_check(&input, &reading, &e) < 0)
        die_err(&e);
}

int
main(int argc, char **argv)
{
    const struct opt opts[] = {
        OPT_STR('o', "output", &training.out, "out",
            "tokenizer to write: a directory, or a file NAME.json"),
        OPT_THREADS(&reading.threads), DOCS_OPTIONS(input, reading),
        OPT_GROUP("training"),
        OPT_SIZE(0, "vocab", &training.vocab, 257, 1 << 24, "n",
            "entries of the vocabulary"),
        OPT_SIZE(0, "min-frequency", &training.min_frequency, 0, 1 << 30, "n",
            "merge only pairs that occur n times or more"),
        OPT_STR(0, "weights", &training.weights, "name=x,...",
            "weights of the sources (equal: all sources count the same)"),
        OPT_STR(0, "eos-token", &training.eos, "text",
            "token that ends a text"),
        OPT_END
    };
    char **operand = opt_parse(argc, argv, opts, "train a vocabulary on text",
        "[file ...]", 0, -1, NULL);
    struct docs_sums sums;
    struct inputs in;
    struct err e;

    check_bpe_options();
    reading.progress = &progress;
    if (inputs_list(&in, operand, &input, &e) < 0 ||
        train_run(&in, &reading, &training, &sums, &e) < 0)
        die_err(&e);
    docs_note(&sums);
    prog_closing("%" PRIu64 " documents, %.3f MB", sums.docs,
        (double)sums.bytes / 1e6);
    inputs_release(&in);
    out_done();
    return EX_OK;
}
