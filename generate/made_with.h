/*
 * What makes the texts of generate run: an object with the hashes of model,
 * adapter, tokenizer, chat template and of the files of --system, --like and
 * --schema, and the values of all options that change texts.  Lines get the
 * hashes of models and templates, and generate run --resume FILE writes the
 * object to FILE.options.json.  Prompts and seeds are in the lines of FILE.
 */
#ifndef GENERATE_MADE_WITH_H
#define GENERATE_MADE_WITH_H

#include "cli/opt.h"
#include "tok/tok.h"

#include <jansson.h>

/* Paths; NULL: the option was not given. */
struct made_from {
    const char *model, *adapter, *template;
    const char *system, *like, *schema; /* files */
};
/* Returns the object of this run, which the caller frees.  Reads the whole
 * model to hash it.  Dies on errors. */
json_t *made_with(const struct made_from *from, const struct tokenizer *tok,
    const struct opt *options);
/* Returns 1 if PATH.options.json exists, 0 if not.  Dies (EX_USAGE) if it has a
 * value that differs from `made`, and names the first such option. */
int made_with_compare(const json_t *made, const char *path);
/* Write PATH.options.json. */
void made_with_write(const json_t *made, const char *path);

#endif
