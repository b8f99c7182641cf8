/* How a model's texts are sampled, in a GGUF's metadata (general.sampling.*, as
 * llama.cpp reads them) and in generation_config.json. */
#ifndef FORMAT_GGUF_SAMPLING_H
#define FORMAT_GGUF_SAMPLING_H

#include "base/err.h"
#include "format/gguf.h"
#include "format/gguf_write.h"

#include <jansson.h>

/* Add what g says to j, as members of generation_config.json: temperature,
 * top_k, top_p, min_p, repetition_penalty; and do_sample, if there is a
 * temperature.  -1 and *e "key: why". */
int gguf_sampling(json_t *j, const struct gguf *g, struct err *e);
/* Write these members of j to the metadata.  Members that are no numbers are
 * left out.  "do_sample": false is written as the temperature 0. */
void gguf_out_sampling(struct gguf_out *o, const json_t *j);

#endif
