/* Options of the commands that write a directory; see store.h. */
#define _GNU_SOURCE /* renameat2 */
#include "store.h"
#include "base/err.h"
#include "cli/die.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void
store_check(struct store_args *a)
{
    a->o.codec = (enum codec)a->codec;
    a->o.level = (int)a->level;
    a->o.shard_size = a->shard_size;
    a->o.frame_size = a->frame;
    if (a->o.level > codec_level_max(a->o.codec))
        die(EX_USAGE, "--level: %s has levels 1 to %d", codec_names[a->codec],
            codec_level_max(a->o.codec));
}

const char *
store_unit(const struct manifest *m)
{
    return strcmp(m->content, "batch") == 0 ? "rows" : "documents";
}

void
store_exchange(const char *dir, const char *new, const char *old)
{
    if (renameat2(AT_FDCWD, new, AT_FDCWD, dir, RENAME_EXCHANGE) == 0) {
        if (rename(new, old) < 0)
            die(EX_SYS, "%s:", old);
    } else if (rename(dir, old) < 0 || rename(new, dir) < 0) {
        die(EX_SYS, "%s:", dir);
    }
}
