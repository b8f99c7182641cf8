/* The parts of teacher; see teacher(1). */
#ifndef TEACHER_H
#define TEACHER_H

#include "base/pool.h"
#include "model/model.h"

#include <stddef.h>

/* teacher_generate.c: print a greedy continuation of each prompt (`n` tokens
 * at most, ending at EOS) on stdout, prompt included. */
void generate(const struct model *m, struct pool *pool, const char *tokenizer,
    const char *prompt, size_t n);

#endif
