/* The command shard check; see shard-check(1). */
#ifndef SHARD_CHECK_H
#define SHARD_CHECK_H

int check_main(int argc, char **argv);

#endif
