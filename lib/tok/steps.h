/* Normalizer, pre-tokenizer and decoder of a tokenizer.json. */
#ifndef TOK_STEPS_H
#define TOK_STEPS_H

#include "format/json.h"
#include "tok/tokenizer.h"

/* norm_load reads the normalizer.  pre_load reads the pre-tokenizer, and
 * decides whether symbols are bytes or characters.  decoder_load reads the
 * decoder, after all ids are known.  All return 0, or -1 and *e. */
int norm_load(struct tokenizer *t, const json_t *j, const char *path, int depth,
    struct err *e);
/* Check that the normalizer cannot make a text much longer; -1 and *e: it
 * can. */
int norm_check(const struct tokenizer *t, struct err *e);
int pre_load(struct tokenizer *t, const json_t *j, struct err *e);
int decoder_load(struct tokenizer *t, const json_t *j, struct err *e);

#endif
