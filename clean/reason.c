/* Names of reasons; see reason.h. */
#include "reason.h"

#include <stddef.h>

const char *
reason_name(enum reason r)
{
    static const char *const first[R_GOPHER] = { "min-chars", "max-chars",
        "min-words", "max-words", "boilerplate", "dup-exact", "dup-near",
        "excluded" };

    return r < R_GOPHER ? first[r]
        : r < R_NONE    ? gopher_name((enum gopher)(r - R_GOPHER))
                        : NULL;
}
