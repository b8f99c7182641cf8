/* Comparing options, models and streams of ranks before the first step; see
 * alike.h. */
#include "alike.h"
#include "student.h"
#include "record.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "dist/alike.h"
#include "kern/kern.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Die with exit status `code` unless *b has the same lines on all ranks; else
 * free it. */
static void
die_unlike(const struct student *s, struct buf *b, int code)
{
    struct err e;

    if (dist_alike(&s->ranks, b->p, code, &e) < 0)
        die_err(&e);
    buf_release(b);
}

void
alike_options(const struct student *s)
{
    static const char *const own[] = { "threads", "cpus", "numa", "ahead",
        NULL };
    struct buf b = { 0 };

    if (s->ranks.n == 1)
        return;
    buf_addf(&b, "version\t%s\n", prog_version());
    opt_write(&b, s->options, own);
    buf_addf(&b, "kernels (RETORT_KERNELS)\t%s\n", kern_name());
    die_unlike(s, &b, EX_USAGE);
}

/* Append a line for the word KEY=VALUE of a cursor. */
static void
add_cursor_word(struct buf *b, const char *cursor, const char *key)
{
    char *word = xasprintf(" %s=", key);
    const char *at = cursor != NULL ? strstr(cursor, word) : NULL;
    const char *value = at != NULL ? at + strlen(word) : "not said";
    const size_t n = at != NULL ? strcspn(value, " ") : strlen(value);

    buf_addf(b, "the stream's %s\t%.*s\n", key, (int)n, value);
    free(word);
}

/* Append lines for the first batch.  With stream --rank each rank has rows of
 * its own, which are not compared. */
static void
add_first(struct buf *b, const struct feed *f)
{
    const struct st *st = &f->first.st;
    const struct st_tensor *ids = st_find(st, "ids");
    const char *cursor = st_meta(st, "cursor");
    const int of_rank = cursor != NULL && strstr(cursor, " rank=") != NULL;

    buf_addf(b, "the stream's first message\t%" PRIu64 "\n", f->first.seq);
    add_cursor_word(b, cursor, "seed");
    add_cursor_word(b, cursor, "shuffle");
    add_cursor_word(b, cursor, "data");
    buf_addf(b, "the stream's rows\t%s\n", of_rank ? "its own" : "all");
    buf_addf(b, "the length of the stream's rows\t%zu\n", ids->shape[1]);
    if (!of_rank)
        buf_addf(b,
            "the stream's first batch\t%zu tokens of hash %016" PRIx64 "\n",
            ids->n, XXH3_64bits(ids->data, ids->nbytes));
}

void
alike_inputs(const struct student *s)
{
    const struct feed *f = &s->feed;
    const char *batches = st_meta(msg_in_head(f->in), "batches");
    struct buf b = { 0 };
    char hash[33];

    if (s->ranks.n == 1)
        return;
    buf_addf(&b, "--model\t%s\n", s->model_hash);
    buf_addf(&b, "steps of the checkpoint\t%" PRIu64 "\n", s->st.step);
    buf_addf(&b, "--eval\t%s\n", s->held.hash);
    die_unlike(s, &b, EX_USAGE);
    buf_addf(&b, "the stream's batches\t%s\n",
        batches != NULL ? batches : "not said");
    record_stream(&f->info, hash);
    buf_addf(&b, "the stream's tokenizer and sources\t%s\n", hash);
    buf_addf(&b, "the stream's teacher\t%s\n",
        !f->taught                  ? "none"
            : *f->head_hash == '\0' ? "one without a head"
                                    : f->head_hash);
    buf_addf(&b, "the teacher's tensors\tkind %d, width %zu, blocks %zu\n",
        (int)f->targets.kind, f->targets.width, f->targets.nblock);
    if (f->ahead)
        add_first(&b, f);
    else
        buf_adds(&b, "the stream's first message\tnone\n");
    die_unlike(s, &b, EX_INPUT);
}
