/*
 * Merging of several pieces in turn.  Included by queue.c, queue_avx2.c,
 * queue_avx512.c and queue_neon.c, which define two functions:
 * smallest: the least of 8*n keys.
 * line_find: looks for a pair in a line of the table.  Returns the rank and id
 * of the pair's merge, or UINT64_MAX: the pair is not there.
 */

#define ACTIVE 12 /* pieces that are merged side by side */

/* Look up pair `which` in its bucket, which was prefetched.  Sets the pair's
 * j->to and returns its key, TOK_NONE if the pair does not merge. */
static inline uint32_t
found(const struct tokenizer *t, struct merge_job *j, int which)
{
    const struct lines *const l = &t->lines;
    const uint32_t i = j->at[which];
    const uint64_t x = line_find(j->line[which], j->want[which], l->shift);

    /* Processors cannot predict whether a pair merges, so there is no branch
     * for that; the only branch is for a pair missing in a full bucket. */
    if ((x >= LINE_NONE) & (j->line[which][LINE_PAIRS - 1] != 0) &
        (j->want[which] < LINE_NONE))
        return queue_other(t, j, i);
    j->to[i] = (uint32_t)(x & l->id_mask);
    return ((uint32_t)(x >> l->id_bits) << 5 | i) | -(uint32_t)(x >= LINE_NONE);
}

/* Look up all pairs of a new piece, whose lines were prefetched. */
static inline struct merge_job *
begin(const struct tokenizer *t, struct merge_job *j)
{
    for (uint32_t i = 0; !j->begun && i + 1 < j->n; i++) {
        j->at[0] = i;
        j->line[0] = line_of(&t->lines, j->id[i], j->id[i + 1], &j->want[0]);
        j->key[i] = found(t, j, 0);
    }
    return j;
}

/* Do one merge of a piece.  Returns 0 if no merge was left. */
static inline int
turn(const struct tokenizer *t, struct merge_job *j)
{
    const struct lines *const l = &t->lines;
    uint32_t alive = j->alive, best, i, k, before, after, id;
    uint32_t left, right;

    /* Search j->key before the two new keys are stored in it: a vector load
     * of bytes that were just stored has to wait for the store. */
    best = smallest(j->key, (j->n + 7) / 8);
    left = found(t, j, 0);
    right = found(t, j, 1);
    j->key[j->at[0]] = left;
    j->key[j->at[1]] = right;
    left = right < left ? right : left;
    best = left < best ? left : best;
    if (best == TOK_NONE)
        return 0;
    i = best & 31;
    after = alive & (UINT32_MAX - 1) << i;
    j->key[i] = j->key[__builtin_ctz(after)] = TOK_NONE;
    alive ^= after & -after;
    after &= after - 1;
    before = alive & ~(UINT32_MAX << i);
    j->alive = alive;
    j->id[i] = id = j->to[i];
    /* Let the next turn look up the two new pairs: symbol i with the symbol
     * before, and with the symbol after (k, one after the other).  If no symbol
     * is before, i is 0, as symbol 0 is never merged into another; k is then 0
     * too, and the second pair sets key[0].  If no symbol is after, key[i]
     * rightly stays TOK_NONE. */
    k = 31 - (uint32_t)__builtin_clz(before | 1);
    j->key[k] = TOK_NONE;
    j->at[0] = k;
    j->at[1] = i;
    j->line[0] = line_of(l, j->id[k], id, &j->want[0]);
    __builtin_prefetch(j->line[0]);
    k = after ? (uint32_t)__builtin_ctz(after) : i;
    j->line[1] = line_of(l, id, j->id[k], &j->want[1]);
    __builtin_prefetch(j->line[1]);
    j->want[0] |= -(uint64_t)(before == 0) & LINE_NONE;
    j->want[1] |= -(uint64_t)(after == 0) & LINE_NONE;
    return 1;
}

void
QUEUE_NAME(const struct tokenizer *t, struct queue *q)
{
    struct merge_job *job[ACTIVE];
    size_t n = 0, next = 0;

    while (next < q->n && n < ACTIVE)
        job[n++] = begin(t, &q->job[next++]);
    while (n > 0)
        for (size_t i = 0; i < n;) {
            if (turn(t, job[i]))
                i++;
            else if (next < q->n)
                job[i] = begin(t, &q->job[next++]);
            else
                job[i] = job[--n];
        }
}
