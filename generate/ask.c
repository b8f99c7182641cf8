/* Questions that a model writes; see ask.h. */
#include "ask.h"
#include "sift.h"
#include "wording.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "docs/lines.h"
#include "format/json.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* After TRIED draws the run ends as soon as fewer than one draw in ONE_OF was
 * kept. */
enum { TRIED = 64, ONE_OF = 50 };

struct ask {
    const struct ask_from *from;
    struct asker asker;
    struct many_draws draws;
    struct sift *sift;
    struct line_reader *lines; /* of `harder`, or NULL */
    size_t read;               /* lines of `harder` that were read */
    uint64_t next;             /* index of the next draw */
    uint64_t drawn;            /* index behind that of the last draw judged */
    size_t kept;               /* questions written, by all runs */
    size_t count[SIFT_WHYS];   /* draws of this run */
};

static int
makes_harder(const struct ask *a)
{
    return a->from->harder != NULL;
}

struct ask *
ask_open(const struct ask_from *from)
{
    struct ask *a = xcalloc(1, sizeof *a);
    struct err e;

    a->from = from;
    asker_open(&a->asker, from);
    a->sift = sift_new(a->asker.chat, from->date, from->tok);
    sift_add_mark(a->sift, WORDING_OPEN);
    if (makes_harder(a))
        sift_add_mark(a->sift, WORDING_NEW);
    if (makes_harder(a) && (a->lines = lines_open(from->harder, &e)) == NULL)
        die_err(&e);
    return a;
}

void
ask_close(struct ask *a)
{
    asker_release(&a->asker);
    sift_free(a->sift);
    lines_close(a->lines);
    free(a);
}

/* ---- a draw ---- */

/* Read the next line of `harder`.  NULL: there is none, or `count` of them were
 * read. */
static json_t *
next_question(struct ask *a)
{
    json_t *record;
    struct err e;
    char *line;
    size_t n;
    int r;

    if (a->read == a->from->count)
        return NULL;
    if ((r = lines_next(a->lines, &line, &n, &e)) < 0)
        die_err(&e);
    if (r == 0 && a->read == 0)
        die(EX_INPUT, "%s: holds no questions", lines_name(a->lines));
    if (r == 0)
        return NULL;
    a->read++;
    if ((record = js_parse(line, n, &e)) == NULL)
        die(e.code, "%s: line %zu: %s", lines_name(a->lines),
            lines_number(a->lines), e.msg);
    return record;
}

/* The prompt of draw `index`.  record: the line of `harder` that was read last,
 * or NULL.  Dies if the line is bad. */
static struct prompt *
draw_prompt(const struct ask *a, uint64_t index, json_t *record)
{
    struct err e;
    struct prompt *q = asker_prompt(&a->asker, index, record, &e);

    if (q == NULL && record != NULL)
        die(e.code, "%s: line %zu: %s", lines_name(a->lines),
            lines_number(a->lines), e.msg);
    if (q == NULL)
        die_err(&e);
    return q;
}

/* The next prompt; see many.h. */
static struct prompt *
next_draw(void *ctx)
{
    struct ask *a = ctx;
    struct prompt *q;
    json_t *record = NULL;

    if (makes_harder(a)) {
        if ((record = next_question(a)) == NULL)
            return NULL;
        a->next = lines_number(a->lines) - 1;
    } else if (a->kept >= a->from->count) {
        return NULL;
    }
    q = draw_prompt(a, a->next++, record);
    json_decref(record);
    return q;
}

/* ---- a text ---- */

/* The text of a draw with U+FFFD for damaged bytes, without white space at its
 * ends. */
static void
trimmed_text(const struct written *t, struct buf *text)
{
    struct buf all = { 0 };
    size_t from = 0;

    uni_repair(t->bytes.p != NULL ? t->bytes.p : "", t->bytes.n, &all);
    while (all.n > 0 && strchr(" \t\r\n", all.p[all.n - 1]) != NULL)
        all.n--;
    while (from < all.n && strchr(" \t\r\n", all.p[from]) != NULL)
        from++;
    if (all.n > from)
        buf_add(text, all.p + from, all.n - from);
    else
        buf_adds(text, "");
    buf_release(&all);
}

/* Is the text a copy of an example, or of the question of `harder`? */
static int
is_copy(const struct ask *a, const struct written *t, const char *text)
{
    struct err e;
    char *was, *is;
    int same;

    if (a->asker.like != NULL)
        return examples_have(a->asker.like, text);
    if (!makes_harder(a))
        return 0;
    was = question_plain(question_text(t->prompt->record, &e));
    is = question_plain(text);
    same = strcmp(was, is) == 0;
    free(was);
    free(is);
    return same;
}

/* The member `asked` of the line: how its question was made. */
static json_t *
asked_by(const struct ask *a, const struct prompt *q)
{
    const json_t *adapter = js_get(a->from->made, "adapter");
    json_t *asked = json_object();
    struct err e;

    json_object_set(asked, "model", json_object_get(a->from->made, "model"));
    if (adapter != NULL)
        json_object_set(asked, "adapter", (json_t *)(uintptr_t)adapter);
    json_object_set_new(asked, "temperature",
        json_real(a->from->params.how.temperature));
    json_object_set_new(asked, "seed",
        json_integer((json_int_t)a->from->params.seed));
    json_object_set_new(asked, "index", json_integer((json_int_t)q->number));
    if (makes_harder(a)) {
        json_object_set_new(asked, "way",
            json_string(wording_way(asker_way(&a->asker, q->number))));
        json_object_set_new(asked, "from",
            json_string(question_text(q->record, &e)));
    }
    return asked;
}

static void
add_question_line(const struct ask *a, const struct prompt *q,
    const struct buf *text, struct buf *line)
{
    const json_t *form = makes_harder(a) ? q->record
        : a->asker.like != NULL          ? examples_form(a->asker.like)
                                         : NULL;
    json_t *j = question_record(form, a->asker.system, text->p, text->n);
    char *s;

    json_object_set_new(j, "asked", asked_by(a, q));
    s = js_dumps(j, 0);
    buf_adds(line, s);
    free(s);
    json_decref(j);
}

/* "1 empty, 3 copies": what this run has dropped. */
static void
dropped(const struct ask *a, struct buf *b)
{
    buf_adds(b, "");
    for (size_t i = SIFT_KEEP + 1; i < SIFT_WHYS; i++)
        if (a->count[i] > 0)
            buf_addf(b, "%s%zu %s", b->n > 0 ? ", " : "", a->count[i],
                sift_name((enum sift_why)i));
    if (b->n == 0)
        buf_adds(b, "none");
}

static void
check_share(const struct ask *a)
{
    struct buf b = { 0 };

    if (a->drawn < TRIED || a->kept * ONE_OF >= a->drawn)
        return;
    dropped(a, &b);
    die(EX_INPUT,
        "only %zu of %llu texts are questions (dropped: %s): give other words "
        "by --system, examples by --like, a larger -n, or another model",
        a->kept, (unsigned long long)a->drawn, b.p);
}

/* See many.h: a text that begins as an answer is not waited for. */
static int
draw_is_hopeless(void *ctx, const struct written *t)
{
    (void)ctx;
    return sift_answers(t->bytes.p, t->bytes.n);
}

/* Judge a text; see many.h. */
static int
judge_draw(void *ctx, const struct written *t, struct buf *line)
{
    struct ask *a = ctx;
    struct buf text = { 0 };
    enum sift_why why;

    trimmed_text(t, &text);
    why = sift_text(a->sift, text.p, text.n,
        t->end == GEN_EOS || t->end == GEN_STOP);
    if (why == SIFT_KEEP && is_copy(a, t, text.p))
        why = SIFT_COPY;
    if (why == SIFT_KEEP)
        add_question_line(a, t->prompt, &text, line);
    else
        vnote("text %llu is %s: %.200s", (unsigned long long)t->prompt->number,
            sift_name(why), text.p);
    buf_release(&text);
    if (!t->proof) {
        a->count[why]++;
        a->kept += why == SIFT_KEEP;
        a->drawn = t->prompt->number + 1;
        check_share(a);
    }
    return makes_harder(a) || a->kept < a->from->count;
}

/* ---- the output ---- */

const struct many_draws *
ask_draws(const struct ask *a)
{
    return &a->draws;
}

static void
refuse_line(const struct ask *a, const char *file)
{
    die(EX_USAGE,
        "%s: line %zu: is no question that this run would write there: repeat "
        "the options of the first run, or give another file",
        file, a->kept + 1);
}

/* Read the lines of --harder up to line `index`, counted from 0, and return the
 * record of that line.  A line of the output says that it was made from this
 * record, whose question was `was`; dies if the record has another question. */
static json_t *
find_question(struct ask *a, uint64_t index, const char *was, const char *file)
{
    json_t *record = NULL;
    const char *text = NULL;
    struct err e;

    do {
        json_decref(record);
        if ((record = next_question(a)) == NULL)
            refuse_line(a, file);
    } while (lines_number(a->lines) - 1 < index);
    text = question_text(record, &e);
    if (lines_number(a->lines) - 1 != index || text == NULL ||
        strcmp(text, was) != 0)
        refuse_line(a, file);
    return record;
}

/* Count a line that the output has.  With `harder`, *record becomes the record
 * that the line was made from. */
static void
count_line(struct ask *a, const char *file, const char *line, json_t **record)
{
    json_t *j = json_loads(line, 0, NULL);
    const json_t *asked = json_object_get(j, "asked");
    const json_t *seed = json_object_get(asked, "seed");
    const json_t *at = json_object_get(asked, "index");
    const json_int_t index = json_integer_value(at);

    if (!json_is_integer(seed) || !json_is_integer(at) ||
        json_integer_value(seed) != (json_int_t)a->from->params.seed ||
        index < 0 || (uint64_t)index < a->drawn ||
        (!makes_harder(a) && a->kept == a->from->count))
        refuse_line(a, file);
    json_decref(*record);
    *record = makes_harder(a)
        ? find_question(a, (uint64_t)index, js_text_of(asked, "from"), file)
        : NULL;
    a->kept++;
    a->drawn = a->next = (uint64_t)index + 1;
    json_decref(j);
}

struct written *
ask_resume(struct ask *a, struct output *o, const char *file)
{
    struct written *again = NULL;
    json_t *record = NULL;
    const char *line;

    while ((line = output_next(o)) != NULL)
        count_line(a, file, line, &record);
    if (output_unproven(o) != NULL)
        again = written_new(draw_prompt(a, a->drawn - 1, record), 0);
    json_decref(record);
    a->draws = (struct many_draws){ .total = makes_harder(a)
            ? lines_count(a->from->harder, a->from->count)
            : a->from->count,
        .had = a->kept,
        .ctx = a,
        .next = next_draw,
        .hopeless = draw_is_hopeless,
        .judge = judge_draw };
    return again;
}

void
ask_report(const struct ask *a)
{
    struct buf b = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < SIFT_WHYS; i++)
        n += a->count[i];
    dropped(a, &b);
    if (n > 0 && a->kept == 0)
        die(EX_INPUT, "none of %zu texts is a question (dropped: %s)", n, b.p);
    note("%zu of %zu texts are questions (dropped: %s)", a->count[SIFT_KEEP], n,
        b.p);
    buf_release(&b);
}
