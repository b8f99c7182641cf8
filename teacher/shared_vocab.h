/* The tokens that two vocabularies share, matched by their bytes. */
#ifndef TEACHER_SHARED_VOCAB_H
#define TEACHER_SHARED_VOCAB_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

#define SHARED_NONE UINT32_MAX

struct shared_vocab {
    uint32_t *twin; /* [ids of the student] the teacher's id, or SHARED_NONE */
    size_t n;       /* number of pairs */
    uint32_t *student, *teacher; /* [n] pairs, by rising id of the student */
};

/*
 * Match the ids of two tokenizers; the teacher's below V alone.  Ordinary
 * tokens match if they have the same bytes.  Of several with the same bytes in
 * a vocabulary one is matched: that which is not spelled <0xNN>, else the
 * lowest.
 * BOS matches BOS, EOS matches EOS, and other special tokens match those of the
 * same spelling; no token matches two.
 */
void shared_vocab_make(struct shared_vocab *v, const struct tokenizer *student,
    const struct tokenizer *teacher, size_t V);
void shared_vocab_release(struct shared_vocab *v);

#endif
