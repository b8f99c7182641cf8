/* Adapters merged into their model's weights, or written for llama.cpp. */
#ifndef MODEL_ADAPTER_OUT_H
#define MODEL_ADAPTER_OUT_H

#include "model/adapter.h"

/* Replace the matrices of m that its adapter a changes by W + scale B A or, for
 * DoRA, m / n (W + scale B A), in fp32.  They lie in memory of `room`, which
 * the caller releases after m.  A tied head is untied if the adapter changes
 * the embedding: the head keeps its weights, as in PEFT.  Returns 1 if a head
 * was untied, else 0. */
int adapter_merge(struct adapter *a, struct model *m, struct pool *pool,
    struct arena *room);

/* Write the adapter of m as a GGUF that llama.cpp loads beside m (llama.cpp's
 * convert_lora_to_gguf.py): A and B in F32, B's rows permuted like rows of Q
 * and K, one alpha.  llama.cpp multiplies by alpha / rank; where a matrix has
 * another scale, B is multiplied by the quotient.  -1 (EX_INPUT): DoRA, or a
 * changed embedding or head, which such a file cannot hold. */
int adapter_export_gguf(const struct adapter *a, const struct model *m,
    const char *file, struct err *e);

#endif
