/* Languages of texts, by Compact Language Detector 2. */
#ifndef CLEAN_LANG_H
#define CLEAN_LANG_H

#include "docs/inputs.h"

/* Is the value of --lang "auto", or "auto:" with codes? */
int langs_auto(const char *lang);

/* The sources that stand for languages; { 0 }: none. */
struct langs {
    size_t n;
    const struct inputs *in;
    size_t und; /* the source of texts whose language is not known */
};
/* Add a source to *in for each ISO 639 code in "auto:a,b,c", or for all codes
 * that CLD2 can give ("auto"), and "und".  -1 and *e (EX_USAGE): CLD2 is not
 * built in, or has no such code. */
int langs_add(struct langs *l, const char *lang, struct inputs *in,
    struct err *e);
/* The index of the source of text[n] (UTF-8): the source of the text's
 * language, or of "und" if CLD2 is not sure or the language was not added.
 * Thread-safe. */
size_t langs_detect(const struct langs *l, const char *text, size_t n);

#endif
