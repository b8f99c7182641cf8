/* Counting the places of each file that are not UTF-8, and refusing a file with
 * too many of them. */
#ifndef DOCS_BAD_UTF8_H
#define DOCS_BAD_UTF8_H

#include "docs/docs.h"

/* Counts for the current file, or member of an archive. */
struct bad_utf8 {
    size_t input, entry; /* numbers of the input and of its member */
    int lossy;           /* 1: accept any share of bad bytes */
    uint64_t bytes;      /* bytes of the file's content so far */
    uint64_t bad, first; /* places that are not UTF-8; offset of the first
                          * such place */
    char *name;          /* name of the file or member, if bad > 0 */
    uint64_t files;      /* earlier files and members with bad > 0 */
};

/* Count the bad places of d, the next document in order.  If d begins a new
 * file, judge the file before.  If d ends 1 MiB or more into its file, judge
 * that file up to the end of d.  0; -1 and *e: the bad places of a judged file
 * exceed 1 % of its bytes. */
int bad_utf8_doc(struct bad_utf8 *m, const struct doc *d, struct err *e);
/* 0; -1 and *e: d ends 1 MiB or more into its file, and the bad places of d
 * alone exceed 1 % of the file's bytes up to the end of d.  Call it before
 * repairing a long document. */
int bad_utf8_alone(const struct doc *d, struct err *e);
/* Judge the last file.  0; -1 and *e as for bad_utf8_doc. */
int bad_utf8_end(struct bad_utf8 *m, struct err *e);
void bad_utf8_release(struct bad_utf8 *m);

#endif
