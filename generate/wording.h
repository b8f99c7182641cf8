/* The words by which generate run asks a model for a question: one of the kind
 * of examples (--like), or a harder one (--harder). */
#ifndef GENERATE_WORDING_H
#define GENERATE_WORDING_H

#include "base/mem.h"

#include <stddef.h>

/* A question stands between these.  The model's words begin after
 * WORDING_OPEN and a newline, and WORDING_CLOSE ends them. */
#define WORDING_OPEN "<question>"
#define WORDING_CLOSE "</question>"

/* Append words of a user that show k examples and ask for another. */
void wording_like(struct buf *b, const char *const *example, size_t k);
/* Append the k examples, for a model that only continues texts. */
void wording_plain(struct buf *b, const char *const *example, size_t k);

/* Ways to make a question harder: Xu et al., arXiv:2304.12244, section 3.2. */
enum { WORDING_WAYS = 3 };
const char *wording_way(size_t way);
/* What the instructions call the question; a text that has these words repeats
 * the instructions, and is dropped. */
#define WORDING_NEW "new question"
/* Append words of a user that ask for a harder question, in the way `way`. */
void wording_harder(struct buf *b, const char *question, size_t way);

#endif
