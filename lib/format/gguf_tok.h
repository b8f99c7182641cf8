/*
 * The tokenizer inside a GGUF as the JSON files that Hugging Face libraries
 * read.  tokenizer.ggml.model "gpt2" is byte-level BPE with a pre-tokenizer
 * that tokenizer.ggml.pre names: see pres[] in gguf_tok.c.  "llama" is
 * SentencePiece's BPE: tokens with scores instead of merges, unknown
 * characters as bytes, and, unless add_space_prefix is false, a space before
 * each text (between tokens that are found in the text too, as llama.cpp does
 * it); tokens of several spaces are what they are in the tokenizer.json that is
 * published with a model, Gemma's: that many U+2581.  "gemma4" is the same with
 * merges and without that space.  Everything else is refused by name: a wrong
 * pre-tokenizer gives plausible ids and a worse model.
 */
#ifndef FORMAT_GGUF_TOK_H
#define FORMAT_GGUF_TOK_H

#include "format/gguf.h"

#include <jansson.h>

/*
 * tokenizer.json: vocabulary, merges, pre-tokenizer, added tokens (control:
 * special; user-defined: not), and, where a BOS or EOS is put around a text,
 * a TemplateProcessing.  The caller's (json_decref).  NULL and *e "key: why":
 * unknown kinds, a token twice, a merge of tokens that are not there.
 */
json_t *gguf_tokenizer_json(const struct gguf *g, struct err *e);

/* tokenizer_config.json: class, special tokens by name, chat template. */
json_t *gguf_tokenizer_config(const struct gguf *g, struct err *e);

/* special_tokens_map.json: {"bos_token": "...", ...} */
json_t *gguf_special_tokens(const struct gguf *g, struct err *e);

/* generation_config.json: {"bos_token_id": 1, ...} */
json_t *gguf_generation_config(const struct gguf *g, struct err *e);

#endif
