/*
 * shard dump - show a stream as text; see shard-dump(1).  All text from the
 * input is printed in a form that cannot control a terminal.
 */
#include "dump.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/shared.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "tok/tok.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump_opts {
    const char *tokenizer; /* decodes ids; NULL: ids are not decoded */
    size_t values;         /* most documents, pieces, or values of a tensor to
                            * show */
    size_t messages;       /* number of messages to show; SIZE_MAX: all */
    int partial;
};

static struct dump_opts a = { .values = 8, .messages = SIZE_MAX };

static const struct opt options[] = { OPT_TOKENIZER(&a.tokenizer, ""),
    OPT_SIZE(0, "messages", &a.messages, 0, 0x1p53, "n",
        "show only this many messages"),
    OPT_SIZE(0, "values", &a.values, 0, 0x1p53, "n",
        "show at most this many documents, pieces, or values of a tensor"),
    OPT_PARTIAL(&a.partial), OPT_END };

struct dump {
    const struct dump_opts *o;
    struct stream_info info;
    struct tokenizer *tok; /* NULL: ids are not decoded */
    uint32_t *ids;         /* ids of a document */
    struct buf text;
};

/* Print s[n] as text_char shows it, but \n, \t and \\ as these escapes. */
static void
print_escaped(const char *s, size_t n)
{
    char one[TEXT_CHAR];

    while (n > 0) {
        const size_t taken = text_char(one, s, n);

        fputs(*s == '\n'     ? "\\n"
                : *s == '\t' ? "\\t"
                : *s == '\\' ? "\\\\"
                             : one,
            stdout);
        s += taken;
        n -= taken;
    }
}

static float
from_half(uint16_t h)
{
    const int exp = h >> 10 & 31, man = h & 1023;
    const float s = h >> 15 ? -1.0f : 1.0f;

    if (exp == 31)
        return man ? NAN : s * INFINITY;
    return exp ? s * ldexpf((float)(1024 + man), exp - 25)
               : s * ldexpf((float)man, -24);
}

static void
put_value(const struct st_tensor *t, size_t i)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        float f;
        uint64_t u64;
        int64_t i64;
        double d;
    } v;
    const size_t size = t->nbytes / t->n;

    memcpy(&v, (const char *)t->data + size * i, size);
    switch (t->dtype) {
    case DT_BOOL:
    case DT_U8: printf(" %u", v.u8); break;
    case DT_I8: printf(" %d", v.i8); break;
    case DT_U16: printf(" %u", v.u16); break;
    case DT_I16: printf(" %d", v.i16); break;
    case DT_F16: printf(" %.4g", (double)from_half(v.u16)); break;
    case DT_BF16:
        v.u32 = (uint32_t)v.u16 << 16;
        printf(" %.4g", (double)v.f);
        break;
    case DT_U32: printf(" %" PRIu32, v.u32); break;
    case DT_I32: printf(" %" PRId32, v.i32); break;
    case DT_F32: printf(" %.6g", (double)v.f); break;
    case DT_U64: printf(" %" PRIu64, v.u64); break;
    case DT_I64: printf(" %" PRId64, v.i64); break;
    case DT_F64: printf(" %.9g", v.d); break;
    default: break;
    }
}

static void
put_tensor(const struct st_tensor *t, size_t values)
{
    printf("  ");
    print_escaped(t->name, strlen(t->name));
    printf(" %s [", dtype_name(t->dtype));
    for (int i = 0; i < t->ndim; i++)
        printf("%s%zu", i ? "," : "", t->shape[i]);
    printf("]");
    for (size_t i = 0; i < t->n && i < values; i++)
        put_value(t, i);
    printf("%s\n", t->n > values ? " ..." : "");
}

/* Element i of an integer tensor; 0 if the tensor is missing or too short. */
static uint64_t
element_at(const struct st_tensor *t, size_t i)
{
    return t && i < t->n ? st_uint(t, i) : 0;
}

static const char *
source_of(const struct dump *d, uint64_t i)
{
    return i < d->info.nsource ? d->info.source[i] : "?";
}

/* Print the text of ids begin..begin+n-1 on a line of its own. */
static void
put_decoded(struct dump *d, const struct st_tensor *ids, size_t begin, size_t n)
{
    struct err e;

    d->ids = xreallocarray(d->ids, n, sizeof *d->ids);
    for (size_t i = 0; i < n; i++)
        d->ids[i] = (uint32_t)element_at(ids, begin + i);
    buf_clear(&d->text);
    if (tok_decode(d->tok, d->ids, n, 0, &d->text, &e) < 0)
        die_err(&e);
    fputs("    ", stdout);
    print_escaped(d->text.p, d->text.n);
    putchar('\n');
}

/* Print a line for each of the first o->values documents or, in a batch,
 * pieces; with a tokenizer, the text of each on a second line. */
static void
put_docs(struct dump *d, const struct msg *m)
{
    const int docs = m->kind == MSG_DOCS;
    const struct st *s = &m->st;
    const struct st_tensor *ids = st_find(s, "ids");
    const struct st_tensor *row = st_find(s, "piece_row");
    const struct st_tensor *len = st_find(s, docs ? "doc_len" : "piece_len");
    const struct st_tensor *source =
        st_find(s, docs ? "doc_source" : "piece_source");
    const struct st_tensor *key = st_find(s, docs ? "doc_key" : "piece_key");
    const struct st_tensor *off = st_find(s, "piece_off");
    size_t begin = 0;

    for (size_t i = 0; i < len->n && i < d->o->values; i++) {
        const size_t n = (size_t)element_at(len, i);

        if (!docs && i && element_at(row, i) != element_at(row, i - 1))
            begin = (size_t)element_at(row, i) * ids->shape[1];
        else if (!docs && i == 0)
            begin = (size_t)element_at(row, 0) * ids->shape[1];
        if (docs)
            printf("  document %zu: ", i);
        else
            printf("  row %" PRIu64 " piece %zu: ", element_at(row, i), i);
        print_escaped(source_of(d, element_at(source, i)),
            strlen(source_of(d, element_at(source, i))));
        printf(", %zu tokens, key %016" PRIx64, n, element_at(key, i));
        if (!docs)
            printf(", from token %" PRIu64, element_at(off, i));
        putchar('\n');
        if (d->tok)
            put_decoded(d, ids, begin, n);
        begin += n;
    }
    if (len->n > d->o->values)
        printf("  ... and %zu more\n", len->n - d->o->values);
}

static void
print_message(struct dump *d, const struct msg *m)
{
    const char *kind = st_meta(&m->st, "kind");

    printf("#%" PRIu64 " ", m->seq);
    print_escaped(kind, strlen(kind));
    printf(" at %" PRIu64 ", %zu bytes\n", m->at, m->nraw);
    for (size_t i = 0; i < m->st.nmeta; i++) {
        if (strcmp(m->st.key[i], "kind") == 0 ||
            strcmp(m->st.key[i], "seq") == 0)
            continue;
        printf("  ");
        print_escaped(m->st.key[i], strlen(m->st.key[i]));
        printf(": ");
        print_escaped(m->st.val[i], strlen(m->st.val[i]));
        putchar('\n');
    }
    for (size_t i = 0; i < m->st.nt; i++)
        put_tensor(&m->st.t[i], d->o->values);
    if (m->kind == MSG_DOCS || m->kind == MSG_BATCH)
        put_docs(d, m);
}

/* Die if --tokenizer is not the tokenizer that encoded the text. */
static void
check_same_tokenizer(const struct dump *d)
{
    char hex[33];

    if (!d->tok)
        return;
    tok_hash(d->tok, hex);
    if (strcmp(hex, d->info.tokenizer) != 0)
        die(EX_INPUT,
            "%s: this tokenizer has hash %s, but the stream was made with %s",
            d->o->tokenizer, hex, d->info.tokenizer);
}

static void
dump_stream(const char *addr, const struct dump_opts *o)
{
    struct dump d = { .o = o };
    struct msg_in *r;
    struct msg m;
    struct err e;
    int k = 1;

    if (o->tokenizer && !(d.tok = tok_open(o->tokenizer, &e)))
        die_err(&e);
    r = set_in_open(addr, o->partial, &e);
    if (!r)
        die_err(&e);
    /* stop also when stdout's reader has left: the stream may be endless */
    for (size_t n = 0; k > 0 && n < o->messages && !ferror(stdout); n++) {
        k = msg_read(r, &m, &e);
        if (k < 0) {
            /* show the good messages before the error */
            fflush(stdout);
            die_err(&e);
        }
        if (m.kind == MSG_STREAM && m.raw) {
            if (stream_info_read(&d.info, &m.st, &e) < 0)
                die_err(&e);
            check_same_tokenizer(&d);
        }
        if (m.raw)
            print_message(&d, &m);
    }
    stream_info_release(&d.info);
    buf_release(&d.text);
    free(d.ids);
    tok_free(d.tok);
    msg_in_close(r);
}

int
dump_main(int argc, char **argv)
{
    char **input = opt_parse(argc, argv, options,
        "show a stream or a directory as text", "[input]", 0, 1, NULL);

    dump_stream(*input, &a);
    out_done();
    return EX_OK;
}
