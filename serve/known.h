/* The members that a request may have.  Any other is refused, as it may ask for
 * another text. */
#ifndef SERVE_KNOWN_H
#define SERVE_KNOWN_H

#include "request.h"

#include <jansson.h>

/* Kinds of requests, bits of `at`. */
enum {
    KNOWN_COMPLETION = 1,
    KNOWN_CHAT = 2,
    KNOWN_TOKENIZE = 4, /* with one of those above */
    KNOWN_DETOKENIZE = 8,
    KNOWN_TARGETS = 16,
    KNOWN_STREAM = 32 /* the object stream_options */
};

/* Does a request of the kinds `at` have known members alone?  A member that is
 * null counts as missing.  0; -1 and *why: 400 with the member's name. */
int known_check(const json_t *j, unsigned at, struct refusal *why);

#endif
