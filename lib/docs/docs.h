/*
 * Documents of inputs, in order, by several threads: texts out of records,
 * repaired and judged by the hooks of struct docs_opts.
 */
#ifndef DOCS_DOCS_H
#define DOCS_DOCS_H

#include "docs/repair.h"
#include "docs/reader.h"

/* Ids of a text; the array is the document's. */
struct doc_ids {
    uint32_t *v;
    size_t n, cap;
};

/* A document; documents come out in order. */
struct doc {
    struct buf raw;            /* the record as it was read */
    size_t input;              /* number of the file */
    const struct origin *from; /* the file, or a member of it */
    uint64_t record;           /* its number there */
    uint64_t at;               /* its offset there */
    struct doc_place after;    /* where the next one begins */
    int before;                /* comes before docs_opts.from */
    size_t source;
    uint64_t key; /* see msg_doc_key */
    size_t bytes; /* of the text */
    /* Left by encode: ids with BOS and EOS, how many they are without; of the
     * text, if it counts them: */
    struct doc_ids ids;
    size_t plain;
    size_t chars, words;
    struct repair_counts repair;
    size_t repaired;  /* places that were not UTF-8 */
    uint64_t bad_at;  /* the first, where there are */
    const char *drop; /* why it is left out, or NULL; not freed */
    struct buf sig;   /* what stage leaves for decide */
    struct buf text;  /* with stage or without encode */
    struct err e;     /* code 0: fine */
};

/* How far reading has come, in bytes of the inputs: functions as those of
 * cli/progress.h are. */
struct docs_progress {
    void (*begin)(const char *what, double total, const char *unit);
    void (*from)(double done);
    void (*at)(double done, const char *extra);
    void (*end)(void);
};

struct docs_opts {
    const char *field; /* of a JSON record; NULL: record_strings */
    int split;         /* enum split_by */
    struct doc_limit limit;
    int strict;      /* refuse what is not UTF-8 */
    size_t threads;  /* 0: one a processor */
    unsigned repair; /* REPAIR_ bits */
    /* Where to begin: input number and a place in it.  With replay, what comes
     * before is read too, for scan, settle, stage and decide, but neither
     * encoded, put nor counted. */
    int replay;
    size_t from_input;
    struct doc_place from;
    /* Called with each document in order; 0, or not 0 to stop.  Without
     * encode d->text holds its text. */
    int (*put)(void *ctx, const struct doc *d, struct err *e);
    void *ctx;
    /* Called with the text of each document that is not empty, before it is
     * encoded, by thread `worker` < docs_threads; documents come in any order.
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
    /* Called with each text that is put, by thread `worker`, to fill d->ids,
     * d->plain, d->chars and d->words, which are 0.  NULL: the text is wanted.
     * valid: the length of the valid beginning of text[n], if encode's own
     * code is faster at it than uni_valid; NULL: it is not. */
    void (*encode)(void *ctx, size_t worker, struct doc *d, const char *text,
        size_t n);
    size_t (*valid)(const void *ctx, const char *text, size_t n);
    void *encode_ctx;                     /* of both */
    const struct docs_progress *progress; /* NULL: nobody is told */
};

/* Threads that docs_run will use. */
size_t docs_threads(const struct docs_opts *o);

struct docs_sums {
    uint64_t docs, empty, dropped, bytes, tokens, repaired;
    struct passed passed; /* files and members that were not read */
    uint64_t mended;      /* files that were not UTF-8 */
    struct repair_counts repair;
};

/* Read all of in: 0; 1 when put has stopped it; -1 and *e, after every document
 * before the fault has been put.  sum->passed is the caller's, by docs_tell. */
int docs_run(const struct inputs *in, const struct docs_opts *o,
    struct docs_sums *sum, struct err *e);
/* 0: documents were found, if only empty ones; -1 and *e (EX_INPUT): none. */
int docs_found(const struct inputs *in, struct docs_sums *sum, struct err *e);

#endif
