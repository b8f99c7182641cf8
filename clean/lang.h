/* Languages of texts, by Compact Language Detector 2. */
#ifndef CLEAN_LANG_H
#define CLEAN_LANG_H

#include "docs/inputs.h"

/* Is that value of --lang the word `auto`, perhaps with codes behind it? */
int langs_auto(const char *lang);

/* Sources that are languages; { 0 } are none. */
struct langs {
    size_t n;
    const struct inputs *in;
    size_t und; /* the source of no language */
};
/* Add a source to in for each ISO 639 code in "auto:a,b,c", or for all codes
 * that CLD2 can give ("auto"), and "und".  -1 and *e (EX_USAGE): CLD2 is not
 * built in, or has no such code. */
int langs_add(struct langs *l, const char *lang, struct inputs *in,
    struct err *e);
/* The source of text[n] (UTF-8): its language, or und if that is not sure or
 * none of those added.  Any number of threads may call it. */
size_t langs_detect(const struct langs *l, const char *text, size_t n);

#endif
