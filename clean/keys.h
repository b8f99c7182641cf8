/*
 * Counts of any number of keys in bounded memory: an LSM tree.  A sorted table
 * of bounded size is written to a file as a sorted run when it is full.  Runs
 * are nameless temporary files, mapped, each with a Bloom filter; eight runs of
 * a level are merged into one.  The counts do not depend on the memory given.
 */
#ifndef CLEAN_KEYS_H
#define CLEAN_KEYS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define KEYS_MOST 65535 /* a count stops at this */

/* A 112-bit hash: the low 16 bits of lo are ignored. */
struct key {
    uint64_t hi, lo;
};

struct keys;

/* mem: bytes (>= 64 KiB) for the table and for mapped pages together.  Files
 * go to TMPDIR, or /tmp. */
struct keys *keys_new(size_t mem);
void keys_free(struct keys *k);

/* Returns how often the key was put, at most KEYS_MOST. */
uint32_t keys_count(struct keys *k, struct key key);
/* Count the key once more.  0, or -1 and *e (EX_SYS): a file cannot be made. */
int keys_put(struct keys *k, struct key key, struct err *e);
/* Number of files written so far, merged ones included. */
size_t keys_spills(const struct keys *k);

#endif
