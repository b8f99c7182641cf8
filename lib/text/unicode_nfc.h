/*
 * Canonical composition (NFC) pinned to Unicode 9.0, the version inside the
 * Hugging Face tokenizers library 0.23: newer characters are left as they are.
 * ICU gives decompositions, compositions and combining classes.  ICU is asked
 * only about characters of Unicode 9.0; by Unicode's stability policy these
 * have not changed.
 */
#ifndef TEXT_UNICODE_NFC_H
#define TEXT_UNICODE_NFC_H

#include "base/mem.h"

#include <stddef.h>

/* Length of a prefix of text[n] that NFC certainly leaves unchanged; n: nothing
 * has to be done.  Bytes that are not UTF-8 stay as they are. */
size_t nfc_quick(const char *text, size_t n);

/* Append the NFC of text[n] to *out; takes O(n log n) time at worst. */
void nfc_append(const char *text, size_t n, struct buf *out);

#endif
