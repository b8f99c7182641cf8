/* teacher - add what a teacher model knows about every token; see teacher(1) */
#include "base/err.h"
#include "base/opt.h"

int
main(int argc, char **argv)
{
    const struct opt opts[] = {
        OPT_END
    };

    opt_parse(argc, argv, opts, "add what a teacher model knows about every token", "[file ...]", 0, -1, NULL);
    die(EX_USAGE, "this program does not do its job yet");
}
