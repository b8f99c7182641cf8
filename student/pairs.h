/* Pairs of completions, of which one is preferred, as batches: see
 * student-dpo(1). */
#ifndef STUDENT_PAIRS_H
#define STUDENT_PAIRS_H

#include "format/json.h"
#include "model/pass/forward.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A pair.  Its row is the chosen text, then the rejected one.  Both begin with
 * the prompt, and neither attends to the other. */
struct pair {
    const uint32_t *ids; /* [n[0] + n[1]] */
    size_t n[2];         /* tokens of each text */
    size_t prompt;       /* tokens of the prompt in each */
    double reference[2]; /* log probability that the reference gives to each
                          * completion; NAN: not known */
    json_t *record;      /* with pairs_from.records: the record; else NULL */
};

struct pairs {
    size_t n;
    struct pair *pair; /* [n] */
    struct tok_ids ids;
    size_t most;        /* most tokens of a row */
    int given;          /* 1: all records have reference log probabilities */
    char hash[33];      /* hash of ids, lengths and references */
    char tokenizer[33]; /* hash of the tokenizer */
    char template[33];  /* chat_hash of the template */
    json_t *made;       /* object with the hashes and options that determine the
                         * reference's log probabilities; records have it as
                         * their member ref_made_with */
};

/* The input of pairs_open. */
struct pairs_from {
    const char *file;      /* JSONL; NULL or "-": standard input */
    const char *tokenizer; /* path of a model or of a tokenizer.json */
    const char *template;  /* chat template, or NULL: that of tokenizer */
    const struct tm *date; /* for templates that ask for it, or NULL */
    size_t V;              /* ids of the model */
    size_t T;              /* texts are cut off after T / 2 tokens */
    const char *reference; /* hash of the reference model; "": not known */
    int records;           /* 1: pairs keep their records */
};
/* Dies on errors, and (EX_USAGE) if all records have log probabilities of a
 * reference, but a record's ref_made_with differs from p->made.  Prints a note
 * of pairs left out because the prompt fills a text. */
void pairs_open(struct pairs *p, const struct pairs_from *from);
void pairs_close(struct pairs *p);

/* The pair at place k of the run; each epoch has all pairs, in an order that
 * seed determines. */
const struct pair *pairs_at(const struct pairs *p, uint64_t seed, size_t k);

/* A batch of pairs. */
struct pair_batch {
    size_t B, T;              /* rows; tokens of the longest */
    const struct pair **pair; /* [B] */
    uint32_t *ids, *first;    /* [B,T], as in struct rows */
    uint8_t *scored;          /* [B,T] 1: predicts a token of a completion */
};
/* Room for B rows of at most T tokens; release it with pair_batch_release. */
void pair_batch_init(struct pair_batch *b, size_t B, size_t T);
/* Make a batch of the B pairs k .. k+B-1. */
void pair_batch_fill(struct pair_batch *b, const struct pairs *p, uint64_t seed,
    size_t k, size_t B);
/* Make a batch of one pair. */
void pair_batch_one(struct pair_batch *b, const struct pair *p);
struct rows pair_batch_rows(const struct pair_batch *b);
void pair_batch_release(struct pair_batch *b);

#endif
