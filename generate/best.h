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
    size_t kept;         /* prompts of which a text was kept */
    size_t dropped;      /* prompts of which none was */
    size_t cut; /* dropped prompts whose texts all reached their length */
};
/*
 * Judge the n texts of a prompt, which have all ended.  *kept: the text of the
 * highest reward, the first of several, with its member reward set; NULL: no
 * text that ended by itself has a reward above 0.  The program is started once
 * for these texts, so that rewards cannot depend on other prompts, but not if
 * all texts reached their length.  The prompt is counted, unless its texts are
 * made only to prove a line (written.h).
 * -1 and *e: the program has failed (reward_run).
 */
int best_choose(struct best *b, struct written *texts, size_t n,
    struct written **kept, struct err *e);

#endif
