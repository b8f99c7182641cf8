/* Prompts; see prompts.h. */
#include "prompts.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "docs/lines.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

/* Encode the record's completion and EOS as its answer, if it has one. */
static int
read_answer(struct prompt *q, const struct prompt_reader *reader, struct err *e)
{
    const char *text;
    const int r = js_str(q->record, "completion", &text, e);

    if (r <= 0)
        return r;
    tok_encode(reader->tok, reader->scratch, text, strlen(text), TOK_SPECIAL,
        &q->answer);
    if (tok_eos(reader->tok) >= 0)
        tok_ids_push(&q->answer, (uint32_t)tok_eos(reader->tok));
    if (q->answer.n == 0)
        return err_set(e, EX_INPUT, "the completion has no tokens");
    return tok_fits(&q->answer, reader->V, e) < 0
        ? err_prefix(e, "the completion")
        : 0;
}

static int
read_prompt(struct prompt *q, const char *line, size_t n,
    struct prompt_reader *reader, struct err *e)
{
    if ((q->record = js_parse(line, n, e)) == NULL)
        return -1;
    if (!json_is_object(q->record))
        return err_set(e, EX_INPUT,
            "is no object: give lines such as {\"prompt\": \"...\"}");
    if (prompt_record(reader, q->record, &q->ids, e) < 0)
        return -1;
    return read_answer(q, reader, e);
}

/* Add the prompt of a line. */
static void
add_prompt(struct prompts *p, const char *line, size_t n, size_t number,
    struct prompt_reader *reader)
{
    struct prompt *q;
    struct err e;

    p->p = xgrow_pow2(p->p, p->n, sizeof *p->p);
    q = &p->p[p->n++];
    memset(q, 0, sizeof *q);
    if (read_prompt(q, line, n, reader, &e) < 0)
        die(e.code, "%s: line %zu: %s", p->file, number, e.msg);
    p->longest = q->ids.n > p->longest ? q->ids.n : p->longest;
    p->answer = q->answer.n > p->answer ? q->answer.n : p->answer;
    p->answers += q->answer.n > 0;
}

void
prompts_read(struct prompts *p, const char *file, struct prompt_reader *reader)
{
    struct line_reader *l;
    struct err e;
    char *line;
    size_t n;
    int k;

    *p = (struct prompts){ .file = file };
    if ((l = lines_open(file, &e)) == NULL)
        die_err(&e);
    while ((k = lines_next(l, &line, &n, &e)) > 0)
        add_prompt(p, line, n, lines_number(l), reader);
    if (k < 0)
        die_err(&e);
    lines_close(l);
    if (p->n == 0)
        die(EX_INPUT, "%s: holds no prompts", file);
}

void
prompts_free(struct prompts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        json_decref(p->p[i].record);
        tok_ids_release(&p->p[i].ids);
        tok_ids_release(&p->p[i].answer);
    }
    free(p->p);
}

const struct prompt *
prompts_pick(const struct prompts *p, uint64_t seed, uint64_t i)
{
    return &p->p[rng_perm(rng_key(seed, i / p->n), p->n, i % p->n)];
}
