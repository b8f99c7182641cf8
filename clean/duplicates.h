/* Finds documents with the same, or nearly the same, words as an earlier
 * document. */
#ifndef CLEAN_DUPLICATES_H
#define CLEAN_DUPLICATES_H

#include "reason.h"
#include "words.h"

#include "base/err.h"
#include "base/mem.h"
#include "cli/opt.h"

/* The kinds of duplicates to look for: the values of --dedup. */
struct dup_opts {
    int exact, near;
    size_t bands, rows; /* MinHash: number of bands, hash functions in each */
};
/* Parse "exact", "minhash" and "minhash:BANDSxROWS"; -1 and *e (EX_USAGE). */
int dup_parse(struct dup_opts *o, const struct opt_list *how, struct err *e);

struct duplicates;
/* mem: bytes for the keys of each kind. */
struct duplicates *duplicates_new(const struct dup_opts *o, size_t mem);
void duplicates_free(struct duplicates *d);
/* Number of files that keys were written to, see keys_spills. */
size_t duplicates_spills(const struct duplicates *d);

/* Append the keys of text[n] to *keys.  Thread-safe: each thread has its own
 * *w. */
void duplicates_scan(const struct duplicates *d, struct words *w,
    const struct fold *f, const char *text, size_t n, struct buf *keys);
/* Call for each document in order.  Returns R_EXACT or R_NEAR if an earlier
 * document has one of the keys; else stores the keys, and returns R_NONE.  -1
 * and *e (EX_SYS). */
int duplicates_judge(struct duplicates *d, const struct buf *keys,
    struct err *e);

#endif
