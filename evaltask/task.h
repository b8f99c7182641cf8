/*
 * Tasks: items of JSONL, made into requests by a form (a file that a user
 * writes, see evalppl(1)) and scored as lm-evaluation-harness does: the log
 * probability of a continuation after a context.
 *
 * task_form.c reads forms, task_fill.c fills them with an item's fields,
 * task_read.c makes items of a file, task_ids.c tokens of their texts,
 * task_score.c runs a model over them, task_stat.c and task_print.c report;
 * task.c does it all.
 */
#ifndef TASK_H
#define TASK_H

#include "evalppl.h"
#include "base/err.h"
#include "format/json.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* ---- forms ---- */

enum task_kind {
    TASK_CHOICE,   /* one context, several continuations */
    TASK_CONTEXTS, /* several contexts, one continuation */
    TASK_CLOZE     /* one of each: is it what the model would say? */
};
enum task_score { SCORE_ACC, SCORE_NORM, SCORE_BYTES };
extern const char *const score_name[]; /* "acc", "acc_norm", "acc_bytes" */

struct strings {
    char **v;
    size_t n;
};
void strings_add(struct strings *s, const char *p, size_t n);
void strings_release(struct strings *s);

/* A text with fields in it: literal parts, and fields with their filters. */
struct fill_step {
    char *name;
    struct strings arg;
};
struct fill_part {
    char *text; /* or the field's path, "choices.text" */
    int is_field;
    struct fill_step *step;
    size_t nstep;
};
struct fill {
    struct fill_part *part;
    size_t n;
};

struct named_fill {
    char *name;
    struct fill fill;
};
struct map_word {
    char *map, *from, *to;
};

struct form {
    char *path;
    enum task_kind kind;
    enum task_score score; /* that recovery is told of */
    char *name;
    struct fill description, context, target, answer, delimiter, by;
    struct fill *choice, *label; /* each a text, or all of a list */
    size_t nchoice, nlabel;
    struct named_fill *set; /* fields made of others */
    size_t nset;
    struct map_word *map;
    size_t nmap;
};
/* -1 and *e "path: line N: why". */
int form_read(struct form *f, const char *path, struct err *e);
void form_release(struct form *f);

/* Append s, in which a backslash stands before what means itself (\n, \t: a
 * line, a tab), made into parts; -1 and *e. */
int fill_parse(struct fill *f, const char *s, size_t n, struct err *e);
void fill_release(struct fill *f);
/* What it says of an item; of a list as many as that has, which only a text of
 * one field may say.  -1 and *e: a field is missing, or of another kind. */
int fill_text(const struct form *form, const struct fill *f, const json_t *item,
    struct buf *out, struct err *e);
int fill_list(const struct form *form, const struct fill *f, const json_t *item,
    struct strings *out, struct err *e);
/* Is there such a filter, with so many arguments? */
int filter_check(const struct fill_step *s, struct err *e);

/* A white-space character of Python's str.isspace. */
int task_is_space(uint32_t c);

/* ---- items ---- */

struct task_item {
    size_t line;            /* of the file, from 1 */
    size_t group;           /* index in task.group */
    char **context;         /* [n]; those that are the same are one */
    char **next;            /* [n] continuations, the delimiter before them */
    size_t n;               /* requests: 1 of a cloze */
    size_t right;           /* the answer's */
    double *chars, *length; /* [n] of the choices, in characters and bytes */
};

/* A request's result by one model. */
struct said {
    double logp; /* of the continuation, nats */
    int greedy;  /* all its tokens are the most probable */
    size_t tokens;
};

struct task {
    struct form form;
    char *name, *path;
    struct task_item *item;
    size_t n;
    struct strings group; /* by the field `by`, in the order they come */
    size_t nrequest;
    size_t skipped;    /* bad items, left out */
    size_t *at;        /* [n] first request of an item */
    struct said *said; /* [nj][nrequest] */
};
/* spec: FORM=FILE.  Dies on damage; skip_bad: but items that are bad are left
 * out with a warning each. */
void task_open(struct task *t, const char *spec, int skip_bad);
void task_close(struct task *t);

/* ---- tokens ---- */

/* A request in a model's tokens: ids[n], of which those from `from` on are the
 * continuation. */
struct task_ids {
    uint32_t *ids;
    size_t n, from;
};
struct speech {
    struct tokenizer *tok;
    struct tok_scratch *scratch;
    const char *label; /* of the model, for messages */
    char *prefix;      /* text of the prefix token */
    size_t most;       /* tokens that the model takes */
    size_t V;          /* ids that it has, or all models that read them */
};
void speech_open(struct speech *s, const struct judged *j, size_t V);
void speech_close(struct speech *s);
/* Append a text's tokens: BOS where the tokenizer puts it, unless the text
 * begins with it already. */
void speech_encode(struct speech *s, const char *text, size_t n,
    struct tok_ids *out);
/* As lm-eval's _encode_pair and loglikelihood: ids are the caller's. */
void request_ids(struct speech *s, const struct task *t, size_t item,
    size_t request, struct task_ids *r);

/* Fills said of all tasks for model j. */
void tasks_score(struct eval *e, struct task *t, size_t nt, size_t j);

/* ---- figures ---- */

struct task_figures {
    size_t n; /* items */
    double chance;
    struct mean acc[3]; /* by enum task_score; of a cloze the first alone */
    struct mean ppl;    /* of a cloze: exp(-mean logp of an item) */
    double bits;        /* of the right continuations, a byte of theirs */
    /* 100 (acc - chance) / (base's acc - chance) and its 95 % interval, paired
     * by item; NAN where the base's is not above chance by as much */
    double recovery, low, high;
};
/* Of one group of a task, or of all its items (NONE). */
void task_figures(const struct eval *e, const struct task *t, size_t group,
    size_t model, struct task_figures *f);
/* Mean over tasks, each counting the same, of what form.score names: acc[0],
 * chance, and recovery as the ratio of the means. */
void task_means(const struct eval *e, const struct task *t, size_t nt,
    size_t model, struct task_figures *f);
/* Mean difference of model a - b, paired by item; of several tasks the mean of
 * theirs. */
struct mean task_difference(const struct task *t, size_t nt, size_t group,
    size_t a, size_t b);

/* ---- report ---- */

struct task_args {
    char **spec; /* [n] */
    size_t n;
    const char *items; /* where to write all requests, or NULL */
    enum format format;
    int per_source, compare, skip_bad;
};
void tasks_print(const struct eval *e, const struct task *t,
    const struct task_args *a, struct buf *b);
/* Every request by every model: TSV. */
void tasks_items(const struct eval *e, const struct task *t, size_t nt,
    struct buf *b);
/* Reads, scores, writes a->items, and reports into b. */
void tasks_run(struct eval *e, const struct task_args *a, struct buf *b);

#endif
