/* Prompts of generate run: operands, the lines of a file, or empty ones; see
 * generate-run(1). */
#ifndef GENERATE_PROMPTS_H
#define GENERATE_PROMPTS_H

#include "gen/params.h"
#include "tok/tok.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct prompts_from {
    char *const *texts; /* [operands] */
    size_t operands;    /* 0: none */
    const char *file;   /* "-": standard input; NULL: none */
    const char *field;  /* member of a line's object with the prompt, unless the
                        * object has messages */
    const char *model;  /* path of the model, for its chat template */
    const char *template;  /* file of another chat template, or NULL */
    const struct tm *date; /* for templates that ask for it, or NULL */
    size_t count; /* most prompts; without operands and file: number of empty
                   * prompts */
    struct gen_params params; /* parameters for members that a line lacks */
    int same_n;     /* 1: a line that asks for another number of texts than
                 * params.n is refused */
    int has_schema; /* 1: parameters that do not go with a schema are
                     * refused */
    const struct tokenizer *tok;
    size_t V;         /* ids of the model */
    size_t positions; /* positions of the model; 0: not known */
};

struct prompt {
    json_t *record; /* the line as an object; NULL: an operand */
    struct tok_ids ids;
    struct gen_params params;
    uint64_t number; /* number of its first text (engine.h): the line's member
                      * index; else 0 if the line has a seed; else the line's
                      * number, from 0 */
    size_t line;     /* from 1; 0: none */
    size_t texts;    /* texts that still need the prompt */
};

struct prompts;
/* Dies on errors.  *from outlives the result. */
struct prompts *prompts_open(const struct prompts_from *from);
void prompts_close(struct prompts *p);
/* The number of prompts; 0: it is not known. */
size_t prompts_total(const struct prompts *p);
/* The next prompt, or NULL.  Dies if it is bad.  The caller frees it. */
struct prompt *prompts_next(struct prompts *p);
void prompt_free(struct prompt *q);
/* The engine's number of text i < params.n of the prompt. */
uint64_t prompt_number(const struct prompt *q, size_t i);

#endif
