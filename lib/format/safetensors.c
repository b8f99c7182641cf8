/*
 * safetensors: the strict parser and the writer; see safetensors.h.
 *
 * Every message has a header; headers are read without a tree (json_text.h),
 * which is faster.  A header must be JSON that the format allows: one object
 * whose members are tensors (objects of exactly dtype, shape, data_offsets) and
 * at most one __metadata__ (strings).  Nothing nests deeper, so nothing
 * recurses.
 */
#include "format/safetensors.h"
#include "base/bytes.h"
#include "base/io.h"
#include "format/json.h"
#include "format/json_text.h"
#include "format/names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM_MAX ((uint64_t)1 << 40)

static const struct {
    const char *name;
    unsigned block, bytes; /* elements and bytes of one block */
} dtypes[DT_N] = {
    [DT_BOOL] = { "BOOL", 1, 1 },
    [DT_U8] = { "U8", 1, 1 },
    [DT_I8] = { "I8", 1, 1 },
    [DT_U16] = { "U16", 1, 2 },
    [DT_I16] = { "I16", 1, 2 },
    [DT_F16] = { "F16", 1, 2 },
    [DT_BF16] = { "BF16", 1, 2 },
    [DT_U32] = { "U32", 1, 4 },
    [DT_I32] = { "I32", 1, 4 },
    [DT_F32] = { "F32", 1, 4 },
    [DT_U64] = { "U64", 1, 8 },
    [DT_I64] = { "I64", 1, 8 },
    [DT_F64] = { "F64", 1, 8 },
    [DT_F8_E4M3] = { "F8_E4M3", 1, 1 },
    [DT_Q8_0] = { "Q8_0", 32, 34 },
    [DT_Q4_0] = { "Q4_0", 32, 18 },
    [DT_Q4_1] = { "Q4_1", 32, 20 },
    [DT_Q5_0] = { "Q5_0", 32, 22 },
    [DT_Q5_1] = { "Q5_1", 32, 24 },
    [DT_Q2_K] = { "Q2_K", 256, 84 },
    [DT_Q3_K] = { "Q3_K", 256, 110 },
    [DT_Q4_K] = { "Q4_K", 256, 144 },
    [DT_Q5_K] = { "Q5_K", 256, 176 },
    [DT_Q6_K] = { "Q6_K", 256, 210 },
    [DT_IQ4_NL] = { "IQ4_NL", 32, 18 },
    [DT_IQ4_XS] = { "IQ4_XS", 256, 136 },
    [DT_MXFP4] = { "MXFP4", 32, 17 },
};

const char *
dtype_name(enum dtype t)
{
    return (unsigned)t < DT_N ? dtypes[t].name : "?";
}

int
dtype_bytes(enum dtype t, size_t n, size_t *bytes)
{
    assert((unsigned)t < DT_N);
    if (n % dtypes[t].block != 0)
        return -1;
    return size_mul(n / dtypes[t].block, dtypes[t].bytes, bytes);
}

/* ---- reading ---- */

/* The header being read. */
struct st_in {
    struct js_in in;
    const char *begin;
    struct st *s;
    struct err *e;
};

/* Offsets in errors count from the start of the message, 8 bytes before the
 * header. */
#define BAD(c, at, ...) \
    err_at((c)->e, (uint64_t)((at) - (c)->begin) + 8, __VA_ARGS__)

static int
want(struct st_in *c, char ch)
{
    if (js_in_mark(&c->in, ch))
        return 0;
    return BAD(c, c->in.p,
        c->in.p < c->in.end ? "'%c' expected in the header"
                            : "header ends where '%c' is expected",
        ch);
}

/* Read on after a member: 1: another follows; 0: the closing ch was read; -1:
 * error. */
static int
another_member(struct st_in *c, char ch)
{
    if (js_in_mark(&c->in, ','))
        return 1;
    if (js_in_mark(&c->in, ch))
        return 0;
    return BAD(c, c->in.p, "',' or '%c' expected in the header", ch);
}

static int
string(struct st_in *c, const char **s, size_t *n)
{
    return js_in_text(&c->in, s, n) ? 0
                                    : BAD(c, c->in.p, "header: %s", c->in.why);
}

static int
header_number(struct st_in *c, uint64_t *v)
{
    return js_in_number(&c->in, v) ? 0
                                   : BAD(c, c->in.p, "header: %s", c->in.why);
}

static int
is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* Copy a string to the end of s->mem, NUL-terminated.  Room for all strings of
 * the header was reserved, so the pointer stays valid. */
static char *
keep_tensor(struct st_in *c, const char *s, size_t n)
{
    struct buf *b = &c->s->mem;
    const size_t at = b->n;

    buf_add(b, s, n);
    buf_addc(b, '\0');
    return b->p + at;
}

static int
read_dtype(struct st_in *c, struct st_tensor *t)
{
    const char *const at = c->in.p, *name;
    size_t n;

    if (string(c, &name, &n) < 0)
        return -1;
    for (int i = 0; i < DT_Q8_0; i++)
        if (is(name, n, dtypes[i].name)) {
            t->dtype = (enum dtype)i;
            return 0;
        }
    return BAD(c, at, "tensor %.80s: dtype \"%.*s\" is not supported", t->name,
        n < 40 ? (int)n : 40, name);
}

static int
read_shape(struct st_in *c, struct st_tensor *t)
{
    const char *const at = c->in.p;
    uint64_t v;
    int r;

    if (want(c, '[') < 0)
        return -1;
    if (js_in_mark(&c->in, ']'))
        return 0;
    do {
        if (t->ndim == ST_DIMS_MAX)
            return BAD(c, at, "tensor %.80s: more than %d dimensions", t->name,
                ST_DIMS_MAX);
        if (header_number(c, &v) < 0)
            return -1;
        if (v > DIM_MAX)
            return BAD(c, at, "tensor %.80s: a dimension above %llu", t->name,
                (unsigned long long)DIM_MAX);
        t->shape[t->ndim++] = (size_t)v;
    } while ((r = another_member(c, ']')) > 0);
    return r;
}

static int
read_offsets(struct st_in *c, struct st_tensor *t)
{
    const char *const at = c->in.p;
    uint64_t a, b;

    if (want(c, '[') < 0 || header_number(c, &a) < 0 || want(c, ',') < 0 ||
        header_number(c, &b) < 0 || want(c, ']') < 0)
        return -1;
    if (b < a)
        return BAD(c, at, "tensor %.80s: data_offsets run backwards", t->name);
    t->off = (size_t)a;
    t->nbytes = (size_t)(b - a);
    return 0;
}

/* Set t->n to the elements of t, and check that data_offsets fit their bytes.
 * Overflow is an error even if another dimension is 0. */
static int
check_tensor_size(struct st_in *c, const char *at, struct st_tensor *t)
{
    size_t n = 1, bytes;
    int empty = 0;

    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0)
            empty = 1;
        else if (size_mul(n, t->shape[i], &n) < 0)
            return BAD(c, at, "tensor %.80s: shape overflows", t->name);
    }
    if (dtype_bytes(t->dtype, n, &bytes) < 0)
        return BAD(c, at, "tensor %.80s: shape overflows", t->name);
    t->n = empty ? 0 : n;
    if (empty)
        bytes = 0;
    if (bytes != t->nbytes)
        return BAD(c, at,
            "tensor %.80s: shape takes %zu bytes but "
            "data_offsets hold %zu",
            t->name, bytes, t->nbytes);
    return 0;
}

static int
read_tensor(struct st_in *c, const char *name, struct st_tensor *t)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    const char *const begin = c->in.p;
    int seen = 0, r, bit;

    memset(t, 0, sizeof *t);
    t->name = name;
    if (want(c, '{') < 0)
        return -1;
    do {
        const char *const at = c->in.p, *key;
        size_t n;

        if (string(c, &key, &n) < 0)
            return -1;
        bit = is(key, n, "dtype")        ? DTYPE
            : is(key, n, "shape")        ? SHAPE
            : is(key, n, "data_offsets") ? OFFSETS
                                         : 0;
        if (bit == 0 || (seen & bit))
            return BAD(c, at, "tensor %.80s: key \"%.*s\" is %s", name,
                n < 40 ? (int)n : 40, key, bit ? "given twice" : "unknown");
        seen |= bit;
        if (want(c, ':') < 0)
            return -1;
        r = bit == DTYPE   ? read_dtype(c, t)
            : bit == SHAPE ? read_shape(c, t)
                           : read_offsets(c, t);
        if (r < 0 || (r = another_member(c, '}')) < 0)
            return -1;
    } while (r);
    if (seen != ALL)
        return BAD(c, begin, "tensor %.80s: %s is missing", name,
            !(seen & DTYPE)       ? "dtype"
                : !(seen & SHAPE) ? "shape"
                                  : "data_offsets");
    return check_tensor_size(c, begin, t);
}

static int
read_metadata(struct st_in *c)
{
    struct st *s = c->s;
    int r;

    if (want(c, '{') < 0)
        return -1;
    if (js_in_mark(&c->in, '}'))
        return 0;
    do {
        const char *text;
        size_t n;

        s->key = xgrow_pow2(s->key, s->nmeta, sizeof *s->key);
        s->val = xgrow_pow2(s->val, s->nmeta, sizeof *s->val);
        if (string(c, &text, &n) < 0)
            return -1;
        s->key[s->nmeta] = keep_tensor(c, text, n);
        if (want(c, ':') < 0 || string(c, &text, &n) < 0)
            return -1;
        s->val[s->nmeta++] = keep_tensor(c, text, n);
    } while ((r = another_member(c, '}')) > 0);
    return r;
}

static int
by_offset(const void *a, const void *b)
{
    const struct st_tensor *x = a, *y = b;

    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    if (x->nbytes != y->nbytes)
        return x->nbytes < y->nbytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Check the rules between members: unique names, data without holes. */
static int
check_whole(struct st_in *c)
{
    struct st *s = c->s;
    const size_t n = s->nt > s->nmeta ? s->nt : s->nmeta;
    const char **v = xreallocarray(NULL, n + 1, sizeof *v);
    const char *twice;
    size_t end = 0;
    int r = 0;

    for (size_t i = 0; i < s->nt; i++)
        v[i] = s->t[i].name;
    if ((twice = names_twice(v, s->nt)) != NULL)
        r = BAD(c, c->begin, "tensor \"%.80s\" is given twice", twice);
    for (size_t i = 0; i < s->nmeta; i++)
        v[i] = s->key[i];
    if (r == 0 && (twice = names_twice(v, s->nmeta)) != NULL)
        r = BAD(c, c->begin, "metadata key \"%.80s\" is given twice", twice);
    free(v);
    for (size_t i = 1; i < s->nt; i++)
        if (by_offset(&s->t[i - 1], &s->t[i]) > 0) {
            qsort(s->t, s->nt, sizeof *s->t, by_offset);
            break;
        }
    for (size_t i = 0; r == 0 && i < s->nt; i++) {
        if (s->t[i].off != end)
            r = BAD(c, c->begin,
                "tensor %.80s: data begin at %zu, not at %zu: "
                "a hole or an overlap",
                s->t[i].name, s->t[i].off, end);
        end = s->t[i].off + s->t[i].nbytes; /* both < 10^15 */
    }
    s->data_len = end;
    return r;
}

static int
read_header(struct st_in *c)
{
    struct st *s = c->s;
    int r, meta = 0;

    if (c->in.p == c->in.end || *c->in.p != '{')
        return BAD(c, c->begin, "the header does not begin with '{'");
    c->in.p++;
    if (js_in_mark(&c->in, '}'))
        return 0;
    do {
        const char *const at = c->in.p, *name;
        size_t n;

        if (string(c, &name, &n) < 0 || want(c, ':') < 0)
            return -1;
        if (is(name, n, "__metadata__")) {
            if (meta++)
                return BAD(c, at, "__metadata__ is given twice");
            r = read_metadata(c);
        } else {
            s->t = xgrow_pow2(s->t, s->nt, sizeof *s->t);
            r = read_tensor(c, keep_tensor(c, name, n), &s->t[s->nt]);
            s->nt += r == 0;
        }
        if (r < 0 || (r = another_member(c, '}')) < 0)
            return -1;
    } while (r);
    return 0;
}

int
st_parse_header(struct st *s, const char *json, size_t n, struct err *e)
{
    struct st_in c = { .begin = json, .s = s, .e = e };
    int r;

    memset(s, 0, sizeof *s);
    if (n > ST_HEADER_MAX)
        return err_set(e, EX_INPUT,
            "offset 0: header of %zu bytes, more than %u", n, ST_HEADER_MAX);
    buf_reserve(&s->mem, n + 1);
    js_in_begin(&c.in, json, n);
    r = read_header(&c);
    if (r == 0 && !js_in_done(&c.in))
        r = BAD(&c, c.in.p, "bytes after the header's closing brace");
    if (r == 0)
        r = check_whole(&c);
    js_in_end(&c.in);
    if (r < 0)
        st_release(s);
    else
        s->data_at = 8 + n;
    return r;
}

void
st_set_data(struct st *s, const void *data)
{
    for (size_t i = 0; i < s->nt; i++)
        s->t[i].data = (const unsigned char *)data + s->t[i].off;
}

int
st_parse(struct st *s, const void *p, size_t n, struct err *e)
{
    const unsigned char *u = p;
    uint64_t len;

    memset(s, 0, sizeof *s);
    if (n < 8)
        return err_at(e, n, "ends before the length of the header");
    len = le_get(u, 8);
    if (len > ST_HEADER_MAX || len > n - 8)
        return err_set(e, EX_INPUT, "offset 0: header of %llu bytes, but %s",
            (unsigned long long)len,
            len > ST_HEADER_MAX ? "100000000 are allowed"
                                : "the input is shorter");
    if (st_parse_header(s, (const char *)u + 8, (size_t)len, e) < 0)
        return -1;
    if (s->data_len != n - s->data_at) {
        err_set(e, EX_INPUT,
            "offset %zu: %zu bytes of data, but the header "
            "describes %zu",
            s->data_at, n - s->data_at, s->data_len);
        st_release(s);
        return -1;
    }
    st_set_data(s, u + s->data_at);
    return 0;
}

void
st_release(struct st *s)
{
    free(s->t);
    free(s->key);
    free(s->val);
    buf_release(&s->mem);
    memset(s, 0, sizeof *s);
}

const struct st_tensor *
st_find(const struct st *s, const char *name)
{
    for (size_t i = 0; i < s->nt; i++)
        if (strcmp(s->t[i].name, name) == 0)
            return &s->t[i];
    return NULL;
}

const char *
st_meta(const struct st *s, const char *key)
{
    for (size_t i = 0; i < s->nmeta; i++)
        if (strcmp(s->key[i], key) == 0)
            return s->val[i];
    return NULL;
}

/* Write the shape to b, as "[2,3]" or "[?,3]". */
static void
shape_text(char *b, size_t n, int ndim, const size_t *shape)
{
    size_t k = 0;

    k += (size_t)snprintf(b, n, "[");
    for (int i = 0; i < ndim && k < n; i++)
        k += (size_t)(shape[i] == SIZE_MAX
                ? snprintf(b + k, n - k, "%s?", i ? "," : "")
                : snprintf(b + k, n - k, "%s%zu", i ? "," : "", shape[i]));
    if (k < n)
        snprintf(b + k, n - k, "]");
}

const struct st_tensor *
st_need(const struct st *s, const char *name, enum dtype t, int ndim,
    const size_t *shape, struct err *e)
{
    const struct st_tensor *x = st_find(s, name);
    char have[200], need[200];
    int ok;

    if (!x) {
        err_set(e, EX_INPUT, "tensor %s is missing", name);
        return NULL;
    }
    ok = x->dtype == t && x->ndim == ndim;
    for (int i = 0; ok && i < ndim; i++)
        ok = shape[i] == SIZE_MAX || shape[i] == x->shape[i];
    if (!ok) {
        shape_text(have, sizeof have, x->ndim, x->shape);
        shape_text(need, sizeof need, ndim, shape);
        err_set(e, EX_INPUT, "tensor %s is %s %s, not %s %s", name,
            dtype_name(x->dtype), have, dtype_name(t), need);
        return NULL;
    }
    return x;
}

/* ---- writing ---- */

void
st_out_begin(struct st_out *o)
{
    buf_clear(&o->meta);
    buf_clear(&o->tensors);
    buf_clear(&o->head);
    o->npiece = o->data_len = 0;
}

void
st_out_meta(struct st_out *o, const char *key, const char *val)
{
    if (o->meta.n)
        buf_addc(&o->meta, ',');
    js_quote(&o->meta, key);
    buf_addc(&o->meta, ':');
    js_quote(&o->meta, val);
}

void
st_out_number(struct st_out *o, const char *key, uint64_t v)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, v);
    st_out_meta(o, key, text);
}

void
st_out_tensor(struct st_out *o, const char *name, enum dtype t, int ndim,
    const size_t *shape, const void *data)
{
    struct buf *b = &o->tensors;
    size_t n = 1, bytes;
    int bad_size = t >= DT_Q8_0 || ndim < 0 || ndim > ST_DIMS_MAX;

    if (b->n)
        buf_addc(b, ',');
    js_quote(b, name);
    buf_addf(b, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(t));
    for (int i = 0; i < ndim && !bad_size; i++) {
        buf_addf(b, "%s%zu", i ? "," : "", shape[i]);
        bad_size |= shape[i] > DIM_MAX || size_mul(n, shape[i], &n) < 0;
    }
    assert(!bad_size);
    bad_size = dtype_bytes(t, n, &bytes);
    assert(bad_size == 0);
    buf_addf(b, "],\"data_offsets\":[%zu,%zu]}", o->data_len,
        o->data_len + bytes);
    o->piece = xgrow(o->piece, o->npiece, &o->cap, sizeof *o->piece);
    o->piece[o->npiece].p = data;
    o->piece[o->npiece++].n = bytes;
    o->data_len += bytes;
}

void
st_out_end(struct st_out *o)
{
    struct buf *b = &o->head;
    uint64_t len;

    buf_clear(b);
    buf_add(b, "\0\0\0\0\0\0\0", 8);
    buf_addc(b, '{');
    if (o->meta.n) {
        buf_adds(b, "\"__metadata__\":{");
        buf_add(b, o->meta.p, o->meta.n);
        buf_addc(b, '}');
        if (o->tensors.n)
            buf_addc(b, ',');
    }
    buf_add(b, o->tensors.n ? o->tensors.p : "", o->tensors.n);
    buf_addc(b, '}');
    while (b->n % 8)
        buf_addc(b, ' ');
    len = b->n - 8;
    assert(len <= ST_HEADER_MAX);
    for (int i = 0; i < 8; i++)
        b->p[i] = (char)(len >> (8 * i) & 255);
}

int
st_out_save(const struct st_out *o, const char *path, struct err *e)
{
    struct io_out f;
    int r = io_out_begin(&f, path, e);

    if (r < 0)
        return -1;
    r = io_out_write(&f, o->head.p, o->head.n, e);
    for (size_t i = 0; r == 0 && i < o->npiece; i++)
        r = io_out_write(&f, o->piece[i].p, o->piece[i].n, e);
    if (r == 0)
        r = io_out_commit(&f, e);
    if (r < 0)
        io_out_abort(&f);
    return r;
}

void
st_out_release(struct st_out *o)
{
    buf_release(&o->meta);
    buf_release(&o->tensors);
    buf_release(&o->head);
    free(o->piece);
    memset(o, 0, sizeof *o);
}
