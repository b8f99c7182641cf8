/*
 * Telling questions from other texts that a model wrote as a user's words:
 * generate run --ask and --harder drop the others.  generate-run(1) lists the
 * reasons.
 */
#ifndef GENERATE_SIFT_H
#define GENERATE_SIFT_H

#include "gen/chat.h"
#include "tok/tok.h"

#include <stddef.h>
#include <time.h>

enum sift_why {
    SIFT_KEEP,
    SIFT_UNFINISHED, /* ended by the limit of tokens */
    SIFT_EMPTY,      /* white space */
    SIFT_ANSWER,     /* begins as an answer of an assistant */
    SIFT_MARKS,      /* holds a mark of the template, or damaged bytes */
    SIFT_COPY,       /* repeats a text that was shown to the model */
    SIFT_WHYS
};
/* The name of a reason, as generate-run(1) has it. */
const char *sift_name(enum sift_why why);

/* Marks: what a chat template prints around messages. */
struct sift;
/* c: the template, or NULL: only special tokens and roles are marks.  tok
 * outlives the result. */
struct sift *sift_new(const struct chat *c, const struct tm *now,
    const struct tokenizer *tok);
void sift_free(struct sift *s);
/* From here on a text that holds `mark` is dropped. */
void sift_add_mark(struct sift *s, const char *mark);

/* Does the text[n], which may go on, begin as an answer does, or have such a
 * line? */
int sift_answers(const char *text, size_t n);
/* Judge a text[n] that has a NUL behind it, is UTF-8 with U+FFFD for damaged
 * bytes, and has no white space at its ends.  whole: did the model end it?
 * Returns no SIFT_COPY. */
enum sift_why sift_text(struct sift *s, const char *text, size_t n, int whole);

#endif
