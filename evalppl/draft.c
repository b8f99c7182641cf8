/* Models as drafts of the base; see draft.h. */
#include "draft.h"
#include "figures.h"
#include "base/mem.h"
#include "base/text.h"
#include "eval/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* largest number of tokens drafted in a step */

struct draft
draft_best(double accept, double cost)
{
    struct draft best = { 0, 1.0 };
    double power = 1.0, tokens = 1.0;

    if (isnan(accept) || isnan(cost))
        return (struct draft){ 0, NAN };
    for (size_t n = 1; n <= MOST; n++) {
        double speedup;

        power *= accept;
        tokens += power;
        speedup = tokens / (1.0 + (double)n * cost);
        if (speedup > best.speedup)
            best = (struct draft){ n, speedup };
    }
    return best;
}

/* Bytes of weights that a token reads; NAN: unknown.  An embedding that is not
 * the head does not count, as a token reads only one of its rows. */
static double
bytes_of_token(const struct eval_model *j)
{
    size_t n = j->bytes;

    if (j->recorded)
        return NAN;
    if (!j->m.c.tied)
        n -= weight_bytes(&j->m.embed);
    return (double)n;
}

static double
time_of_token(const struct eval_model *j)
{
    return j->recorded ? NAN : j->seconds;
}

static void
print_draft(const struct eval *e, size_t model, const char *by, double cost,
    int width, struct sheet *s)
{
    const double accept = eval_mean(e, NONE, Q_ACCEPT, model, NONE).v;
    const struct draft d = draft_best(accept, cost);

    if (s->format != FMT_TEXT) {
        sheet_row(s, TEXT(e->j[model].label), TEXT(by), NUMBER("%.6f", cost),
            COUNT(d.tokens), NUMBER("%.4f", d.speedup));
        return;
    }
    buf_addf(s->b, "%-*s %5s", width, SHOWN(e->j[model].label), by);
    put_column(s->b, 7, "%.3f", cost);
    buf_addf(s->b, " %6zu", d.tokens);
    put_column(s->b, 8, "%.3f", d.speedup);
    buf_addc(s->b, '\n');
}

void
drafts_print(const struct eval *e, struct sheet *s)
{
    static const char *const column[] = { "model", "by", "cost", "tokens",
        "speedup", NULL };
    const struct eval_model *base;
    char *head;
    int width;

    base = &e->j[e->base];
    head = xasprintf("draft of %s", SHOWN(base->label));
    width = models_label_width(e->j, e->nj, 40);
    width = (int)strlen(head) > width ? (int)strlen(head) : width;
    if (s->format != FMT_TEXT)
        sheet_list(s, "drafts", column);
    else
        buf_addf(s->b, "\n%-*s %5s %7s %6s %8s\n", width, head, "by", "cost",
            "tokens", "speed-up");
    free(head);
    for (size_t i = 0; i < e->nj; i++) {
        if (i == e->base)
            continue;
        print_draft(e, i, "bytes",
            bytes_of_token(&e->j[i]) / bytes_of_token(base), width, s);
        print_draft(e, i, "time", time_of_token(&e->j[i]) / time_of_token(base),
            width, s);
    }
}
