/* The longest added token at each place of a text, in linear time. */
#ifndef TOK_AHO_CORASICK_H
#define TOK_AHO_CORASICK_H

#include "tok/added.h"

#include <stddef.h>
#include <stdint.h>

struct aho;
/* The automaton of a set's tokens, which the caller frees.  For each i < n,
 * aho_read sets token[i] to 1 + the index in set->a of the longest token that
 * begins at p[i] and lies within p[0..room-1], or to 0; room >= n.  Takes time
 * linear in n. */
struct aho *aho_new(const struct added_set *set);
void aho_free(struct aho *f);
void aho_read(const struct aho *f, const unsigned char *p, size_t n,
    size_t room, uint32_t *token);

#endif
