/* A tokenizer.json as metadata of a GGUF: gguf_tok.h the other way. */
#ifndef FORMAT_GGUF_TOK_WRITE_H
#define FORMAT_GGUF_TOK_WRITE_H

#include "base/err.h"
#include "format/gguf_tok.h"
#include "format/gguf_write.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Special tokens below V alone, and the parsed tokenizer.json
 * `tok` as metadata of a model with V ids, whose gguf_tokenizer_json then gives
 * the same ids.  config: the parsed tokenizer_config.json or NULL; its special
 * tokens are taken where *id has none, and its chat templates, in whose
 * names "_" stands for what is no ASCII letter or digit.  Tokens beyond V,
 * which no model has, are left out.  -1 and *e "member: why": what a GGUF
 * cannot say.
 */
struct gguf_ids {
    int64_t v[GGUF_SPECIALS]; /* -1: none */
    const json_t *ends;       /* a list of ids that end a text; or NULL */
};
/* The first two of id->ends that are not EOS are written as end of turn and of
 * message; warns of more. */
void gguf_out_ids(struct gguf_out *o, const struct gguf_ids *id, size_t V);
int gguf_out_tokenizer(struct gguf_out *o, const json_t *tok,
    const json_t *config, size_t V, const struct gguf_ids *id, struct err *e);

#endif
