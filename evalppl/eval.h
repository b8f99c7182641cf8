/* A run of evalppl: its models, its protocol, and the sums over the predictions
 * scored so far. */
#ifndef EVALPPL_EVAL_H
#define EVALPPL_EVAL_H

#include "units.h"
#include "base/pool.h"
#include "eval/models.h"
#include "msg/msg.h"

#include <stddef.h>

enum protocol { PROTO_DOCS, PROTO_LLAMA, PROTO_HF, PROTO_LMEVAL, PROTO_STREAM };
extern const char *const protocol_name[]; /* ends with NULL */

/* llama.cpp's files of a base. */
struct kld_files {
    struct base_in *in;         /* file to read, or NULL */
    const char *out_path;       /* path of a file to write, or NULL */
    struct base_out *out;       /* the file out_path once begun, or NULL */
    struct base_scorer *scorer; /* buffers of base_score.c */
};

struct eval {
    struct eval_model *j; /* [nj], the base first if there is one */
    size_t nj;
    size_t base, before; /* index in j, or NONE; before: the model of
                          * --before, whose `regained` is 0 */
    struct pool *pool;
    enum protocol protocol;
    size_t c;           /* tokens of a window */
    size_t stride;      /* tokens from a window's first to the next window's */
    size_t rows;        /* windows of a forward pass, 0: about 4096 tokens */
    double temperature; /* temperature of the second KL; 1: no second KL */
    int compute;        /* index in compute_names */

    const char *input; /* name of the input, for messages */
    struct stream_info info;
    struct vocab *vocab; /* texts of the tokens; NULL: no model has the
                          * stream's tokenizer */
    size_t ntokens;      /* tokens in the stream, without padding */
    size_t nfed;         /* tokens that each model has computed */
    struct units units;

    struct kld_files kld;

    /* The next pointers are NULL unless an option asks for them. */
    struct resume *resume;
    struct detail *detail;
    struct losses *losses;
    struct spread *spread;
    struct stream_base *stream_base; /* the base is the stream's teacher */
    struct eval *also; /* models with another tokenizer, on the same text */
};

/* Open [label=]path, where a label has no slash; returns its index.  Dies on
 * damage. */
size_t eval_open_model(struct eval *e, const char *spec);
/* Index of the open model with this label or path; if there is none, the model
 * is opened. */
size_t eval_model_named(struct eval *e, const char *spec);
/* Dies if q and p have different numbers of ids, unless both have the input's
 * tokenizer. */
void eval_check_sizes(const struct eval *e, const struct eval_model *q,
    const struct eval_model *p);
/* Append a base without weights: its predictions over V ids are recorded. */
void eval_add_base(struct eval *e, const char *path, size_t V);
/* Number of ids of the model with the fewest ids. */
size_t eval_fewest_ids(const struct eval *e);
/* Move the models that have another tokenizer than the first model to e->also.
 * Split e->also in the same way. */
void eval_split(struct eval *e);
/* Name of a source; "(all)" for NONE. */
const char *source_name(const struct eval *e, size_t source);
/* Free the models, sums and texts of e and of e->also. */
void eval_release(struct eval *e);

#endif
