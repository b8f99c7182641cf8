/* generate - continue prompts with a model; see generate(1) */
#include "bench.h"
#include "chat.h"
#include "run.h"
#include "cli/sub.h"

#include <stddef.h>

static const struct sub commands[] = {
    { "run", run_main, "continue a prompt, or those of a file" },
    { "chat", chat_main, "chat with a model in the terminal" },
    { "bench", bench_main, "measure how fast models generate" },
    { NULL, NULL, NULL },
};

int
main(int argc, char **argv)
{
    return sub_main(argc, argv, commands, "continue prompts with a model");
}
