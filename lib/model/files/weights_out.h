/*
 * Writing a model's weights as safetensors.  A folder holds them as
 * model.safetensors or, above a size, as shards
 * model-00001-of-00003.safetensors ... and model.safetensors.index.json, which
 * names each tensor's shard.  save_pretrained of transformers gives them these
 * names.
 */
#ifndef MODEL_WEIGHTS_OUT_H
#define MODEL_WEIGHTS_OUT_H

#include "base/err.h"
#include "model/files/model.h"

/* transformers' max_shard_size of 5GB, in bytes of tensors */
#define WEIGHTS_SHARD ((size_t)5000000000)

/*
 * Write the weights as F32, F16 or BF16 into the folder dir, for exports and
 * checkpoints.  If the tensors have more than `most` bytes, each shard has
 * `most` at most, or one larger tensor.
 *
 * Files of an older export in dir are replaced.  Shards replace them in this
 * order, so that a model is never read from shards of two exports: the older
 * index or file is removed, the new shards are written, then their index, and
 * the older shards that are left are removed.
 */
int weights_write(const struct model *m, const char *dir, enum dtype as,
    size_t most, struct err *e);

#endif
