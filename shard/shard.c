/* shard - keep streams in directories; see shard(1) */
#include "check.h"
#include "dump.h"
#include "list.h"
#include "repair.h"
#include "write.h"
#include "cli/sub.h"
#include "foreign/export.h"
#include "foreign/import.h"

#include <stddef.h>

static const struct sub commands[] = {
    { "write", write_main, "store streams in a directory" },
    { "list", list_main, "print the shards and sources of directories" },
    { "check", check_main, "verify directories from end to end" },
    { "dump", dump_main, "show a stream or a directory as text" },
    { "repair", repair_main, "store what is intact of a damaged directory" },
    { "import", import_main, "store token files of other projects" },
    { "export", export_main, "write token files of other projects" },
    { NULL, NULL, NULL },
};

int
main(int argc, char **argv)
{
    return sub_main(argc, argv, commands,
        "keep streams in directories of compressed shards");
}
