/* The commands of prune, each in the file of its name (cli/sub.h), and options
 * that several of them have. */
#ifndef PRUNE_COMMANDS_H
#define PRUNE_COMMANDS_H

#include "cli/shared.h"
#include "model/pass/compute.h"

int cut_main(int argc, char **argv);
int experts_main(int argc, char **argv);
int profile_main(int argc, char **argv);
int search_main(int argc, char **argv);
int sparsify_main(int argc, char **argv);
int vocab_main(int argc, char **argv);

#define PRUNE_OUT(dst) \
    OPT_STR('o', "output", dst, "folder", "folder to write the model to")
#define PRUNE_ROWS(dst)                            \
    OPT_SIZE(0, "calib-rows", dst, 0, 1e9, "rows", \
        "use only this many rows of each input (0: all)")
#define PRUNE_NO_REPAIR(dst) \
    OPT_FLAG(0, "no-repair", dst, "do not repair the layers that lost inputs")
#define PRUNE_DAMP(dst)                          \
    OPT_REAL(0, "damp", dst, 1e-9, 1e3, "share", \
        "damping added to a Hessian's diagonal, as a share of its mean")
#define PRUNE_METHOD(dst, names)              \
    OPT_ENUM(0, "method", dst, names, "word", \
        "method that chooses what to remove")
#define PRUNE_PROFILE(dst)                 \
    OPT_STR('p', "profile", dst, "folder", \
        "take measurements from this profile instead of the input")
#define PRUNE_GRADIENT(dst) \
    OPT_FLAG(0, "gradient", dst, "rank channels by |gradient times weight|")
#define PRUNE_REPORT(dst) \
    OPT_STR(0, "report", dst, "file", "write a report to this file, as TSV")

#endif
