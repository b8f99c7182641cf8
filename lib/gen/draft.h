/* The draft of an engine: a smaller model that guesses tokens; see engine.h. */
#ifndef GEN_DRAFT_H
#define GEN_DRAFT_H

#include <stddef.h>

struct gen_engine;
struct gen_text;
struct draft;

/* Make the draft of g: the model limits.draft, with its caches. */
struct draft *draft_new(const struct gen_engine *g);
void draft_free(struct draft *d);
size_t draft_bytes(const struct gen_engine *g);
/* For each running text whose row is GEN_DRAFT_ROW: push `guesses` guessed
 * tokens to its ids, or fewer if the draft's logits are not finite, a schema
 * allows none of the draft's tokens, or its cache is full (it has as many pages
 * as the engine's, but texts share none); set
 * `guesses`, `feed`, `states` and `row`.  The argument row: number of the first
 * row of logits for these texts. */
void draft_guess(struct gen_engine *g, size_t row);
/* Compute the logits of the texts that draft_guess gave rows, from their
 * states. */
void draft_logits(struct gen_engine *g);
/* Remove from the caches of model and draft the guesses of this step that t did
 * not accept. */
void draft_forget(struct gen_engine *g, const struct gen_text *t);
/* Remove a text from the draft's cache. */
void draft_drop(struct gen_engine *g, const struct gen_text *t);

#endif
