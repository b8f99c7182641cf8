/*
 * Canonical composition (NFC) pinned to Unicode 9.0, the version inside the
 * Hugging Face tokenizers library 0.23: newer characters are left where they
 * stand.  A system's own tables are newer, and ids would differ.
 *
 * The tables are in unicode_nfc_table.c.
 */
#ifndef TEXT_UNICODE_NFC_H
#define TEXT_UNICODE_NFC_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

/* Length of the beginning of text[n] that NFC surely leaves as it is: n when
 * there is nothing to do.  Bytes that are no UTF-8 are left alone. */
size_t nfc_quick(const char *text, size_t n);

/* Append the NFC of text[n] to *out, in time n log n whatever it holds. */
void nfc_append(const char *text, size_t n, struct buf *out);

/* The tables.  A set bit of nfc_bits[nfc_index[c / 64]]: c may change or join
 * with what is before it.  No character from NFC_LIMIT on does. */
#define NFC_LIMIT 0x30000
#define NFC_CLASSES 333
#define NFC_DECOMPS 2060
#define NFC_PAIRS 940

struct nfc_class { /* canonical combining class of lo..hi */
    uint32_t lo, hi;
    uint8_t k;
};
struct nfc_decomp { /* c stands for a, then b unless that is 0 */
    uint32_t c, a, b;
};
extern const uint8_t nfc_index[NFC_LIMIT / 64];
extern const uint64_t nfc_bits[112];
extern const struct nfc_class nfc_class[NFC_CLASSES];
extern const struct nfc_decomp nfc_decomp[NFC_DECOMPS]; /* by c */
extern const uint16_t nfc_pair[NFC_PAIRS]; /* those that compose, by a, b */

#endif
