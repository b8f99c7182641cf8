/* Items of a file of JSON lines; see task_read.h. */
#include "task_read.h"
#include "task_fill.h"
#include "base/mem.h"
#include "cli/die.h"
#include "docs/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHOICES_MAX = 1000,
    LINE_MAX_BYTES = 4 << 20 /* longest line, bytes; its JSON tree may take 25
                              * times as many */
};

static double
characters(const char *s)
{
    double n = 0.0;

    for (; *s != '\0'; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static int
fill_lists(const struct form *f, const struct fill *fill, size_t n,
    const json_t *j, struct strings *out, struct err *e)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = fill_list(f, &fill[i], j, out, e);
    return r;
}

/* Set *right to the index of the right choice.  If there are labels, the answer
 * is a label; else it is an index from 0 or the text of a choice. */
static int
find_answer(const char *answer, const struct strings *choice,
    const struct strings *label, size_t *right, struct err *e)
{
    const struct strings *in = label->n > 0 ? label : choice;
    char *end;

    if (label->n == 0) {
        *right = (size_t)strtoul(answer, &end, 10);
        if (end > answer && *end == '\0' && *right < choice->n)
            return 0;
    }
    for (*right = 0; *right < in->n; ++*right)
        if (strcmp(in->v[*right], answer) == 0)
            return 0;
    return err_set(e, EX_INPUT, "the answer \"%.60s\" is none of %zu choices",
        answer, choice->n);
}

static int
fill_choices(const struct form *f, const json_t *j, struct task_item *it,
    struct strings *choice, struct err *e)
{
    struct strings label = { 0 };
    struct buf answer = { 0 };
    int r = fill_lists(f, f->choice, f->nchoice, j, choice, e);

    if (r == 0 && (choice->n < 2 || choice->n > CHOICES_MAX))
        r = err_set(e, EX_INPUT, "has %zu choices; it needs 2 to %d", choice->n,
            CHOICES_MAX);
    if (r == 0)
        r = fill_lists(f, f->label, f->nlabel, j, &label, e);
    if (r == 0 && label.n > 0 && label.n != choice->n)
        r = err_set(e, EX_INPUT, "has %zu labels for %zu choices", label.n,
            choice->n);
    if (r == 0 && (r = fill_text(f, &f->answer, j, &answer, e)) == 0)
        r = find_answer(answer.p, choice, &label, &it->right, e);
    strings_release(&label);
    buf_release(&answer);
    return r;
}

/* Texts from which an item's contexts and continuations are made. */
struct pieces {
    struct buf head;   /* description and context */
    struct buf target; /* delimiter and target */
    struct buf delimiter;
    struct strings choice; /* the choices, or the target of a cloze */
};

static int
pieces_fill(const struct form *f, const json_t *j, struct pieces *p,
    struct task_item *it, struct err *e)
{
    struct buf target = { 0 };
    int r = fill_text(f, &f->description, j, &p->head, e);

    if (r == 0)
        r = fill_text(f, &f->context, j, &p->head, e);
    if (r == 0)
        r = fill_text(f, &f->delimiter, j, &p->delimiter, e);
    if (r == 0)
        r = fill_text(f, &f->target, j, &target, e);
    if (r == 0 && f->kind == TASK_CLOZE)
        strings_add(&p->choice, target.p, target.n);
    else if (r == 0)
        r = fill_choices(f, j, it, &p->choice, e);
    if (r == 0) {
        buf_adds(&p->target, p->delimiter.p);
        buf_adds(&p->target, target.p);
    }
    buf_release(&target);
    return r;
}

static void
join_pieces(const struct form *f, const struct pieces *p, struct task_item *it)
{
    const size_t n = it->n = p->choice.n;

    it->context = xcalloc(n, sizeof(*it->context));
    it->next = xcalloc(n, sizeof(*it->next));
    it->chars = xcalloc(n, sizeof(*it->chars));
    it->length = xcalloc(n, sizeof(*it->length));
    for (size_t i = 0; i < n; i++) {
        const char *c = p->choice.v[i];

        it->chars[i] = characters(c);
        it->length[i] = (double)strlen(c);
        if (f->kind == TASK_CONTEXTS) {
            it->context[i] = xasprintf("%s%s", p->head.p, c);
            it->next[i] = xstrdup(p->target.p);
        } else {
            it->context[i] = i == 0 ? xstrdup(p->head.p) : it->context[0];
            it->next[i] = xasprintf("%s%s", p->delimiter.p, c);
        }
    }
}

static size_t
group_of(struct task *t, const char *name)
{
    for (size_t i = t->group.n; i-- > 0;)
        if (strcmp(t->group.v[i], name) == 0)
            return i;
    strings_add(&t->group, name, strlen(name));
    return t->group.n - 1;
}

static int
take_item(struct task *t, const json_t *j, size_t line, struct err *e)
{
    struct task_item it = { .line = line };
    struct pieces p = { 0 };
    struct buf by = { 0 };
    int r = json_is_object(j) ? 0 : err_set(e, EX_INPUT, "is no object");

    if (r == 0)
        r = pieces_fill(&t->form, j, &p, &it, e);
    if (r == 0)
        r = fill_text(&t->form, &t->form.by, j, &by, e);
    if (r == 0) {
        join_pieces(&t->form, &p, &it);
        it.group = group_of(t, by.p);
        t->item = xgrow_pow2(t->item, t->n, sizeof(*t->item));
        t->at = xgrow_pow2(t->at, t->n, sizeof(*t->at));
        t->at[t->n] = t->nrequest;
        t->item[t->n++] = it;
        t->nrequest += it.n;
    }
    buf_release(&p.head);
    buf_release(&p.target);
    buf_release(&p.delimiter);
    buf_release(&by);
    strings_release(&p.choice);
    return r;
}

/* Add the item of a line.  -1 and *e: it is bad. */
static int
read_item(struct task *t, const char *text, size_t n, size_t line,
    struct err *e)
{
    json_t *j = NULL;
    int r = -1;

    if (n > LINE_MAX_BYTES)
        err_set(e, EX_INPUT,
            "an item of %zu bytes; it may have %d: leave out fields that the "
            "form does not name",
            n, LINE_MAX_BYTES);
    else if ((j = js_parse(text, n, e)) != NULL)
        r = take_item(t, j, line, e);
    json_decref(j);
    return r == 0 ? 0 : err_prefix(e, "%s: line %zu", t->path, line);
}

static int
read_items(struct task *t, struct err *e)
{
    struct line_reader *l = lines_open(t->path, e);
    char *line;
    size_t n;
    int k = l != NULL ? 1 : -1;

    while (k > 0 && (k = lines_next(l, &line, &n, e)) > 0)
        if (read_item(t, line, n, lines_number(l), e) < 0)
            k = -1;
    lines_close(l);
    if (k == 0 && t->n == 0)
        k = err_set(e, EX_INPUT, "%s: holds no items", t->path);
    return k;
}

void
task_open(struct task *t, const char *spec)
{
    const char *eq = strchr(spec, '=');
    char *form;
    struct err e;

    memset(t, 0, sizeof(*t));
    if (eq == NULL || eq == spec || eq[1] == '\0')
        die(EX_USAGE,
            "--task %s is no form=file: give a form, an equals sign and a file",
            spec);
    form = xasprintf("%.*s", (int)(eq - spec), spec);
    t->path = xstrdup(eq + 1);
    if (form_read(&t->form, form, &e) < 0 || read_items(t, &e) < 0)
        die_err(&e);
    t->name = xstrdup(t->form.name);
    free(form);
}

void
task_close(struct task *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct task_item *it = &t->item[i];

        for (size_t k = 0; k < it->n; k++) {
            if (k == 0 || it->context[k] != it->context[0])
                free(it->context[k]);
            free(it->next[k]);
        }
        free(it->context);
        free(it->next);
        free(it->chars);
        free(it->length);
    }
    form_release(&t->form);
    strings_release(&t->group);
    free(t->item);
    free(t->at);
    free(t->score);
    free(t->name);
    free(t->path);
    memset(t, 0, sizeof(*t));
}
