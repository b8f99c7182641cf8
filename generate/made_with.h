/*
 * FILE.options.json, which generate run writes beside the file of --resume: how
 * the texts of the file were made.  It is an object of the hashes of model,
 * adapter, tokenizer and chat template, and of the values of options that
 * change texts; prompts and seeds are in the file's lines.
 */
#ifndef GENERATE_MADE_WITH_H
#define GENERATE_MADE_WITH_H

#include "cli/opt.h"
#include "tok/tok.h"

#include <jansson.h>

/* Paths; NULL: the option was not given. */
struct made_from {
    const char *model, *adapter, *template;
};
/* The object.  Reads the whole model.  The caller frees it.  Dies on errors. */
json_t *made_with(const struct made_from *from, const struct tokenizer *tok,
    const struct opt *options);
/* Is there PATH.options.json?  If so, die (EX_USAGE) if it has another value,
 * and name the first difference. */
int made_with_compare(const json_t *made, const char *path);
/* Write PATH.options.json. */
void made_with_write(const json_t *made, const char *path);

#endif
