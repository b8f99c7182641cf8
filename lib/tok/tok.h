/*
 * Tokenizers: text to ids and back, read from a tokenizer.json of the Hugging
 * Face tokenizers library, from Mistral's tekken.json or from a GGUF.  Ids are
 * identical to that library's.
 *
 * Two kinds are read: byte-level BPE (such as GPT-2, SmolLM2, Llama 3 and 4,
 * Qwen 2 to 3.5, Tekken), and BPE over characters, which SentencePiece models
 * are converted to (such as Llama 2, Mistral 7B, Gemma).  Normalizers: NFC,
 * Prepend, Replace of a text.  Any component that is not implemented is refused
 * with its path in the JSON, never ignored.
 *
 * A struct tokenizer never changes after tok_open: any number of threads may
 * use it, each with a struct tok_scratch of its own.
 *
 * Opening: json.c reads a tokenizer.json, tekken.c makes one of a tekken.json,
 * vocab_json.c and vocab.c fill the vocabulary and the merges, steps.c reads
 * normalizer, pre-tokenizer and decoder, special.c BOS and EOS.
 *
 * Encoding: added.c and aho_corasick.c find added tokens, norm.c normalises,
 * split.c cuts into pieces, bpe.c (bytes) and sp.c (characters) give each piece
 * its ids, merge.c and window.c merge what the queue (queue.h) does not take.
 */
#ifndef TOK_TOK_H
#define TOK_TOK_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct tokenizer;
struct tok_scratch;

/* A growable array of ids; { 0 } is empty and valid. */
struct tok_ids {
    uint32_t *v;
    size_t n, cap;
};
void tok_ids_release(struct tok_ids *a);
void tok_ids_push(struct tok_ids *a, uint32_t id);

/*
 * path: a tokenizer.json or tekken.json, a directory that has one
 * (tokenizer.json if both), or a .gguf file.  BOS and EOS are looked up in the
 * tokenizer_config.json, then the generation_config.json and config.json beside
 * it.  NULL and *e "path: where: why": EX_INPUT for a damaged file or an
 * unknown component, EX_SYS when it cannot be read.
 */
struct tokenizer *tok_open(const char *path, struct err *e);
/* Open a tokenizer from the text of a tokenizer.json and, unless NULL, of a
 * tokenizer_config.json. */
struct tokenizer *tok_parse(const char *json, size_t n, const char *config,
    size_t nconfig, struct err *e);
void tok_free(struct tokenizer *t);

/*
 * A tokenizer and a model of V ids.  Either may have more ids: Gemma 3's
 * tokenizer has a token for images without a row in its language model, and
 * many models have rows without a token.
 *
 * tok_fit fits t, opened from path, to that model: added tokens with an id of V
 * or more are not found any more, so that they are encoded as other text.
 * past: NULL, or the names of tokens with such ids are appended to it.  -1 and
 * EX_INPUT "path: ...": BOS, EOS or PAD is V or more.  tok_hash and tok_vocab
 * stay as they are.
 *
 * tok_fits checks that ids are below V; -1 and EX_INPUT: one is not.  Also
 * after tok_fit a token that is not added may have an id of V or more.
 *
 * tok_check does tok_open and tok_fit, for a program that only copies the
 * files.
 */
int tok_fit(struct tokenizer *t, const char *path, size_t V, struct buf *past,
    struct err *e);
int tok_fits(const struct tok_ids *ids, size_t V, struct err *e);
int tok_check(const char *path, size_t V, struct err *e);

/*
 * A warning, or NULL; programs that encode text print it once.  It says that
 * the file is of a Mistral Tekken model but has Llama 3's pattern, as older
 * versions of transformers wrote it.  In tokenizer_config.json
 * fix_mistral_regex: true selects Tekken's pattern, false keeps Llama 3's
 * without a warning.
 */
const char *tok_warning(const struct tokenizer *t);

/* 1 + the largest id, added tokens included. */
size_t tok_vocab(const struct tokenizer *t);
/* The token that the post-processor puts before a text, or -1. */
int64_t tok_template_bos(const struct tokenizer *t);
/*
 * The beginning- and end-of-text tokens, or -1.  They are taken from the first
 * of these that names one:
 * 1. the post-processor
 * 2. bos_token, eos_token of tokenizer_config.json,
 *    in a GGUF tokenizer.ggml.*_token_id
 * 3. *_token_id of generation_config.json (the first of a list)
 * 4. *_token_id of config.json
 * 5. EOS only: special token <|endoftext|>, <|end_of_text|>, </s> or <eos>
 * tok_open refuses a bos_token, eos_token or pad_token that is no token, and an
 * eos_token_id that is no id; null and an empty list name none.
 */
int64_t tok_bos(const struct tokenizer *t);
int64_t tok_eos(const struct tokenizer *t);
/* Does id end a text that a model writes?  Such ids are EOS, those of the list
 * eos_token_id in generation_config.json or config.json, and in a GGUF
 * tokenizer.ggml.eot_token_id and eom_token_id. */
int tok_is_end(const struct tokenizer *t, uint32_t id);
/* The token that lm-evaluation-harness puts before a text without context, or
 * -1.  Returns BOS if the tokenizer's own files name one (post-processor,
 * tokenizer_config.json, metadata of a GGUF), else EOS. */
int64_t tok_prefix(const struct tokenizer *t);
/* The id of the added token with the text s[n], else of the vocabulary's token
 * with these bytes; -1: there is none. */
int64_t tok_id(const struct tokenizer *t, const char *s, size_t n);
/* Is id an added token marked special? */
int tok_is_special(const struct tokenizer *t, uint32_t id);

/*
 * XXH3-128, as 32 hex digits, of a canonical serialisation of the vocabulary,
 * merges in order, pre-tokenizer, added tokens with their flags and
 * post-processor: tokenizers with equal hashes give equal ids for any text.
 * BOS and EOS that only configuration files name are not part of it.
 */
void tok_hash(const struct tokenizer *t, char hex[33]);

/*
 * Is hash (of a `stream` message) the hash of the tokenizer at path, such as a
 * model's?
 * 1: yes.
 * 0: no; the two tokenizers' ids have different meanings.
 * -1: the tokenizer at path cannot be read (*e says why).
 */
int tok_matches(const char *path, const char *hash, struct err *e);

/* A thread's memory for encoding and its cache of pieces.  The size does not
 * depend on the texts.  More is taken for a while in two cases: to copy a text
 * that a normalizer changes (unless it only turns spaces into U+2581), and if
 * the vocabulary needs windows of more than 6,000 symbols. */
struct tok_scratch *tok_scratch_new(const struct tokenizer *t);
/* tok_scratch_new for one of `threads` threads.  Their caches take at most 40
 * MiB together, unless 80 KiB each is more. */
struct tok_scratch *tok_scratch_share(const struct tokenizer *t,
    size_t threads);
void tok_scratch_free(struct tok_scratch *s);

enum {
    TOK_SPECIAL = 1, /* encode special tokens in the text as their ids; without
                      * this flag they are text.  Added tokens that are not
                      * special are always recognised. */
    TOK_BOS = 2,     /* add what the post-processor puts before a text */
    TOK_EOS = 4,     /* add what the post-processor puts after a text */
    TOK_SKIP = 8,    /* tok_decode: leave special tokens out */
    TOK_MIDDLE = 16  /* tok_decode: the ids continue a text, so that the
                      * space that some tokenizers put before every text is
                      * not taken away */
};

/* Length of the longest prefix of text[n] that is UTF-8, as uni_valid finds it,
 * by t's vector code if there is such code for this processor. */
size_t tok_valid(const struct tokenizer *t, const char *text, size_t n);

/* Append the ids of text[n] to *out.  The text should be UTF-8; other bytes are
 * encoded as single bytes (see uni_repair).  Bytes that have no token vanish,
 * as in the tokenizers library. */
void tok_encode(const struct tokenizer *t, struct tok_scratch *s,
    const char *text, size_t n, int flags, struct tok_ids *out);

/* Append the bytes of ids[n] to *out, exactly: half characters stay halves.  An
 * id without a token (a hole) adds nothing.  -1 and EX_INPUT: an id is >=
 * tok_vocab. */
int tok_decode(const struct tokenizer *t, const uint32_t *ids, size_t n,
    int flags, struct buf *out, struct err *e);

#endif
