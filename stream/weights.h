/* Weights of sources, and their change in a stream. */
#ifndef STREAM_WEIGHTS_H
#define STREAM_WEIGHTS_H

#include "base/err.h"
#include "cursor.h"
#include "sampler_dirs.h"

#include <stdint.h>

/* Set r [nsource] to the weights of the sources of d, as mix_quantise does.
 * weights_parse: from a text such as "bg=2,cs=1"; other sources get 0
 * weights_alpha: in proportion to (tokens)^a
 * -1 and *e: the text is bad, or there are no tokens. */
int weights_parse(uint64_t *r, const struct dirs *d, const char *text,
    struct err *e);
int weights_alpha(uint64_t *r, const struct dirs *d, double a, struct err *e);
/* Set r in proportion to the tokens that mix_unimax gives each source out of
 * `budget` tokens, if no source may be read more than `cap` times. */
int weights_unimax(uint64_t *r, const struct dirs *d, double cap, double budget,
    struct err *e);
/* Read the stages of a curriculum file into s, and its hash.  EX_USAGE names
 * the line. */
int curriculum_read(struct cursor_spec *s, const struct dirs *d,
    const char *path, struct err *e);
void curriculum_release(struct cursor_spec *s);

#endif
