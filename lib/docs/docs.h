/*
 * Reading the documents of all inputs with several threads.  Each thread reads
 * records, finds their texts and calls `work` of struct docs_opts; one thread
 * at a time calls `put`, in the order of the documents.
 */
#ifndef DOCS_DOCS_H
#define DOCS_DOCS_H

#include "docs/reader.h"
#include "docs/record.h"

/* Ids of a text; the document owns the array. */
struct doc_ids {
    uint32_t *v;
    size_t n, cap;
};

struct doc {
    struct buf raw;            /* the record as it was read */
    size_t input;              /* number of the input */
    const struct origin *from; /* the file or member it comes from */
    uint64_t record;           /* number of the record in *from */
    uint64_t at;               /* offset of the record in *from */
    struct doc_place after;    /* where the next record begins */
    struct doc_cursor next;    /* place where a run that resumes after this
                                * document begins: in the inputs, or for
                                * documents from clean, in clean's inputs */
    int before;                /* 1: the document comes before docs_opts.from */
    size_t source;             /* index in inputs.source */
    uint64_t key;              /* see msg_doc_key */
    size_t bytes;              /* bytes of the text */
    /* set by `work` of programs that make ids */
    struct doc_ids ids;  /* with BOS and EOS */
    size_t plain;        /* number of ids without BOS and EOS */
    size_t chars, words; /* numbers of characters and of words */
    void *result;        /* any other result of `work`, see free_result */
    size_t repaired;     /* places that were not UTF-8 */
    uint64_t bad_at;     /* offset of the first such place */
    struct span text;    /* the text, if `work` is NULL or has called
                          * doc_keep_text */
    struct buf copy;     /* the text, if it does not lie in raw */
    struct err e;        /* code 0: no error */
};

/* Keep the text as d->text until d has been put.  A text inside d->raw stays
 * there, and a NUL is written behind it; any other text is copied. */
void doc_keep_text(struct doc *d, const char *text, size_t n);

/* Callbacks that show progress in bytes of the inputs; cli/progress.h has
 * functions that fit. */
struct docs_progress {
    void (*begin)(const char *what, double total, const char *unit);
    void (*from)(double done);
    void (*at)(double done, const char *extra);
    void (*end)(void);
};

/* Put "FILE: line N, offset M: " in front of d->e.msg: the place in the file of
 * byte `into` of the record; only JSONL has lines.  Returns -1. */
int doc_err_at(struct doc *d, uint64_t into);

struct docs_opts {
    const char *field; /* field that holds the text of a JSON record; NULL:
                        * all its strings are the text, see record_strings */
    int whole;         /* 1: a JSON record's text is the record itself */
    int split;         /* enum split_by */
    struct doc_limit limit;
    int strict;     /* 1: refuse text that is not UTF-8 */
    size_t threads; /* 0: one for each processor */
    int replay;     /* 1: also read and put the documents before `from`, with
                 * d->before set, but do not count them */
    struct doc_cursor from; /* where to begin */
    /* Called with each document that is not empty, in order, by one thread at a
     * time.  Returns 0; 1 to stop; -1 and *e. */
    int (*put)(void *ctx, const struct doc *d, struct err *e);
    void *ctx;
    /* Called with the text of each document that is not empty, in any order, by
     * thread `worker` < docs_threads.  The text is valid during the call only.
     * May set d->source and d->result; also d->ids, plain, chars and words,
     * which are empty or 0 at the call.  NULL: d->text is set instead. */
    void (*work)(void *ctx, size_t worker, struct doc *d, const char *text,
        size_t n);
    /* Returns what uni_valid returns, by faster code of the program; NULL:
     * uni_valid is called. */
    size_t (*valid)(const void *ctx, const char *text, size_t n);
    void *work_ctx; /* first argument of work and valid */
    /* Called to free a d->result that is not NULL, at the end or when too much
     * memory is kept.  A struct doc is reused: `work` may find an earlier
     * document's result in it. */
    void (*free_result)(void *result);
    const struct docs_progress *progress; /* calls that show progress, or
                                           * NULL */
};

/* Number of threads that docs_run will use. */
size_t docs_threads(const struct docs_opts *o);

struct docs_sums {
    uint64_t docs, empty, bytes, tokens, repaired;
    struct passed passed; /* files and members that were skipped */
    uint64_t mended;      /* files and members with text that was not UTF-8 */
};

/* Read all inputs.  0: every document has been put; 1: o->put has returned 1;
 * -1 and *e: the documents before the error have been put.  In any case the
 * caller releases sum->passed, by docs_note. */
int docs_run(const struct inputs *in, const struct docs_opts *o,
    struct docs_sums *sum, struct err *e);
/* 0: there was a document, perhaps an empty one; -1 and *e (EX_INPUT): there
 * was none. */
int docs_found(const struct inputs *in, struct docs_sums *sum, struct err *e);

#endif
