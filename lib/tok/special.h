/* BOS, EOS and PAD of a tokenizer. */
#ifndef TOK_SPECIAL_H
#define TOK_SPECIAL_H

#include "format/json.h"
#include "tok/tokenizer.h"

/* BOS, EOS and PAD: of the post-processor and a tokenizer_config.json or NULL
 * (first); ids that `file`, parsed or NULL, names; the usual names of an EOS
 * (last), special tokens only.  -1 and *e: one that is no token. */
int special_config(struct tokenizer *t, const json_t *config, struct err *e);
int special_ids(struct tokenizer *t, const json_t *j, const char *file,
    struct err *e);
void special_names(struct tokenizer *t);

#endif
