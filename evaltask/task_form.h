/* Forms: files that a user writes, see evaltask(1). */
#ifndef TASK_FORM_H
#define TASK_FORM_H

#include "task_filter.h"
#include "base/err.h"

#include <stddef.h>

enum task_kind {
    TASK_CHOICE,   /* one context, several continuations */
    TASK_CONTEXTS, /* several contexts, one continuation */
    TASK_CLOZE     /* one context, one continuation: does greedy decoding give
                    * it? */
};
enum task_score { SCORE_ACC, SCORE_NORM, SCORE_BYTES };
extern const char *const score_name[]; /* "acc", "acc_norm", "acc_bytes" */

/* A part of a template: literal text, or a field with its filters. */
struct fill_part {
    char *text; /* literal text, or a field's path such as "choices.text" */
    int is_field;
    struct filter_step *step;
    size_t nstep;
};
/* A template of text. */
struct fill {
    struct fill_part *part;
    size_t n;
};

struct named_fill {
    char *name;
    struct fill fill;
};
struct form {
    char *path;
    enum task_kind kind;
    enum task_score score; /* score from which recovery is computed */
    char *name;
    struct fill description, context, target, answer, delimiter, by;
    struct fill *choice, *label; /* each makes one text, or a text for each
                                  * entry of a list */
    size_t nchoice, nlabel;
    struct named_fill *set; /* `set` lines: fields made of other fields */
    size_t nset;
    struct map_word *map;
    size_t nmap;
};
/* Read a form. -1 and *e "path: line N: why". */
int form_read(struct form *f, const char *path, struct err *e);
void form_release(struct form *f);

#endif
