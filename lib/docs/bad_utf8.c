/* Counting text that is not UTF-8, by file; see bad_utf8.h. */
#include "docs/bad_utf8.h"
#include "base/note.h"

#include <inttypes.h>
#include <stdlib.h>

#define JUDGED ((uint64_t)1 << 20) /* bytes after which a file is judged */
#define NAMED 10                   /* files named in warnings, at most */

static int
judge_share(const char *name, uint64_t first, uint64_t bad, uint64_t bytes,
    struct err *e)
{
    if (bad <= bytes / 100)
        return 0;
    return err_set(e, EX_INPUT,
        "%s: offset %" PRIu64
        ": is not UTF-8, nor are %.1f %% of it: convert it, as by iconv -f "
        "ISO-8859-1 -t UTF-8 (--lossy takes it with U+FFFD there)",
        name, first, 100.0 * (double)bad / (double)bytes);
}

int
bad_utf8_alone(const struct doc *d, struct err *e)
{
    return d->after.at < JUDGED
        ? 0
        : judge_share(d->from->name, d->bad_at, d->repaired, d->after.at, e);
}

static int
judge_file(const struct bad_utf8 *m, struct err *e)
{
    return m->lossy || m->bad == 0
        ? 0
        : judge_share(m->name, m->first, m->bad, m->bytes, e);
}

int
bad_utf8_end(struct bad_utf8 *m, struct err *e)
{
    int k = 0;

    if (m->bad > 0) {
        k = judge_file(m, e);
        if (k == 0 && m->files++ < NAMED)
            warn("%s: offset %" PRIu64 ": is not UTF-8: %" PRIu64
                 " such places became U+FFFD",
                m->name, m->first, m->bad);
    }
    bad_utf8_release(m);
    m->bad = 0;
    return k;
}

int
bad_utf8_doc(struct bad_utf8 *m, const struct doc *d, struct err *e)
{
    if ((m->input != d->input || m->entry != d->after.entry) &&
        bad_utf8_end(m, e) < 0)
        return -1;
    m->input = d->input;
    m->entry = d->after.entry;
    m->bytes = d->after.at;
    if (d->repaired > 0 && m->bad == 0) {
        m->first = d->bad_at;
        m->name = xstrdup(d->from->name);
    }
    m->bad += d->repaired;
    return m->bytes < JUDGED ? 0 : judge_file(m, e);
}

void
bad_utf8_release(struct bad_utf8 *m)
{
    free(m->name);
    m->name = NULL;
}
