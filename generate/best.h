/* generate run --best-of: which of a prompt's texts is kept. */
#ifndef GENERATE_BEST_H
#define GENERATE_BEST_H

#include "written.h"
#include "base/err.h"

#include <stddef.h>

struct best {
    const char *command; /* reward program (gen/reward.h); NULL: the reward of
                          * every text is 1 */
    double seconds;      /* time that the program has for a prompt's texts */
    /* results, numbers of prompts: */
    size_t kept;
    size_t dropped; /* no text was kept */
    size_t cut;     /* those of them whose texts all reached their length */
};
/*
 * *kept: of the n texts of a prompt, which have all ended, the one of the
 * highest reward, the first if there are several; NULL: no text that has ended
 * by itself has a reward above 0.  Sets its reward, and counts the prompt, but
 * not again if its texts are made again (proof).  The program is started for
 * these texts alone, so that rewards cannot depend on other prompts; it is not
 * started if all texts reached their length.
 * -1 and *e: the program has failed (reward_run).
 */
int best_choose(struct best *b, struct written *texts, size_t n,
    struct written **kept, struct err *e);

#endif
