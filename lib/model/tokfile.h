/* A tokenizer's files beside a model's: copied, or converted. */
#ifndef MODEL_TOKFILE_H
#define MODEL_TOKFILE_H

#include "base/err.h"
#include "format/gguf_write.h"
#include "model/config.h"

/* The tokenizer's files, from a model directory, a tokenizer.json or
 * tekken.json, or a .gguf.  Where there is only Mistral's own tekken.json, that
 * is written: the loaders of such models read it as it is.  Chat templates of a
 * folder additional_chat_templates become a list in tokenizer_config.json. */
int tokenizer_export(const char *from, const char *dir, struct err *e);
/* The files of a folder that tokenizer_export has written, as they are: of a
 * large tokenizer the JSON alone takes 500 bytes an id to look at. */
int tokenizer_copy(const char *from, const char *dir, struct err *e);
/* Is there a tokenizer in that model directory or .gguf?  1, 0, or -1. */
int tokenizer_is_there(const char *from, struct err *e);
/* The tokenizer as metadata of a GGUF with that configuration; from a .gguf all
 * that is said of it, with name and licence of the model.  NULL: says that
 * there is none. */
int tokenizer_to_gguf(const char *from, const struct config *c,
    struct gguf_out *o, struct err *e);

#endif
