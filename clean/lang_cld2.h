/* The C side of CLD2, which is C++; see lang.h. */
#ifndef CLEAN_LANG_CLD2_H
#define CLEAN_LANG_CLD2_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ISO 639 code of the i-th language that CLD2 can detect; NULL after the last.
 */
const char *cld2_code(size_t i);
/* Detect the language of text[n] (UTF-8): its code, or NULL if CLD2 is not
 * sure. */
const char *cld2_detect(const char *text, size_t n);

#ifdef __cplusplus
}
#endif
#endif
