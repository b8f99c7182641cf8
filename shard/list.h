/* The command shard list; see shard-list(1). */
#ifndef SHARD_COMMAND_LIST_H
#define SHARD_COMMAND_LIST_H

int list_main(int argc, char **argv);

#endif
