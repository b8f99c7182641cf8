/* Opening a tokenizer; a failure ends the test. */
#ifndef TESTS_LIB_TOK_OPEN_H
#define TESTS_LIB_TOK_OPEN_H

#include "base/err.h"
#include "tok/tok.h"

#include <stdio.h>
#include <stdlib.h>

static inline struct tokenizer *
must_tok(const char *path)
{
    struct err e;
    struct tokenizer *t = tok_open(path, &e);

    if (!t) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    return t;
}

#endif
