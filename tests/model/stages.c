/*
 * The order of passes in a pipeline.  Each pass is done once.  No two ranks
 * wait for each other, even if nothing is sent before it is received.  All
 * ranks finish as early as they can.
 */
#include "model/pass/stages.h"
#include "../lib/tap.h"

#include <string.h>

enum { RANKS = 8, PER = 3, PIECES = 24, STAGES = RANKS * PER };

static struct pipeline ranks[RANKS];
static size_t n, per, pieces, round_up; /* round_up: pieces, with those that are
                                         * left out */
/* place[back][stage][piece]: how many passes its rank does before this one. */
static size_t place[2][STAGES][PIECES + RANKS];

static int
in_order(void)
{
    int good = 1;

    memset(place, 0xff, sizeof place);
    for (size_t r = 0; r < n; r++) {
        const size_t full = stages_lead(&ranks[r]) + 1;
        size_t next[2][STAGES] = { { 0 } }, kept = 0, most = 0;

        good = good && stages_ops(&ranks[r], pieces) == 2 * per * round_up;
        for (size_t i = 0; i < stages_ops(&ranks[r], pieces); i++) {
            const struct stage_op op = stages_op(&ranks[r], pieces, i);
            size_t *piece = &next[op.back][op.stage];
            const size_t ahead = next[0][op.stage] - next[1][op.stage];

            good = good && op.stage % n == r && op.stage < n * per &&
                op.piece == *piece && op.piece < round_up &&
                (op.back ? ahead > 0
                         : ahead < stages_ahead(&ranks[r], op.stage));
            if (op.back && op.stage == n * per - 1)
                good = good && place[0][op.stage][op.piece] + 1 == i;
            place[op.back][op.stage][op.piece] = i;
            ++*piece;
            kept = op.back ? kept - 1 : kept + 1;
            most = kept > most ? kept : most;
        }
        good = good && most == (full < per * round_up ? full : per * round_up);
    }
    return good;
}

/* The number of blocks of rank r. */
static size_t
blocks(size_t r, size_t L)
{
    size_t sum = 0;

    for (size_t i = 0; i < L; i++)
        sum += stages_owner(&ranks[r], L, i) == r;
    return sum;
}

static int
last_has_most(void)
{
    int good = 1;

    for (size_t L = n * per; L < 4 * STAGES; L++)
        for (size_t r = 0; r < n; r++)
            good = good && blocks(r, L) <= blocks(n - 1, L);
    return good;
}

static int
come_to(const size_t *at, int back, size_t stage, size_t piece)
{
    return at[stage % n] >= place[back][stage][piece];
}

/* May the rank do the pass?  The pass's input must have come; and if the pass
 * reuses a buffer, the rank to which the buffer was sent must have come to
 * receive it. */
static int
may(const size_t *at, const struct stage_op *op)
{
    const size_t s = op->stage, end = n * per - 1, k = op->piece;
    const size_t ahead = stages_ahead(&ranks[s % n], s);

    if (op->back)
        return s == end || at[(s + 1) % n] > place[1][s + 1][k];
    return (s == 0 || at[(s - 1) % n] > place[0][s - 1][k]) &&
        (k < ahead || s == 0 || come_to(at, 1, s - 1, k - ahead)) &&
        (k < ahead || s == end || come_to(at, 0, s + 1, k - ahead));
}

static int
comes_to_an_end(void)
{
    size_t at[RANKS] = { 0 };
    int moved = 1, over = 1;

    while (moved) {
        moved = 0;
        for (size_t r = 0; r < n; r++) {
            while (at[r] < stages_ops(&ranks[r], pieces)) {
                const struct stage_op op = stages_op(&ranks[r], pieces, at[r]);

                if (!may(at, &op))
                    break;
                at[r]++;
                moved = 1;
            }
        }
    }
    for (size_t r = 0; r < n; r++)
        over = over && at[r] == stages_ops(&ranks[r], pieces);
    return over;
}

/* The time until the last rank has finished, if a forward pass of a stage takes
 * 1 and a backward pass 2. */
static size_t
time_taken(void)
{
    static size_t end[2][STAGES][PIECES + RANKS];
    size_t at[RANKS] = { 0 }, now[RANKS] = { 0 }, last = 0;
    int moved = 1;

    memset(end, 0, sizeof end);
    while (moved) {
        moved = 0;
        for (size_t r = 0; r < n; r++) {
            struct stage_op op;
            size_t start = 0;

            if (at[r] == stages_ops(&ranks[r], pieces))
                continue;
            op = stages_op(&ranks[r], pieces, at[r]);
            if (!op.back && op.stage > 0)
                start = end[0][op.stage - 1][op.piece];
            else if (op.back && op.stage + 1 < n * per)
                start = end[1][op.stage + 1][op.piece];
            else
                start = 1;
            if (start == 0)
                continue;
            start = start > now[r] ? start : now[r];
            now[r] = end[op.back][op.stage][op.piece] =
                start + (op.back ? 2 : 1);
            last = now[r] > last ? now[r] : last;
            at[r]++;
            moved = 1;
        }
    }
    return last - 1;
}

int
main(void)
{
    static const size_t counts[] = { 1, 2, 3, 4, 8 };

    for (size_t c = 0; c < 5; c++) {
        n = counts[c];
        for (per = 1; per <= (n > 1 ? PER : 1); per++) {
            int order = 1, end = 1, fast = 1;

            for (size_t r = 0; r < n; r++)
                ranks[r] = (struct pipeline){ r, n, per };
            for (pieces = 1; pieces <= PIECES; pieces++) {
                round_up = per > 1 ? (pieces + n - 1) / n * n : pieces;
                order = order && in_order();
                end = end && comes_to_an_end();
                if (round_up == pieces)
                    fast = fast && time_taken() == 3 * (pieces * per + n - 1);
            }
            ok(last_has_most(),
                "%zu ranks of %zu stages: the last has the most blocks", n,
                per);
            ok(order, "%zu ranks of %zu stages: in order", n, per);
            ok(end, "%zu ranks of %zu stages: nobody waits for ever", n, per);
            ok(fast,
                "%zu ranks of %zu stages: n - 1 passes of a stage are lost", n,
                per);
        }
    }
    {
        static const struct pipeline three = { 1, 3, 2 };
        static const size_t owner[] = { 0, 1, 1, 2, 0, 0, 1, 2, 2 };
        int good = 1;

        for (size_t i = 0; i < 9; i++)
            good = good && stages_owner(&three, 9, i) == owner[i];
        ok(good, "9 blocks in 6 stages of 3 ranks");
        ok(stages_owner(&three, 9, 9) == 0 &&
                stages_owner(&three, 9, 10) == 2 &&
                stages_owner(&three, 9, 11) == 2,
            "the embedding is with the first, the norm and head with the last");
    }
    return done_testing();
}
