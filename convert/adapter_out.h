/* Adapters merged into their model's weights, or written for llama.cpp. */
#ifndef CONVERT_ADAPTER_OUT_H
#define CONVERT_ADAPTER_OUT_H

#include "model/files/adapter.h"

/* Replace each matrix W of m that its adapter a changes by W + scale B A, whose
 * rows DoRA multiplies by low_rank.by, in fp32.  The new matrices
 * lie in `room`, which the caller releases after m.  A tied head is untied if
 * the adapter changes the embedding: the head keeps its weights, as in PEFT.
 * Returns 1 if the head was untied, else 0. */
int adapter_merge(struct adapter *a, struct model *m, struct pool *pool,
    struct arena *room);

/* Write the adapter of m as a GGUF that llama.cpp loads beside m (llama.cpp's
 * convert_lora_to_gguf.py): A and B in F32, the rows of B permuted where those
 * of its matrix are, and one alpha for all.  llama.cpp multiplies B A by
 * alpha / rank; where a matrix has another scale, B is multiplied by scale
 * rank / alpha.  -1 (EX_INPUT): DoRA, a changed embedding or head, or a matrix
 * that m's GGUF pads, which such a file cannot hold. */
int adapter_export_gguf(const struct adapter *a, const struct model *m,
    const char *file, struct err *e);

#endif
