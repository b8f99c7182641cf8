/* Reference log probabilities of pairs in a file; see pair_references.h. */
#include "pair_references.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"

#include <stdlib.h>
#include <string.h>

void
pair_references_row(struct reference *r, const struct pair_batch *b, size_t row,
    float *logp, double ref[2])
{
    const size_t at = row * b->T;

    reference_row(r, &(struct rows){ 1, b->T, b->ids + at, b->first + at },
        b->scored + at, 1.0, logp);
    ref[0] = ref[1] = 0.0;
    for (size_t i = 0; i < b->T; i++)
        ref[i >= b->pair[row]->n[0]] += logp[i];
}

/* Set `reference` of all pairs.  Each rank computes a run of consecutive
 * pairs. */
static void
refer_pairs(struct pairs *p, struct reference *r, const struct dist_group *g)
{
    double(*all)[2] = xcalloc(p->n, sizeof *all);
    size_t *at = xcalloc(g->n + 1, sizeof *at);
    float *logp = xcalloc(p->most, sizeof *logp);
    struct pair_batch b;

    for (size_t i = 0; i <= g->n; i++)
        at[i] = p->n * i / g->n;
    pair_batch_init(&b, 1, p->most);
    for (size_t i = at[g->rank]; i < at[g->rank + 1]; i++) {
        pair_batch_one(&b, &p->pair[i]);
        pair_references_row(r, &b, 0, logp, all[i]);
    }
    dist_all_gather(g, all, sizeof *all, at);
    for (size_t i = 0; i < p->n; i++)
        memcpy(p->pair[i].reference, all[i], sizeof all[i]);
    pair_batch_release(&b);
    free(logp);
    free(at);
    free(all);
}

/* Write a pair's record with the reference's log probabilities and, as
 * ref_made_with, the options and hashes on which they depend. */
static int
write_record(struct io_out *o, const struct pair *p, json_t *made,
    struct err *e)
{
    char *line;
    int r;

    json_object_set_new(p->record, "ref_chosen_logps",
        json_real(p->reference[0]));
    json_object_set_new(p->record, "ref_rejected_logps",
        json_real(p->reference[1]));
    json_object_set(p->record, "ref_made_with", made);
    if ((line = json_dumps(p->record, 0)) == NULL)
        mem_exhausted("a record");
    r = io_out_write(o, line, strlen(line), e);
    free(line);
    return r < 0 ? r : io_out_write(o, "\n", 1, e);
}

void
pair_references_write(struct pairs *p, struct reference *r,
    const struct dist_group *g, const char *path)
{
    struct io_out o;
    struct err e;
    int ok;

    refer_pairs(p, r, g);
    if (g->rank > 0)
        return;
    ok = io_out_begin(&o, path, &e);
    for (size_t i = 0; i < p->n && ok == 0; i++)
        ok = write_record(&o, &p->pair[i], p->made, &e);
    if (ok < 0 || io_out_commit(&o, &e) < 0)
        die_err(&e);
    note("%s: %zu pairs with log probabilities of the reference", path, p->n);
}
