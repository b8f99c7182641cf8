/* The command shard repair; see shard-repair(1). */
#ifndef SHARD_COMMAND_REPAIR_H
#define SHARD_COMMAND_REPAIR_H

int repair_main(int argc, char **argv);

#endif
