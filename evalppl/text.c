/* Scoring texts by rolling windows; see text.h. */
#include "text.h"
#include "read.h"
#include "vocab.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "docs/lines.h"
#include "eval/lmeval.h"
#include "text/unicode.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

/* len(re.split(r"\s+", text)), in Python */
static size_t
count_words(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    size_t words = 1, len;
    int space = 0;

    for (; p < end; p += len) {
        const int now = uni_python_space(utf8_next(p, end, &len));

        words += now && !space;
        space = now;
    }
    return words;
}

/* Cut a text into windows; seq [n]: the prefix token, then the text's tokens.
 * Each window is a token and the c tokens after it, which it predicts; the next
 * window begins with its last token.  If fewer than c tokens are left, the last
 * window begins earlier, so that it is as long as other windows. */
static void
roll_windows(struct reader *r, const uint32_t *seq, size_t n, size_t unit)
{
    const size_t c = r->e->c;

    for (size_t done = 1; done < n;) {
        const size_t end = n - done < c ? n : done + c;
        const size_t at = done == 1 ? 0 : end - c - 1;

        reader_window(r,
            &(struct window){ seq + at, end - at, done - at, NULL, unit, at,
                1.0 });
        done = end;
    }
}

static void
score_text(struct reader *r, struct lmeval *s, const char *text, size_t n,
    size_t number)
{
    struct eval *e = r->e;
    const size_t unit = units_add(&e->units, 0, number);
    struct tok_ids ids = { 0 };
    struct err err;

    tok_ids_push(&ids, (uint32_t)tok_prefix(s->tok));
    lmeval_encode(s, text, n, &ids);
    if (tok_fits(&ids, s->V, &err) < 0)
        die(EX_INPUT, "%s: text %zu: %s", e->input, number, err.msg);
    e->units.unit[unit].bytes = n;
    e->units.unit[unit].words = count_words(text, n);
    roll_windows(r, ids.v, ids.n, unit);
    e->ntokens = r->tokens += ids.n - 1;
    tok_ids_release(&ids);
}

/* The texts of an input, concatenated in `bytes`, a NUL after each. */
struct texts {
    struct buf bytes;
    struct one_text {
        size_t at, n;  /* in bytes */
        size_t number; /* of the line, from 0 */
    } * v;
    size_t n;
};

/* Add the text of a line; dies unless it is an object with a text. */
static void
add_text(struct texts *t, const struct line_reader *l, const char *line,
    size_t n)
{
    struct err err;
    json_t *j = js_parse(line, n, &err);
    const json_t *text = json_object_get(j, "text");

    if (j == NULL)
        die(err.code, "%s: line %zu: %s", lines_name(l), lines_number(l),
            err.msg);
    if (!json_is_string(text))
        die(EX_INPUT, "%s: line %zu: no text in a field \"text\"",
            lines_name(l), lines_number(l));
    t->v = xgrow_pow2(t->v, t->n, sizeof *t->v);
    t->v[t->n++] = (struct one_text){ t->bytes.n, json_string_length(text),
        lines_number(l) - 1 };
    buf_add(&t->bytes, json_string_value(text), json_string_length(text) + 1);
    json_decref(j);
}

static void
read_texts(struct texts *t, const char *path)
{
    struct err err;
    struct line_reader *l = lines_open(path, &err);
    char *line;
    size_t n;
    int k = l != NULL ? 1 : -1;

    while (k > 0 && (k = lines_next(l, &line, &n, &err)) > 0)
        add_text(t, l, line, n);
    if (k < 0)
        die_err(&err);
    lines_close(l);
}

static void
open_text(struct eval *e, struct lmeval *s)
{
    static char hash[33];
    struct err err;

    if (lmeval_open(s, &e->j[0], eval_fewest_ids(e), &err) < 0)
        die_err(&err);
    if (tok_prefix(s->tok) < 0)
        die(EX_INPUT, "%s: has neither BOS nor EOS, which lm-eval needs",
            e->j[0].path);
    tok_hash(s->tok, hash);
    e->info = (struct stream_info){ .tokenizer = hash,
        .vocab = tok_vocab(s->tok),
        .bos = tok_prefix(s->tok),
        .eos = -1,
        .nsource = 1,
        .source = xreallocarray(NULL, 1, sizeof(*e->info.source)) };
    e->info.source[0] = e->input;
    for (size_t i = 0; i < e->nj; i++)
        reader_tokenizer(e, &e->j[i]);
}

/* Score all texts by the models of one tokenizer. */
static void
score_texts(struct eval *e, const struct texts *t)
{
    struct reader r = { .e = e };
    struct lmeval s;

    open_text(e, &s);
    reader_start(&r, e->c);
    progress_begin("scoring", (double)t->bytes.n, "bytes");
    for (size_t i = 0; i < t->n; i++) {
        const struct one_text *x = &t->v[i];

        score_text(&r, &s, t->bytes.p + x->at, x->n, x->number);
        progress_at((double)(x->at + x->n), NULL);
    }
    reader_finish(&r);
    lmeval_close(&s);
}

void
eval_text(struct eval *e, const char *path)
{
    struct texts t = { 0 };

    read_texts(&t, path);
    for (; e != NULL; e = e->also) {
        e->input = io_in_name(path);
        score_texts(e, &t);
    }
    buf_release(&t.bytes);
    free(t.v);
}
