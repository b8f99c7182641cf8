/* shard check - verify directories from end to end; see shard-check(1) */
#include "check.h"
#include "set_check.h"
#include "store.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "shard/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int partial;

static const struct opt options[] = { OPT_PARTIAL(&partial), OPT_END };

/* Warn of a damaged frame, and name the documents or rows that it held. */
static void
warn_of_frame(const struct shard_index *x, size_t frame, uint64_t before,
    const struct manifest *m, const char *why)
{
    const struct shard_frame *f = &x->frame[frame];
    const char *unit = store_unit(m);
    uint64_t n = 0, tokens = 0;
    struct buf by = { 0 };

    for (size_t k = f->msg; k < f->msg + (size_t)f->nmsg; k++) {
        n += x->msg[k].n;
        tokens += x->msg[k].tokens;
    }
    for (size_t k = 0; k < x->npart; k++)
        if (x->part[k].frame == frame && x->part[k].source < m->nsource)
            buf_addf(&by, "%s%s %" PRIu32, by.n ? ", " : " (",
                m->source[x->part[k].source].name, x->part[k].ndoc);
    if (n == 0)
        warn("%s", why);
    else
        warn("%s: %s %" PRIu64 " to %" PRIu64 ", %" PRIu64 " tokens%s%s", why,
            unit, before + x->msg[f->msg].first,
            before + x->msg[f->msg].first + n - 1, tokens, by.n ? by.p : "",
            by.n ? ")" : "");
    buf_release(&by);
}

/* Warn of each damaged place in dir, naming the documents or rows lost there.
 * Returns the number of places. */
static size_t
survey(const char *dir)
{
    struct shard_set *s = set_open(dir, 1, NULL);
    const struct manifest *m;
    struct shard_buf b = { 0 };
    struct err e;
    uint64_t before = 0;
    size_t told = 0;

    if (!s)
        return 0;
    m = set_manifest(s);
    for (size_t i = 0; i < m->nfile; before += m->file[i++].docs) {
        const struct shard_index *x = set_index(s, i, &e);
        char *place;
        size_t bad = 0;

        if (!x) {
            warn("%s", e.msg);
            told++;
            continue;
        }
        place = xasprintf("%s/%s: frame ", dir, m->file[i].name);
        for (size_t f = 0; f < x->nframe; f++) {
            if (set_frame(s, i, f, &b, &e) == 0)
                continue;
            if (strncmp(e.msg, place, strlen(place)) != 0) {
                /* the error is the whole file's, not this frame's */
                warn("%s: %s %" PRIu64 " to %" PRIu64, e.msg, store_unit(m),
                    before, before + m->file[i].docs - 1);
                bad++;
                break;
            }
            warn_of_frame(x, f, before, m, e.msg);
            bad++;
        }
        told += bad;
        free(place);
    }
    shard_buf_release(&b);
    set_close(s);
    return told;
}

static uint64_t
stored_bytes(const char *dir)
{
    struct manifest m;
    uint64_t n = 0;

    if (manifest_read(&m, dir, NULL) < 0)
        return 0;
    for (size_t i = 0; i < m.nfile; i++)
        n += m.file[i].bytes;
    manifest_release(&m);
    return n;
}

static void
show_progress(void *ctx, uint64_t done)
{
    (void)ctx;
    progress_at((double)done, NULL);
}

/* Check each directory and print a line for it; returns the worst status. */
static int
check_all(char **dir)
{
    int status = EX_OK;

    for (; *dir; dir++) {
        struct err e;
        struct manifest m;
        int r;

        progress_begin("checked", (double)stored_bytes(*dir), "bytes");
        r = set_check(*dir, partial, show_progress, NULL, &e);
        progress_end();
        if (r == 0 && manifest_read(&m, *dir, &e) < 0)
            r = -1;
        if (r < 0) {
            if (e.code != EX_INPUT || survey(*dir) == 0)
                warn("%s", e.msg);
            printf("%s: BAD\n", SHOWN(*dir));
            status = e.code > status ? e.code : status;
            continue;
        }
        printf("%s: good, %s: %" PRIu64 " messages, %" PRIu64 " %s, %" PRIu64
               " tokens in %zu shards\n",
            SHOWN(*dir), m.complete ? "complete" : "open", m.messages, m.docs,
            store_unit(&m), m.tokens, m.nfile);
        manifest_release(&m);
    }
    return status;
}

int
check_main(int argc, char **argv)
{
    char **dir = opt_parse(argc, argv, options,
        "verify directories from end to end", "dir ...", 1, -1, NULL);
    const int status = check_all(dir);

    out_done();
    return status;
}
