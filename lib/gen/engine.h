/*
 * Writing many texts at a time with one model (continuous batching).
 *
 * The caller adds requests, each for one text, and calls gen_step until nothing
 * is left to do.  A step reads a slice of the prompts that have begun, gives
 * every other running text its next token, and reports each token by the
 * request's on_event.  When a text ends, the next request takes its place in
 * the next step.
 *
 * A text and its log probabilities depend on the model, the arithmetic, the
 * prompt, the parameters and (seed, number) alone, to the bit.  They do not
 * depend on other texts, the order of requests, limits, threads, or on how
 * often a text was preempted.
 *
 * Keys and values are in pages of KV_PAGE tokens that all texts share.  When
 * no page is free, pages that no text uses any more are taken, the least
 * recently used first.  If there are none, the youngest text is preempted: its
 * pages are taken, and its prompt and tokens are read again later.
 *
 * With longrope and dynamic RoPE the tokens of a prompt have the angles for the
 * prompt's length, and each further token those for the length of the text up
 * to that token.  A text that grows past longrope's original length is read
 * again from its first token.  transformers' generate does the same.
 *
 * Full pages of a prompt are kept after its text ends.  A prompt that begins
 * with the same tokens, and has the same angles, uses them; only the tokens
 * after them are computed, of which there is always one or more.  Texts of one
 * prompt (n > 1) share its full pages in this way.
 *
 * A draft is a smaller model with the same tokens.  In each step it guesses the
 * next tokens of a text, which the model then checks in one pass.  Guesses are
 * kept up to the first that differs from the model's own choice.  Both models
 * choose by the same random numbers.  A draft changes the number of steps, but
 * no bit of a text.  The method is that of Leviathan et al., arXiv:2211.17192,
 * except that a guess is accepted by equality, not as in their section 2.3.
 *
 * A request with a schema gets its tokens in the same way from those that may
 * follow (mask.h); the draft's guesses are among them too.
 *
 * One thread makes all calls on an engine; pool's threads compute.
 *
 * schedule.c plans a step, draft.c guesses, emit.c chooses and reports tokens.
 */
#ifndef GEN_ENGINE_H
#define GEN_ENGINE_H

#include "base/pool.h"
#include "gen/mask.h"
#include "gen/params.h"
#include "model/files/model.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

struct gen_engine;
struct gen_text; /* a text that was added and has not ended */

struct gen_limits {
    size_t texts;   /* texts that run at a time */
    size_t pages;   /* pages of keys and values */
    size_t longest; /* tokens of a prompt and its text together, at most */
    size_t slice;   /* tokens of prompts read in a step, at most */
    int scores;     /* 1: requests may have `score` */
    int apart;      /* 1: compute every prompt whole, for comparisons */
    const struct model *draft; /* outlives the engine; NULL: no guesses */
    size_t guesses; /* tokens that the draft guesses in a step, at most */
    const struct mask_vocab *vocab; /* of tok, outlives the engine; NULL: no
                                     * request has a schema */
};
enum { GEN_SLICE = 256 }; /* a good value of gen_limits.slice */

enum gen_reason {
    GEN_GOES_ON,
    GEN_EOS,       /* EOS or a token of params.end, not part of the text */
    GEN_STOP,      /* a stop string, not part of the text */
    GEN_LENGTH,    /* params.most tokens */
    GEN_CANCELLED, /* by gen_cancel */
    GEN_NAN        /* a logit is not finite */
};
enum gen_kind {
    GEN_PROMPT, /* a token of the prompt, if the request has `score` */
    GEN_TOKEN,  /* a new token */
    GEN_END     /* the text has ended, and the struct gen_text is freed */
};
struct gen_event {
    enum gen_kind kind;
    enum gen_reason reason; /* GEN_END: why; else GEN_GOES_ON */
    /* Set for GEN_PROMPT and GEN_TOKEN.  For GEN_END by GEN_EOS, id and logp
     * are those of the token that ended the text. */
    uint32_t id;
    size_t at; /* index of the token in the prompt, or in the new text */
    /* Log probability of id, in nats, by the model's own distribution (before
     * penalties and temperature).  NAN: it was not asked for, or id is the
     * prompt's first token. */
    float logp;
    size_t ntop;           /* params.top; 0 if logp is NAN */
    const uint32_t *top;   /* [ntop] ids by falling logit; of equal logits the
                            * lower id first */
    const float *top_logp; /* [ntop] log probabilities of top, nats; that of
                            * id has the bits of logp */
    /* GEN_TOKEN and GEN_END: bytes of the text that can be shown now.  A byte
     * is held back while it may belong to a stop string, or to a character that
     * is not complete. */
    const char *bytes;
    size_t n;
};

/* All that a request points to must live until its GEN_END. */
struct gen_request {
    const uint32_t *prompt; /* [n], n > 0; ids < V */
    size_t n;
    const struct gen_params *params; /* params->n is not looked at */
    uint64_t
        number; /* params->seed and number: key of the text's random numbers */
    int score;  /* report the prompt's tokens first, as GEN_PROMPT */
    /* NULL, or a schema: the new text is a JSON document that it allows, or, if
     * it does not end by GEN_EOS, the beginning of one.  mask_check_schema and
     * mask_check_params have allowed the schema and params. */
    const struct schema *schema;
    /* Called by gen_step.  It may call gen_add and gen_cancel, but not
     * gen_step. */
    void (*on_event)(void *ctx, const struct gen_event *ev);
    void *ctx;
};

/*
 * Make an engine.  m, pool and tok outlive it.  tok NULL: texts have no bytes,
 * and stop strings are not looked for.  Memory is mapped, but touched only as
 * pages are used.
 */
struct gen_engine *gen_new(const struct model *m, struct pool *pool,
    const struct tokenizer *tok, const struct gen_limits *limits);
/* Requests that have not ended get no GEN_END. */
void gen_free(struct gen_engine *g);
/* gen_page_bytes: bytes of a page of keys and values of m.  gen_cache_bytes:
 * bytes of all pages.  gen_bytes: bytes of all memory of the engine. */
size_t gen_page_bytes(const struct model *m);
size_t gen_cache_bytes(const struct gen_engine *g);
size_t gen_bytes(const struct gen_engine *g);

/*
 * Add a request to the queue.  Requests begin in the order of gen_add.
 * NULL and *e (EX_INPUT) "prompt: why" or "max_tokens: why": the prompt is
 * empty, has an id that the model has not, or is, with params->most, longer
 * than limits.longest or than all pages.
 */
struct gen_text *gen_add(struct gen_engine *g, const struct gen_request *r,
    struct err *e);
/* Make the next gen_step end the text with GEN_CANCELLED, if it has not
 * ended. */
void gen_cancel(struct gen_engine *g, struct gen_text *t);
/* Compute a step.  Returns the number of texts that run or wait; 0: all have
 * ended. */
size_t gen_step(struct gen_engine *g);

struct gen_stats {
    size_t running, waiting; /* texts */
    size_t pages;            /* pages of the cache */
    size_t used;             /* pages that running texts have */
    size_t kept;             /* pages that only serve to be shared again */
    uint64_t prompt;         /* tokens of prompts begun */
    uint64_t shared;         /* prompt tokens read from kept pages */
    uint64_t next;           /* tokens that texts got */
    uint64_t preempted;      /* how often a text was preempted */
    uint64_t guessed;        /* tokens that the draft guessed */
    uint64_t accepted;       /* guessed tokens that texts got */
    uint64_t steps;
    size_t step_tokens; /* tokens computed in the last step */
};
void gen_statistics(const struct gen_engine *g, struct gen_stats *s);

#endif
