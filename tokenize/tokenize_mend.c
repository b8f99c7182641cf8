/* What is not UTF-8, by file; see tokenize_mend.h. */
#include "tokenize_mend.h"

#include <inttypes.h>
#include <stdlib.h>

#define JUDGED ((uint64_t)1 << 20)  /* bytes of a file from which it is */
#define NAMED 10                    /* files that are named */

static int
judge(const struct mended *m, struct err *e)
{
    if (m->lossy || m->bad <= m->bytes / 100)
        return 0;
    return err_set(e, EX_INPUT, "%s: offset %" PRIu64 ": is not UTF-8, nor "
        "are %.1f %% of it: convert it, as by iconv -f ISO-8859-1 -t UTF-8 "
        "(--lossy takes it with U+FFFD there)", m->name, m->first, 100.0 *
        (double)m->bad / (double)m->bytes);
}

int
mended_end(struct mended *m, struct err *e)
{
    int k = 0;

    if (m->bad > 0) {
        k = judge(m, e);
        if (k == 0 && m->files++ < NAMED)
            warn("%s: offset %" PRIu64 ": is not UTF-8: %" PRIu64
                " such places became U+FFFD", m->name, m->first, m->bad);
    }
    mended_release(m);
    m->bad = 0;
    return k;
}

int
mended_doc(struct mended *m, const struct doc *d, struct err *e)
{
    if ((m->input != d->input || m->entry != d->after.entry) &&
        mended_end(m, e) < 0)
        return -1;
    m->input = d->input;
    m->entry = d->after.entry;
    m->bytes = d->after.at;
    if (d->repaired > 0 && m->bad == 0) {
        m->first = d->bad_at;
        m->name = xstrdup(d->from->name);
    }
    m->bad += d->repaired;
    return m->bytes < JUDGED ? 0 : judge(m, e);
}

void
mended_release(struct mended *m)
{
    free(m->name);
    m->name = NULL;
}
