/* Files kept for a user; see state.h. */
#include "base/state.h"
#include "base/mem.h"

#include <stdlib.h>

char *
state_file(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    /* a relative path is to be ignored, as the specification says */
    if (state != NULL && *state == '/')
        return xasprintf("%s/retort/%s", state, name);
    if (home != NULL && *home == '/')
        return xasprintf("%s/.local/state/retort/%s", home, name);
    return NULL;
}
