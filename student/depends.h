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
        const char *name; /* long option, or a word for the operand; also the
                           * member of "inputs" in options.json */
        int code;         /* exit status if ranks differ */
        char value[33];   /* hash; "": the run has no such file */
    } v[12];
    size_t n, alike; /* contents; the first `alike` have been compared */
};

/* Returns why --resume does not compare the option's value; NULL: --resume
 * compares it. */
const char *depends_reason(const char *option);
/* Add the hash `value` of a content; ranks with another one die with
 * EX_USAGE. */
void depends_on(struct student *s, const char *name, const char *value);
/* As depends_on, for a content of the stream: ranks with another one die with
 * EX_INPUT. */
void depends_on_stream(struct student *s, const char *name, const char *value);
/* As depends_on, with the hash of the model or adapter at path (NULL: the run
 * has none).  Call it on all ranks. */
void depends_on_model(struct student *s, const char *name, const char *path);
/* Returns the hash of the content that was added as `name`, or "". */
const char *depends_value(const struct student *s, const char *name);

/* Append a line ("--NAME", tab, value) for each option whose value must be the
 * same on all ranks. */
void depends_option_lines(struct buf *b, const struct opt *options);
/* Die (EX_USAGE) on all ranks if their options, kernels or versions of the
 * program differ.  Call it before anything depends on options. */
void depends_alike_options(const struct student *s);
/* Die on all ranks if these differ in a content added since the last call, or
 * (EX_INPUT) in `lines`: name, tab and value of each property of the input that
 * the command compares.  lines may be NULL. */
void depends_alike(struct student *s, const char *lines);

#endif
