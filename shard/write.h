/* The command shard write; see shard-write(1). */
#ifndef SHARD_COMMAND_WRITE_H
#define SHARD_COMMAND_WRITE_H

int write_main(int argc, char **argv);

#endif
