/* Counts of skipped files and members of archives by the endings of their
 * names. */
#ifndef DOCS_PASSED_H
#define DOCS_PASSED_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct passed_kind {
    char *ending; /* ".html", in lower case, or "" */
    uint64_t n;
};
/* { 0 } is empty. */
struct passed {
    struct passed_kind *v;
    size_t n;
    uint64_t files;
};
/* Count a skipped file or member; -v names it and the reason `why`. */
void passed_add(struct passed *p, const char *path, const char *why);
/* Add the counts of *from. */
void passed_join(struct passed *p, const struct passed *from);
/* "3 files passed over: 2 .html, 1 .docx", the most frequent first; an empty
 * text if there are none.  The caller frees it. */
char *passed_text(struct passed *p);
/* Print passed_text as a note, unless no file was skipped, and release *p. */
void passed_end(struct passed *p);
void passed_release(struct passed *p);

#endif
