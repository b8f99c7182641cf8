/* Options that the commands of generate share, and opening models. */
#ifndef GENERATE_COMMON_H
#define GENERATE_COMMON_H

#include "base/pool.h"
#include "cli/opt.h"
#include "gen/engine.h"
#include "gen/mask.h"
#include "model/compute.h"
#include "model/model.h"
#include "model/packed.h"

#include <stddef.h>
#include <stdint.h>

/* Values of the options that every command has. */
struct common {
    struct sampling how;
    size_t seed, threads;
    const char *cpus, *numa, *adapter, *draft;
    size_t guesses;
    int compute;
    int exact; /* 1: no products in 8-bit integers */
};
#define COMMON_DEFAULTS                         \
    {                                           \
        .how = SAMPLING_DEFAULTS, .guesses = 4, \
    }
/* s: the values of the samplers; t, p: what to add to the help of --temperature
 * and --top-p where these values have no default. */
#define COMMON_OPTIONS(c) COMMON_OPTIONS_OF(c, &(c)->how, "", "")
#define COMMON_OPTIONS_OF(c, s, t, p)                                        \
    OPT_REAL(0, "temperature", &(s)->temperature, 0, 1000, "T",              \
        "temperature of the softmax (0: take the most probable token)" t),   \
        OPT_REAL(0, "top-p", &(s)->top_p, 1e-6, 1, "p",                      \
            "draw from the fewest most probable tokens whose probabilities " \
            "sum to p or more" p),                                           \
        OPT_SIZE('s', "seed", &(c)->seed, 0, 1e18, "seed",                   \
            "seed of the random numbers"),                                   \
        OPT_SIZE('j', "threads", &(c)->threads, 0, 4096, "threads",          \
            "threads (0: all processors)"),                                  \
        OPT_STR(0, "cpus", &(c)->cpus, "list",                               \
            "run on these processors, such as 0-3,8"),                       \
        OPT_STR(0, "numa", &(c)->numa, "node", "run on this memory node"),   \
        OPT_ENUM(0, "compute", &(c)->compute, compute_names, "type",         \
            "type that the factors of matrix products have"),                \
        OPT_FLAG(0, "exact", &(c)->exact,                                    \
            "multiply quantised weights in floating point, as training "     \
            "does, not in 8-bit integers")
/* Options of generate run and generate chat; they apply to the first model. */
#define MODEL_OPTIONS(c)                                                \
    OPT_STR(0, "adapter", &(c)->adapter, "directory",                   \
        "adapter of the model, in PEFT's format"),                      \
        OPT_STR(0, "draft", &(c)->draft, "model",                       \
            "small model that guesses tokens, so that the model needs " \
            "fewer steps for the same text"),                           \
        OPT_SIZE(0, "guesses", &(c)->guesses, 1, 64, "tokens",          \
            "tokens that the draft guesses in a step")
/* Further options of generate run and generate chat; d: what to add to the help
 * of those that may have no default. */
#define SAMPLING_OPTIONS(s) SAMPLING_OPTIONS_OF(s, "")
#define SAMPLING_OPTIONS_OF(s, d)                                           \
    OPT_SIZE(0, "top-k", &(s)->top_k, 0, 1e9, "tokens",                     \
        "draw from this many most probable tokens (0: all)" d),             \
        OPT_REAL(0, "min-p", &(s)->min_p, 0, 1, "p",                        \
            "draw from tokens at least p times as probable as the most "    \
            "probable one" d),                                              \
        OPT_REAL(0, "typical-p", &(s)->typical, 1e-6, 1, "p",               \
            "draw from the fewest tokens of typical probability whose "     \
            "probabilities sum to p or more" d),                            \
        OPT_REAL(0, "repetition-penalty", &(s)->repetition, 0.01, 100, "r", \
            "divide the logits of tokens that came before by r" d),         \
        OPT_REAL(0, "presence-penalty", &(s)->presence, -100, 100, "x",     \
            "subtract x from the logits of tokens that the text has"),      \
        OPT_REAL(0, "frequency-penalty", &(s)->frequency, -100, 100, "x",   \
            "subtract x from a token's logit for each time that the text "  \
            "has the token")

/* Apply the options.  Call it before models are opened.  Dies on errors. */
void common_begin(const struct common *c);
/* Open a model and its adapter (NULL: none).  Dies on errors, also if a weight
 * is not finite. */
void common_open(struct model *m, const char *path, const char *adapter);
/* Start the threads.  Call it when models are open.  Dies on errors; the caller
 * frees the pool. */
struct pool *common_pool(const struct common *c);
/* Pack m's matrices for products in 8-bit integers, and print a note of their
 * bytes.  NULL: exact products were asked for, or no matrix is quantised.  The
 * caller frees it. */
struct packed *common_pack(const struct common *c, const struct model *m,
    struct pool *pool);
/* Open the model's draft, --draft, packed as the model is; NULL: none.  It
 * stays open.  Dies on errors, also if the draft's tokenizer is not the
 * model's. */
const struct model *common_draft(const struct common *c, const struct model *m,
    const struct tokenizer *tok, struct pool *pool);
/* Add to the closing line how many guesses of a draft were right. */
void common_guessed(const struct gen_stats *s);
/* With -v, print a note of how far p's predictions are from exact ones on the
 * first tokens of ids [n], at most COMPARED.  p NULL: print none. */
enum { COMPARED = 1000 };
void common_compare(const struct packed *p, struct pool *pool,
    const uint32_t *ids, size_t n);
/* The schema that all texts must be documents of. */
struct common_schema {
    struct schema *schema;
    struct mask_vocab *vocab; /* of the model's tokenizer */
};
/* Read the schema in the file.  Dies on errors, also if texts of this model
 * cannot be bound by it. */
void common_schema(struct common_schema *b, const char *file,
    const struct model *m, const struct tokenizer *tok);
void common_schema_release(struct common_schema *b);
/* Make an engine, and note its memory as common_memory does.  Dies if there is
 * not enough memory. */
struct gen_engine *common_engine(const struct model *m, struct pool *pool,
    const struct tokenizer *tok, const struct gen_limits *l);
/* Die if an event says that a logit is not finite. */
void common_check(const struct gen_event *ev);
/* Print a note of the memory that generation takes: `bytes` besides the model m
 * and the program; `cache` of them are keys and values.  texts: most texts that
 * run at a time; longest: most tokens of a text.  Returns all bytes.  Dies if
 * there is not enough memory. */
size_t common_memory(const struct model *m, const struct pool *pool,
    size_t texts, size_t longest, size_t cache, size_t bytes);

#endif
