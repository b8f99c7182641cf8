/* Files of a tokenizer with new ids, for `prune vocab`. */
#ifndef PRUNE_VOCAB_FILES_H
#define PRUNE_VOCAB_FILES_H

#include "vocab_ids.h"
#include "base/err.h"

#include <jansson.h>

/* Files in a folder that tokenizer_export has written. */
struct vocab_files {
    const char *dir;
    json_t *tok;          /* tokenizer.json */
    json_t *config, *gen; /* tokenizer_config.json, generation_config.json; or
                           * NULL */
    char *chat;           /* chat_template.jinja, or NULL */
};
/* -1 and *e; vocab_files_release in any case. */
int vocab_files_open(struct vocab_files *f, const char *dir, struct err *e);
void vocab_files_release(struct vocab_files *f);
/* Keep in v the ids that the files name, and the tokens that the chat template
 * spells. */
void vocab_files_named(const struct vocab_files *f, struct vocab *v);
/* Write the files with the ids of v, once, and remove the other files that hold
 * old ids. */
int vocab_files_cut(struct vocab_files *f, const struct vocab *v,
    struct err *e);
/* Compare the tokenizer at dir with v: text and kind of each token, and the ids
 * of each token's text.  -1 and *e (EX_INPUT): they differ. */
int vocab_files_check(const struct vocab *v, const char *dir, struct err *e);

#endif
