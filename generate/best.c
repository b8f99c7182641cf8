/* generate run --best-of; see best.h. */
#include "best.h"
#include "gen/reward.h"

#include <stdlib.h>

static int
ended_itself(const struct written *t)
{
    return t->end != GEN_LENGTH;
}

/* Set the rewards [n] of the texts. */
static int
read_rewards(const struct best *b, const struct written *texts, size_t n,
    double *reward, struct err *e)
{
    struct buf lines = { 0 };
    int r;

    for (size_t i = 0; i < n; i++, texts = texts->next) {
        reward[i] = 1.0;
        reward_line(&lines, texts->prompt->record, texts->bytes.p,
            texts->bytes.n);
    }
    r = b->command == NULL
        ? 0
        : reward_run(b->command, &lines, n, b->seconds, reward, e);
    buf_release(&lines);
    return r;
}

int
best_choose(struct best *b, struct written *texts, size_t n,
    struct written **kept, struct err *e)
{
    double *reward = xcalloc(n, sizeof *reward);
    struct written *t = texts;
    size_t whole = 0;
    int r = 0;

    *kept = NULL;
    for (size_t i = 0; i < n; i++, t = t->next)
        whole += (size_t)ended_itself(t);
    if (whole > 0)
        r = read_rewards(b, texts, n, reward, e);
    t = texts;
    for (size_t i = 0; r == 0 && i < n; i++, t = t->next)
        if (ended_itself(t) && reward[i] > 0.0 &&
            (*kept == NULL || reward[i] > (*kept)->reward)) {
            t->reward = reward[i];
            *kept = t;
        }
    free(reward);
    if (texts->proof)
        return r;
    b->kept += *kept != NULL;
    b->dropped += *kept == NULL;
    b->cut += whole == 0;
    return r;
}
