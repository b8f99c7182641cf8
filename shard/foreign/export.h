/* The command shard export; see shard-export(1). */
#ifndef SHARD_FOREIGN_EXPORT_H
#define SHARD_FOREIGN_EXPORT_H

int export_main(int argc, char **argv);

#endif
