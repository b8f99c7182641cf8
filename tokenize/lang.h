/* Which language a text is in, by Compact Language Detector 2. */
#ifndef TOKENIZE_LANG_H
#define TOKENIZE_LANG_H

#include "base/err.h"

#include <stddef.h>

/* -1 and *e (EX_USAGE) where it was not built in. */
int lang_check(struct err *e);
/* ISO 639 codes of all it can tell, in a fixed order; NULL after the last. */
const char *lang_code(size_t i);
/* The code of text[n] (UTF-8), or NULL if that is not sure.  Any number of
 * threads may call it. */
const char *lang_detect(const char *text, size_t n);

#endif
