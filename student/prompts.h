/* Prompts that the student writes texts for, read from a file of JSON lines. */
#ifndef STUDENT_PROMPTS_H
#define STUDENT_PROMPTS_H

#include "gen/prompt.h"

#include <stdint.h>

struct prompt {
    json_t *record;        /* the line; its member "prompt" is the text */
    struct tok_ids ids;    /* of the prompt */
    struct tok_ids answer; /* of the record's "completion" and EOS; empty: it
                            * has none */
};
struct prompts {
    const char *file;
    struct prompt *p; /* [n] */
    size_t n;
    size_t longest; /* tokens of the longest prompt */
    size_t answer;  /* tokens of the longest answer */
    size_t answers; /* number of prompts with an answer */
};
/* Read all lines of a file; blank ones do not count.  Dies on errors, which
 * name the line.  Free with prompts_free. */
void prompts_read(struct prompts *p, const char *file,
    struct prompt_reader *reader);
void prompts_free(struct prompts *p);
/* Prompt number i of a run, for i = 0, 1, ...: each epoch has all prompts once,
 * in an order that seed determines. */
const struct prompt *prompts_pick(const struct prompts *p, uint64_t seed,
    uint64_t i);

#endif
