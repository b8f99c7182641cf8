/* A text that generate run writes: what the engine reports of it, and its line
 * of output. */
#ifndef GENERATE_WRITTEN_H
#define GENERATE_WRITTEN_H

#include "prompts.h"
#include "base/mem.h"
#include "gen/engine.h"

#include <stddef.h>

struct written {
    struct written *next;
    struct prompt *prompt;
    size_t choice; /* which of the prompt's texts */
    int proof;     /* 1: the output has the text's line; the text is made again
                    * only to compare the two */
    double reward; /* if best_choose has chosen the text */
    struct gen_text *handle; /* in the engine, until the text has ended */
    enum gen_reason end;
    struct tok_ids ids;
    struct buf bytes;
    float *logp;     /* [ids.n], if params.logprobs */
    uint32_t *top;   /* [ids.n,params.top] */
    float *top_logp; /* [ids.n,params.top] */
};

struct written *written_new(struct prompt *q, size_t choice);
void written_free(struct written *t);
/* Add what an event reports. */
void written_event(struct written *t, const struct gen_event *ev);

/* The members that the text's line will have and that do not depend on the
 * text: by these a run that is resumed finds the line in its file.  The caller
 * releases the object. */
json_t *written_known(const struct written *t);
/* Append the line of a text that has ended, without newline.  made: the object
 * of made_with.h. */
void written_line(const struct written *t, const json_t *made,
    const struct tokenizer *tok, struct buf *out);

#endif
