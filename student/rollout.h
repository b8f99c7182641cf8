/*
 * Training on texts that the student itself writes: the code that student grpo
 * and student on-policy share.  A batch has B rows, a text each; rank r of n
 * has the rows r, r + n, ...  A text depends on the seed, the weights and the
 * row's number in the run alone.
 */
#ifndef STUDENT_ROLLOUT_H
#define STUDENT_ROLLOUT_H

#include "student.h"
#include "texts.h"

/* Values of the options. */
struct rollout_args {
    const char *template, *date;
    size_t rows, length, at_once;
    double temperature;
    struct tm day; /* parsed `date` */
};
#define ROLLOUT_DEFAULT                                             \
    {                                                               \
        .rows = 64, .length = 64, .at_once = 64, .temperature = 1.0 \
    }
/* clang-format off */
#define OPTIONS_ROLLOUT(r)                                                     \
    OPT_GROUP("texts"),                                                        \
    OPT_SIZE('B', "batch-size", &(r).rows, 1, 1 << 20, "rows",                 \
        "rows of a batch"),                                                    \
    OPT_MAX_NEW_TOKENS(&(r).length, 1),                                        \
    OPT_REAL(0, "temperature", &(r).temperature, 0.01, 1000, "T",              \
        "temperature of the softmax"),                                         \
    OPT_TEMPLATE(&(r).template), OPT_DATE(&(r).date), OPT_AT_ONCE(&(r).at_once)
/* clang-format on */

struct rollout {
    const struct rollout_args *a;
    struct tokenizer *tok;
    struct prompt_reader reader;
    struct prompts prompts;
    struct writer writer;
    struct text *text;  /* [n] this rank's texts of the batch, empty between
                         * batches */
    struct text **each; /* [n] addresses of the elements of `text` */
    size_t n;
    struct text_rows rows;
    uint64_t batch; /* number of the current batch, from 1 */
};
/* Parse r->date into r->day.  Die if the date is invalid, if --stages or
 * --shard-level 3 divides the model among ranks, or if --steps is missing. */
void rollout_check(const struct student *s, struct rollout_args *r);
/* Open tokenizer and prompts, and set s->in.  Rows have room for prompts with
 * their answers, too.  Dies on errors. */
void rollout_open(struct rollout *r, struct student *s,
    const struct rollout_args *a, const char *file);
void rollout_close(struct rollout *r);
/* Bytes of memory. */
size_t rollout_bytes(const struct rollout *r);
/* Begin the texts of the next batch.  Every `group` neighbouring rows share one
 * prompt. */
void rollout_begin(struct rollout *r, const struct student *s, size_t group);
/* Number of this rank's row k, in the batch (rollout_row) or in the run. */
size_t rollout_row(const struct student *s, size_t k);
uint64_t rollout_number(const struct rollout *r, const struct student *s,
    size_t k);
/* Release the texts of the batch. */
void rollout_end(struct rollout *r);
/* Set s->at to the end of the current batch. */
void rollout_place(const struct rollout *r, struct student *s);

/* Sums over those texts of the batch, on all ranks, that the student has
 * written, for metrics: number of texts, of their tokens, of texts ended by
 * EOS. */
struct rollout_sums {
    double texts, tokens, ended;
};
struct rollout_sums rollout_sums(const struct rollout *r,
    const struct student *s);

#endif
