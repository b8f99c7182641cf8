/* Questions in lines of JSON: those that generate run --like and --harder read,
 * and those that --ask and --harder write; see generate-run(1). */
#ifndef GENERATE_QUESTION_H
#define GENERATE_QUESTION_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

/* The question of a record: the words of its first user, or its member prompt.
 * Points into the record.  NULL and *e (EX_INPUT): it has neither. */
const char *question_text(const json_t *record, struct err *e);
/* A new list of messages: that of the system, unless `system` is NULL, and the
 * user's text[n]. */
json_t *question_messages(const char *system, const char *text, size_t n);
/* A new record with the question text[n], in the form of `like`: with the
 * member prompt if that has no messages, else with messages, after its system
 * message if there is one before its question.  like NULL: with messages, after
 * the message `system` unless that is NULL. */
json_t *question_record(const json_t *like, const char *system,
    const char *text, size_t n);

/* The text with single spaces between its words and small ASCII letters: two
 * questions are alike if these are equal.  The caller frees it. */
char *question_plain(const char *text);

/* The examples of --like. */
struct examples;
/* Dies on errors, also if a line has no question, holds `mark`, or there are no
 * lines. */
struct examples *examples_open(const char *file, const char *mark);
void examples_close(struct examples *x); /* may be NULL */
size_t examples_count(const struct examples *x);
const char *examples_text(const struct examples *x, size_t i);
/* The record of the first line, whose form the questions get. */
const json_t *examples_form(const struct examples *x);
/* Is a text alike to one of the examples? */
int examples_have(const struct examples *x, const char *text);

#endif
