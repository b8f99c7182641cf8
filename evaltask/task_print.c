/* The report of tasks: a table for people, or TSV. */
#include "task_print.h"
#include "task_stat.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a line of the report is about; task NULL: the mean over all. */
struct subject {
    const struct task *task;
    size_t group; /* or NONE */
};

static void
figures_of(const struct eval *e, const struct task *t, size_t nt,
    const struct subject *s, size_t model, struct task_figures *f)
{
    if (s->task != NULL)
        task_figures(e, s->task, s->group, model, f);
    else
        task_means(e, t, nt, model, f);
}

static struct mean
difference(const struct task *t, size_t nt, const struct subject *s, size_t a,
    size_t b)
{
    return s->task != NULL ? task_difference(s->task, 1, s->group, a, b)
                           : task_difference(t, nt, NONE, a, b);
}

static const char *
task_name(const struct subject *s)
{
    return s->task != NULL ? s->task->name : "(mean)";
}

static const char *
group_name(const struct subject *s)
{
    return s->group != NONE ? s->task->group.v[s->group] : "(all)";
}

/* Every task, with its groups if asked, then their mean; n of them into a new
 * array. */
static struct subject *
subjects(const struct task *t, const struct task_args *a, size_t *n)
{
    struct subject *s = NULL;

    *n = 0;
    for (size_t i = 0; i <= a->n; i++) {
        const size_t groups =
            i < a->n && a->per_source && t[i].group.n > 1 ? t[i].group.n : 0;

        if (i == a->n && a->n == 1)
            break;
        s = xgrow_pow2(s, *n, sizeof(*s));
        s[(*n)++] = (struct subject){ i < a->n ? &t[i] : NULL, NONE };
        for (size_t g = 0; g < groups; g++) {
            s = xgrow_pow2(s, *n, sizeof(*s));
            s[(*n)++] = (struct subject){ &t[i], g };
        }
    }
    return s;
}

static const char *
score_of(const struct subject *s)
{
    return s->task != NULL ? score_name[s->task->form.score] : "-";
}

/* ---- TSV ---- */

static void
tsv_row(const struct eval *e, const struct subject *s, size_t model,
    const struct task_figures *f, struct buf *b)
{
    buf_addf(b, "%s\t%s\t%s\t%s\t%zu", SHOWN(task_name(s)),
        SHOWN(group_name(s)), SHOWN(e->j[model].label), score_of(s), f->n);
    put_cell(b, "%.6f", f->chance);
    for (int i = SCORE_ACC; i <= SCORE_BYTES; i++) {
        put_cell(b, "%.6f", f->acc[i].v);
        put_cell(b, "%.6f", f->acc[i].se);
    }
    put_cell(b, "%.6f", f->ppl.v);
    put_cell(b, "%.6f", f->ppl.se);
    put_cell(b, "%.6f", f->bits);
    put_cell(b, "%.3f", f->recovery);
    put_cell(b, "%.3f", f->low);
    put_cell(b, "%.3f", f->high);
    buf_addc(b, '\n');
}

static void
tsv_pairs(const struct eval *e, const struct task *t, size_t nt,
    const struct subject *s, struct buf *b)
{
    for (size_t i = 0; i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++) {
            const struct mean m = difference(t, nt, s, i, k);

            buf_addf(b, "%s\t%s\t%s\t%s\t%s", SHOWN(task_name(s)),
                SHOWN(group_name(s)), SHOWN(e->j[i].label),
                SHOWN(e->j[k].label), score_of(s));
            put_cell(b, "%.6f", m.v);
            put_cell(b, "%.6f", m.se);
            put_cell(b, "%.3f", m.v / m.se);
            buf_addc(b, '\n');
        }
}

/* ---- text ---- */

/* Width of the first column. */
static int
name_width(const struct subject *s, size_t n)
{
    size_t most = 4;

    for (size_t i = 0; i < n; i++) {
        const char *name =
            s[i].group != NONE ? group_name(&s[i]) : task_name(&s[i]);
        const size_t k = strlen(SHOWN(name)) + (s[i].group != NONE ? 2 : 0);

        most = k > most ? k : most;
    }
    return most > 30 ? 30 : (int)most;
}

static void
text_row(const struct eval *e, const struct task_figures *f, struct buf *b)
{
    buf_addf(b, " %6zu", f->n);
    put_column(b, 6, "%.3f", f->chance);
    for (int i = SCORE_ACC; i <= SCORE_BYTES; i++) {
        put_column(b, 7, "%.4f", f->acc[i].v);
        put_column(b, 6, "%.4f", f->acc[i].se);
    }
    put_column(b, 8, f->ppl.v < 1e4 ? "%.3f" : "%.3g", f->ppl.v);
    put_column(b, 6, "%.3f", f->bits);
    if (e->base == NONE)
        return;
    put_column(b, 8, "%.2f", f->recovery);
    put_range(b, 14, "%.1f..%.1f", f->low, f->high);
}

static void
text_pairs(const struct eval *e, const struct task *t, size_t nt,
    const struct subject *s, struct buf *b)
{
    for (size_t i = 0; i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++) {
            const struct mean m = difference(t, nt, s, i, k);

            buf_addf(b, "%s", SHOWN(task_name(s)));
            if (s->group != NONE)
                buf_addf(b, " %s", SHOWN(group_name(s)));
            buf_adds(b, ": ");
            put_difference(b, e->j[i].label, e->j[k].label, &m, 4);
        }
}

static void
text_lines(const struct eval *e, const struct task *t, size_t nt,
    const struct subject *s, size_t n, struct buf *b)
{
    const int w[2] = { name_width(s, n), models_label_width(e->j, e->nj, 30) };

    buf_addf(b, "\n%-*s %-*s %6s %6s %7s %6s %7s %6s %7s %6s %8s %6s", w[0],
        "task", w[1], "model", "items", "chance", "acc", "+/-", "by char",
        "+/-", "by byte", "+/-", "ppl", "bits/B");
    if (e->base != NONE)
        buf_addf(b, " %8s %14s", "recovery", "95 %");
    buf_addc(b, '\n');
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < e->nj; k++) {
            struct task_figures f;

            figures_of(e, t, nt, &s[i], k, &f);
            if (s[i].group != NONE)
                buf_addf(b, "  %-*s", w[0] - 2, SHOWN(group_name(&s[i])));
            else
                buf_addf(b, "%-*s", w[0], SHOWN(task_name(&s[i])));
            buf_addf(b, " %-*s", w[1], SHOWN(e->j[k].label));
            text_row(e, &f, b);
            buf_addc(b, '\n');
        }
}

/* What the figures are, before all of them. */
static void
describe(const struct eval *e, const struct task *t, size_t nt, struct buf *b)
{
    buf_adds(b, "tasks as lm-eval scores them, no examples");
    if (e->base != NONE) {
        buf_addf(b, "; recovery 100 (x - chance) / (%s - chance), x",
            SHOWN(e->j[e->base].label));
        for (size_t i = 0; i < nt; i++)
            buf_addf(b, "%s %s of %s", i > 0 ? "," : "",
                score_name[t[i].form.score], SHOWN(t[i].name));
    }
    buf_addc(b, '\n');
}

void
tasks_print(const struct eval *e, const struct task *t,
    const struct task_args *a, struct buf *b)
{
    size_t n;
    struct subject *s = subjects(t, a, &n);

    if (a->format == FMT_TSV)
        buf_adds(b, "# ");
    describe(e, t, a->n, b);
    if (a->format == FMT_TEXT) {
        text_lines(e, t, a->n, s, n, b);
        for (size_t i = 0; i < n && a->compare; i++) {
            if (i == 0 && e->nj > 1)
                buf_addc(b, '\n');
            text_pairs(e, t, a->n, &s[i], b);
        }
    } else {
        buf_adds(b,
            "task\tsource\tmodel\tscore\titems\tchance\tacc\tacc_se\t"
            "acc_norm\tacc_norm_se\tacc_bytes\tacc_bytes_se\tppl\tppl_"
            "se\tbits_byte\trecovery\trecovery_low\trecovery_high\n");
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < e->nj; k++) {
                struct task_figures f;

                figures_of(e, t, a->n, &s[i], k, &f);
                tsv_row(e, &s[i], k, &f, b);
            }
        if (a->compare)
            buf_adds(b,
                "\ntask\tsource\tmodel\tother\tscore\tdifference\tse\t"
                "z\n");
        for (size_t i = 0; i < n && a->compare; i++)
            tsv_pairs(e, t, a->n, &s[i], b);
    }
    free(s);
}

static void
item_rows(const struct eval *e, const struct task *t, size_t item, size_t model,
    struct buf *b)
{
    const struct task_item *it = &t->item[item];
    const struct said *s = t->said + model * t->nrequest + t->at[item];

    for (size_t i = 0; i < it->n; i++)
        buf_addf(b,
            "%s\t%s\t%zu\t%zu\t%s\t%zu\t%d\t%zu\t%.6f\t%d\t%.0f\t%.0f\n",
            SHOWN(t->name), SHOWN(t->group.v[it->group]), item, it->line,
            SHOWN(e->j[model].label), i, i == it->right, s[i].tokens, s[i].logp,
            s[i].greedy, it->chars[i], it->length[i]);
}

void
tasks_items(const struct eval *e, const struct task *t, size_t nt,
    struct buf *b)
{
    buf_adds(b,
        "task\tsource\titem\tline\tmodel\tchoice\tright\ttokens\tlogp\t"
        "greedy\tcharacters\tbytes\n");
    for (size_t i = 0; i < nt; i++)
        for (size_t k = 0; k < t[i].n; k++)
            for (size_t j = 0; j < e->nj; j++)
                item_rows(e, &t[i], k, j, b);
}
