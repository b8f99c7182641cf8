/* Turns documents of other projects' files into a stream: see sink.h */
#include "sink.h"
#include "base/err.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/progress.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <string.h>

enum { MESSAGE = 1 << 20, DOCS_MAX = 1 << 16 }; /* as in tokenize */

/* Send the `stream` message.  v's n ids from id `from` on are the first
 * document.  If the user gave neither BOS nor EOS and files are not cut, the
 * message names the tokenizer's BOS if the document begins with it, and the
 * tokenizer's EOS if the document ends with it. */
static void
begin_stream(struct sink *s, const struct ids_view *v, size_t from, size_t n)
{
    struct err e;

    s->info.bos = s->cut.bos;
    s->info.eos = s->cut.eos;
    if (s->guess && s->cut.bos < 0 && s->cut.eos < 0) {
        if (s->tok.bos >= 0 && id_at(v, from) == s->tok.bos)
            s->info.bos = s->tok.bos;
        if (s->tok.eos >= 0 && id_at(v, from + n - 1) == s->tok.eos)
            s->info.eos = s->tok.eos;
    }
    s->k = shardmk_open(s->dir, s->so, &e);
    if (!s->k)
        die_err(&e);
    stream_info_put(shardmk_begin(s->k, MSG_STREAM), &s->info);
    if (shardmk_send(s->k, &e) < 0)
        die_err(&e);
}

static void
send_docs(struct sink *s)
{
    const size_t n = s->ids.n / (s->wide ? 4 : 2);
    const size_t docs = s->len.n / sizeof(uint32_t);
    struct st_out *o;
    struct err e;

    if (docs == 0)
        return;
    o = shardmk_begin(s->k, MSG_DOCS);
    st_out_tensor(o, "doc_key", DT_U64, 1, &docs, s->key.p);
    st_out_tensor(o, "ids", s->wide ? DT_U32 : DT_U16, 1, &n, s->ids.p);
    st_out_tensor(o, "doc_len", DT_U32, 1, &docs, s->len.p);
    st_out_tensor(o, "doc_source", DT_U16, 1, &docs, s->source.p);
    if (s->masked)
        st_out_tensor(o, "loss_mask", DT_U8, 1, &n, s->mask.p);
    if (shardmk_send(s->k, &e) < 0)
        die_err(&e);
    buf_clear(&s->ids);
    buf_clear(&s->len);
    buf_clear(&s->source);
    buf_clear(&s->key);
    buf_clear(&s->mask);
    s->masked = 0;
}

static void
add_doc_ids(struct sink *s, const struct ids_view *v, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        const int64_t id = id_at(v, i);
        const uint32_t w = (uint32_t)id;
        const uint16_t h = (uint16_t)id;

        if (id < 0 || (uint64_t)id >= s->info.vocab)
            die(EX_INPUT,
                "%s: offset %" PRIu64 ": id %" PRId64
                ", but the vocabulary ends at %zu",
                v->file, v->at + (uint64_t)(i * id_size(v->type)), id,
                s->info.vocab);
        if (s->wide)
            buf_add(&s->ids, &w, sizeof w);
        else
            buf_add(&s->ids, &h, sizeof h);
    }
}

void
sink_doc(struct sink *s, const struct ids_view *v, size_t from, size_t n,
    const unsigned char *mask)
{
    const size_t width = s->wide ? 4 : 2, had = s->ids.n / width;
    const uint32_t len = (uint32_t)n;
    uint64_t key;

    if (stop_asked)
        die(EX_STOP, "%s: interrupted", s->dir);
    if (n == 0) {
        s->empty++;
        s->record++;
        return;
    }
    if (n > (size_t)1 << 30)
        die(EX_INPUT,
            "%s: offset %" PRIu64 ": a document of %zu tokens; at most 2^30 "
            "are read (is it to be cut at an --eos-id?)",
            v->file, v->at + (uint64_t)(from * id_size(v->type)), n);
    if (!s->k)
        begin_stream(s, v, from, n);
    if (s->ids.n &&
        (s->ids.n + n * width > MESSAGE || s->len.n / sizeof len == DOCS_MAX)) {
        send_docs(s);
        sink_doc(s, v, from, n, mask);
        return;
    }
    add_doc_ids(s, v, from, n);
    if (mask && !s->masked) {
        buf_reserve(&s->mask, had);
        memset(s->mask.p, 1, had);
        s->mask.n = had;
        s->masked = 1;
    }
    for (size_t i = 0; s->masked && i < n; i++)
        buf_addc(&s->mask, mask ? mask[i] != 0 : 1);
    key = msg_doc_key(s->info.source[s->source_id], s->input, s->record);
    buf_add(&s->len, &len, sizeof len);
    buf_add(&s->source, &s->source_id, sizeof s->source_id);
    buf_add(&s->key, &key, sizeof key);
    s->record++;
    s->docs++;
    progress_at((double)s->docs, NULL);
}

void
sink_split(struct sink *s, const struct ids_view *v)
{
    size_t begin_at = 0;

    /* If the file does not begin with the BOS that was guessed, documents are
     * assumed to end with the end-of-text token instead. */
    if (s->guess && v->n && s->cut.bos >= 0 && id_at(v, 0) != s->cut.bos) {
        s->cut.bos = -1;
        s->cut.eos = s->tok.eos;
    }
    for (size_t i = 0; i < v->n; i++) {
        const int64_t id = id_at(v, i);

        if (s->cut.eos >= 0 ? id == s->cut.eos
                            : i + 1 < v->n && s->cut.bos >= 0 &&
                    id_at(v, i + 1) == s->cut.bos) {
            sink_doc(s, v, begin_at, i + 1 - begin_at, NULL);
            begin_at = i + 1;
        }
    }
    if (begin_at < v->n)
        sink_doc(s, v, begin_at, v->n - begin_at, NULL);
}

void
sink_end(struct sink *s)
{
    struct err e;

    send_docs(s);
    if (shardmk_end(s->k, &e) < 0)
        die_err(&e);
}

void
sink_release(struct sink *s)
{
    shardmk_close(s->k);
    buf_release(&s->ids);
    buf_release(&s->len);
    buf_release(&s->source);
    buf_release(&s->key);
    buf_release(&s->mask);
}
