/* What the subcommands of prune share: their names, options, how they begin. */
#ifndef PRUNE_COMMON_H
#define PRUNE_COMMON_H

#include "cli/opt.h"
#include "format/safetensors.h"
#include "model/compute.h"
#include "model/model.h"

/* The commands, each in a file of its name: see cli/sub.h. */
int cut_main(int argc, char **argv);
int profile_main(int argc, char **argv);
int search_main(int argc, char **argv);
int sparsify_main(int argc, char **argv);
int vocab_main(int argc, char **argv);

/* Options that several have. */
#define COMMON_MODEL(dst, help) OPT_STR('m', "model", dst, "model", help)
#define COMMON_TOKENIZER(dst, help) \
    OPT_STR('t', "tokenizer", dst, "tokenizer", help)
#define COMMON_COMPUTE(dst)                            \
    OPT_ENUM(0, "compute", dst, compute_names, "type", \
        "what matrix products multiply")
#define COMMON_DTYPE(dst)                           \
    OPT_ENUM(0, "dtype", dst, common_types, "type", \
        "type of the weights written")
#define COMMON_THREADS(dst)                           \
    OPT_SIZE('j', "threads", dst, 0, 4096, "threads", \
        "threads (0: all processors)")

/* The words of --dtype, and what they mean. */
extern const char *const common_types[];
enum dtype common_dtype(int choice);

/* Open a model whose weights are finite; dies. */
void common_open(struct model *m, const char *path);
/* Dies (EX_USAGE) unless the folder `out` can be made. */
void common_new_folder(const char *out);
/*
 * Where the tokenizer's files of a model written to `out` come from: given (it
 * is checked) or the model's own; NULL, with a note, where there is none.
 * Dies before work begins.
 */
const char *common_tokenizer(const struct model *m, const char *given,
    const char *out);

/* Write a model and its tokenizer (or NULL), which is not broken off by
 * signals; type as of common_dtype.  Dies. */
void common_write(const struct model *m, const char *out, int type,
    const char *tokenizer);

#endif
