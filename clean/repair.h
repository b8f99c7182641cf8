/* Optional repairs of text: normalize to NFC, remove control characters,
 * replace the cedilla of Romanian letters by a comma. */
#ifndef CLEAN_REPAIR_H
#define CLEAN_REPAIR_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

enum { REPAIR_NFC = 1, REPAIR_CONTROLS = 2, REPAIR_ROMANIAN = 4 };

struct repair_counts {
    uint64_t nfc;      /* documents changed by NFC */
    uint64_t controls; /* characters removed */
    uint64_t romanian; /* letters replaced */
};

struct text_repair;
/* what: REPAIR_ bits. */
struct text_repair *repair_new(unsigned what);
/* Repair *text, *n bytes of valid UTF-8; a changed text lives in *m until the
 * next call.  Adds to *c. */
void repair_text(struct text_repair *m, const char **text, size_t *n,
    struct repair_counts *c);
/* Free the buffers if a long text has made them large. */
void repair_trim(struct text_repair *m);
void repair_free(struct text_repair *m);

#endif
