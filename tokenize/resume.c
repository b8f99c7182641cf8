/* Going on with a stream; see resume.h. */
#include "resume.h"

#include "base/io.h"
#include "base/note.h"
#include "cli/opt.h"
#include "shard/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define SAMPLE ((uint64_t)64 << 10) /* bytes */

/* Options that do not decide what is in a stream, or whose effect the
 * stream's first message tells. */
static const char *const aside[] = { "output", "threads", "resume", "tokenizer",
    "dropped", "mem", "max-ratio", "max-members", "max-doc", "lossy", "exclude",
    "exclude-words", "exclude-report", NULL };

/* Options that are 0, none or empty are left out, so that a new option of the
 * program changes no cursor of those who do not use it. */
static int
is_unset(const struct opt *o)
{
    switch (o->kind) {
    case OPT_K_FLAG:
    case OPT_K_ENUM: return *(int *)o->dst == 0;
    case OPT_K_SIZE: return *(size_t *)o->dst == 0;
    case OPT_K_REAL:
    case OPT_K_TIME: return *(double *)o->dst == 0.0;
    case OPT_K_STR: return *(const char **)o->dst == NULL;
    case OPT_K_LIST: return ((struct opt_list *)o->dst)->n == 0;
    case OPT_K_END:
    case OPT_K_GROUP: break;
    }
    return 1;
}

static void
add_option(struct buf *b, const struct opt *o)
{
    const struct opt_list *l;

    buf_addf(b, "%s=", o->name);
    switch (o->kind) {
    case OPT_K_FLAG:
    case OPT_K_ENUM: buf_addf(b, "%d", *(int *)o->dst); break;
    case OPT_K_SIZE: buf_addf(b, "%zu", *(size_t *)o->dst); break;
    case OPT_K_REAL:
    case OPT_K_TIME: buf_addf(b, "%.17g", *(double *)o->dst); break;
    case OPT_K_STR: buf_addf(b, "+%s", *(const char **)o->dst); break;
    case OPT_K_LIST:
        l = o->dst;
        for (size_t i = 0; i < l->n; i++)
            buf_addf(b, "+%s", l->v[i]);
        break;
    case OPT_K_END:
    case OPT_K_GROUP: break;
    }
    buf_addc(b, '\0');
}

void
resume_options(struct resume_key *k, const struct opt *table)
{
    struct buf b = { 0 };

    for (; table->kind != OPT_K_END; table++) {
        int skip = !table->name || is_unset(table);

        for (size_t i = 0; aside[i] && !skip; i++)
            skip = strcmp(aside[i], table->name) == 0;
        if (!skip)
            add_option(&b, table);
    }
    k->options = XXH3_64bits(b.p, b.n);
    buf_release(&b);
}

/* The beginning, middle and end of a file, which is all of a small one. */
static int
add_content(struct buf *b, const struct input *in, struct err *e)
{
    const uint64_t part = in->size < SAMPLE ? in->size : SAMPLE;
    const int fd = io_open(in->path, e);
    int k = fd < 0 ? -1 : 0;

    for (unsigned i = 0; i < 3 && k == 0; i++) {
        const off_t at = (off_t)((in->size - part) / 2 * i);
        char *p;

        buf_reserve(b, part);
        p = b->p + b->n;
        if (lseek(fd, at, SEEK_SET) < 0 || io_read(fd, p, part) < 0)
            k = err_set(e, EX_SYS, "%s:", in->path);
        b->n += part;
    }
    if (fd >= 0)
        close(fd);
    return k;
}

int
resume_inputs(struct resume_key *k, const struct inputs *in, struct err *e)
{
    struct buf b = { 0 };
    int bad = 0;

    k->inputs = 0;
    for (size_t i = 0; i < in->n && bad == 0; i++) {
        buf_clear(&b);
        buf_addf(&b, "%s %" PRIu64, input_name(&in->v[i]), in->v[i].size);
        buf_addc(&b, '\0');
        if (in->v[i].size > 0)
            bad = add_content(&b, &in->v[i], e);
        k->inputs = XXH3_64bits_withSeed(b.p, b.n, k->inputs);
    }
    buf_release(&b);
    return bad;
}

void
resume_cursor(char out[160], const struct resume_key *k, size_t input,
    const struct doc_place *after)
{
    snprintf(out, 160,
        "3 %016" PRIx64 " %016" PRIx64 " %zu %zu %" PRIu64 " %" PRIu64,
        k->options, k->inputs, input, after->entry, after->record, after->at);
}

static int
read_cursor(const char *dir, const char *cursor, const struct resume_key *k,
    struct docs_opts *run, struct err *e)
{
    struct resume_key was;
    int end = 0;

    if (!cursor) /* only the preamble is there */
        return 0;
    if (sscanf(cursor,
            "3 %16" SCNx64 " %16" SCNx64 " %zu %zu %" SCNu64 " %" SCNu64 "%n",
            &was.options, &was.inputs, &run->from_input, &run->from.entry,
            &run->from.record, &run->from.at, &end) != 6 ||
        cursor[end] != '\0')
        return err_set(e, EX_INPUT,
            "%s: cursor \"%.60s\": is none of this version of tokenize", dir,
            cursor);
    if (was.inputs != k->inputs)
        return err_set(e, EX_USAGE,
            "%s: was begun with other input: the same files with the same "
            "content are needed, in the same order",
            dir);
    if (was.options != k->options)
        return err_set(e, EX_USAGE, "%s: was begun with other options", dir);
    return 0;
}

int
resume_read(const char *dir, const struct resume_key *k,
    const struct tokenizer *t, struct docs_opts *run, struct resume *r,
    struct err *e)
{
    struct manifest m = { 0 };
    char *path = xasprintf("%s/%s", dir, SHARD_MANIFEST), hash[33];
    const int there = io_exists(path);
    int bad = 0;

    free(path);
    memset(r, 0, sizeof *r);
    if (there && manifest_read(&m, dir, e) < 0)
        return -1;
    if (m.complete) {
        bad = err_set(e, EX_USAGE,
            "%s: is complete: there is nothing to resume", dir);
    } else if (m.nfile == 0) {
        note("%s: nothing to resume, starting at the beginning", dir);
    } else {
        tok_hash(t, hash);
        if (strcmp(m.content, "docs") != 0)
            bad = err_set(e, EX_USAGE, "%s: holds no documents", dir);
        else if (strcmp(m.tokenizer, hash) != 0)
            bad = err_set(e, EX_USAGE,
                "%s: was begun with another tokenizer (%s, not %s)", dir,
                m.tokenizer, hash);
        else
            bad = read_cursor(dir, m.cursor, k, run, e);
        r->resumed = 1;
        r->seq = m.seq + 1;
        r->tokens = m.tokens;
        r->chain = m.chain;
    }
    manifest_release(&m);
    return bad;
}
