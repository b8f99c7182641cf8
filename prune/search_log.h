/*
 * The log of a search: every configuration that was evaluated, with its scores.
 * A configuration that is in the file is not scored again. prune-search(1)
 * describes the columns.
 */
#ifndef PRUNE_SEARCH_LOG_H
#define PRUNE_SEARCH_LOG_H

#include "choice.h"
#include "conf.h"
#include "cost.h"

#include <stddef.h>
#include <stdint.h>

struct score {  /* means over predictions */
    double nll; /* loss, nats per token */
    double kl;  /* KL(uncut model || cut model), nats per token */
    double sum; /* objective, less is better: KL + nll */
    double se;  /* standard error of the objective over rows */
};
/* A configuration that was evaluated. */
struct trial {
    const char *method, *kind; /* names, such as "greedy" and "drop" */
    struct conf conf;
    struct choice choice;
    uint64_t key; /* choice_key(&choice) */
    struct cost cost;
    size_t tokens; /* number of scored predictions */
    struct score score;
    double seconds; /* duration of the evaluation */
    int taken;      /* the search continued from it, or chose it */
};
struct search_log {
    struct trial *t; /* [n] trials of this run; the first is the whole model */
    size_t n, cap;
    struct record *r; /* [nr] lines that the file held, and trials of this
                       * run */
    size_t nr, rcap;
    int fd;           /* descriptor of the file; -1: none */
    uint64_t search;  /* hash of model, data and objective */
    char kernels[64]; /* name of other kernels that computed scores in the file;
                       * "": none */
};
/* Open the log; file NULL: it is only in memory.  Dies (EX_USAGE) if the file
 * is of a search with another hash. */
void search_log_open(struct search_log *l, const char *file, uint64_t search);
void search_log_close(struct search_log *l);
/* Look up the score of the choice with choice_key `key` on the first `tokens`
 * predictions.  1: *score and *seconds are set.  0: it is not known. */
int search_log_get(const struct search_log *l, uint64_t key, size_t tokens,
    struct score *score, double *seconds);
/* Append a copy of x to the trials, and write a line of it unless the file has
 * one.  Returns the index of the copy. */
size_t search_log_add(struct search_log *l, const struct trial *x);
/* Mark trial i as taken, and write it again. */
void search_log_take(struct search_log *l, size_t i);
/* Append a table of this run's trials: the report of prune(1). */
void search_log_report(const struct search_log *l, struct buf *b);

#endif
