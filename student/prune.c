/* prune - make a model smaller; see prune(1) */
#include "base/err.h"
#include "base/opt.h"

int
main(int argc, char **argv)
{
    const struct opt opts[] = {
        OPT_END
    };

    opt_parse(argc, argv, opts, "make a model smaller", "[file ...]", 0, -1, NULL);
    die(EX_USAGE, "this program does not do its job yet");
}
