/*
 * Documents of inputs, in order, by several threads.  Each thread reads
 * records, finds their texts and hands them to `work` of struct docs_opts; one
 * thread at a time hands the documents on to `put`, in order.
 */
#ifndef DOCS_DOCS_H
#define DOCS_DOCS_H

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
    struct doc_place after;    /* where the next record begins */
    struct doc_cursor next;    /* that place as resuming has it: of this input,
                                * or of the inputs that clean has read */
    int before;                /* comes before docs_opts.from */
    size_t source;
    uint64_t key; /* see msg_doc_key */
    size_t bytes; /* of the text */
    /* Set by `work` of programs that make ids: the ids with BOS and EOS; how
     * many they are without; characters and words of the text. */
    struct doc_ids ids;
    size_t plain;
    size_t chars, words;
    void *result;    /* any other result of `work`, see free_result */
    size_t repaired; /* places that were not UTF-8 */
    uint64_t bad_at; /* the first, where there are */
    struct buf text; /* without `work`, or by doc_keep_text */
    struct err e;    /* code 0: fine */
};

/* Keep the text as d->text until d has been put.  Where it lies in d->raw, that
 * buffer is taken over. */
void doc_keep_text(struct doc *d, const char *text, size_t n);

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
    int strict;     /* refuse what is not UTF-8 */
    size_t threads; /* 0: one a processor */
    /* Where to begin.  With replay, the documents before it are read and put
     * too, with d->before set, but not counted. */
    int replay;
    struct doc_cursor from;
    /* Called with each document that is not empty, in order, by one thread at
     * a time: 0; 1 to stop; -1 and *e. */
    int (*put)(void *ctx, const struct doc *d, struct err *e);
    void *ctx;
    /* Called with the text of each document that is not empty, by thread
     * `worker` < docs_threads; documents come in any order.  The text is gone
     * after the call.  May set d->source, ids, plain, chars, words (which are 0
     * before) and result.  NULL: d->text is wanted.
     * valid: the length of the valid beginning of text[n], if the program's
     * own code is faster at it than uni_valid; or NULL. */
    void (*work)(void *ctx, size_t worker, struct doc *d, const char *text,
        size_t n);
    size_t (*valid)(const void *ctx, const char *text, size_t n);
    void *work_ctx; /* of both */
    /* Frees d->result, which is not NULL; until then `work` finds it with the
     * next document that has the same struct. */
    void (*free_result)(void *result);
    const struct docs_progress *progress; /* NULL: nobody is told */
};

/* Threads that docs_run will use. */
size_t docs_threads(const struct docs_opts *o);

struct docs_sums {
    uint64_t docs, empty, bytes, tokens, repaired;
    struct passed passed; /* files and members that were not read */
    uint64_t mended;      /* files that were not UTF-8 */
};

/* Read all of in: 0; 1 when put has stopped it; -1 and *e, after every document
 * before the fault has been put.  sum->passed is the caller's, by docs_tell. */
int docs_run(const struct inputs *in, const struct docs_opts *o,
    struct docs_sums *sum, struct err *e);
/* 0: documents were found, if only empty ones; -1 and *e (EX_INPUT): none. */
int docs_found(const struct inputs *in, struct docs_sums *sum, struct err *e);

#endif
