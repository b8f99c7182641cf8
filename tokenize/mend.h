/* How much of each file is not UTF-8, and when that is too much. */
#ifndef TOKENIZE_MEND_H
#define TOKENIZE_MEND_H

#include "run.h"

/* Of the file or member whose documents are put. */
struct mended {
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
int mended_doc(struct mended *m, const struct doc *d, struct err *e);
/* Does this document alone have too many bad places, even if all before it is
 * good?  Asked before a long one is repaired.  0; -1 and *e. */
int mended_alone(const struct doc *d, struct err *e);
/* The same of the last file. */
int mended_end(struct mended *m, struct err *e);
void mended_release(struct mended *m);

#endif
