/*
 * Keys and how often each was put, of any number, in bounded memory: a sorted
 * table of a fixed size, written out as a sorted run when it is full.  Runs
 * are temporary files without a name, mapped, each with a Bloom filter; eight
 * of a size are merged into one.  What it answers does not depend on memory.
 */
#ifndef CLEAN_KEYS_H
#define CLEAN_KEYS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define KEYS_MOST 65535 /* counts stop there */

/* 112 bits of a hash: lo's lowest 16 bits are ignored. */
struct key {
    uint64_t hi, lo;
};

struct keys;

/* mem: bytes (>= 64 KiB) for the table and for mapped pages together.  Files
 * go to TMPDIR, or /tmp. */
struct keys *keys_new(size_t mem);
void keys_free(struct keys *k);

/* How often it was put, at most KEYS_MOST. */
uint32_t keys_count(struct keys *k, struct key key);
/* Count it once more.  0, or -1 and *e (EX_SYS): no room for a file. */
int keys_put(struct keys *k, struct key key, struct err *e);
/* Files written so far, merged ones included. */
size_t keys_spills(const struct keys *k);

#endif
