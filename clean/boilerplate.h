/* Lines that many documents have, such as menus, which are cut out of later
 * documents. */
#ifndef CLEAN_BOILERPLATE_H
#define CLEAN_BOILERPLATE_H

#include "words.h"

#include "base/err.h"
#include "base/mem.h"

struct boilerplate;
/* most: documents that keep a line; mem: bytes for the lines' keys. */
struct boilerplate *boilerplate_new(size_t most, size_t mem);
void boilerplate_free(struct boilerplate *b);
/* Files that keys went to, see keys_spills. */
size_t boilerplate_spills(const struct boilerplate *b);

/* Append to *lines the numbers and keys of the lines of text[n] that are long
 * enough to be boilerplate.  By any thread, with a *w of its own. */
void boilerplate_scan(struct words *w, const struct fold *f, const char *text,
    size_t n, struct buf *lines);
/* For each document in order, with its *lines: count its lines, append to *kept
 * text[n] without those that `most` documents before it have, and to *gone
 * these.  How many they are (*kept is not filled if none); -1 and *e. */
ptrdiff_t boilerplate_cut(struct boilerplate *b, struct buf *lines,
    const char *text, size_t n, struct buf *kept, struct buf *gone,
    struct err *e);

#endif
