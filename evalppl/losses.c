/* A file of all scored predictions; see losses.h. */
#include "losses.h"
#include "vocab.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/die.h"
#include "model/pass/head.h"

#include <inttypes.h>
#include <stdlib.h>

struct losses {
    struct io_out out;
    struct buf b;
};

static void
flush_lines(struct losses *t)
{
    struct err err;

    if (io_out_write(&t->out, t->b.p, t->b.n, &err) < 0) {
        io_out_abort(&t->out);
        die_err(&err);
    }
    buf_clear(&t->b);
}

struct losses *
losses_begin(const struct eval *e, const char *path)
{
    struct losses *t = xcalloc(1, sizeof(*t));
    struct err err;

    if (io_out_begin(&t->out, path, &err) < 0)
        die_err(&err);
    buf_adds(&t->b, "source\tdocument\tposition\tid\tclass\ttext");
    for (size_t i = 0; i < e->nj; i++)
        buf_addf(&t->b, "\tnll %s", SHOWN(e->j[i].label));
    for (size_t i = 0; i < e->nj && e->base != NONE; i++)
        if (i != e->base)
            buf_addf(&t->b, "\tkl %s", SHOWN(e->j[i].label));
    buf_addc(&t->b, '\n');
    flush_lines(t);
    return t;
}

/* Append a text with C's escapes \n, \t, \\ and \xNN. */
static void
put_escaped(struct buf *b, const char *s, size_t n)
{
    char c[TEXT_CHAR];

    for (size_t at = 0; at < n;) {
        const char one = s[at];

        if (one == '\n' || one == '\t' || one == '\\') {
            buf_addc(b, '\\');
            buf_addc(b, one == '\n' ? 'n' : one == '\t' ? 't' : '\\');
            at++;
            continue;
        }
        at += text_char(c, s + at, n - at);
        buf_adds(b, c);
    }
}

void
losses_add(struct losses *t, const struct eval *e, const struct pack *p)
{
    for (size_t k = 0; k < p->n; k++) {
        const struct unit *u = &e->units.unit[p->unit[k]];
        size_t n = 0;

        buf_addf(&t->b, "%s\t%016" PRIx64 "\t%zu\t%" PRIu32,
            SHOWN(e->info.source[u->source]), u->key, p->pos[k], p->target[k]);
        if (e->vocab != NULL) {
            const char *s = vocab_text(e->vocab, p->target[k], &n);

            buf_addf(&t->b, "\t%s\t",
                class_name[vocab_class(e->vocab, p->ids[p->at[k]],
                    p->target[k])]);
            put_escaped(&t->b, s, n);
        } else {
            buf_adds(&t->b, "\t-\t-");
        }
        for (size_t i = 0; i < e->nj; i++)
            buf_addf(&t->b, "\t%.6f", e->j[i].pair[k].nll_q);
        for (size_t i = 0; i < e->nj && e->base != NONE; i++)
            if (i != e->base)
                buf_addf(&t->b, "\t%.6f", e->j[i].pair[k].kl);
        buf_addc(&t->b, '\n');
    }
    flush_lines(t);
}

void
losses_end(struct losses *t)
{
    struct err err;

    if (io_out_commit(&t->out, &err) < 0)
        die_err(&err);
    buf_release(&t->b);
    free(t);
}
