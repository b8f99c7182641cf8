/*
 * The tokenizer inside a GGUF as the JSON files that Hugging Face libraries
 * read.  tokenizer.ggml.model "gpt2" is byte-level BPE with a pre-tokenizer
 * that tokenizer.ggml.pre names: see pres[] in gguf_tok.c.
 * "llama" is SentencePiece's BPE.  Its tokens have scores instead of merges;
 * unknown characters become bytes.  Unless add_space_prefix is false, a space
 * is put before each text, and before each text between special tokens, as in
 * llama.cpp.  Tokens of several spaces become that many U+2581, as in the
 * tokenizer.json published with Gemma.
 * "gemma4" is like "llama", but has merges and puts no space before a text.
 * Other models and pre-tokenizers are refused by name: a wrong pre-tokenizer
 * gives plausible ids and a worse model.
 */
#ifndef FORMAT_GGUF_TOK_H
#define FORMAT_GGUF_TOK_H

#include "format/gguf.h"

#include <jansson.h>

/*
 * The tokenizer.json: vocabulary, merges, pre-tokenizer, added tokens (control
 * tokens are special, user-defined ones are not), and, if BOS or EOS is put
 * around texts, a TemplateProcessing.  The caller frees it (json_decref).  NULL
 * and *e "key: why": an unknown kind, a duplicate token, a merge of unknown
 * tokens.
 */
json_t *gguf_tokenizer_json(const struct gguf *g, struct err *e);

/* The key of the default chat template; a named one has GGUF_CHAT ".NAME". */
#define GGUF_CHAT "tokenizer.chat_template"

/* tokenizer_config.json: class, special tokens by name, chat templates (a
 * text, or a list of {name, template} if the GGUF has named ones). */
json_t *gguf_tokenizer_config(const struct gguf *g, struct err *e);

/* special_tokens_map.json: {"bos_token": "...", ...} */
json_t *gguf_special_tokens(const struct gguf *g, struct err *e);

/* generation_config.json: {"bos_token_id": 1, ...}; eos_token_id is a list if
 * the file names an end of turn or of message besides EOS.  The members of
 * gguf_sampling.h follow. */
json_t *gguf_generation_config(const struct gguf *g, struct err *e);

/* gguf_special: the JSON member and the GGUF key of each special token, such as
 * "bos_token" and "tokenizer.ggml.bos_token_id". */
enum { GGUF_BOS, GGUF_EOS, GGUF_UNK, GGUF_PAD, GGUF_SPECIALS };
extern const char *const gguf_special[GGUF_SPECIALS][2];
enum { GGUF_ENDS = 2 };
/* Keys of ids that end a text besides EOS: the end of a turn, of a message. */
extern const char *const gguf_ends[GGUF_ENDS];

/* Kinds of tokens in tokenizer.ggml.token_type. */
enum {
    GGUF_NORMAL = 1,
    GGUF_UNKNOWN,
    GGUF_CONTROL,
    GGUF_USER,
    GGUF_UNUSED,
    GGUF_BYTE
};
/* Known pre-tokenizer i of byte-level BPE as JSON; NULL after the last one.
 * *name: its first name in tokenizer.ggml.pre, *n bytes.  *nfc, *whole: whether
 * its models use the normalizer NFC, and ignore_merges. */
json_t *gguf_pre_json(size_t i, const char **name, size_t *n, int *nfc,
    int *whole);

#endif
