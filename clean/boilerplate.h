/* Boilerplate: lines that many documents have, such as menus.  The first few
 * documents keep such a line; it is cut from all later ones. */
#ifndef CLEAN_BOILERPLATE_H
#define CLEAN_BOILERPLATE_H

#include "words.h"

#include "base/err.h"
#include "base/mem.h"

struct boilerplate;
/* most: number of documents in which a line is kept; mem: bytes of memory for
 * the lines' keys. */
struct boilerplate *boilerplate_new(size_t most, size_t mem);
void boilerplate_free(struct boilerplate *b);
/* Number of files that keys were written to, see keys_spills. */
size_t boilerplate_spills(const struct boilerplate *b);

/* Append to *lines the numbers and keys of the lines of text[n] that have
 * enough words to be boilerplate.  Thread-safe: each thread has its own *w. */
void boilerplate_scan(struct words *w, const struct fold *f, const char *text,
    size_t n, struct buf *lines);
/* Call for each document in order, with *lines from boilerplate_scan.  Of the
 * lines in *lines, counts those that fewer than `most` earlier documents have.
 * If there are other lines in *lines, appends these to *gone and all other
 * lines of text[n] to *kept; else appends nothing.  Returns the number of lines
 * in *gone; -1 and *e. */
ptrdiff_t boilerplate_cut(struct boilerplate *b, struct buf *lines,
    const char *text, size_t n, struct buf *kept, struct buf *gone,
    struct err *e);

#endif
