/* The C side of CLD2, which is C++; see lang.h. */
#ifndef LANG_CLD2_H
#define LANG_CLD2_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *cld2_code(size_t i);
const char *cld2_detect(const char *text, size_t n);

#ifdef __cplusplus
}
#endif
#endif
