/* Encoding of documents; see encode.h. */
#include "encode.h"

#include "base/mem.h"
#include "text/count.h"

#include <stdlib.h>

/* What a conversation's ids and mask do not tell. */
struct conversation {
    struct buf mask;
    int cut; /* 1: its answer was cut off */
};

static void
free_conversation(void *result)
{
    struct conversation *v = result;

    buf_release(&v->mask);
    free(v);
}

const char *
encoder_mask(const struct doc *d)
{
    const struct conversation *v = d->result;

    return v == NULL ? NULL : v->mask.p;
}

int
encoder_cut(const struct doc *d)
{
    const struct conversation *v = d->result;

    return v != NULL && v->cut;
}

static void
encode_conversation(const struct encoder *c, size_t worker, struct doc *d,
    const char *text, size_t n)
{
    struct tok_ids ids = { d->ids.v, 0, d->ids.cap };
    struct conversation *v =
        d->result != NULL ? d->result : xcalloc(1, sizeof *v);

    d->result = v;
    v->cut = conversations_encode(c->chat, c->scratch[worker], text, n, &ids,
        &v->mask, &d->e);
    if (v->cut < 0)
        doc_err_at(d, 0);
    d->ids = (struct doc_ids){ ids.v, ids.n, ids.cap };
    d->plain = ids.n;
}

/* Encode a document's text: `work` of struct docs_opts. */
static void
encode_doc(void *ctx, size_t worker, struct doc *d, const char *text, size_t n)
{
    const struct encoder *c = ctx;
    const size_t bos = c->bos >= 0;
    struct tok_ids ids = { d->ids.v, 0, d->ids.cap };

    if (c->chat != NULL) {
        encode_conversation(c, worker, d, text, n);
        return;
    }
    if (c->count) {
        d->chars = count_chars(text, n);
        d->words = count_words(text, n);
    }
    if (bos)
        tok_ids_push(&ids, (uint32_t)c->bos);
    tok_encode(c->t, c->scratch[worker], text, n, c->special ? TOK_SPECIAL : 0,
        &ids);
    d->plain = ids.n - bos;
    if (d->plain == 0) /* no character has a token */
        ids.n = 0;
    else if (c->eos >= 0)
        tok_ids_push(&ids, (uint32_t)c->eos);
    d->ids = (struct doc_ids){ ids.v, ids.n, ids.cap };
}

static size_t
valid_text(const void *ctx, const char *text, size_t n)
{
    const struct encoder *c = ctx;

    return tok_valid(c->t, text, n);
}

void
encoder_begin(struct encoder *c, struct docs_opts *o)
{
    c->threads = docs_threads(o);
    c->scratch = xcalloc(c->threads, sizeof *c->scratch);
    for (size_t i = 0; i < c->threads; i++)
        c->scratch[i] = tok_scratch_share(c->t, c->threads);
    o->work = encode_doc;
    o->valid = valid_text;
    o->work_ctx = c;
    o->free_result = free_conversation;
}

void
encoder_release(struct encoder *c)
{
    for (size_t i = 0; i < c->threads; i++)
        tok_scratch_free(c->scratch[i]);
    free(c->scratch);
}
