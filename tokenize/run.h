/* From inputs to documents with ids, in order, by several threads. */
#ifndef TOKENIZE_RUN_H
#define TOKENIZE_RUN_H

#include "norm.h"
#include "read.h"

#include "tok/tok.h"

/* One document as it comes out, in order. */
struct doc {
    struct buf raw;            /* the record as it was read */
    size_t input;              /* number of the file */
    const struct origin *from; /* the file, or a member of it */
    uint64_t record;           /* its number there */
    uint64_t at;               /* its offset there */
    struct place after;        /* where the next one begins */
    int before;                /* comes before run_opts.from */
    size_t source;
    uint64_t key;        /* see msg_doc_key */
    struct tok_ids ids;  /* with BOS and EOS; empty for an empty text */
    size_t bytes;        /* of the text */
    size_t chars, words; /* if asked for; ids without BOS and EOS: */
    size_t plain;
    struct norm_counts norm;
    size_t repaired;  /* places that were not UTF-8 */
    uint64_t bad_at;  /* the first, where there are */
    const char *drop; /* why it is left out, or NULL; not freed */
    struct buf sig;   /* what stage leaves for decide */
    struct buf text;  /* with stage or without a tokenizer */
    struct err e;     /* code 0: fine */
};

struct run_opts {
    const struct tokenizer *t;      /* NULL: only the text is wanted */
    const char *field, *lang_field; /* field NULL: record_strings */
    enum split_by split;
    struct doc_limit limit;
    int strict, special, count;
    int64_t bos, eos; /* put around a document, or -1 */
    size_t threads;
    unsigned norm; /* NORM_ bits */
    /* Where to begin: input number and a place in it.  With replay, what comes
     * before is read too, for scan, settle, stage and decide, but neither
     * encoded, put nor counted. */
    int replay;
    size_t from_input;
    struct place from;
    /* Called with each document in order; 0, or not 0 to stop.  Without a
     * tokenizer d->text holds its text. */
    int (*put)(void *ctx, const struct doc *d, struct err *e);
    void *ctx;
    /* Called with the text of each document that is not empty, before it is
     * encoded, by thread `worker` < run_threads; documents come in any order.
     * It may put another text in its place (memory of its own, that lives
     * until the worker's next call), set d->source, fill d->sig, and set
     * d->drop.  0, or -1 and d->e. */
    int (*stage)(void *ctx, size_t worker, struct doc *d, const char **text,
        size_t *n);
    /* Set where stage is: called with each document in order, one at a time,
     * those that stage dropped included; d->text is its text.  May set
     * d->drop: what is dropped is neither encoded, put nor counted as a
     * document.  0, or -1 and *e. */
    int (*decide)(void *ctx, struct doc *d, struct err *e);
    /* Where scan is set: called by thread `worker` with each text that is not
     * empty, before stage, to fill d->sig; then settle, with each document in
     * order, may change d->sig, which stage finds.  0, or -1 and *e. */
    void (*scan)(void *ctx, size_t worker, struct doc *d, const char *text,
        size_t n);
    int (*settle)(void *ctx, struct doc *d, struct err *e);
    void *stage_ctx; /* of all of them */
};

/* Threads that run_inputs will use. */
size_t run_threads(const struct run_opts *o);

struct run_sums {
    uint64_t docs, empty, dropped, bytes, tokens, repaired;
    struct passed passed; /* files and members that were not read */
    uint64_t mended;      /* files that were not UTF-8 */
    struct norm_counts norm;
};

/* 0; 1 when put has stopped it; -1 and *e, after every document before the
 * fault has been put.  sum->passed is the caller's, by passed_end. */
int run_inputs(const struct inputs *in, const struct run_opts *o,
    struct run_sums *sum, struct err *e);
/* 0: documents were found, if only empty ones; -1 and *e (EX_INPUT): none. */
int run_found(const struct inputs *in, struct run_sums *sum, struct err *e);

#endif
