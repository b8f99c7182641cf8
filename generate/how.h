/* How the commands of generate draw and compute texts: the options that they
 * share, packed weights, drafts. */
#ifndef GENERATE_HOW_H
#define GENERATE_HOW_H

#include "base/pool.h"
#include "cli/setup.h"
#include "cli/shared.h"
#include "gen/engine.h"
#include "model/pass/compute.h"
#include "model/files/model.h"
#include "model/decode/forward_kv.h"
#include "model/decode/packed.h"

#include <stddef.h>
#include <stdint.h>

/* Values of the options that every command has. */
struct how {
    struct setup setup;
    struct sampling sampling;
    size_t seed, guesses;
    const char *adapter, *draft;
};
#define HOW_DEFAULTS                                 \
    {                                                \
        .sampling = SAMPLING_DEFAULTS, .guesses = 4, \
    }
/* s: the values of the samplers; t, p: what to add to the help of --temperature
 * and --top-p where these values have no default. */
#define HOW_OPTIONS(h) HOW_OPTIONS_OF(h, &(h)->sampling, "", "")
#define HOW_OPTIONS_OF(h, s, t, p)                                           \
    OPT_REAL(0, "temperature", &(s)->temperature, 0, 1000, "T",              \
        "temperature of the softmax (0: take the most probable token)" t),   \
        OPT_REAL(0, "top-p", &(s)->top_p, 1e-6, 1, "p",                      \
            "draw from the fewest most probable tokens whose probabilities " \
            "sum to p or more" p),                                           \
        OPT_SEED(&(h)->seed), OPT_SETUP((h)->setup)
/* Options of generate run and generate chat; they apply to the first model. */
#define MODEL_OPTIONS(h)                                                \
    OPT_ADAPTER(&(h)->adapter),                                         \
        OPT_STR(0, "draft", &(h)->draft, "model",                       \
            "small model that guesses tokens, so that the model needs " \
            "fewer steps for the same text"),                           \
        OPT_SIZE(0, "guesses", &(h)->guesses, 1, KV_BACK, "tokens",     \
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

/* Check the samplers, and call setup_begin.  Dies on errors. */
void how_begin(const struct how *h);
/* Pack m's matrices for products in 8-bit integers, and print a note of their
 * bytes.  NULL: exact products were asked for, or no matrix is quantised.  The
 * caller frees it. */
struct packed *how_pack(const struct how *h, const struct model *m,
    struct pool *pool);
/* Open the model's draft, --draft, packed as the model is; NULL: none.  It
 * stays open.  Dies on errors, also if the draft's tokenizer is not the
 * model's. */
const struct model *how_draft(const struct how *h, const struct model *m,
    const struct tokenizer *tok, struct pool *pool);
/* Add to the closing line how many guesses of a draft were right. */
void how_guessed(const struct gen_stats *s);
/* With -v, print a note of how far p's predictions are from exact ones on the
 * first tokens of ids [n], at most COMPARED.  p NULL: print none. */
enum { COMPARED = 1000 };
void how_compare(const struct packed *p, struct pool *pool, const uint32_t *ids,
    size_t n);

#endif
