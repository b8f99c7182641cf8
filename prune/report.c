/* Every configuration that was evaluated, for people and plots. */
#include "prune.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>

void
shape_text(const struct shape *s, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (size_t i = 0; i < s->n && n < size; i++) {
        const size_t from = s->block[i];

        while (i + 1 < s->n && s->block[i + 1] == s->block[i] + 1)
            i++;
        n += (size_t)snprintf(out + n, size - n,
            s->block[i] > from ? "%s%zu-%zu" : "%s%zu", n > 0 ? "," : "", from,
            s->block[i]);
    }
}

void
report_tsv(const struct search *s, struct buf *b)
{
    buf_adds(b,
        "kind\ttaken\tblocks\tkept\twidth\tparameters\t"
        "nll\tppl\tkl\tscore\tseconds\n");
    for (size_t i = 0; i < s->n; i++) {
        const struct trial *t = &s->t[i];
        char kept[8192];

        shape_text(&t->s, kept, sizeof(kept));
        buf_addf(b, "%s\t%d\t%zu\t%s\t%zu\t%zu\t%.8f\t%.6f\t%.8f\t%.8f\t%.3f\n",
            t->kind, t->taken, t->s.n, kept, t->width, t->params, t->score.nll,
            exp(t->score.nll), t->score.kl, score_sum(&t->score), t->seconds);
    }
}
