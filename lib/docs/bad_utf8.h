/* How much of each file is not UTF-8, and when that is too much. */
#ifndef DOCS_BAD_UTF8_H
#define DOCS_BAD_UTF8_H

#include "docs/docs.h"

/* Counts of the file or member whose documents are put. */
struct bad_utf8 {
    size_t input, entry; /* which it is */
    int lossy;           /* any share of it may be bad */
    uint64_t bytes;      /* of its content so far */
    uint64_t bad, first; /* places, the offset of the first */
    char *name;          /* where there are such */
    uint64_t files;      /* that had some */
};

/* Count the next document in order: 0; -1 and *e when there is more than one
 * bad place for 100 bytes of its file, once 1 MiB of that has been read, or in
 * all of the file before. */
int bad_utf8_doc(struct bad_utf8 *m, const struct doc *d, struct err *e);
/* Does this document alone have too many bad places, even if all before it is
 * good?  Asked before a long one is repaired.  0; -1 and *e. */
int bad_utf8_alone(const struct doc *d, struct err *e);
/* Judge the last file as bad_utf8_doc does. */
int bad_utf8_end(struct bad_utf8 *m, struct err *e);
void bad_utf8_release(struct bad_utf8 *m);

#endif
