/* The command shard import; see shard-import(1). */
#ifndef SHARD_FOREIGN_IMPORT_H
#define SHARD_FOREIGN_IMPORT_H

int import_main(int argc, char **argv);

#endif
