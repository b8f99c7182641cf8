/*
 * Everything that the result of a run depends on.  All ranks must have the same
 * before the first step, and a resumed run what the run began with:
 * - every option of the command by its value, except those that depends.c
 *   lists, each with its reason;
 * - the contents of the files and servers that options and operands name, by
 *   hash: wherever they lie.
 */
#ifndef STUDENT_DEPENDS_H
#define STUDENT_DEPENDS_H

#include "base/mem.h"
#include "cli/opt.h"

#include <stddef.h>

struct student;

struct depends {
    struct content {
        const char *name; /* long option, or a word for the operand; the member
                           * of "inputs" in options.json */
        int code;         /* exit status if ranks differ */
        char value[33];   /* hash; "": there is none */
    } v[12];
    size_t n, alike; /* contents; the first `alike` have been compared */
};

/* Why --resume need not compare the option's value; NULL: it must. */
const char *depends_reason(const char *option);
/* Add a content: EX_USAGE if ranks differ. */
void depends_on(struct student *s, const char *name, const char *value);
/* Add the content of the stream: EX_INPUT if ranks differ. */
void depends_on_stream(struct student *s, const char *name, const char *value);
/* Add the content of the model or adapter at path; NULL: there is none.  Call
 * it on all ranks. */
void depends_on_model(struct student *s, const char *name, const char *path);
/* The value of a content, or "". */
const char *depends_value(const struct student *s, const char *name);

/* Append a line "--NAME", tab, value of each option that ranks must have
 * alike. */
void depends_option_lines(struct buf *b, const struct opt *options);
/* Die (EX_USAGE) on all ranks if their options, kernels or versions of the
 * program differ.  Call it before anything depends on options. */
void depends_alike_options(const struct student *s);
/* Die on all ranks if contents differ that were added since the last call, or
 * lines (name, tab, value) of the command's inputs (EX_INPUT); lines may be
 * NULL. */
void depends_alike(struct student *s, const char *lines);

#endif
