/* Prompts of generate run; see prompts.h. */
#include "prompts.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "docs/lines.h"
#include "format/json.h"
#include "gen/mask.h"
#include "gen/prompt.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_UNKNOWN, LINES_JSON, LINES_PLAIN };

struct prompts {
    const struct prompts_from *from;
    struct prompt_reader reader;
    struct line_reader *in; /* NULL: no file */
    int kind;               /* of lines */
    size_t given;           /* prompts given */
    size_t total;
};

struct prompts *
prompts_open(const struct prompts_from *from)
{
    struct prompts *p = xcalloc(1, sizeof *p);
    struct err e;

    p->from = from;
    p->reader = (struct prompt_reader){ .tok = from->tok,
        .V = from->V,
        .field = from->field,
        .model = from->model,
        .template = from->template,
        .date = from->date };
    prompt_begin(&p->reader);
    p->total = from->operands > 0 ? from->operands : from->count;
    if (from->file == NULL)
        return p;
    if ((p->in = lines_open(from->file, &e)) == NULL)
        die_err(&e);
    p->total = lines_count(from->file, from->count);
    return p;
}

void
prompts_close(struct prompts *p)
{
    lines_close(p->in);
    prompt_release(&p->reader);
    free(p);
}

size_t
prompts_total(const struct prompts *p)
{
    return p->total;
}

void
prompt_free(struct prompt *q)
{
    json_decref(q->record);
    tok_ids_release(&q->ids);
    params_release(&q->params);
    free(q);
}

uint64_t
prompt_number(const struct prompt *q, size_t i)
{
    return q->number == 0 || i == 0 ? q->number + i : rng_key(q->number, i);
}

/* Check that the prompt and its new tokens fit into the model's positions. */
static int
check_positions(const struct prompts *p, const struct prompt *q, struct err *e)
{
    const size_t positions = p->from->positions, most = q->params.most;

    return positions > 0 && q->ids.n + most > positions
        ? err_set(e, EX_INPUT,
              "the prompt has %zu tokens, and with %zu more they exceed the "
              "model's %zu positions: shorten it, or ask for fewer by -n or "
              "max_tokens",
              q->ids.n, most, positions)
        : 0;
}

/* Read the prompt and the parameters of a line's object.  -1 and *e: EX_INPUT,
 * or EX_USAGE if the template calls strftime_now and --date is missing. */
static int
read_record(struct prompts *p, struct prompt *q, struct err *e)
{
    const json_t *index = json_object_get(q->record, "index");

    if (params_read(&q->params, q->record, p->from->V, e) < 0 ||
        (p->from->has_schema && mask_check_params(&q->params, e) < 0)) {
        e->code = EX_INPUT;
        return -1;
    }
    if (p->from->same_n && q->params.n != p->from->params.n)
        return err_set(e, EX_INPUT,
            "n: the line asks for %zu texts, and --best-of for %zu: remove the "
            "member, or leave the option out",
            q->params.n, p->from->params.n);
    if (json_is_integer(index) && json_integer_value(index) >= 0)
        q->number = (uint64_t)json_integer_value(index);
    else if (js_get(q->record, "seed") != NULL)
        q->number = 0;
    else if (index == NULL)
        json_object_set_new(q->record, "index",
            json_integer((json_int_t)q->number));
    if (prompt_record(&p->reader, q->record, &q->ids, e) < 0) {
        if (e->code == EX_USAGE && p->reader.chat == NULL)
            e->code = EX_INPUT; /* there is no template */
        return -1;
    }
    return check_positions(p, q, e);
}

/* Read a line of the file, line[n]. */
static int
read_prompt_line(struct prompts *p, struct prompt *q, const char *line,
    size_t n, struct err *e)
{
    struct buf text = { 0 };

    if (p->kind == LINES_UNKNOWN)
        p->kind = line[strspn(line, " \t\r")] == '{' ? LINES_JSON : LINES_PLAIN;
    if (p->kind == LINES_JSON) {
        if ((q->record = js_parse(line, n, e)) == NULL)
            return -1;
        if (!json_is_object(q->record))
            return err_set(e, EX_INPUT, "is no object");
    } else {
        uni_repair(line, n, &text);
        q->record = json_pack("{s:s%}", p->from->field, text.p, text.n);
        buf_release(&text);
    }
    return read_record(p, q, e);
}

static struct prompt *
new_prompt(const struct prompts *p)
{
    struct prompt *q = xcalloc(1, sizeof *q);

    params_copy(&q->params, &p->from->params);
    q->line = p->in != NULL ? lines_number(p->in) : 0;
    q->number = q->line - (q->line > 0);
    return q;
}

/* Read the next line of the file into *line, its n bytes.  0: there is none. */
static int
next_line(struct prompts *p, char **line, size_t *n)
{
    struct err e;
    const int k = lines_next(p->in, line, n, &e);

    if (k < 0)
        die_err(&e);
    if (k == 0 && p->given == 0)
        die(EX_INPUT, "%s: holds no prompts", lines_name(p->in));
    return k;
}

struct prompt *
prompts_next(struct prompts *p)
{
    const struct prompts_from *f = p->from;
    struct prompt *q;
    struct err e;
    char *line = NULL;
    size_t n = 0;
    int r;

    if (p->given == (f->operands > 0 ? f->operands : f->count) ||
        (p->in != NULL && next_line(p, &line, &n) == 0))
        return NULL;
    q = new_prompt(p);
    if (p->in != NULL) {
        if (read_prompt_line(p, q, line, n, &e) < 0)
            die(e.code, "%s: line %zu: %s", lines_name(p->in), q->line, e.msg);
    } else {
        const char *text = f->operands > 0 ? f->texts[p->given] : "";

        q->number = p->given;
        if (f->operands == 0)
            q->record = json_pack("{s:s, s:I}", "prompt", "", "index",
                (json_int_t)p->given);
        r = prompt_text(&p->reader, text, strlen(text), &q->ids, &e);
        if (r < 0 || check_positions(p, q, &e) < 0)
            die_err(&e);
    }
    p->given++;
    q->texts = q->params.n;
    return q;
}
