/* Repairs of text that are asked for: NFC, control characters, Romanian
 * letters with a cedilla. */
#ifndef TOKENIZE_NORM_H
#define TOKENIZE_NORM_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

enum { NORM_NFC = 1, NORM_CONTROLS = 2, NORM_ROMANIAN = 4 };

struct norm_counts {
    uint64_t nfc;      /* documents that NFC has changed */
    uint64_t controls; /* characters removed */
    uint64_t romanian; /* letters replaced */
};

struct norm;
/* what: NORM_ bits. */
struct norm *norm_new(unsigned what);
/* text is valid UTF-8; *text and *n may become another text that lives until
 * the next call.  Adds to *c. */
void norm_text(struct norm *m, const char **text, size_t *n,
    struct norm_counts *c);
/* Give back the memory of a long text. */
void norm_trim(struct norm *m);
void norm_free(struct norm *m);

#endif
