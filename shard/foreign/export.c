/* shard export - write documents as other formats; see shard-export(1) */
#include "export.h"
#include "base/err.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "cli/shared.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "file_out.h"
#include "format.h"
#include "mds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct export_opts {
    int format;
    const char *source; /* the only source to write; NULL: all */
    int partial;
};

static struct export_opts given;
static const char *out;

static const struct opt options[] = { OPT_STR('o', "output", &out, "path",
                                          "the file or folder to write"),
    OPT_STR(0, "source", &given.source, "name",
        "source of the documents (default: all)"),
    OPT_PARTIAL(&given.partial), OPT_END };

/* A document to write. */
struct export_doc {
    const uint32_t *ids;
    const uint8_t *mask; /* [n] loss mask, 0 or 1; NULL: all 1 */
    size_t n;            /* > 0 */
};

struct export
{
    const struct export_opts *o;
    const char *path;
    size_t vocab;
    int bytes; /* bytes of an id */
    struct file_out bin, loss;
    int has_loss;
    struct buf ends; /* u64: number of ids up to the end of each document */
    uint64_t docs, tokens, masked;
    struct mds_out *mds;
};

static void
begin_files(struct export *x)
{
    static const char zero[1024];
    char *path;

    x->bytes = x->vocab > 65536 ? 4 : 2;
    switch (x->o->format) {
    case FOREIGN_MEGATRON:
        x->bytes = x->vocab < 65500 ? 2 : 4;
        path = xasprintf("%s.bin", x->path);
        file_begin(&x->bin, path);
        free(path);
        break;
    case FOREIGN_MDS: x->mds = mds_begin(x->path, x->vocab); break;
    default:
        file_begin(&x->bin, x->path);
        if (x->o->format == FOREIGN_LLMC)
            file_add(&x->bin, zero, 1024);
        if (x->o->format == FOREIGN_NPY)
            file_add(&x->bin, zero, 128);
        break;
    }
}

/* Add a document's loss mask to the file of masks, as datatrove has it.  The
 * file is created at the first document that has a mask: all tokens before it,
 * and documents without a mask, get ones. */
static void
add_loss(struct export *x, const struct export_doc *d)
{
    static const unsigned char one = 1;
    char *path;

    if (!x->has_loss && !d->mask)
        return;
    if (!x->has_loss) {
        path = xasprintf("%s.loss", x->path);
        file_begin(&x->loss, path);
        free(path);
        for (uint64_t i = 0; i < x->tokens; i++)
            file_add(&x->loss, &one, 1);
        x->has_loss = 1;
    }
    for (size_t i = 0; i < d->n; i++)
        file_add(&x->loss, d->mask ? &d->mask[i] : &one, 1);
}

static void
add_doc(struct export *x, const struct export_doc *d)
{
    if (x->o->format == FOREIGN_DATATROVE)
        add_loss(x, d);
    else
        x->masked += d->mask != NULL;
    if (x->mds)
        mds_doc(x->mds, d->ids, d->n);
    else
        file_ids(&x->bin, d->ids, d->n, x->bytes);
    x->docs++;
    x->tokens += d->n;
    if (x->o->format == FOREIGN_MEGATRON || x->o->format == FOREIGN_DATATROVE)
        buf_add(&x->ends, &x->tokens, sizeof x->tokens);
    if (x->o->format == FOREIGN_MEGATRON && d->n > INT32_MAX)
        die(EX_INPUT, "%s: a document of %zu tokens", x->path, d->n);
}

static void
end_megatron(struct export *x)
{
    const uint64_t *ends = (const void *)x->ends.p;
    char *path = xasprintf("%s.idx", x->path);
    struct file_out f;

    file_commit(&x->bin);
    file_begin(&f, path);
    file_add(&f, "MMIDIDX\0\0", 9);
    file_number(&f, 1, 8);
    file_number(&f, x->bytes == 2 ? 8 : 4, 1);
    file_number(&f, x->docs, 8);
    file_number(&f, x->docs + 1, 8);
    for (uint64_t i = 0; i < x->docs; i++)
        file_number(&f, ends[i] - (i ? ends[i - 1] : 0), 4);
    for (uint64_t i = 0; i < x->docs; i++)
        file_number(&f, (i ? ends[i - 1] : 0) * (uint64_t)x->bytes, 8);
    for (uint64_t i = 0; i <= x->docs; i++)
        file_number(&f, i, 8);
    file_commit(&f);
    free(path);
}

static void
end_llmc(struct export *x)
{
    const uint32_t head[3] = { x->bytes == 2 ? 20240520 : 20240801,
        x->bytes == 2 ? 1 : 7, (uint32_t)x->tokens };

    if (x->tokens > INT32_MAX)
        die(EX_INPUT, "%s: %" PRIu64 " tokens; a file of llm.c holds 2^31 - 1",
            x->path, x->tokens);
    file_head(&x->bin, head, sizeof head);
    file_commit(&x->bin);
}

static void
end_npy(struct export *x)
{
    char head[129];
    int n;

    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    n = snprintf(head + 10, 118,
        "{'descr': '<u%d', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
        x->bytes, x->tokens);
    head[10 + n] = ' ';
    head[127] = '\n';
    file_head(&x->bin, head, 128);
    file_commit(&x->bin);
}

static void
end_datatrove(struct export *x)
{
    char *index = xasprintf("%s.index", x->path);
    char *meta = xasprintf("%s.metadata", x->path), *text;
    struct err e;
    const char *unit = "";
    double v = (double)x->tokens;

    for (const char *u = "KMGT"; *u && v >= 1000; u++) {
        static char name[2];

        name[0] = *u;
        unit = name;
        v /= 1000;
    }
    file_commit(&x->bin);
    if (x->has_loss)
        file_commit(&x->loss);
    text = xasprintf("Unknown Tokenizer|%d\n%" PRIu64 "\n%.3g %sT", x->bytes,
        x->tokens, v, unit);
    if (io_put_file(index, x->ends.p ? x->ends.p : "", x->ends.n, &e) < 0 ||
        io_put_file(meta, text, strlen(text), &e) < 0)
        die_err(&e);
    free(index);
    free(meta);
    free(text);
}

static void
end_files(struct export *x)
{
    switch (x->o->format) {
    case FOREIGN_MEGATRON: end_megatron(x); break;
    case FOREIGN_LLMC: end_llmc(x); break;
    case FOREIGN_NPY: end_npy(x); break;
    case FOREIGN_DATATROVE: end_datatrove(x); break;
    default: mds_end(x->mds); break;
    }
    buf_release(&x->ends);
}

/* Write the documents of a message: those of source `only`, or all (-1). */
static void
export_message(struct export *x, const struct msg *m, int64_t only,
    struct buf *wide)
{
    const struct st_tensor *ids = st_find(&m->st, "ids");
    const struct st_tensor *len = st_find(&m->st, "doc_len");
    const struct st_tensor *source = st_find(&m->st, "doc_source");
    const struct st_tensor *mask = st_find(&m->st, "loss_mask");
    size_t at = 0;

    buf_clear(wide);
    for (size_t i = 0; i < ids->n; i++) {
        const uint32_t id = (uint32_t)st_uint(ids, i);

        buf_add(wide, &id, sizeof id);
    }
    for (size_t i = 0; i < len->n; i++) {
        const struct export_doc d = { (const uint32_t *)(const void *)wide->p +
                at,
            mask ? (const uint8_t *)mask->data + at : NULL, st_u32(len, i) };

        if (only < 0 || st_u16(source, i) == only)
            add_doc(x, &d);
        at += d.n;
    }
}

static int64_t
source_number(const struct stream_info *info, const char *name)
{
    for (size_t i = 0; name && i < info->nsource; i++)
        if (strcmp(info->source[i], name) == 0)
            return (int64_t)i;
    if (name)
        die(EX_USAGE, "--source: there is no source \"%s\"", name);
    return -1;
}

static void
export_docs(const char *input, const char *path, const struct export_opts *o)
{
    struct export x = { .o = o, .path = path };
    struct stream_info info = { 0 };
    struct buf wide = { 0 };
    struct msg_in *r;
    struct msg m;
    struct err e;
    int64_t only = -1;
    int k;

    prog_catch_stop();
    r = set_in_open(input, o->partial, &e);
    if (!r)
        die_err(&e);
    progress_begin("exported", 0, "B");
    while ((k = msg_read(r, &m, &e)) > 0 && !stop_asked) {
        if (m.kind == MSG_STREAM) {
            if (stream_info_read(&info, &m.st, &e) < 0)
                die_err(&e);
            if (strcmp(info.content, "docs") != 0)
                die(EX_INPUT,
                    "%s: documents are exported, but this is a stream of "
                    "batches",
                    msg_in_name(r));
            x.vocab = info.vocab;
            only = source_number(&info, o->source);
            begin_files(&x);
        } else if (m.kind == MSG_DOCS) {
            export_message(&x, &m, only, &wide);
        }
        progress_total(msg_in_expect(r, (double)msg_in_bytes(r)));
        progress_at((double)msg_in_bytes(r), NULL);
    }
    progress_end();
    if (k < 0)
        die_err(&e);
    if (stop_asked)
        die(EX_STOP, "%s: interrupted", path);
    end_files(&x);
    if (x.masked)
        warn("%s: the format has no loss mask: those of %" PRIu64
             " documents are lost",
            path, x.masked);
    prog_closing("%" PRIu64 " documents, %" PRIu64 " tokens", x.docs, x.tokens);
    stream_info_release(&info);
    buf_release(&wide);
    msg_in_close(r);
}

int
export_main(int argc, char **argv)
{
    char **in = opt_parse(argc, argv, options,
        "write documents as token files of another project", "format [input]",
        1, 2, NULL);

    given.format = foreign_format(in[0]);
    if (out == NULL)
        die(EX_USAGE, "name the file or folder to write: -o path");
    export_docs(in[1], out, &given);
    return EX_OK;
}
