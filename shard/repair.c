/* shard --repair: keep what is intact; and where a damaged one is damaged */
#define _GNU_SOURCE /* renameat2 */
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/text.h"
#include "cli/die.h"
#include "shard/set.h"
#include "tok/tok.h"
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
say(void *ctx, const char *line)
{
    (void)ctx;
    warn("%s", line);
}

static void
report(const char *dir, const char *out, const struct shard_loss *l)
{
    if (l->lost == 0 && l->messages == 0 && l->docs == 0)
        printf("%s: nothing is lost of %zu frames\n", SHOWN(dir), l->frames);
    else if (!l->counted)
        printf("%s: %zu of %zu frames are lost, and %" PRIu64 " messages\n",
            SHOWN(dir), l->lost, l->frames, l->messages);
    else
        printf("%s: %zu of %zu frames are lost, %" PRIu64 " messages, %" PRIu64
               " documents, %" PRIu64 " tokens\n",
            SHOWN(dir), l->lost, l->frames, l->messages, l->docs, l->tokens);
    for (size_t i = 0; i < l->nsource; i++)
        if (l->source[i].docs)
            printf("%-24s %12" PRIu64 " %14" PRIu64 "\n",
                SHOWN(l->source[i].name), l->source[i].docs,
                l->source[i].tokens);
    printf("%s: the rest is there\n", SHOWN(out));
}

void
exchange(const char *dir, const char *new, const char *old)
{
    if (renameat2(AT_FDCWD, new, AT_FDCWD, dir, RENAME_EXCHANGE) == 0) {
        if (rename(new, old) < 0)
            die(EX_SYS, "%s:", old);
    } else if (rename(dir, old) < 0 || rename(new, dir) < 0) {
        die(EX_SYS, "%s:", dir);
    }
}

static void
describe(struct stream_info *i, char hash[33], const char *tokenizer)
{
    struct err e;
    struct tokenizer *t = tok_open(tokenizer, &e);

    if (!t)
        die_err(&e);
    tok_hash(t, hash);
    i->tokenizer = hash;
    i->vocab = tok_vocab(t);
    i->bos = tok_bos(t);
    i->eos = tok_eos(t);
    tok_free(t);
}

void
repair(const char *dir, const char *out, const char *tokenizer,
    const struct shard_opts *o)
{
    struct stream_info head = { 0 };
    struct shard_opts opts = *o;
    struct shard_loss l;
    char hash[33], *new = xasprintf("%s.repair", dir);
    char *old = xasprintf("%s.damaged", dir);
    struct err e;
    int lock = -1;

    if (tokenizer)
        describe(&head, hash, tokenizer);
    if (!out) {
        if (io_exists(old))
            die(EX_USAGE,
                "%s: is there already; the damaged directory would get that "
                "name",
                old);
        if ((lock = shard_dir_lock(dir, &e)) < 0)
            die_err(&e);
        opts.force = 1; /* what a repair that died has left */
    }
    if (set_repair(dir, out ? out : new, &opts, tokenizer ? &head : NULL, say,
            NULL, &l, &e) < 0)
        die_err(&e);
    if (!out) {
        exchange(dir, new, old);
        note("%s: the damaged directory", old);
    }
    report(dir, out ? out : dir, &l);
    shard_loss_release(&l);
    if (lock >= 0)
        close(lock);
    free(new);
    free(old);
}

/* One damaged frame, and what it held. */
static void
tell(const struct shard_index *x, size_t frame, uint64_t before,
    const struct manifest *m, const char *why)
{
    const struct shard_frame *f = &x->frame[frame];
    const char *unit = unit_of(m);
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

size_t
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
                /* The error is not of this frame but of the file as a whole. */
                warn("%s: %s %" PRIu64 " to %" PRIu64, e.msg, unit_of(m),
                    before, before + m->file[i].docs - 1);
                bad++;
                break;
            }
            tell(x, f, before, m, e.msg);
            bad++;
        }
        told += bad;
        free(place);
    }
    shard_buf_release(&b);
    set_close(s);
    return told;
}
