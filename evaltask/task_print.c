/* The report of tasks; see task_print.h. */
#include "task_print.h"
#include "task_prompts.h"
#include "task_stat.h"
#include "base/mem.h"
#include "base/text.h"
#include "eval/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line of the report is about a task, a group of its items, the best or the
 * median of the `prompts` tasks from `task` on or, if task is NULL, the mean
 * over all tasks. */
struct subject {
    const struct task *task;
    size_t group; /* index in task.group; NONE: all items */
    enum { ALL, BEST, MEDIAN } of;
    size_t prompts;
    char *name; /* of the task that has the prompts; else NULL */
};

static void
figures_of(const struct eval *e, const struct task *t, size_t nt,
    const struct subject *s, size_t model, struct task_figures *f)
{
    if (s->of == BEST)
        prompts_best(e, s->task, s->prompts, model, f);
    else if (s->of == MEDIAN)
        prompts_median(e, s->task, s->prompts, model, f);
    else if (s->task != NULL)
        task_figures(e, s->task, s->group, model, f);
    else
        task_means(e, t, nt, model, f);
}

static struct estimate
subject_difference(const struct task *t, size_t nt, const struct subject *s,
    size_t a, size_t b)
{
    return s->task != NULL ? task_difference(s->task, 1, s->group, a, b)
                           : task_difference(t, nt, NONE, a, b);
}

static const char *
task_name(const struct subject *s)
{
    if (s->name != NULL)
        return s->name;
    return s->task != NULL ? s->task->name : "(mean)";
}

static const char *
group_name(const struct subject *s)
{
    static const char *const of[] = { "(all)", "(best)", "(median)" };

    return s->group != NONE ? s->task->group.v[s->group] : of[s->of];
}

static void
add_subject(struct subject **s, size_t *n, struct subject one)
{
    *s = xgrow_pow2(*s, *n, sizeof(**s));
    (*s)[(*n)++] = one;
}

/* List the lines of the report, *n of them; free_subjects frees the list.  Each
 * task has a line.  With --per-source a task of several sources has a line for
 * each source below its own.  A group of tasks that are prompts of one ends
 * with the lines "best" and "median".  If there are several tasks, the last
 * line is their mean. */
static struct subject *
subjects(const struct task *t, const struct task_args *a, size_t *n)
{
    struct subject *s = NULL;
    size_t first = 0; /* of the prompts of one task */

    *n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const size_t groups =
            a->per_source && t[i].group.n > 1 ? t[i].group.n : 0;
        const size_t prompts = prompts_of(&t[first], a->n - first);

        add_subject(&s, n, (struct subject){ .task = &t[i], .group = NONE });
        for (size_t g = 0; g < groups; g++)
            add_subject(&s, n, (struct subject){ .task = &t[i], .group = g });
        if (i + 1 < first + prompts)
            continue;
        for (int of = BEST; prompts > 1 && of <= MEDIAN; of++)
            add_subject(&s, n,
                (struct subject){ &t[first], NONE, of, prompts,
                    prompts_name(&t[first]) });
        first = i + 1;
    }
    if (a->n > 1)
        add_subject(&s, n, (struct subject){ .group = NONE });
    return s;
}

static void
free_subjects(struct subject *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(s[i].name);
    free(s);
}

static const char *
score_of(const struct subject *s)
{
    return s->task != NULL ? score_name[s->task->form.score] : "-";
}

/* ---- TSV and JSON ---- */

static void
list_score(const struct eval *e, const struct subject *of, size_t model,
    const struct task_figures *f, struct sheet *s)
{
    sheet_row(s, TEXT(task_name(of)), TEXT(group_name(of)),
        TEXT(e->j[model].label), TEXT(score_of(of)), COUNT(f->n),
        NUMBER("%.6f", f->chance));
    for (int i = SCORE_ACC; i <= SCORE_BYTES; i++)
        sheet_row(s, ESTIMATE("%.6f", f->acc[i]));
    sheet_row(s, ESTIMATE("%.6f", f->ppl), NUMBER("%.6f", f->bits),
        NUMBER("%.3f", f->recovery), NUMBER("%.3f", f->low),
        NUMBER("%.3f", f->high));
}

static void
list_score_pairs(const struct eval *e, const struct task *t, size_t nt,
    const struct subject *of, struct sheet *s)
{
    for (size_t i = 0; of->of == ALL && i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++) {
            const struct estimate m = subject_difference(t, nt, of, i, k);

            sheet_row(s, TEXT(task_name(of)), TEXT(group_name(of)),
                TEXT(e->j[i].label), TEXT(e->j[k].label), TEXT(score_of(of)),
                ESTIMATE("%.6f", m), NUMBER("%.3f", m.v / m.se));
        }
}

static void
list_scores(const struct eval *e, const struct task *t,
    const struct task_args *a, const struct subject *of, size_t n,
    struct sheet *s)
{
    static const char *const scores[] = { "task", "source", "model", "score",
        "items", "chance", "acc", "acc_se", "acc_norm", "acc_norm_se",
        "acc_bytes", "acc_bytes_se", "ppl", "ppl_se", "bits_byte", "recovery",
        "recovery_low", "recovery_high", NULL };
    static const char *const differences[] = { "task", "source", "model",
        "other", "score", "difference", "se", "z", NULL };

    sheet_list(s, "scores", scores);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < e->nj; k++) {
            struct task_figures f;

            figures_of(e, t, a->n, &of[i], k, &f);
            list_score(e, &of[i], k, &f, s);
        }
    if (!a->compare)
        return;
    sheet_list(s, "differences", differences);
    for (size_t i = 0; i < n; i++)
        list_score_pairs(e, t, a->n, &of[i], s);
}

/* ---- text ---- */

/* Does a table for people name the subject by its group, below its task? */
static int
is_inner(const struct subject *s)
{
    return s->group != NONE || s->of != ALL;
}

/* Width of the first column. */
static int
name_width(const struct subject *s, size_t n)
{
    size_t most = 4;

    for (size_t i = 0; i < n; i++) {
        const int inner = is_inner(&s[i]);
        const char *name = inner ? group_name(&s[i]) : task_name(&s[i]);
        const size_t k = strlen(SHOWN(name)) + (inner ? 2 : 0);

        most = k > most ? k : most;
    }
    return most > 30 ? 30 : (int)most;
}

static void
text_score(const struct eval *e, const struct task_figures *f, struct buf *b)
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
    for (size_t i = 0; s->of == ALL && i < e->nj; i++)
        for (size_t k = i + 1; k < e->nj; k++) {
            const struct estimate m = subject_difference(t, nt, s, i, k);

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
            if (is_inner(&s[i]))
                buf_addf(b, "  %-*s", w[0] - 2, SHOWN(group_name(&s[i])));
            else
                buf_addf(b, "%-*s", w[0], SHOWN(task_name(&s[i])));
            buf_addf(b, " %-*s", w[1], SHOWN(e->j[k].label));
            text_score(e, &f, b);
            buf_addc(b, '\n');
        }
}

/* Append a line: how tasks are scored, and how recovery is computed. */
static void
describe_scores(const struct eval *e, const struct task *t, size_t nt,
    struct buf *b)
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
    struct sheet sheet;
    size_t n;
    struct subject *s = subjects(t, a, &n);

    sheet_open(&sheet, b, a->format);
    if (a->format == FMT_TSV)
        buf_adds(b, "# ");
    if (a->format != FMT_JSON)
        describe_scores(e, t, a->n, b);
    if (a->format != FMT_TEXT)
        list_scores(e, t, a, s, n, &sheet);
    else
        text_lines(e, t, a->n, s, n, b);
    for (size_t i = 0; a->format == FMT_TEXT && a->compare && i < n; i++) {
        if (i == 0 && e->nj > 1)
            buf_addc(b, '\n');
        text_pairs(e, t, a->n, &s[i], b);
    }
    sheet_close(&sheet);
    free_subjects(s, n);
}

/* ---- the table of all items ---- */

static void
list_item(const struct eval *e, const struct task *t, size_t item, size_t model,
    struct sheet *s)
{
    const struct task_item *it = &t->item[item];
    const struct request_score *r =
        t->score + model * t->nrequest + t->at[item];

    for (size_t i = 0; i < it->n; i++)
        sheet_row(s, TEXT(t->name), TEXT(t->group.v[it->group]), COUNT(item),
            COUNT(it->line), TEXT(e->j[model].label), COUNT(i),
            COUNT(i == it->right), COUNT(r[i].tokens),
            NUMBER("%.6f", r[i].logp), COUNT((size_t)r[i].greedy),
            NUMBER("%.0f", it->chars[i]), NUMBER("%.0f", it->length[i]));
}

void
tasks_items(const struct eval *e, const struct task *t, size_t nt,
    struct buf *b)
{
    static const char *const column[] = { "task", "source", "item", "line",
        "model", "choice", "right", "tokens", "logp", "greedy", "characters",
        "bytes", NULL };
    struct sheet s;

    sheet_open(&s, b, FMT_TSV);
    sheet_list(&s, "items", column);
    for (size_t i = 0; i < nt; i++)
        for (size_t k = 0; k < t[i].n; k++)
            for (size_t j = 0; j < e->nj; j++)
                list_item(e, &t[i], k, j, &s);
}
