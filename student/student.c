/* student - train or distil a model; see student(1) */
#include "command.h"
#include "dpo.h"
#include "grpo.h"
#include "on_policy.h"
#include "train.h"
#include "cli/sub.h"

static const struct sub commands[] = {
    { "train", train_main, "train or distil on a stream of batches" },
    { "dpo", dpo_main, "train on pairs of which one is preferred" },
    { "grpo", grpo_main, "train on texts that programs judge" },
    { "on-policy", on_policy_main, "distil on texts that the student writes" },
    { 0 },
};

int
main(int argc, char **argv)
{
    const int status = sub_run(argc, argv, commands);

    return status >= 0 ? status
                       : command_main(argc, argv, &train_command,
                             sub_about("train or distil a model on a stream "
                                       "of batches, or use a command",
                                 commands));
}
