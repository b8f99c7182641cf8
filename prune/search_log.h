/*
 * The log of a search: every configuration that was evaluated, with its scores.
 * A search that finds a configuration in the file takes its scores from there;
 * prune-search(1) describes the columns.
 */
#ifndef PRUNE_SEARCH_LOG_H
#define PRUNE_SEARCH_LOG_H

#include "choice.h"
#include "conf.h"
#include "cost.h"

#include <stddef.h>
#include <stdint.h>

struct score {
    double nll, kl; /* nats a token; KL(whole model || this one) */
    double sum;     /* the objective: KL + loss weight * nll; less is better */
    double se;      /* standard error of the objective over rows */
};
/* A configuration that was evaluated. */
struct trial {
    const char *method, *kind; /* such as "greedy" and "drop" */
    struct conf conf;
    struct choice choice;
    uint64_t key; /* choice_key(&choice) */
    struct cost cost;
    size_t tokens; /* scored predictions of the calibration data */
    struct score score;
    double seconds; /* that the evaluation took */
    int taken;      /* the search went on from it, or chose it */
};
struct search_log {
    struct trial *t; /* [n] of this run; the first is the whole model */
    size_t n, cap;
    struct record *r; /* [nr] that the file holds */
    size_t nr, rcap;
    int fd;           /* of the file; -1: none */
    uint64_t search;  /* hash of model, data and objective */
    char kernels[64]; /* other kernels that the file names; "": none */
};
/* file NULL: keep the log in memory.  Dies (EX_USAGE) if the file is of a
 * search with another hash. */
void search_log_open(struct search_log *l, const char *file, uint64_t search);
void search_log_close(struct search_log *l);
/* 1: the file has scores of this choice on that many predictions; they are in
 * *score and *seconds.  0: it has not. */
int search_log_get(const struct search_log *l, uint64_t key, size_t tokens,
    struct score *score, double *seconds);
/* Add a copy of x, and write it unless the file has it.  Returns its index. */
size_t search_log_add(struct search_log *l, const struct trial *x);
/* Mark trial i as taken, and write it again. */
void search_log_take(struct search_log *l, size_t i);
/* Append a table of all trials of this run: the report of prune(1). */
void search_log_report(const struct search_log *l, struct buf *b);

#endif
