/* The command shard repair; see shard-repair(1). */
#ifndef SHARD_REPAIR_H
#define SHARD_REPAIR_H

int repair_main(int argc, char **argv);

#endif
