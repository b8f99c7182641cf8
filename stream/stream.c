/* stream - shuffle, mix and pack shards into batches; see stream(1) */
#include "base/err.h"
#include "base/opt.h"

int
main(int argc, char **argv)
{
    const struct opt opts[] = {
        OPT_END
    };

    opt_parse(argc, argv, opts, "shuffle, mix and pack shards into batches", "[file ...]", 0, -1, NULL);
    die(EX_USAGE, "this program does not do its job yet");
}
