/* Pairs of completions; see pairs.h. */
#include "pairs.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"
#include "cli/die.h"
#include "docs/lines.h"
#include "format/json.h"
#include "gen/conversations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* What reading the records of a file needs. */
struct pair_reader {
    const struct pairs_from *from;
    struct pairs *p;
    const struct conversations *c;
    struct tok_scratch *s;
    struct tok_ids ids[2];
    size_t left_out;  /* pairs whose prompt fills a text */
    struct err other; /* message on the first record whose ref_made_with
                       * differs from this run's; code 0: none differs */
};

/* The record's number `name`, or NAN. */
static double
record_number(const json_t *record, const char *name)
{
    const json_t *x = json_object_get(record, name);

    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* Set *e if the record's ref_made_with has another value than p->made. */
static void
check_ref_made(const struct pairs *p, const json_t *record, struct err *e)
{
    const json_t *was = json_object_get(record, "ref_made_with");
    const char *name;
    json_t *v;

    json_object_foreach(p->made, name, v)
    {
        const json_t *w = json_object_get(was, name);
        char *before, *now;

        if (w == NULL || json_equal(w, v))
            continue;
        before = json_dumps(w, JSON_ENCODE_ANY);
        now = json_dumps(v, JSON_ENCODE_ANY);
        err_set(e, EX_USAGE,
            "ref_chosen_logps was computed with --%s %s, not %s; repeat that "
            "option, or give pairs without log probabilities",
            name, before, now);
        free(before);
        free(now);
        return;
    }
}

/* Append a pair whose texts are in r->ids. */
static void
keep_pair(struct pair_reader *r, size_t prompt, json_t *record)
{
    struct pairs *p = r->p;
    const size_t most = r->from->T / 2;
    struct pair *pair;

    if (prompt >= most) {
        r->left_out++;
        return;
    }
    p->pair = xreallocarray(p->pair, p->n + 1, sizeof *p->pair);
    pair = &p->pair[p->n++];
    *pair = (struct pair){ .prompt = prompt,
        .record = r->from->records ? json_incref(record) : NULL,
        .reference = { record_number(record, "ref_chosen_logps"),
            record_number(record, "ref_rejected_logps") } };
    for (int k = 0; k < 2; k++) {
        pair->n[k] = r->ids[k].n < most ? r->ids[k].n : most;
        for (size_t i = 0; i < pair->n[k]; i++)
            tok_ids_push(&p->ids, r->ids[k].v[i]);
    }
    if (r->other.code == 0)
        check_ref_made(p, record, &r->other);
    p->given &= isfinite(pair->reference[0]) && isfinite(pair->reference[1]);
    if (pair->n[0] + pair->n[1] > p->most)
        p->most = pair->n[0] + pair->n[1];
}

static int
read_pair(struct pair_reader *r, const char *line, size_t n, struct err *e)
{
    json_t *record = js_parse(line, n, e);
    size_t prompt = 0;
    int result = record == NULL
        ? -1
        : conversations_pair(r->c, r->s, line, n, r->ids, &prompt, e);

    for (int k = 0; k < 2 && result == 0; k++)
        result = tok_fits(&r->ids[k], r->from->V, e);
    if (result == 0)
        keep_pair(r, prompt, record);
    json_decref(record);
    return result;
}

/* Read the pairs of all lines. */
static void
read_lines(struct pair_reader *r, struct line_reader *l)
{
    size_t n, first_other = 0;
    struct err e;
    char *line;
    int k;

    while ((k = lines_next(l, &line, &n, &e)) > 0) {
        if (read_pair(r, line, n, &e) < 0)
            die(e.code, "%s: line %zu: %s", lines_name(l), lines_number(l),
                e.msg);
        if (r->other.code != 0 && first_other == 0)
            first_other = lines_number(l);
    }
    if (k < 0)
        die_err(&e);
    if (first_other > 0 && r->p->given)
        die(r->other.code, "%s: line %zu: %s", lines_name(l), first_other,
            r->other.msg);
}

/* Point the pairs to their ids, and hash everything. */
static void
settle_pairs(struct pairs *p)
{
    XXH3_state_t *h = XXH3_createState();
    XXH128_canonical_t c;
    size_t at = 0;

    if (h == NULL)
        mem_exhausted("a hash");
    XXH3_128bits_reset(h);
    XXH3_128bits_update(h, p->ids.v, p->ids.n * sizeof *p->ids.v);
    for (size_t i = 0; i < p->n; i++) {
        struct pair *q = &p->pair[i];
        const uint64_t shape[] = { q->n[0], q->n[1], q->prompt };

        q->ids = p->ids.v + at;
        at += q->n[0] + q->n[1];
        XXH3_128bits_update(h, shape, sizeof shape);
        if (p->given)
            XXH3_128bits_update(h, q->reference, sizeof q->reference);
    }
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(h));
    for (int i = 0; i < 16; i++)
        snprintf(p->hash + 2 * i, 3, "%02x", c.digest[i]);
    XXH3_freeState(h);
}

/* Set p->made from the hashes of p and the options of *from. */
static void
set_made(struct pairs *p, const struct pairs_from *from)
{
    char day[40];

    p->made = json_pack("{s:I, s:s, s:s}", "length", (json_int_t)from->T,
        "tokenizer", p->tokenizer, "template", p->template);
    if (*from->reference != '\0')
        json_object_set_new(p->made, "reference", json_string(from->reference));
    if (from->date != NULL && strftime(day, sizeof day, "%F", from->date) > 0)
        json_object_set_new(p->made, "date", json_string(day));
}

void
pairs_open(struct pairs *p, const struct pairs_from *from)
{
    struct pair_reader r = { .from = from, .p = p };
    struct tokenizer *t;
    struct conversations c;
    struct line_reader *l;
    struct err e;

    *p = (struct pairs){ .given = 1 };
    if ((t = tok_open(from->tokenizer, &e)) == NULL ||
        tok_fit(t, from->tokenizer, from->V, NULL, &e) < 0)
        die_err(&e);
    if (conversations_open(&c, t, from->tokenizer, from->template, from->date,
            &e) < 0 &&
        e.code != EX_USAGE)
        die_err(&e);
    if ((l = lines_open(from->file, &e)) == NULL)
        die_err(&e);
    tok_hash(t, p->tokenizer);
    chat_hash(from->tokenizer, from->template, p->template);
    set_made(p, from);
    r.c = &c;
    r.s = tok_scratch_new(t);
    read_lines(&r, l);
    if (r.left_out > 0)
        note("%s: %zu pairs are left out: the prompt alone has %zu tokens or "
             "more (-T)",
            lines_name(l), r.left_out, from->T / 2);
    if (p->n == 0)
        die(EX_INPUT, "%s: has no pairs", lines_name(l));
    settle_pairs(p);
    for (int k = 0; k < 2; k++)
        tok_ids_release(&r.ids[k]);
    tok_scratch_free(r.s);
    conversations_close(&c);
    tok_free(t);
    lines_close(l);
}

void
pairs_close(struct pairs *p)
{
    for (size_t i = 0; i < p->n; i++)
        json_decref(p->pair[i].record);
    json_decref(p->made);
    tok_ids_release(&p->ids);
    free(p->pair);
}

const struct pair *
pairs_at(const struct pairs *p, uint64_t seed, size_t k)
{
    return &p->pair[rng_perm(rng_key(seed, k / p->n), p->n, k % p->n)];
}

void
pair_batch_init(struct pair_batch *b, size_t B, size_t T)
{
    *b = (struct pair_batch){ .pair = xcalloc(B, sizeof *b->pair) };
    b->ids = xcalloc(B * T, sizeof *b->ids);
    b->first = xcalloc(B * T, sizeof *b->first);
    b->scored = xcalloc(B * T, sizeof *b->scored);
}

/* Write text k of a pair to a row, from column `at` on. */
static void
write_piece(const struct pair *p, int k, size_t at, uint32_t *ids,
    uint32_t *first, uint8_t *scored)
{
    const uint32_t *from = p->ids + (k == 0 ? 0 : p->n[0]);

    for (size_t i = 0; i < p->n[k]; i++) {
        ids[at + i] = from[i];
        first[at + i] = (uint32_t)at;
        scored[at + i] = i + 1 >= p->prompt && i + 1 < p->n[k];
    }
}

/* Write the texts of b's B pairs to its rows. */
static void
write_batch(struct pair_batch *b, size_t B)
{
    b->B = B;
    b->T = 0;
    for (size_t i = 0; i < B; i++) {
        const size_t n = b->pair[i]->n[0] + b->pair[i]->n[1];

        b->T = n > b->T ? n : b->T;
    }
    memset(b->ids, 0, B * b->T * sizeof *b->ids);
    memset(b->first, 0xff, B * b->T * sizeof *b->first); /* padding */
    memset(b->scored, 0, B * b->T);
    for (size_t i = 0; i < B; i++)
        for (int t = 0; t < 2; t++)
            write_piece(b->pair[i], t, t == 0 ? 0 : b->pair[i]->n[0],
                b->ids + i * b->T, b->first + i * b->T, b->scored + i * b->T);
}

void
pair_batch_fill(struct pair_batch *b, const struct pairs *p, uint64_t seed,
    size_t k, size_t B)
{
    for (size_t i = 0; i < B; i++)
        b->pair[i] = pairs_at(p, seed, k + i);
    write_batch(b, B);
}

void
pair_batch_one(struct pair_batch *b, const struct pair *p)
{
    b->pair[0] = p;
    write_batch(b, 1);
}

struct rows
pair_batch_rows(const struct pair_batch *b)
{
    return (struct rows){ b->B, b->T, b->ids, b->first };
}

void
pair_batch_release(struct pair_batch *b)
{
    free(b->pair);
    free(b->ids);
    free(b->first);
    free(b->scored);
}
