/* Writing a model as Hugging Face loads it. */
#ifndef MODEL_EXPORT_H
#define MODEL_EXPORT_H

#include "base/err.h"
#include "base/io.h"
#include "base/pool.h"
#include "model/files/card.h"
#include "model/files/model.h"
#include "model/files/tensor_out.h"

/*
 * Write a Hugging Face directory: config.json, weights of type F32, F16 or
 * BF16 (weights_out.h), generation_config.json, the tokenizer's files, and the
 * model card how->card.  The tokenizer's files are copied from a model
 * directory tok_from, or converted from a .gguf tok_from; NULL: none.  The
 * directory must not exist; it appears whole or not at all.
 *
 * Blocks with fewer groups than c.KV or fewer channels than c.mlp are padded
 * with zeros, so that every loader takes them; "retort" records their true
 * shapes.
 */
struct export
{
    size_t most;             /* bytes of tensors in a file of weights; 0:
                              * WEIGHTS_SHARD */
    const struct card *card; /* NULL: no card */
};
int model_export(const struct model *m, const char *dir, enum dtype as,
    const char *tok_from, const struct export *how, struct err *e);
/* Write such a directory's config.json to `file`, for checkpoints. */
int model_write_config(const struct model *m, const char *file, struct err *e);
/* Write generation_config.json with the ids of BOS, EOS and padding.  A file
 * that is there already was copied with the tokenizer and stays. */
int model_write_generation(const struct model *m, const char *file,
    struct err *e);

/* Round n finite numbers to F32, F16, BF16 or a type of quant_encode, of whose
 * block size n is then a multiple. */
void weight_narrow(enum dtype as, void *out, const float *x, size_t n);
/* Write the rows of one tensor as type `as`, padded with zeros to its shape;
 * pool NULL: this thread alone.  If `as` is quantised, a row is a whole number
 * of its blocks.  EX_NUM: a number is not finite, or too large for `as`. */
int tensor_write(const struct model *m, const struct tensor_out *p,
    enum dtype as, struct pool *pool, struct io_out *o, struct err *e);

#endif
