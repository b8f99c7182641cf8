/* The command shard write; see shard-write(1). */
#ifndef SHARD_WRITE_H
#define SHARD_WRITE_H

int write_main(int argc, char **argv);

#endif
