/* The members that a request may have.  All others are refused, as ignoring one
 * could change the text that a client gets. */
#ifndef SERVE_KNOWN_H
#define SERVE_KNOWN_H

#include "request.h"

#include <jansson.h>

/* Kinds of requests, bits of `at`. */
enum {
    KNOWN_COMPLETION = 1,
    KNOWN_CHAT = 2,
    KNOWN_TOKENIZE = 4, /* set together with COMPLETION or CHAT */
    KNOWN_DETOKENIZE = 8,
    KNOWN_TARGETS = 16,
    KNOWN_STREAM = 32 /* the object stream_options */
};

/* Check that all members of a request of the kinds `at` are known and have
 * values that the server takes; null members are not checked.  0; -1 and *why:
 * 400 with the member's name. */
int known_check(const json_t *j, unsigned at, struct refusal *why);

#endif
