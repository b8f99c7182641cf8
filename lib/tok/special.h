/* BOS, EOS and PAD of a tokenizer. */
#ifndef TOK_SPECIAL_H
#define TOK_SPECIAL_H

#include "format/json.h"
#include "tok/tokenizer.h"

/* Set BOS, EOS and PAD if they are not set.  special_config, which comes first,
 * takes them from the post-processor and a tokenizer_config.json (or NULL);
 * special_ids from ids in `file`, parsed in j (or NULL); special_names, last,
 * looks for special tokens with the usual names of EOS.  -1 and *e: one is no
 * token. */
int special_config(struct tokenizer *t, const json_t *config, struct err *e);
int special_ids(struct tokenizer *t, const json_t *j, const char *file,
    struct err *e);
void special_names(struct tokenizer *t);

#endif
