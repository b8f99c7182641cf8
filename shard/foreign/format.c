/* Names of formats: see format.h */
#include "format.h"
#include "base/err.h"
#include "cli/die.h"

#include <string.h>

const char *const foreign_names[] = { "megatron", "llmc", "datatrove", "npy",
    "mds", NULL };

int
foreign_format(const char *name)
{
    for (int i = 0; foreign_names[i] != NULL; i++)
        if (strcmp(foreign_names[i], name) == 0)
            return i;
    die(EX_USAGE,
        "%s: is no format; give megatron, llmc, datatrove, npy or mds", name);
}
