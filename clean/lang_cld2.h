/* The C side of CLD2, which is C++; see lang.h. */
#ifndef CLEAN_LANG_CLD2_H
#define CLEAN_LANG_CLD2_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ISO 639 codes of all it can tell, in a fixed order; NULL after the last. */
const char *cld2_code(size_t i);
/* The code of text[n] (UTF-8), or NULL if that is not sure. */
const char *cld2_detect(const char *text, size_t n);

#ifdef __cplusplus
}
#endif
#endif
