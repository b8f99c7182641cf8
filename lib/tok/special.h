/* BOS, EOS and PAD of a tokenizer. */
#ifndef TOK_SPECIAL_H
#define TOK_SPECIAL_H

#include "format/json.h"
#include "tok/tokenizer.h"

/* Set BOS, EOS and PAD, where they are not set.  Call in this order:
 * special_config: from the post-processor and `config`, a parsed
 * tokenizer_config.json or NULL.  -1 and *e: config names an unknown token.
 * special_ids: from the ids in j, the parsed `file` or NULL; also collects the
 * ids that end a text.  -1 and *e: an EOS is no id of the tokenizer.
 * special_names: set EOS to a special token with a usual name. */
int special_config(struct tokenizer *t, const json_t *config, struct err *e);
int special_ids(struct tokenizer *t, const json_t *j, const char *file,
    struct err *e);
void special_names(struct tokenizer *t);

#endif
