/* The text behind the tokens of a file for --read-base; see base_text.h. */
#include "base_text.h"
#include "base_file.h"
#include "vocab.h"
#include "base/mem.h"
#include "cli/die.h"
#include "tok/tok.h"

#include <stdlib.h>

/* Decode the ids v[n], and encode the texts between special tokens again.
 * Returns the number of new tokens without an equal token in v, whatever its
 * place, plus the number of ids that cannot be decoded. */
static size_t
count_others(const struct eval *e, const struct tokenizer *t, const uint32_t *v,
    size_t n)
{
    struct tok_scratch *s = tok_scratch_new(t);
    size_t *uses = xcalloc(e->kld.in->V, sizeof *uses), others = 0, end;
    struct tok_ids again = { 0 };
    struct buf text = { 0 };
    struct err err;

    for (size_t i = 0; i < n; i++)
        uses[v[i]] += !tok_is_special(t, v[i]);
    for (size_t at = 0; at < n; at = end + 1) {
        for (end = at; end < n && !tok_is_special(t, v[end]);)
            end++;
        buf_clear(&text);
        if (tok_decode(t, v + at, end - at, 0, &text, &err) < 0)
            others += end - at;
        else if (text.n > 0)
            tok_encode(t, s, text.p, text.n, 0, &again);
    }
    for (size_t i = 0; i < again.n; i++)
        if (again.v[i] < e->kld.in->V && uses[again.v[i]] > 0)
            uses[again.v[i]]--;
        else
            others++;
    tok_scratch_free(s);
    tok_ids_release(&again);
    buf_release(&text);
    free(uses);
    return others;
}

/* Decode the file's tokens and encode them again by model j's tokenizer.  Dies
 * if more than about 1 in 200 tokens differ; a few differ where the text was
 * cut.  The file has no hash of its tokenizer that could be compared. */
static void
check_retokenized(const struct eval *e, const struct eval_model *j)
{
    const size_t n = e->kld.in->windows * e->kld.in->c;
    struct err err;
    struct tokenizer *t = tok_open(j->path, &err);
    size_t others;

    if (t == NULL)
        return;
    others = count_others(e, t, e->kld.in->tokens, n);
    if (others > n / 200 + 4)
        die(EX_INPUT,
            "%s: was made with another tokenizer than that of %s, which makes "
            "%zu other tokens of its text of %zu: judge a model of the same "
            "tokenizer",
            e->kld.in->path, j->path, others, n);
    tok_free(t);
}

void
base_text(struct eval *e)
{
    const size_t model = e->base == 0 ? 1 : 0;
    struct err err;
    struct tokenizer *t = tok_open(e->j[model].path, &err);

    if (t == NULL)
        die(EX_INPUT,
            "%s; without a tokenizer it is not known whether windows begin "
            "with BOS",
            err.msg);
    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded)
            check_retokenized(e, &e->j[i]);
    e->info.bos = tok_template_bos(t);
    e->info.nsource = 1;
    e->info.source = xmalloc(sizeof(*e->info.source));
    e->info.source[0] = "text";
    e->vocab = vocab_new(t, e->kld.in->V);
    tok_free(t);
}
