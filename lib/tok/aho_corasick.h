/* The longest added token at each place of a text, in linear time. */
#ifndef TOK_AHO_CORASICK_H
#define TOK_AHO_CORASICK_H

#include "tok/added.h"

#include <stddef.h>
#include <stdint.h>

struct aho;
/* Find a set's tokens in time linear in the text.  For i < n token[i] becomes
 * 0, or 1 + the number in set->a of the longest token that begins at p[i] and
 * ends before p[room]; room >= n. */
struct aho *aho_new(const struct added_set *set);
void aho_free(struct aho *f);
void aho_read(const struct aho *f, const unsigned char *p, size_t n,
    size_t room, uint32_t *token);

#endif
