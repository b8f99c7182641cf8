/* Writing a model as Hugging Face loads it. */
#ifndef MODEL_EXPORT_H
#define MODEL_EXPORT_H

#include "base/err.h"
#include "base/io.h"
#include "model/model.h"
#include "model/tensor_out.h"

/*
 * Write a Hugging Face directory: config.json, model.safetensors (F32, F16 or
 * BF16), tokenizer.json, tokenizer_config.json, generation_config.json and
 * special_tokens_map.json, the tokenizer files copied from or converted out
 * of `tok_from` (a model directory or .gguf; NULL: none).  The directory must
 * not exist; it appears whole or not at all.  Blocks of fewer groups than c.KV
 * or fewer channels than c.mlp are zero-padded to these, so that every loader
 * takes it, and their true shapes are recorded under "retort".
 */
int model_export(const struct model *m, const char *dir, enum dtype as,
    const char *tok_from, struct err *e);
/* The parts of such a directory, for checkpoints: write them into an existing
 * folder. */
int model_write_weights(const struct model *m, const char *file, enum dtype as,
    struct err *e);
int model_write_config(const struct model *m, const char *file, struct err *e);
/* generation_config.json with the ids of BOS, EOS and padding; a file that is
 * there already (the tokenizer's) is left as it is. */
int model_write_generation(const struct model *m, const char *file,
    struct err *e);

/* Round n finite numbers to F32, F16, BF16, Q8_0 or Q4_0; of a type of blocks n
 * is a multiple of theirs. */
void weight_narrow(enum dtype as, void *out, const float *x, size_t n);
/* The rows of one tensor as such a type, padded with zeros to its shape; of
 * Q8_0 and Q4_0, rows are multiples of 32.  EX_NUM: not finite. */
int tensor_write(const struct model *m, const struct tensor_out *p,
    enum dtype as, struct io_out *o, struct err *e);

#endif
