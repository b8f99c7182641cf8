/* The index of a shard, made and viewed: see index.h */
#include "shard/index.h"
#include "base/mem.h"
#include "format/seekable.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = { 'R', 'E', 'T', 'O', 'R', 'T', 'I', 'X' };

/* The header of the file. */
struct index_head {
    char magic[8];
    uint32_t version, bytes; /* version 1; 128, the bytes of this header */
    uint64_t nframe, nmsg, ndoc, npart;
    uint64_t file_bytes, raw_bytes;
    unsigned char file_hash[16], chain[16];
    uint64_t first_seq, table_at, table_hash, raw_at;
};
_Static_assert(sizeof(struct index_head) == SHARD_INDEX_HEAD, "as in the file");

/* ---- making ---- */

void
index_make_clear(struct index_make *x)
{
    buf_clear(&x->frame);
    buf_clear(&x->msg);
    buf_clear(&x->doc);
    buf_clear(&x->part);
    x->docs = 0;
}

void
index_make_release(struct index_make *x)
{
    buf_release(&x->frame);
    buf_release(&x->msg);
    buf_release(&x->doc);
    buf_release(&x->part);
}

/* Append the documents of a docs message to x->doc; returns their number. */
static size_t
add_index_docs(struct index_make *x, const struct msg *m, size_t msg)
{
    const struct st_tensor *len = st_find(&m->st, "doc_len");
    const struct st_tensor *source = st_find(&m->st, "doc_source");
    uint32_t off = 0;

    for (size_t i = 0; i < len->n; i++) {
        const struct shard_doc d = { (uint32_t)msg, off, st_u32(len, i),
            st_u16(source, i), 0 };

        buf_add(&x->doc, &d, sizeof d);
        off += d.len;
    }
    return len->n;
}

static void
count_sources(const struct msg *m, struct shard_source *s)
{
    const int docs = m->kind == MSG_DOCS;
    const struct st_tensor *len =
        st_find(&m->st, docs ? "doc_len" : "piece_len");
    const struct st_tensor *source =
        st_find(&m->st, docs ? "doc_source" : "piece_source");

    for (size_t i = 0; i < len->n; i++) {
        s[st_u16(source, i)].docs++;
        s[st_u16(source, i)].tokens += st_u32(len, i);
    }
}

void
index_make_msg(struct index_make *x, const struct msg *m, uint64_t raw,
    uint64_t tokens, size_t frame, struct shard_source *per_source)
{
    struct shard_msg r = { .raw = raw,
        .len = m->nraw,
        .seq = m->seq,
        .tokens = tokens,
        .first = x->docs,
        .frame = (uint32_t)frame,
        .kind = (uint32_t)m->kind };

    if (m->kind == MSG_DOCS)
        r.n = (uint32_t)add_index_docs(x, m, x->msg.n / sizeof r);
    else if (m->kind == MSG_BATCH)
        r.n = (uint32_t)st_find(&m->st, "ids")->shape[0];
    if (r.n && per_source)
        count_sources(m, per_source);
    x->docs += r.n;
    buf_add(&x->msg, &r, sizeof r);
}

void
index_make_frame(struct index_make *x, uint64_t at, uint64_t raw,
    const void *comp, size_t csize, size_t dsize, size_t msg, size_t nmsg)
{
    const struct shard_frame f = { at, raw, XXH3_64bits(comp, csize),
        (uint32_t)csize, (uint32_t)dsize, (uint32_t)msg, (uint32_t)nmsg };

    buf_add(&x->frame, &f, sizeof f);
}

/* Append a part for each source of the documents d[n] of frame f, in order of
 * source.  ndoc, tokens: scratch [65536] by source, all 0 before and after. */
static void
add_parts(struct index_make *x, size_t f, const struct shard_doc *d, size_t n,
    uint32_t *ndoc, uint64_t *tokens)
{
    size_t top = 0;

    for (size_t i = 0; i < n; i++) {
        ndoc[d[i].source]++;
        tokens[d[i].source] += d[i].len;
        top = d[i].source > top ? d[i].source : top;
    }
    for (size_t s = 0; n && s <= top; s++) {
        const struct shard_part p = { tokens[s], (uint32_t)f, ndoc[s],
            (uint16_t)s, { 0 } };

        if (p.ndoc)
            buf_add(&x->part, &p, sizeof p);
        ndoc[s] = 0;
        tokens[s] = 0;
    }
}

void
index_make_parts(struct index_make *x)
{
    const struct shard_frame *f = (const void *)x->frame.p;
    const struct shard_msg *m = (const void *)x->msg.p;
    const struct shard_doc *d = (const void *)x->doc.p;
    uint32_t *ndoc;
    uint64_t *tokens;

    if (x->doc.n == 0)
        return;
    ndoc = xcalloc(65536, sizeof *ndoc);
    tokens = xcalloc(65536, sizeof *tokens);
    for (size_t i = 0; i < x->frame.n / sizeof *f; i++) {
        size_t n = 0;

        for (size_t k = 0; k < f[i].nmsg; k++)
            n += m[f[i].msg + k].kind == MSG_DOCS ? m[f[i].msg + k].n : 0;
        if (n)
            add_parts(x, i, d + m[f[i].msg].first, n, ndoc, tokens);
    }
    free(ndoc);
    free(tokens);
}

void
index_make_file(const struct index_make *x, const struct shard_index *h,
    struct buf *b)
{
    struct index_head f = { .version = 1,
        .bytes = sizeof f,
        .nframe = x->frame.n / sizeof(struct shard_frame),
        .nmsg = x->msg.n / sizeof(struct shard_msg),
        .ndoc = x->doc.n / sizeof(struct shard_doc),
        .npart = x->part.n / sizeof(struct shard_part),
        .file_bytes = h->bytes,
        .raw_bytes = h->raw,
        .first_seq = h->first_seq,
        .table_at = h->table_at,
        .table_hash = h->table_hash,
        .raw_at = h->raw_at };

    memcpy(f.magic, magic, sizeof magic);
    memcpy(f.file_hash, h->file.h, 16);
    memcpy(f.chain, h->before.h, 16);
    buf_add(b, &f, sizeof f);
    buf_add(b, x->frame.p, x->frame.n);
    buf_add(b, x->msg.p, x->msg.n);
    buf_add(b, x->doc.p, x->doc.n);
    buf_add(b, x->part.p, x->part.n);
}

/* ---- viewing ---- */

static int
bad_index(struct err *e, const char *what, size_t i)
{
    return err_set(e, EX_INPUT, "%s %zu of the index does not fit", what, i);
}

static int
check_frames(const struct shard_index *x, struct err *e)
{
    uint64_t at = 0, raw = 0, msg = 0;

    for (size_t i = 0; i < x->nframe; i++) {
        const struct shard_frame *f = &x->frame[i];

        if (f->at != at || f->raw != raw || f->msg != msg || f->csize == 0 ||
            f->dsize == 0 || f->dsize > FRAME_MAX)
            return bad_index(e, "frame", i);
        if (!frame_is_backed(f->csize, f->dsize))
            return err_set(e, EX_INPUT,
                "frame %zu of the index: %" PRIu32
                " bytes are to become %" PRIu32 ", more than %d times as many",
                i, f->csize, f->dsize, FRAME_RATIO);
        at += f->csize;
        raw += f->dsize;
        msg += f->nmsg;
    }
    if (at != x->table_at || raw != x->raw || msg != x->nmsg ||
        x->nframe > SEEK_FRAMES_MAX || x->bytes != at + seek_bytes(x->nframe))
        return bad_index(e, "end of the frames", x->nframe);
    return 0;
}

/* Can the counts be true?  A token takes at least two bytes; a document or row
 * has at least one token, or room for one.  So no sum of counts exceeds the
 * shard's size. */
static int
counts_fit(const struct shard_msg *m)
{
    if (m->kind != MSG_DOCS && m->kind != MSG_BATCH)
        return m->n == 0 && m->tokens == 0;
    return m->tokens <= m->len / 2 && m->n <= m->len / 2;
}

/* Can the message be as long as the index says, given the compressed bytes of
 * its frames? */
static int
is_backed(const struct shard_index *x, const struct shard_msg *m)
{
    size_t last = m->frame;
    uint64_t bytes;

    if (m->len <= FRAME_FREE)
        return 1;
    while (last + 1 < x->nframe && x->frame[last + 1].raw < m->raw + m->len)
        last++;
    bytes = x->frame[last].at + x->frame[last].csize - x->frame[m->frame].at;
    return frame_is_backed(bytes, m->len - FRAME_FREE);
}

static int
check_msgs(const struct shard_index *x, struct err *e)
{
    uint64_t raw = 0, first = 0;

    for (size_t i = 0; i < x->nmsg; i++) {
        const struct shard_msg *m = &x->msg[i];
        const struct shard_frame *f;

        if (m->frame >= x->nframe)
            return bad_index(e, "message", i);
        f = &x->frame[m->frame];
        if (m->raw != raw || m->len < 8 || m->len > x->raw - raw ||
            m->first != first || i < f->msg || i - f->msg >= f->nmsg ||
            m->raw < f->raw || m->raw - f->raw >= f->dsize ||
            m->kind > MSG_OTHER || m->zero != 0 || !counts_fit(m))
            return bad_index(e, "message", i);
        if (!is_backed(x, m))
            return err_set(e, EX_INPUT,
                "message %zu of the index: %" PRIu64
                " bytes, more than %d times those of its frames",
                i, m->len, FRAME_RATIO);
        raw += m->len;
        first += m->n;
    }
    if (raw != x->raw)
        return bad_index(e, "end of the messages", x->nmsg);
    return 0;
}

int
index_check_docs(const struct shard_index *x, struct err *e)
{
    size_t d = 0;

    for (size_t i = 0; i < x->nmsg; i++) {
        const struct shard_msg *m = &x->msg[i];
        uint64_t off = 0;

        if (m->kind != MSG_DOCS)
            continue;
        if (m->n > x->ndoc - d)
            return bad_index(e, "message", i);
        for (const size_t end = d + m->n; d < end; d++) {
            const struct shard_doc *q = &x->doc[d];

            if (q->msg != i || q->off != off || q->len == 0 || q->zero != 0)
                return bad_index(e, "document", d);
            off += q->len;
        }
        if (off != m->tokens)
            return bad_index(e, "tokens of message", i);
    }
    return d == x->ndoc ? 0 : bad_index(e, "end of the documents", x->ndoc);
}

/* Sum up the documents and tokens of the messages that begin in a frame. */
static void
count_frame(const struct shard_index *x, size_t frame, uint64_t *docs,
    uint64_t *tokens)
{
    const struct shard_frame *f = &x->frame[frame];

    *docs = *tokens = 0;
    for (size_t k = f->msg; k < f->msg + (size_t)f->nmsg; k++)
        if (x->msg[k].kind == MSG_DOCS) {
            *docs += x->msg[k].n;
            *tokens += x->msg[k].tokens;
        }
}

/* Check that the parts of each frame are in order of source, and that their
 * documents and tokens add up to those of the frame's messages. */
static int
check_parts(const struct shard_index *x, struct err *e)
{
    uint64_t docs, tokens, all = 0;
    size_t i = 0;

    for (size_t f = 0; f < x->nframe; f++) {
        const size_t from = i;

        count_frame(x, f, &docs, &tokens);
        all += docs;
        for (; i < x->npart && x->part[i].frame == f; i++) {
            const struct shard_part *p = &x->part[i];

            if (p->ndoc == 0 || p->ndoc > docs || p->tokens > tokens ||
                p->tokens < p->ndoc || (i > from && p->source <= p[-1].source))
                return bad_index(e, "part", i);
            docs -= p->ndoc;
            tokens -= p->tokens;
        }
        if (docs != 0 || tokens != 0)
            return bad_index(e, "part", i);
    }
    return i == x->npart && all == x->ndoc
        ? 0
        : bad_index(e, "end of the parts", x->npart);
}

void
index_docs_at(const unsigned char *p, size_t n, size_t *at, size_t *bytes)
{
    struct index_head h = { 0 };

    if (n >= sizeof h)
        memcpy(&h, p, sizeof h);
    *at = n;
    *bytes = 0;
    if (h.nframe > n / sizeof(struct shard_frame) ||
        h.nmsg > n / sizeof(struct shard_msg) ||
        h.ndoc > n / sizeof(struct shard_doc))
        return;
    *at = sizeof h + (size_t)h.nframe * sizeof(struct shard_frame) +
        (size_t)h.nmsg * sizeof(struct shard_msg);
    *bytes = (size_t)h.ndoc * sizeof(struct shard_doc);
    if (*at > n || *bytes > n - *at) {
        *at = n;
        *bytes = 0;
    }
}

int
index_view_frames(struct shard_index *x, const unsigned char *p, size_t n,
    struct err *e)
{
    struct index_head h;
    size_t left, size[4];
    const size_t one[4] = { sizeof *x->frame, sizeof *x->msg, sizeof *x->doc,
        sizeof *x->part };

    memset(x, 0, sizeof *x);
    if (n < sizeof h)
        return err_set(e, EX_INPUT, "offset %zu: the index ends here", n);
    memcpy(&h, p, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.version != 1 ||
        h.bytes != sizeof h)
        return err_set(e, EX_INPUT, "offset 0: no index of version 1");
    left = n - sizeof h;
    for (int i = 0; i < 4; i++) {
        const uint64_t v[4] = { h.nframe, h.nmsg, h.ndoc, h.npart };

        if (v[i] > left / one[i])
            return err_set(e, EX_INPUT,
                "offset %d: the index is too short for what it counts",
                16 + 8 * i);
        size[i] = (size_t)v[i] * one[i];
        left -= size[i];
    }
    if (left != 0)
        return err_set(e, EX_INPUT, "offset %zu: %zu bytes too many", n - left,
            left);
    x->frame = (const void *)(p + sizeof h);
    x->msg = (const void *)(p + sizeof h + size[0]);
    x->doc = (const void *)(p + sizeof h + size[0] + size[1]);
    x->part = (const void *)(p + sizeof h + size[0] + size[1] + size[2]);
    x->nframe = (size_t)h.nframe;
    x->nmsg = (size_t)h.nmsg;
    x->ndoc = (size_t)h.ndoc;
    x->npart = (size_t)h.npart;
    x->bytes = h.file_bytes;
    x->raw = h.raw_bytes;
    x->raw_at = h.raw_at;
    x->first_seq = h.first_seq;
    memcpy(x->before.h, h.chain, 16);
    memcpy(x->file.h, h.file_hash, 16);
    x->table_at = h.table_at;
    x->table_hash = h.table_hash;
    if (check_frames(x, e) < 0 || check_msgs(x, e) < 0)
        return -1;
    return check_parts(x, e);
}

int
index_view(struct shard_index *x, const unsigned char *p, size_t n,
    struct err *e)
{
    return index_view_frames(x, p, n, e) < 0 ? -1 : index_check_docs(x, e);
}

void
index_frames_hash(const unsigned char *p, size_t n, size_t ndoc, size_t npart,
    struct chain *c)
{
    const size_t parts = npart * sizeof(struct shard_part);
    XXH3_state_t *x = XXH3_createState();

    if (!x)
        mem_exhausted("state of a hash");
    XXH3_128bits_reset(x);
    XXH3_128bits_update(x, p, n - parts - ndoc * sizeof(struct shard_doc));
    XXH3_128bits_update(x, p + n - parts, parts);
    chain_end(x, c);
    XXH3_freeState(x);
}
