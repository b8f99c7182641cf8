/* The texts of many prompts, several at a time, written in order. */
#ifndef GENERATE_MANY_H
#define GENERATE_MANY_H

#include "best.h"
#include "output.h"
#include "prompts.h"
#include "written.h"
#include "base/pool.h"
#include "gen/engine.h"
#include "gen/mask.h"
#include "model/decode/packed.h"

/* The source of prompts of --ask and --harder, which decides for each text
 * whether, and as what line, it is written. */
struct many_draws {
    size_t total; /* lines to be written; 0: it is not known */
    size_t had;   /* lines that the output has already */
    void *ctx;
    /* The next prompt, or NULL.  The caller frees it. */
    struct prompt *(*next)(void *ctx);
    /* Returns 1 if the unfinished text will be dropped however it goes on; then
     * it is cancelled. */
    int (*hopeless)(void *ctx, const struct written *t);
    /* Append the line of a text that has ended, without newline, or nothing if
     * the text is dropped.  Returns 0 once no further texts are wanted. */
    int (*judge)(void *ctx, const struct written *t, struct buf *line);
};

/* The schema that all texts must be documents of. */
struct bound {
    struct schema *schema;
    struct mask_vocab *vocab; /* of the model's tokenizer */
};

struct many {
    const struct model *m;
    const struct packed *packed; /* NULL: products are exact */
    struct pool *pool;
    const struct tokenizer *tok;
    struct prompts *prompts;
    const struct many_draws *draws; /* prompts of --ask or --harder, in place of
                                     * `prompts`; or NULL */
    const char *file;               /* name of the prompts' file; NULL: none */
    struct output *output;
    const json_t *made;        /* object of made_with.h */
    struct best *best;         /* of --best-of; NULL: every text is written */
    const struct model *draft; /* NULL: none */
    const struct bound *bound; /* of --schema; NULL: none */
    size_t at_once, slice;     /* options of these names */
    size_t cache;              /* option --cache, bytes; 0: not given */
    size_t guesses;
    /* results: */
    double texts, tokens;
    struct gen_stats stats; /* only numbers of guesses are set */
    /* while it runs: */
    struct gen_engine *engine;
    size_t longest;               /* most tokens of a text in the engine */
    struct prompt *next;          /* prompt being read; NULL: no more */
    size_t choice;                /* number of the next text of `next` */
    struct written *first, *last; /* texts not yet written, in order */
    size_t pending;               /* number of texts not yet written */
    int enough;                   /* 1: no further texts are wanted */
    struct written *before;       /* the group (many.c) of the last line that
                                    * the output already has, or NULL */
    struct written *held; /* the group to make after `before`, or NULL */
    double done, passed;  /* prompts; those that an earlier run has done */
    size_t prompts_taken, texts_taken, /* from the source, to be made */
        texts_done;                    /* of these, written or dropped */
    double lengths, read; /* tokens of the prompts taken, and of those whose
                           * texts are done */
};
/* Dies on errors. */
void many_run(struct many *r);

#endif
