/* Output of tokenize; see out.h. */
#include "out.h"
#include "encode.h"

#include "msg/msg.h"
#include "shard/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE ((size_t)1 << 20)  /* bytes of ids in a message */
#define DOCS_MAX ((size_t)1 << 16) /* documents in a message */
#define KEEP ((size_t)4 << 20)     /* bytes; larger buffers are freed */

struct out_stream {
    struct msg_out *w;
    int wide;        /* ids are written as uint32, else as uint16 */
    struct buf ids;  /* ids in the type written */
    struct buf mask; /* 0 for ids that are not to be learnt; or empty */
    uint32_t *len;
    uint16_t *source;
    uint64_t *key;
    size_t n;    /* documents gathered for the next message */
    size_t ntok; /* tokens of these documents */
    struct docs_resume_key key_of_run;
    struct doc_cursor next; /* place after the last document gathered */
    int left;               /* 1: the reader has gone */
    uint64_t cut;           /* documents with an answer that was cut off */
};

static enum dtype
id_type(const struct out_stream *s)
{
    return s->wide ? DT_U32 : DT_U16;
}

struct out_stream *
out_stream_open(const char *addr, const struct tokenizer *t,
    const struct inputs *in, int64_t bos, int64_t eos,
    const struct docs_resume_key *run, const struct docs_resume *from,
    struct err *e)
{
    struct out_stream *s = xcalloc(1, sizeof *s);
    char hash[33];
    struct stream_info info = { .content = "docs",
        .tokenizer = hash,
        .vocab = tok_vocab(t),
        .bos = bos,
        .eos = eos,
        .nsource = in->nsource,
        .source = (const char **)(uintptr_t)in->source };

    s->key_of_run = *run;
    s->wide = tok_vocab(t) > 65536;
    s->len = xreallocarray(NULL, DOCS_MAX, sizeof *s->len);
    s->source = xreallocarray(NULL, DOCS_MAX, sizeof *s->source);
    s->key = xreallocarray(NULL, DOCS_MAX, sizeof *s->key);
    tok_hash(t, hash);
    s->w = msg_out_open(addr, e);
    if (s->w) {
        int k;

        if (from->resumed) {
            msg_out_resume(s->w, from->seq, &from->chain);
            msg_out_tokens(s->w, from->tokens);
        }
        stream_info_put(msg_begin(s->w, MSG_STREAM), &info);
        k = msg_send(s->w, e);
        s->left = k > 0;
        if (k >= 0)
            return s;
    }
    out_stream_close(s);
    return NULL;
}

void
out_stream_close(struct out_stream *s)
{
    if (!s)
        return;
    msg_out_close(s->w);
    buf_release(&s->ids);
    buf_release(&s->mask);
    free(s->len);
    free(s->source);
    free(s->key);
    free(s);
}

/* Send the documents gathered so far as one message. */
static int
send_documents(struct out_stream *s, struct err *e)
{
    char cursor[DOCS_RESUME_CURSOR];
    struct st_out *o;
    int k;

    if (s->n == 0 || s->left)
        return s->left;
    o = msg_begin(s->w, MSG_DOCS);
    docs_resume_cursor(cursor, &s->key_of_run, &s->next);
    st_out_meta(o, "cursor", cursor);
    st_out_tensor(o, "doc_key", DT_U64, 1, &s->n, s->key);
    st_out_tensor(o, "ids", id_type(s), 1, &s->ntok, s->ids.p);
    st_out_tensor(o, "doc_len", DT_U32, 1, &s->n, s->len);
    st_out_tensor(o, "doc_source", DT_U16, 1, &s->n, s->source);
    if (s->mask.n > 0)
        st_out_tensor(o, "loss_mask", DT_U8, 1, &s->ntok, s->mask.p);
    msg_out_tokens(s->w, s->ntok);
    k = msg_send(s->w, e);
    s->left = k > 0;
    s->n = s->ntok = 0;
    buf_clear(&s->ids);
    buf_clear(&s->mask);
    if (s->ids.cap > KEEP)
        buf_release(&s->ids);
    return k;
}

static void
add_doc_ids(struct out_stream *s, const struct doc_ids *ids)
{
    const size_t size = s->wide ? 4 : 2, n = ids->n * size;

    buf_reserve(&s->ids, n);
    if (s->wide && n > 0)
        memcpy(s->ids.p + s->ids.n, ids->v, n);
    for (size_t i = 0; i < ids->n && !s->wide; i++) {
        const uint16_t v = (uint16_t)ids->v[i];

        memcpy(s->ids.p + s->ids.n + 2 * i, &v, 2);
    }
    s->ids.n += n;
    s->ntok += ids->n;
}

int
out_stream_put(void *ctx, const struct doc *d, struct err *e)
{
    struct out_stream *s = ctx;

    if (d->ids.n == 0) /* no character of the document has a token */
        return s->left;
    add_doc_ids(s, &d->ids);
    if (encoder_mask(d) != NULL)
        buf_add(&s->mask, encoder_mask(d), d->ids.n);
    s->len[s->n] = (uint32_t)d->ids.n;
    s->source[s->n] = (uint16_t)d->source;
    s->key[s->n++] = d->key;
    s->next = d->next;
    s->cut += (uint64_t)encoder_cut(d);
    return s->ids.n >= MESSAGE || s->n == DOCS_MAX ? send_documents(s, e)
                                                   : s->left;
}

uint64_t
out_stream_cut(const struct out_stream *s)
{
    return s->cut;
}

int
out_stream_end(struct out_stream *s, int ok, const char *why, struct err *e)
{
    /* Before `abort` drop an unfilled message: had it been sent, a resumed run
     * could not cut messages at the same documents as an uninterrupted one. */
    const int k = ok ? send_documents(s, e) : s->left;

    if (k)
        return k;
    return ok ? msg_end(s->w, e) : msg_abort(s->w, why, e);
}

int
out_ids_put(void *ctx, const struct doc *d, struct err *e)
{
    FILE *f = ctx;

    (void)e;
    for (size_t i = 0; i < d->ids.n; i++)
        fprintf(f, "%s%" PRIu32, i ? " " : "", d->ids.v[i]);
    putc('\n', f);
    return ferror(f) != 0;
}

/* Decode the documents of one message, which the reader has checked. */
static int
decode_docs(const struct msg *m, const struct stream_info *info,
    const struct tokenizer *t, const char *between, FILE *out, struct err *e)
{
    const struct st_tensor *ids = st_find(&m->st, "ids");
    const struct st_tensor *len = st_find(&m->st, "doc_len");
    size_t at = 0;
    uint32_t *v = NULL;
    struct buf b = { 0 };
    int r = 0;

    for (size_t i = 0; i < len->n && r == 0; i++) {
        uint32_t n = st_u32(len, i), from = 0;

        v = xreallocarray(v, n, sizeof *v);
        for (size_t k = 0; k < n; k++)
            v[k] = (uint32_t)st_uint(ids, at++);
        if (n > 0 && info->eos >= 0 && v[n - 1] == (uint64_t)info->eos)
            n--;
        if (n > 0 && info->bos >= 0 && v[0] == (uint64_t)info->bos)
            from = 1;
        buf_clear(&b);
        r = tok_decode(t, v + from, n - from, 0, &b, e);
        buf_adds(&b, between);
        fwrite(b.p, 1, b.n, out);
    }
    free(v);
    buf_release(&b);
    return r ? r : ferror(out) != 0;
}

static int
check_docs_stream(const struct msg_in *r, const struct tokenizer *t,
    struct stream_info *info, struct err *e)
{
    char hash[33];

    if (stream_info_read(info, msg_in_head(r), e) < 0)
        return -1;
    tok_hash(t, hash);
    if (strcmp(info->content, "docs") != 0)
        return err_set(e, EX_INPUT, "holds no documents but a %s stream",
            info->content);
    if (strcmp(info->tokenizer, hash) != 0)
        return err_set(e, EX_INPUT,
            "was made by another tokenizer (%s, not %s)", info->tokenizer,
            hash);
    return 0;
}

int
out_decode(struct msg_in *r, const struct tokenizer *t, const char *between,
    FILE *out, struct err *e)
{
    struct stream_info info = { 0 };
    struct msg m;
    int k, first = 1, bad = 0;

    while (bad == 0 && (k = msg_read(r, &m, e)) > 0) {
        if (m.kind == MSG_STREAM && first &&
            check_docs_stream(r, t, &info, e) < 0)
            bad = err_prefix(e, "%s", msg_in_name(r));
        first = 0;
        if (bad == 0 && m.kind == MSG_DOCS)
            bad = decode_docs(&m, &info, t, between, out, e);
    }
    stream_info_release(&info);
    msg_in_close(r);
    return bad ? bad : k;
}
