/*
 * Texts that the student writes while it is trained, by the engine of generate
 * (gen/engine.h), in the same process and with the same parameters.  The
 * engine's log probabilities have the bits of the trainer's forward pass, so
 * that the ratio of the two is 1.
 */
#ifndef STUDENT_TEXTS_H
#define STUDENT_TEXTS_H

#include "prompts.h"
#include "base/pool.h"
#include "gen/engine.h"
#include "model/pass/forward.h"

struct text {
    const struct prompt *prompt;
    uint64_t number;    /* number of the text; with the seed it determines the
                         * random numbers */
    struct tok_ids ids; /* tokens of the prompt and the text, including the EOS
                         * that ended it */
    size_t start;       /* tokens of the prompt */
    struct buf logp;    /* floats: log probabilities of the tokens after the
                         * prompt, at temperature 1, nats; empty: the student
                         * did not write the text */
    struct buf bytes;   /* the text without EOS */
    int ended;          /* 1: it ended by EOS; 0: by its length */
    int broken;         /* 1: a logit was not finite */
};
/* Make t an empty text after a prompt; release it with text_release. */
void text_begin(struct text *t, const struct prompt *prompt, uint64_t number);
/* Give t the prompt's own answer. */
void text_answer(struct text *t);
void text_release(struct text *t);

struct writer {
    const struct model *m;
    struct pool *pool;
    const struct tokenizer *tok;
    uint64_t seed;
    double temperature;
    size_t most;    /* tokens of a text */
    size_t longest; /* tokens of a prompt and a text */
    size_t at_once; /* texts that are written together, at most */
};
/* Write the n texts, which text_begin has prepared.  0; -1 and *e (EX_NUM): a
 * logit was not finite. */
int writer_run(const struct writer *w, struct text *const *text, size_t n,
    struct err *e);
/* Bytes of the memory that writer_run takes. */
size_t writer_bytes(const struct writer *w);

/* Texts as rows of a batch, one text a row; a text's tokens after its prompt
 * are scored. */
struct text_rows {
    size_t most, longest; /* most rows, and most tokens of a row */
    struct rows rows;     /* T: of the longest row */
    uint32_t *ids, *first;
    uint8_t *scored;
};
void text_rows_init(struct text_rows *r, size_t most, size_t longest);
void text_rows_release(struct text_rows *r);
void text_rows_fill(struct text_rows *r, struct text *const *text, size_t n);

#endif
