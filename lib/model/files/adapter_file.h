/*
 * Adapters in PEFT's format: a directory with adapter_config.json and
 * adapter_model.safetensors.
 *
 * These parts of an adapter are read: LoRA, rsLoRA and DoRA of the matrices of
 * blocks, in F32, F16 or BF16; LoRA of the embedding; embed_tokens and lm_head
 * saved whole.  Any other change of the model is refused by name.  A file
 * without tensors is refused, and so are tensors whose rank differs from that
 * in adapter_config.json, or whose module adapter_config.json does not select.
 *
 * An adapter may hold a whole new embed_tokens for a model whose head is tied
 * to its embedding.  The head then becomes the new embedding if the adapter's
 * ensure_weight_tying is true; otherwise it keeps the model's embedding.
 *
 * The keys of rank_pattern and alpha_pattern must be ends of module paths, such
 * as q_proj or layers.0.self_attn.q_proj.  Other regular expressions are
 * refused.
 */
#ifndef MODEL_ADAPTER_FILE_H
#define MODEL_ADAPTER_FILE_H

#include "model/files/adapter.h"

/* Read the adapter at path, made for m, and attach it.  pool: for the factors
 * of DoRA; NULL: this thread computes them.  m may not be used after
 * adapter_close. */
int adapter_open(struct adapter *a, const char *path, struct model *m,
    struct pool *pool, struct err *e);
/* Open the adapter at path for m, which owns it from then on. */
int model_adapt(struct model *m, const char *path, struct err *e);
/* Is there an adapter at path? */
int adapter_is_there(const char *path);
/* Write the adapter's two files into the folder dir, with the keys and names of
 * PEFT 0.21.2.  The adapter must not change the embedding or have tensors saved
 * whole: these would be left out. */
int adapter_save(const struct adapter *a, const struct model *m,
    const char *dir, struct err *e);
/* adapter_config.json of a new adapter of m; the caller frees it. */
json_t *adapter_config(const struct adapter_opt *o, const struct model *m);
/* The name of matrix k's module, such as "q_proj": the *n bytes that the result
 * points to, which more text follows.  NULL: adapters do not change tensor
 * k. */
const char *adapter_module(const struct config *c, size_t k, size_t *n);

#endif
