/* Repairs of text that are asked for: NFC, control characters, Romanian
 * letters with a cedilla. */
#ifndef CLEAN_REPAIR_H
#define CLEAN_REPAIR_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

enum { REPAIR_NFC = 1, REPAIR_CONTROLS = 2, REPAIR_ROMANIAN = 4 };

struct repair_counts {
    uint64_t nfc;      /* documents that NFC has changed */
    uint64_t controls; /* characters removed */
    uint64_t romanian; /* letters replaced */
};

struct text_repair;
/* what: REPAIR_ bits. */
struct text_repair *repair_new(unsigned what);
/* text is valid UTF-8; *text and *n may become another text that lives until
 * the next call.  Adds to *c. */
void repair_text(struct text_repair *m, const char **text, size_t *n,
    struct repair_counts *c);
/* Give back the memory of a long text. */
void repair_trim(struct text_repair *m);
void repair_free(struct text_repair *m);

#endif
