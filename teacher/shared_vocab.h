/* The tokens that two vocabularies share, matched by their bytes. */
#ifndef TEACHER_SHARED_VOCAB_H
#define TEACHER_SHARED_VOCAB_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

#define SHARED_NONE UINT32_MAX

struct shared_vocab {
    uint32_t *twin; /* for each of the student's ids, the teacher's id, or
                     * SHARED_NONE */
    size_t n;       /* number of pairs */
    uint32_t *student, *teacher; /* [n] pairs, by rising id of the student */
};

/*
 * Match the ids of two tokenizers, of the teacher's only those below V.
 * Ordinary tokens match if they have the same bytes.  If a vocabulary has
 * several tokens with the same bytes, one of them is matched: the lowest id of
 * those not spelled <0xNN>, if there are any, else of all.  BOS matches BOS,
 * EOS matches EOS, and other special tokens match if they are spelled alike.
 * No token matches two.
 */
void shared_vocab_make(struct shared_vocab *v, const struct tokenizer *student,
    const struct tokenizer *teacher, size_t V);
void shared_vocab_release(struct shared_vocab *v);

#endif
