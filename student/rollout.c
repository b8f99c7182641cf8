/* Training on texts that the student writes; see rollout.h. */
#include "rollout.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "dist/dist.h"
#include "gen/date.h"

#include <stdlib.h>
#include <string.h>

void
rollout_check(const struct student *s, struct rollout_args *r)
{
    const struct args *a = s->a;
    struct err e;

    if (a->stages > 0 || a->level > 2)
        die(EX_USAGE,
            "texts are written with the whole model on each rank: leave out "
            "--stages, and take a --shard-level of at most 2");
    if (a->steps == 0)
        die(EX_USAGE, "prompts never end: give the number of steps by --steps");
    if (r->date != NULL && date_parse(r->date, &r->day, &e) < 0)
        die_err(&e);
}

/* ---- opening ---- */

static void
open_rollout_tokenizer(struct rollout *r, struct student *s)
{
    const char *path = s->a->tokenizer != NULL ? s->a->tokenizer : s->a->model;
    struct config *c = &s->t.m.c;
    struct err e;

    if ((r->tok = tok_open(path, &e)) == NULL ||
        tok_fit(r->tok, path, c->V, NULL, &e) < 0)
        die_err(&e);
    /* a new model takes the tokenizer's EOS */
    if (c->neos == 0 && tok_eos(r->tok) >= 0)
        c->eos[c->neos++] = tok_eos(r->tok);
    if (c->bos < 0)
        c->bos = tok_bos(r->tok);
    r->reader = (struct prompt_reader){ .tok = r->tok,
        .V = c->V,
        .field = "prompt",
        .model = path,
        .template = r->a->template,
        .date = r->a->date != NULL ? &r->a->day : NULL };
    prompt_begin(&r->reader);
}

static void
check_sizes(const struct rollout *r, const struct student *s, size_t longest)
{
    const size_t positions = config_positions(&s->t.m.c);

    if (positions > 0 && longest > positions)
        die(EX_USAGE,
            "%s: the longest prompt has %zu tokens, and with a text of %zu it "
            "exceeds the model's %zu positions: leave it out, or take a "
            "smaller -n",
            r->prompts.file, r->prompts.longest, longest - r->prompts.longest,
            positions);
    if (r->a->rows % s->ranks.n != 0)
        die(EX_USAGE,
            "-B %zu: %zu ranks cannot have the same number of rows each: take "
            "a multiple of %zu",
            r->a->rows, s->ranks.n, s->ranks.n);
}

static void
describe_rollout(const struct rollout *r, struct student *s, size_t longest)
{
    struct inputs *in = &s->in;
    char hash[33];
    struct err e;

    in->name = r->prompts.file;
    in->rows = r->n;
    in->T = in->longest = longest;
    in->accum = 1;
    in->rank = s->ranks.rank;
    in->of = s->ranks.n;
    tok_hash(r->tok, in->tokenizer);
    depends_on(s, "tokenizer", in->tokenizer);
    chat_hash(r->reader.model, r->a->template, hash);
    depends_on(s, "template", hash);
    if (ckpt_hash(r->prompts.file, hash, &e) < 0)
        die_err(&e);
    depends_on(s, "stream", hash);
}

void
rollout_open(struct rollout *r, struct student *s, const struct rollout_args *a,
    const char *file)
{
    size_t longest;

    if (file == NULL || strcmp(file, "-") == 0)
        die(EX_USAGE,
            "give a file of prompts, lines such as {\"prompt\": \"...\"}; it "
            "is read again when the run is continued");
    r->a = a;
    open_rollout_tokenizer(r, s);
    prompts_read(&r->prompts, file, &r->reader);
    longest = r->prompts.longest +
        (a->length > r->prompts.answer ? a->length : r->prompts.answer);
    check_sizes(r, s, longest);
    r->n = a->rows / s->ranks.n;
    r->text = xcalloc(r->n, sizeof *r->text);
    r->each = xcalloc(r->n, sizeof(struct text *));
    for (size_t k = 0; k < r->n; k++)
        r->each[k] = &r->text[k];
    text_rows_init(&r->rows, r->n, longest);
    r->writer = (struct writer){ .m = &s->t.m,
        .pool = s->pool,
        .tok = r->tok,
        .seed = s->a->seed,
        .temperature = a->temperature,
        .most = a->length,
        .longest = r->prompts.longest + a->length,
        .at_once = a->at_once < r->n ? a->at_once : r->n };
    r->batch = s->at.seq;
    describe_rollout(r, s, longest);
    note("%s: %zu prompts of at most %zu tokens", file, r->prompts.n,
        r->prompts.longest);
}

void
rollout_close(struct rollout *r)
{
    text_rows_release(&r->rows);
    free(r->text);
    free(r->each);
    prompts_free(&r->prompts);
    prompt_release(&r->reader);
    tok_free(r->tok);
}

size_t
rollout_bytes(const struct rollout *r)
{
    return writer_bytes(&r->writer) + r->rows.most * r->rows.longest * 9;
}

/* ---- a batch ---- */

size_t
rollout_row(const struct student *s, size_t k)
{
    return s->ranks.rank + k * s->ranks.n;
}

uint64_t
rollout_number(const struct rollout *r, const struct student *s, size_t k)
{
    return (r->batch - 1) * r->a->rows + rollout_row(s, k);
}

void
rollout_begin(struct rollout *r, const struct student *s, size_t group)
{
    r->batch++;
    for (size_t k = 0; k < r->n; k++) {
        const uint64_t number = rollout_number(r, s, k);

        text_begin(&r->text[k],
            prompts_pick(&r->prompts, s->a->seed, number / group), number);
    }
}

void
rollout_end(struct rollout *r)
{
    for (size_t k = 0; k < r->n; k++)
        text_release(&r->text[k]);
}

void
rollout_place(const struct rollout *r, struct student *s)
{
    position_release(&s->at);
    s->at = (struct position){ .seq = r->batch };
    memset(s->at.chain, '0', sizeof s->at.chain - 1);
}

struct rollout_sums
rollout_sums(const struct rollout *r, const struct student *s)
{
    struct rollout_sums *all = xcalloc(s->ranks.n, sizeof *all);
    struct rollout_sums *own = &all[s->ranks.rank], sum = { 0.0, 0.0, 0.0 };

    for (size_t k = 0; k < r->n; k++) {
        const struct text *t = &r->text[k];

        if (t->logp.n == 0)
            continue;
        own->texts++;
        own->tokens += (double)(t->ids.n - t->start);
        own->ended += t->ended;
    }
    dist_all_gather_one(&s->ranks, all, sizeof *all);
    for (size_t i = 0; i < s->ranks.n; i++) {
        sum.texts += all[i].texts;
        sum.tokens += all[i].tokens;
        sum.ended += all[i].ended;
    }
    free(all);
    return sum;
}
