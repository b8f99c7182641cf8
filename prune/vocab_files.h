/* Renumbers the files of a tokenizer, for `prune vocab`. */
#ifndef PRUNE_VOCAB_FILES_H
#define PRUNE_VOCAB_FILES_H

#include "vocab_ids.h"
#include "base/err.h"

#include <jansson.h>

/* The files, in a folder that tokenizer_export has written. */
struct vocab_files {
    const char *dir;
    json_t *tok;          /* tokenizer.json */
    json_t *config, *gen; /* tokenizer_config.json, generation_config.json;
                           * NULL: there is no such file */
    char *chat;           /* chat_template.jinja, or NULL */
};
/* -1 and *e on failure.  Call vocab_files_release in any case. */
int vocab_files_open(struct vocab_files *f, const char *dir, struct err *e);
void vocab_files_release(struct vocab_files *f);
/* Keep in v the ids that the files name, and the added tokens whose texts the
 * chat template contains. */
void vocab_files_named(const struct vocab_files *f, struct vocab *v);
/* Write the files with the new ids of v, and remove other files that hold old
 * ids.  Call once. */
int vocab_files_cut(struct vocab_files *f, const struct vocab *v,
    struct err *e);
/* Compare the tokenizer at dir with v: the text and kind of each token, and the
 * ids that each token's text gives.  -1 and *e (EX_INPUT): they differ. */
int vocab_files_check(const struct vocab *v, const char *dir, struct err *e);

#endif
