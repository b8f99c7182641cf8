/*
 * Canonical composition (NFC) pinned to Unicode 9.0, the version inside the
 * Hugging Face tokenizers library 0.23: newer characters are left where they
 * stand.  Decompositions, compositions and combining classes are ICU's, of
 * which only those characters are asked for that Unicode 9.0 had; Unicode's
 * stability policy keeps them as they were then.
 */
#ifndef TEXT_UNICODE_NFC_H
#define TEXT_UNICODE_NFC_H

#include "base/mem.h"

#include <stddef.h>

/* Length of the beginning of text[n] that NFC surely leaves as it is: n when
 * there is nothing to do.  Bytes that are no UTF-8 are left alone. */
size_t nfc_quick(const char *text, size_t n);

/* Append the NFC of text[n] to *out, in time n log n whatever it holds. */
void nfc_append(const char *text, size_t n, struct buf *out);

#endif
