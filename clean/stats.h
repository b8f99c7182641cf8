/* Documents kept and dropped, by source and by reason. */
#ifndef CLEAN_STATS_H
#define CLEAN_STATS_H

#include "reason.h"

#include "docs/inputs.h"

#include <stdio.h>

struct source_counts {
    uint64_t docs, bytes, chars, words; /* of the documents kept */
    uint64_t dropped, excluded;         /* documents dropped by a rule;
                                         * documents that --exclude drops or
                                         * cuts */
};
struct stats {
    struct source_counts *source; /* [nsource] */
    uint64_t reason[R_NONE];      /* documents dropped for each reason */
    uint64_t lines;               /* lines cut as boilerplate */
    uint64_t held_out, empty;     /* documents */
    uint64_t held_bytes, dropped_bytes;
    uint64_t cut_docs, passages, cut_bytes; /* that --exclude cuts, and cuts
                                             * out of them */
};

enum stats_format { STATS_TSV, STATS_JSON };
extern const char *const stats_formats[]; /* their names; ends with NULL */

/* Print a row for each source with documents, and one for all. */
void stats_print(const struct stats *s, const struct inputs *in, FILE *f,
    enum stats_format format);

#endif
