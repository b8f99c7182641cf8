/* Writes a tokenizer.json as metadata of a GGUF; gguf_tok.h reads it. */
#ifndef FORMAT_GGUF_TOK_WRITE_H
#define FORMAT_GGUF_TOK_WRITE_H

#include "base/err.h"
#include "format/gguf_tok.h"
#include "format/gguf_write.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * gguf_out_tokenizer writes the parsed tokenizer.json `tok` as metadata of a
 * model with V ids; the tokenizer.json that gguf_tokenizer_json makes from this
 * metadata gives the same ids.  config: the parsed tokenizer_config.json, which
 * gives the chat templates and the special tokens that *id lacks, or NULL.  In
 * a template's name, characters other than ASCII letters and digits become "_".
 * Tokens with an id of V or more are left out.  -1 and *e "member: why": a GGUF
 * cannot express that member.
 */
struct gguf_ids {
    int64_t v[GGUF_SPECIALS]; /* ids of special tokens; -1: no such token */
    const json_t *ends;       /* a list of ids that end a text; or NULL */
};
/* Write special tokens with ids below V.  The first two of id->ends that are
 * not EOS become the end of a turn and the end of a message; a warning names
 * the rest. */
void gguf_out_ids(struct gguf_out *o, const struct gguf_ids *id, size_t V);
int gguf_out_tokenizer(struct gguf_out *o, const json_t *tok,
    const json_t *config, size_t V, const struct gguf_ids *id, struct err *e);

#endif
