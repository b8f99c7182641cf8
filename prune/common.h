/* Options and steps that the subcommands of prune share. */
#ifndef PRUNE_COMMON_H
#define PRUNE_COMMON_H

#include "cli/opt.h"
#include "format/safetensors.h"
#include "model/compute.h"
#include "model/model.h"
#include "msg/msg.h"

/* The commands; each is in the file of its name (cli/sub.h). */
int cut_main(int argc, char **argv);
int experts_main(int argc, char **argv);
int profile_main(int argc, char **argv);
int search_main(int argc, char **argv);
int sparsify_main(int argc, char **argv);
int vocab_main(int argc, char **argv);

#define COMMON_MODEL(dst, help) OPT_STR('m', "model", dst, "model", help)
#define COMMON_OUT(dst) \
    OPT_STR('o', "output", dst, "folder", "folder to write the model to")
#define COMMON_TOKENIZER(dst)                   \
    OPT_STR('t', "tokenizer", dst, "tokenizer", \
        "tokenizer.json, model directory or .gguf (default: the model's)")
#define COMMON_ROWS(dst)                           \
    OPT_SIZE(0, "calib-rows", dst, 0, 1e9, "rows", \
        "use only this many rows of each input (0: all)")
#define COMMON_NO_REPAIR(dst) \
    OPT_FLAG(0, "no-repair", dst, "do not repair the layers that lost inputs")
#define COMMON_DAMP(dst)                         \
    OPT_REAL(0, "damp", dst, 1e-9, 1e3, "share", \
        "damping added to a Hessian's diagonal, as a share of its mean")
#define COMMON_METHOD(dst, names)             \
    OPT_ENUM(0, "method", dst, names, "word", \
        "method that chooses what to remove")
#define COMMON_PROFILE(dst)                \
    OPT_STR('p', "profile", dst, "folder", \
        "take measurements from this profile instead of the input")
#define COMMON_GRADIENT(dst) \
    OPT_FLAG(0, "gradient", dst, "rank channels by |gradient times weight|")
#define COMMON_REPORT(dst) \
    OPT_STR(0, "report", dst, "file", "write a report to this file, as TSV")
#define COMMON_COMPUTE(dst)                            \
    OPT_ENUM(0, "compute", dst, compute_names, "type", \
        "type that the factors of matrix products have")
#define COMMON_DTYPE(dst)                           \
    OPT_ENUM(0, "dtype", dst, common_types, "type", \
        "type of the tensors written")
#define COMMON_THREADS(dst)                           \
    OPT_SIZE('j', "threads", dst, 0, 4096, "threads", \
        "threads (0: all processors)")

/* Words of --dtype.  common_dtype: type that the word of index `choice`
 * names. */
extern const char *const common_types[];
enum dtype common_dtype(int choice);

/* Open a model, and check that its weights are finite.  Dies; with EX_USAGE if
 * path is NULL. */
void common_open(struct model *m, const char *path);
/* Open a model as common_open does.  Dies if the model is a mixture of experts
 * or has blocks with the gated delta rule. */
void common_open_dense(struct model *m, const char *path);
/* Initialise the kernels of --compute, and start threads (0: all processors);
 * dies. */
struct pool *common_pool(int compute, size_t threads);
/* Die if `out` is NULL (-o is missing), exists, cannot be made, or is the path
 * of --report (NULL: not given). */
void common_new_folder(const char *out, const char *report);
/*
 * Return the path of the tokenizer to write beside the model at `out`: `given`,
 * once it is checked; if `given` is NULL, the model's own.  Returns NULL, after
 * a note, if the model has none.  Dies.
 */
const char *common_tokenizer(const struct model *m, const char *given,
    const char *out);
/* Read the head of a stream.  content: "docs", "batch", or NULL for both.  Dies
 * if the stream has other content, or was not made with the tokenizer at path
 * `tokenizer`. */
void common_head(struct stream_info *info, const struct msg_in *in,
    const struct st *head, const char *content, const char *tokenizer);

/* Write a model, its tokenizer (NULL: none) and its model card; signals do not
 * interrupt the write.
 *   type: index of common_types
 *   by: the command, such as "prune cut"; table: its options
 *   scores: as in struct card
 * Dies. */
void common_write(const struct model *m, const char *out, int type,
    const char *tokenizer, const char *by, const struct opt *table,
    const char *scores);

#endif
