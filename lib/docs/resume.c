/* Resuming a stream; see resume.h. */
#include "docs/resume.h"

#include "base/io.h"
#include "base/note.h"
#include "shard/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SAMPLE ((uint64_t)64 << 10) /* bytes hashed at each place of a file */

/* Append SAMPLE bytes from the beginning, the middle and the end of a file; of
 * a smaller file append all bytes, three times. */
static int
add_content(struct buf *b, const struct input *in, struct err *e)
{
    const uint64_t part = in->size < SAMPLE ? in->size : SAMPLE;
    const int fd = io_open(in->path, e);
    int k = fd < 0 ? -1 : 0;

    for (unsigned i = 0; i < 3 && k == 0; i++) {
        const uint64_t at = (in->size - part) / 2 * i;
        char *p;

        buf_reserve(b, part);
        p = b->p + b->n;
        if (io_read_at(fd, p, part, at) < 0)
            k = err_set(e, EX_SYS, "%s:", in->path);
        b->n += part;
    }
    if (fd >= 0)
        io_close_in(fd);
    return k;
}

int
docs_resume_inputs(struct docs_resume_key *k, const struct inputs *in,
    struct err *e)
{
    struct buf b = { 0 };
    int bad = 0;

    k->inputs = in->from_clean ? in->run.inputs : 0;
    k->cleaning = in->from_clean ? in->run.options : 0;
    for (size_t i = 0; i < in->n && bad == 0 && !in->from_clean; i++) {
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
docs_resume_cursor(char out[DOCS_RESUME_CURSOR],
    const struct docs_resume_key *k, const struct doc_cursor *next)
{
    const int n = snprintf(out, DOCS_RESUME_CURSOR,
        "3 %016" PRIx64 " %016" PRIx64 " %zu %zu %" PRIu64 " %" PRIu64,
        k->options, k->inputs, next->input, next->place.entry,
        next->place.record, next->place.at);

    if (k->cleaning != 0)
        snprintf(out + n, DOCS_RESUME_CURSOR - (size_t)n, " %016" PRIx64,
            k->cleaning);
}

static int
read_cursor(struct docs_resume *r, const char *dir, const char *cursor,
    struct err *e)
{
    struct doc_cursor *const from = &r->from;
    int end = 0, more = 0;

    if (!cursor) /* only the preamble so far, no documents */
        return 0;
    if (sscanf(cursor,
            "3 %16" SCNx64 " %16" SCNx64 " %zu %zu %" SCNu64 " %" SCNu64 "%n",
            &r->key.options, &r->key.inputs, &from->input, &from->place.entry,
            &from->place.record, &from->place.at, &end) == 6 &&
        sscanf(cursor + end, " %16" SCNx64 "%n", &r->key.cleaning, &more) >= -1)
        end += more;
    if (end == 0 || cursor[end] != '\0')
        return err_set(e, EX_INPUT,
            "%s: cursor \"%.60s\": is none of this version of tokenize", dir,
            cursor);
    r->has_cursor = 1;
    return 0;
}

int
docs_resume_read(struct docs_resume *r, const char *dir, struct err *e)
{
    struct manifest m = { 0 };
    char *path = xasprintf("%s/%s", dir, SHARD_MANIFEST);
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
    } else if (strcmp(m.content, "docs") != 0) {
        bad = err_set(e, EX_USAGE, "%s: holds no documents", dir);
    } else {
        r->resumed = 1;
        r->seq = m.seq + 1;
        r->tokens = m.tokens;
        r->chain = m.chain;
        snprintf(r->tokenizer, sizeof r->tokenizer, "%s", m.tokenizer);
        bad = read_cursor(r, dir, m.cursor, e);
    }
    manifest_release(&m);
    return bad;
}

int
docs_resume_check(const struct docs_resume *r, const char *dir,
    const char *what, uint64_t was, uint64_t is, struct err *e)
{
    return !r->has_cursor || was == is
        ? 0
        : err_set(e, EX_USAGE, "%s: was begun with other %s", dir, what);
}

int
docs_resume_place(const struct docs_resume *r, const char *dir,
    const struct inputs *in, struct doc_cursor *from, struct err *e)
{
    if (!in->from_clean) {
        *from = r->from;
        return 0;
    }
    if (doc_cursor_same(&r->from, &in->run.from))
        return 0;
    return dir
        ? err_set(e, EX_USAGE,
              "%s: clean began elsewhere than where it ends: give clean "
              "--resume %s too",
              dir, dir)
        : err_set(e, EX_USAGE,
              "clean goes on in the middle of its input: give its --resume "
              "here too");
}
