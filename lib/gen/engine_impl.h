/* An engine from within: engine.c, schedule.c, emit.c. */
#ifndef GEN_ENGINE_IMPL_H
#define GEN_ENGINE_IMPL_H

#include "gen/engine.h"
#include "gen/prefix.h"
#include "gen/sample.h"
#include "model/pass/forward.h"
#include "model/decode/forward_kv.h"

#define GEN_NO_ROW SIZE_MAX
#define GEN_DRAFT_ROW (SIZE_MAX - 1) /* draft_guess gives the text its row */
enum { GEN_SCORED = 32 }; /* prompt tokens that are scored together */

struct gen_text {
    struct gen_request r;
    struct tok_ids ids;     /* the prompt, then the new tokens */
    struct tok_ids end;     /* tokens that end the text */
    struct buf bytes;       /* bytes of the new tokens */
    struct json_state json; /* with a schema: after the first `followed` new
                             * tokens */
    size_t followed;
    size_t shown;         /* bytes that were reported */
    size_t stop_from;     /* stop strings begin at this byte or later */
    size_t scored;        /* prompt tokens that were reported */
    int cancelled, begun; /* begun: the text has run before */
    size_t length; /* kv_more.length: tokens of the prompt; once the text has
                    * outgrown its angles: its tokens at that time */
    struct gen_text *next; /* in the queue */
    /* while it runs: */
    size_t slot;  /* the text's number in the cache */
    size_t nodes; /* number of its first pages that are in the tree of
                   * prefixes */
    int apart;    /* 1: the tree has another page with the same tokens, so the
                   * text's further pages are not added */
    /* in a step: */
    size_t feed;    /* tokens to compute */
    size_t guesses; /* how many of these the draft guessed; ids ends with
                     * them */
    float *states;  /* [feed,d] final states of the tokens that are computed;
                     * NULL: not wanted */
    size_t row;     /* row of logits that gives the next token after the text's
                     * last token, before any guess; the next rows belong to
                     * the guesses.  GEN_NO_ROW: none; GEN_DRAFT_ROW:
                     * draft_guess will set it */
    size_t choices; /* number of tokens chosen, by the rows from `row` on */
    uint32_t
        chosen; /* token last chosen or guessed for it; UINT32_MAX: a logit is
                 * not finite */
    float logp; /* log probability of `chosen` */
};

/* A token chosen from a row of logits, with its log probability, and the log
 * probabilities of the most probable tokens. */
struct gen_top {
    uint32_t chosen;
    float own;
    uint32_t ids[PARAMS_TOP];
    float logp[PARAMS_TOP];
};

struct gen_engine {
    const struct model *m;
    struct pool *pool;
    const struct tokenizer *tok;
    struct gen_limits limits;
    size_t V;           /* ids below V may be chosen */
    struct tok_ids end; /* ids that end a text, by model or tokenizer */
    struct kvcache *kv;
    struct prefix *prefix;
    struct sample_room *room; /* [threads] */
    struct mask_room *mask;   /* [threads]; NULL: no request has a schema */
    float *logits;            /* [rows,m.V]; rows: texts (1 + guesses) */
    struct gen_top *top;      /* [rows] */
    struct draft *draft;      /* NULL: no guesses */
    struct kv_more *more;     /* [texts] */
    uint32_t *path;           /* [pages of the longest text] scratch */
    /* for prompts with scores */
    struct fwd *fwd;
    float *states; /* [slice,d] */
    float *z;      /* [GEN_SCORED,m.V] */
    /* texts */
    struct gen_text **run; /* [texts] that run, the oldest first */
    size_t nrun;
    size_t *slot,
        nslot; /* [texts] a stack of nslot free numbers in the cache */
    struct gen_text *first, *last; /* the queue */
    struct gen_stats stats;
};

/* Choose the texts and tokens of the next step: let texts begin, and preempt
 * the youngest if pages are too few.  Sets `feed`, `guesses`, `states` and
 * `row` of each running text.  Returns the number of rows of logits; texts with
 * guesses get theirs later, by draft_guess. */
size_t gen_plan(struct gen_engine *g);
/* Add full pages of a running text to the tree of prefixes. */
void gen_keep_pages(struct gen_engine *g, struct gen_text *t);
/* Free a running text's pages and its slot in the cache. */
void gen_drop(struct gen_engine *g, struct gen_text *t);

/* Choose the token after the first `next` new tokens of a text by logits z [V],
 * among the ids below `most`, in thread number `worker`.  For the same `next`,
 * logits of the draft and of the model are sampled by the same random number.
 * UINT32_MAX: a logit is not finite, or the tokens have a wrong guess after
 * which the schema allows none. */
uint32_t gen_next(const struct gen_engine *g, const struct gen_text *t,
    size_t next, const float *z, size_t V, size_t most, size_t worker);
/* Choose the next token of each text that has a row of logits. */
void gen_choose(struct gen_engine *g);
/* Report what a step has computed for a text.  Returns why it ends, or
 * GEN_GOES_ON. */
enum gen_reason gen_report(struct gen_engine *g, struct gen_text *t);
/* Report that a text has ended. */
void gen_report_end(struct gen_text *t, enum gen_reason why);

#endif
