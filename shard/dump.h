/* The command shard dump; see shard-dump(1). */
#ifndef SHARD_COMMAND_DUMP_H
#define SHARD_COMMAND_DUMP_H

int dump_main(int argc, char **argv);

#endif
