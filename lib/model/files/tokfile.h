/* A tokenizer's files beside a model's: copied, or converted. */
#ifndef MODEL_TOKFILE_H
#define MODEL_TOKFILE_H

#include "base/err.h"
#include "format/gguf_write.h"
#include "model/config/config.h"

#include <jansson.h>

/* Write to dir the tokenizer's files of a model directory, a tokenizer.json, a
 * tekken.json or a .gguf.  A tekken.json (Mistral's format) without a
 * tokenizer.json is copied, as loaders of such models read it.  Chat templates
 * in a folder additional_chat_templates become a list in
 * tokenizer_config.json. */
int tokenizer_export(const char *from, const char *dir, struct err *e);
/* Copy, without parsing, a folder that tokenizer_export has written: parsing a
 * large tokenizer's JSON takes 500 bytes of memory for each id. */
int tokenizer_copy(const char *from, const char *dir, struct err *e);
/* Load the tokenizer_config.json of a model directory ({} if missing), of the
 * directory of a tokenizer.json, or what a .gguf has in its place, with the
 * chat templates and special tokens of separate files added.  The caller frees
 * it.  NULL and *e. */
json_t *tokenizer_config(const char *from, struct err *e);
/* Load the generation_config.json of a model directory, {} if missing; of a
 * .gguf, the members about sampling alone (gguf_sampling.h).  The caller frees
 * it.  NULL and *e. */
json_t *generation_config(const char *from, struct err *e);
/* Does that model directory or .gguf have a tokenizer?  1, 0, or -1 and *e. */
int tokenizer_is_there(const char *from, struct err *e);
/* Write the tokenizer of `from` as metadata of a GGUF for configuration c.  If
 * `from` is a .gguf, its metadata about the tokenizer and about the model's
 * origin and sampling (general.*) are copied.  If it is a directory, sampling
 * is written as its generation_config.json says.  from NULL: write that there
 * is no tokenizer. */
int tokenizer_to_gguf(const char *from, const struct config *c,
    struct gguf_out *o, struct err *e);

#endif
