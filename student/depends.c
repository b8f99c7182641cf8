/* Comparing what a result depends on, over ranks and on --resume; see
 * depends.h. */
#include "depends.h"
#include "student.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "dist/alike.h"
#include "format/ckpt.h"
#include "kern/kern.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CONTENT "its content is compared"
#define EFFECT "the value in effect is compared"
#define BITS "it changes no bits"
#define SPLIT "a run may go on with any division of the work"
#define WHEN "it sets when the run stops or saves, and where"

/* Options that may have another value on --resume.  tests/student/depends.c
 * changes every other option of every command and expects a refusal. */
static const struct {
    const char *name, *why;
    int ranks; /* 1: the value must nevertheless be the same on all ranks */
} excepted[] = {
    { "model", CONTENT, 0 },
    { "adapter", CONTENT, 0 },
    { "tokenizer", CONTENT, 0 },
    { "template", CONTENT, 0 },
    { "reference", CONTENT, 0 },
    { "score-with", CONTENT, 0 },
    { "teacher", CONTENT, 0 },
    { "eval", CONTENT, 0 },
    { "ce", EFFECT, 1 },
    { "kl", EFFECT, 1 },
    { "squarehead", EFFECT, 1 },
    { "published", EFFECT, 1 },
    { "steps", EFFECT, 1 },
    { "epochs", EFFECT, 1 },
    { "threads", BITS, 0 },
    { "cpus", BITS, 0 },
    { "numa", BITS, 0 },
    { "ahead", BITS, 0 },
    { "micro", BITS, 1 },
    { "recompute", BITS, 1 },
    { "at-once", BITS, 1 },
    { "shard-level", SPLIT, 1 },
    { "stages", SPLIT, 1 },
    { "overlap", SPLIT, 1 },
    { "node-copy", SPLIT, 1 },
    { "output", WHEN, 1 },
    { "resume", WHEN, 1 },
    { "override", "it names the options that may differ", 1 },
    { "save", WHEN, 1 },
    { "keep", WHEN, 1 },
    { "taught-by", "it changes the model card alone", 0 },
    { "max-time", WHEN, 1 },
    { "rank-timeout", WHEN, 1 },
    { "reward-time", WHEN, 1 },
    { "comm-log", WHEN, 1 },
    { "timeline", WHEN, 1 },
    { "store-reference", WHEN, 1 },
};
enum { EXCEPTED = sizeof excepted / sizeof *excepted };

const char *
depends_reason(const char *option)
{
    for (size_t i = 0; i < EXCEPTED; i++)
        if (strcmp(option, excepted[i].name) == 0)
            return excepted[i].why;
    return NULL;
}

/* ---- contents ---- */

static void
put_content(struct student *s, const char *name, int code, const char *value)
{
    struct depends *d = &s->depends;
    struct content *c = &d->v[d->n++];

    assert(d->n <= sizeof d->v / sizeof *d->v);
    c->name = name;
    c->code = code;
    snprintf(c->value, sizeof c->value, "%s", value);
}

void
depends_on(struct student *s, const char *name, const char *value)
{
    put_content(s, name, EX_USAGE, value);
}

void
depends_on_stream(struct student *s, const char *name, const char *value)
{
    put_content(s, name, EX_INPUT, value);
}

void
depends_on_model(struct student *s, const char *name, const char *path)
{
    char hash[33];
    struct err e;

    if (dist_hash(path, ckpt_hash_model, hash, &e) < 0)
        die_err(&e);
    depends_on(s, name, hash);
}

const char *
depends_value(const struct student *s, const char *name)
{
    for (size_t i = 0; i < s->depends.n; i++)
        if (strcmp(s->depends.v[i].name, name) == 0)
            return s->depends.v[i].value;
    return "";
}

/* ---- ranks ---- */

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
depends_option_lines(struct buf *b, const struct opt *options)
{
    const char *aside[EXCEPTED + 1];
    size_t n = 0;

    for (size_t i = 0; i < EXCEPTED; i++)
        if (!excepted[i].ranks)
            aside[n++] = excepted[i].name;
    aside[n] = NULL;
    opt_write(b, options, aside);
}

void
depends_alike_options(const struct student *s)
{
    struct buf b = { 0 };

    if (s->ranks.n == 1)
        return;
    buf_addf(&b, "version\t%s\n", prog_version());
    depends_option_lines(&b, s->command->options);
    buf_addf(&b, "kernels (RETORT_KERNELS)\t%s\n", kern_name());
    die_unlike(s, &b, EX_USAGE);
}

/* The text that messages print before the content's name. */
static const char *
content_label(const struct student *s, const struct content *c)
{
    const struct opt *o = s->command->options;

    if (c->code == EX_INPUT)
        return "the input's ";
    while (o->kind != OPT_K_END &&
        (o->name == NULL || strcmp(o->name, c->name) != 0))
        o++;
    return o->kind != OPT_K_END ? "--" : "the ";
}

/* Append a line for each content with this exit status that ranks have not yet
 * compared. */
static void
add_contents(const struct student *s, int code, struct buf *b)
{
    for (size_t i = s->depends.alike; i < s->depends.n; i++) {
        const struct content *c = &s->depends.v[i];

        if (c->code == code)
            buf_addf(b, "%s%s\t%s\n", content_label(s, c), c->name,
                *c->value != '\0' ? c->value : "none");
    }
}

void
depends_alike(struct student *s, const char *lines)
{
    struct buf b = { 0 }, stream = { 0 };

    if (s->ranks.n == 1)
        return;
    buf_adds(&b, "");
    add_contents(s, EX_USAGE, &b);
    die_unlike(s, &b, EX_USAGE);
    buf_adds(&stream, lines != NULL ? lines : "");
    add_contents(s, EX_INPUT, &stream);
    die_unlike(s, &stream, EX_INPUT);
    s->depends.alike = s->depends.n;
}
