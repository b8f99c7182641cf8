/* Why a document is dropped. */
#ifndef CLEAN_REASON_H
#define CLEAN_REASON_H

#include "gopher.h"

enum reason {
    R_MIN_CHARS,
    R_MAX_CHARS,
    R_MIN_WORDS,
    R_MAX_WORDS,
    R_BOILERPLATE, /* all its lines were cut */
    R_EXACT,
    R_NEAR,
    R_EXCLUDED,
    R_GOPHER, /* R_GOPHER + g: rule g of enum gopher */
    R_NONE = R_GOPHER + G_END
};

/* The reason's name in reports; NULL for R_NONE. */
const char *reason_name(enum reason r);

#endif
