/* The safetensors parser and writer: each rule, every truncation, and every
 * flipped bit of a header. */
#include "format/safetensors.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

/* The header's length, its text and ndata bytes of data in a buffer of exactly
 * their size, *n, so that a sanitizer sees a read beyond it. */
static unsigned char *
message(const char *json, size_t njson, size_t ndata, size_t *n)
{
    unsigned char *p;

    *n = 8 + njson + ndata;
    p = xcalloc(*n, 1);
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(njson >> (8 * i));
    memcpy(p + 8, json, njson);
    for (size_t i = 0; i < ndata; i++)
        p[8 + njson + i] = (unsigned char)i;
    return p;
}

/* Does the header parse with ndata bytes of data?  *e: why not. */
static int
parses(const char *json, size_t ndata, struct err *e)
{
    struct st s;
    size_t n;
    unsigned char *p = message(json, strlen(json), ndata, &n);
    int r = st_parse(&s, p, n, e);

    if (r == 0)
        st_release(&s);
    free(p);
    return r == 0;
}

#define T(s) "{\"a\":{" s "}}"
#define F32_2 "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"

static void
test_good(void)
{
    static const char *const good[] = {
        T(F32_2),
        T("\"shape\":[2],\"data_offsets\":[0,8],\"dtype\":\"F32\""),
        "{ \"a\" : { " F32_2 " } }  \n",
        "{\"__metadata__\":{},\"a\":{" F32_2 "}}",
        "{\"a\":{" F32_2 "},\"__metadata__\":{\"k\":\"v\",\"\":\"\"}}",
        T("\"dtype\":\"BF16\",\"shape\":[2,1,2],\"data_offsets\":[0,8]"),
        T("\"dtype\":\"U8\",\"shape\":[1,2,1,2,1,2,1,1],"
          "\"data_offsets\":[0,8]"),
        T("\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]"),
        /* in the JSON out of order, in the data in order */
        "{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
        /* an empty tensor takes no place, wherever it stands */
        "{\"e\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[8,8]},"
        "\"a\":{" F32_2 "}}",
        "{\"a\":{" F32_2 "},"
        "\"e\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[0,0]}}",
    };
    struct err e = { 0 };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!ok(parses(good[i], 8, &e), "good header %zu", i))
            printf("# %s\n# %s\n", good[i], e.msg);
    ok(parses("{}", 0, &e), "no tensors at all");
}

/* Headers that must be refused; `why` must be in the message. */
static const struct {
    const char *json, *why;
    size_t ndata;
} bad[] = {
    { "", "begin with '{'", 0 },
    { " {}", "begin with '{'", 0 },
    { "[]", "begin with '{'", 0 },
    { "{", "ends", 0 },
    { "{}}", "after the header", 0 },
    { "{}{}", "after the header", 0 },
    { "{,}", "no string", 0 },
    { "{\"a\":{" F32_2 "},}", "no string", 8 },
    { "{\"a\":1}", "expected", 0 },
    { "{\"a\" {" F32_2 "}}", "expected", 8 },
    { "{\"a\":{" F32_2 "} \"b\"}", "expected", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[2]"), "data_offsets is missing", 8 },
    { T("\"dtype\":\"F32\",\"data_offsets\":[0,8]"), "shape is missing", 8 },
    { T("\"shape\":[2],\"data_offsets\":[0,8]"), "dtype is missing", 8 },
    { T(""), "no string", 0 },
    { T(F32_2 ",\"shape\":[2]"), "given twice", 8 },
    { T(F32_2 ",\"x\":1"), "unknown", 8 },
    { T(F32_2 ",\"\":[2]"), "unknown", 8 },
    { T("\"dtype\":\"F8\",\"shape\":[8],\"data_offsets\":[0,8]"),
        "\"F8\" is not supported", 8 },
    { T("\"dtype\":\"Q8_0\",\"shape\":[32],\"data_offsets\":[0,34]"),
        "\"Q8_0\" is not supported", 34 },
    { T("\"dtype\":\"f32\",\"shape\":[2],\"data_offsets\":[0,8]"),
        "\"f32\" is not supported", 8 },
    { T("\"dtype\":5,\"shape\":[2],\"data_offsets\":[0,8]"), "no string", 8 },
    { T("\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]"), "expected",
        8 },
    { T("\"dtype\":\"F32\",\"shape\":[2,],\"data_offsets\":[0,8]"),
        "whole number", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]"),
        "whole number", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[+2],\"data_offsets\":[0,8]"),
        "whole number", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[02],\"data_offsets\":[0,8]"),
        "whole number", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]"), "expected",
        8 },
    { T("\"dtype\":\"F32\",\"shape\":[2e0],\"data_offsets\":[0,8]"), "expected",
        8 },
    { T("\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]"),
        "whole number", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[null],\"data_offsets\":[0,8]"),
        "whole number", 8 },
    { T("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,8],"
        "\"data_offsets\":[0,8]"),
        "more than 8 dimensions", 8 },
    { T("\"dtype\":\"U8\",\"shape\":[1099511627777],"
        "\"data_offsets\":[0,8]"),
        "a dimension above 1099511627776", 8 },
    { T("\"dtype\":\"U8\",\"shape\":[18446744073709551624],"
        "\"data_offsets\":[0,8]"),
        "more than 15 digits", 8 },
    /* products that, wrapped to 64 bits, fit the offsets */
    { T("\"dtype\":\"F32\",\"shape\":[1099511627776,1099511627776],"
        "\"data_offsets\":[0,0]"),
        "overflows", 0 },
    { T("\"dtype\":\"F32\",\"shape\":[1099511627776,4194304],"
        "\"data_offsets\":[0,0]"),
        "overflows", 0 },
    { T("\"dtype\":\"F32\",\"shape\":[1099511627776,1099511627776,0],"
        "\"data_offsets\":[0,0]"),
        "overflows", 0 },
    { T("\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]"),
        "shape takes 12 bytes", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,8]"),
        "shape takes 4 bytes", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,8]"),
        "shape takes 0 bytes", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]"), "backwards",
        8 },
    { T("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]"), "expected",
        8 },
    { T("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]"), "expected",
        8 },
    { T("\"dtype\":\"F32\",\"shape\":[2],"
        "\"data_offsets\":[18446744073709551608,18446744073709551616]"),
        "more than 15 digits", 8 },
    { T("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]"),
        "a hole or an overlap", 12 },
    { "{\"a\":{" F32_2 "},\"b\":{" F32_2 "}}", "a hole or an overlap", 8 },
    { "{\"a\":{" F32_2 "},\"b\":{\"dtype\":\"U8\",\"shape\":[1],"
      "\"data_offsets\":[9,10]}}",
        "a hole or an overlap", 10 },
    { "{\"a\":{" F32_2 "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],"
      "\"data_offsets\":[7,9]}}",
        "a hole or an overlap", 9 },
    { "{\"a\":{" F32_2 "},\"e\":{\"dtype\":\"U8\",\"shape\":[0],"
      "\"data_offsets\":[4,4]}}",
        "a hole or an overlap", 8 },
    { "{\"a\":{" F32_2 "},\"a\":{\"dtype\":\"U8\",\"shape\":[0],"
      "\"data_offsets\":[8,8]}}",
        "given twice", 8 },
    { "{\"a\":{" F32_2 "},\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[0],"
      "\"data_offsets\":[8,8]}}",
        "given twice", 8 },
    { "{\"__metadata__\":{},\"__metadata__\":{}}", "given twice", 0 },
    { "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "given twice", 0 },
    { "{\"__metadata__\":{\"k\":1}}", "no string", 0 },
    { "{\"__metadata__\":{\"k\":{}}}", "no string", 0 },
    { "{\"__metadata__\":[]}", "expected", 0 },
    { "{\"__metadata__\":{\"k\":\"\\u0000\"}}", "NUL", 0 },
    { "{\"__metadata__\":{\"k\":\"\\ud800\"}}", "surrogate", 0 },
    { "{\"__metadata__\":{\"k\":\"\\ud800\\u0041\"}}", "surrogate", 0 },
    { "{\"__metadata__\":{\"k\":\"\\udc00\\ud800\"}}", "surrogate", 0 },
    { "{\"__metadata__\":{\"k\":\"\\x41\"}}", "escape", 0 },
    { "{\"__metadata__\":{\"k\":\"\\u12g4\"}}", "escape", 0 },
    { "{\"__metadata__\":{\"k\":\"\t\"}}", "control character", 0 },
    { "{\"__metadata__\":{\"k\":\"\xc0\x80\"}}", "UTF-8", 0 },
    { "{\"__metadata__\":{\"k\":\"\xed\xa0\x80\"}}", "UTF-8", 0 },
    { "{\"__metadata__\":{\"k\":\"\xf4\x90\x80\x80\"}}", "UTF-8", 0 },
    { "{\"__metadata__\":{\"k\":\"\xe2\x82\"}}", "UTF-8", 0 },
    { "{\"__metadata__\":{\"k\":\"", "ends too early", 0 },
    { "{\"__metadata__\":{\"k\":\"\\", "escape", 0 },
    /* the error has the offset of the wrong byte, counted from the start of the
     * message */
    { "{ \"__metadata__\" : { \"k\" 1}}", "offset 33: ':' expected", 0 },
    { "{\"a\\u0062\":{ 1", "offset 21: header: no string", 0 },
    { "{\"a\\u0062\":{\"dtype\":\"F\\u0031\"",
        "offset 28: tensor ab: dtype \"F1\" is not", 0 },
    { "{\"a\":{\"shape\":[ 2, 010", "offset 27: header: no whole", 0 },
    { "{\"\xff\"", "offset 10: header: a string is not UTF-8", 0 },
    { "{} x", "offset 11: bytes after", 0 },
};

static void
test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = { 0 };

        if (!ok(!parses(bad[i].json, bad[i].ndata, &e) && e.code == EX_INPUT &&
                    strstr(e.msg, bad[i].why) && strstr(e.msg, "offset "),
                "header %zu is refused: %s", i, bad[i].why))
            printf("# %s\n# %s\n", bad[i].json, e.msg);
    }
}

static void
test_frame(void)
{
    const char *json = T(F32_2);
    struct st s;
    struct err e;
    size_t n;
    unsigned char *p = message(json, strlen(json), 8, &n);

    ok(!parses(json, 7, &e) && strstr(e.msg, "7 bytes of data"),
        "a byte of data is missing");
    ok(!parses(json, 9, &e), "a byte too many is refused");
    memset(p, 0xff, 8);
    ok(st_parse(&s, p, n, &e) < 0, "a header length where 8 + n wraps");
    memset(p, 0, 8);
    ok(st_parse(&s, p, n, &e) < 0, "a header of no bytes");
    p[4] = 1;
    ok(st_parse(&s, p, n, &e) < 0 && strstr(e.msg, "100000000"),
        "a header above the limit");
    ok(st_parse(&s, p, 7, &e) < 0, "shorter than the length field");
    ok(st_parse(&s, p, 0, &e) < 0, "an empty file is refused");
    free(p);
}

/* A small message with metadata and tensors of several types, made by the
 * writer. */
static unsigned char *
sample(size_t *n)
{
    static const float f[6] = { 1, 2, 3, 4, 5, 6 };
    static const unsigned char u[3] = { 7, 8, 9 };
    const size_t s2[] = { 2, 3 }, s1[] = { 3 }, s0[] = { 0, 5 };
    struct st_out o = { 0 };
    unsigned char *p;

    st_out_begin(&o);
    st_out_meta(&o, "kind", "a \"quoted\\\" line\n\x01 \xc3\xa9");
    st_out_meta(&o, "", "");
    st_out_tensor(&o, "x.y", DT_F32, 2, s2, f);
    st_out_tensor(&o, "empty", DT_F64, 2, s0, NULL);
    st_out_tensor(&o, "u\t", DT_U8, 1, s1, u);
    st_out_end(&o);
    *n = o.head.n + o.data_len;
    p = xmalloc(*n);
    memcpy(p, o.head.p, o.head.n);
    for (size_t i = 0, at = o.head.n; i < o.npiece; i++) {
        if (o.piece[i].n > 0)
            memcpy(p + at, o.piece[i].p, o.piece[i].n);
        at += o.piece[i].n;
    }
    st_out_release(&o);
    return p;
}

static void
test_round_trip(void)
{
    size_t n, any[] = { SIZE_MAX, 3 };
    unsigned char *p = sample(&n);
    const struct st_tensor *t;
    struct st s;
    struct err e;
    float f;

    ok(st_parse(&s, p, n, &e) == 0, "what the writer wrote parses");
    ok(s.nt == 3 && s.nmeta == 2 && s.data_at % 8 == 0 && s.data_len == 27,
        "its tensors and metadata are counted");
    ok(strcmp(st_meta(&s, "kind"), "a \"quoted\\\" line\n\x01 \xc3\xa9") == 0 &&
            strcmp(st_meta(&s, ""), "") == 0 && !st_meta(&s, "no"),
        "metadata come back");
    t = st_need(&s, "x.y", DT_F32, 2, any, &e);
    ok(t && t->n == 6 && t->nbytes == 24, "a tensor of any first size");
    memcpy(&f, (const char *)t->data + 20, sizeof f);
    ok(f == 6, "the data of a tensor come back");
    ok((t = st_find(&s, "u\t")) && memcmp(t->data, "\7\10\11", 3) == 0,
        "bytes after an empty tensor");
    ok((t = st_find(&s, "empty")) && t->n == 0 && t->nbytes == 0,
        "an empty tensor comes back");
    ok(!st_need(&s, "no", DT_F32, 2, any, &e) && strstr(e.msg, "no is missing"),
        "a missing tensor is refused: %s", e.msg);
    any[1] = 4;
    ok(!st_need(&s, "x.y", DT_F32, 2, any, &e) &&
            strstr(e.msg, "F32 [2,3], not F32 [?,4]"),
        "another shape is refused: %s", e.msg);
    ok(!st_need(&s, "x.y", DT_U8, 2, any, &e), "another type is refused: %s",
        e.msg);
    ok(!st_need(&s, "x.y", DT_F32, 1, any, &e), "another rank is refused: %s",
        e.msg);
    st_release(&s);
    free(p);
}

/* Is a parsed header sound: does every tensor lie in the data, and do sizes
 * agree? */
static int
sound(const struct st *s, const unsigned char *p, size_t n)
{
    size_t end = 0;

    if (s->data_at > n || s->data_len != n - s->data_at)
        return 0;
    for (size_t i = 0; i < s->nt; i++) {
        const struct st_tensor *t = &s->t[i];
        size_t count = 1, bytes;

        for (int k = 0; k < t->ndim; k++)
            count *= t->shape[k];
        if (dtype_bytes(t->dtype, count, &bytes) < 0 || count != t->n ||
            bytes != t->nbytes || t->off != end ||
            t->data != p + s->data_at + t->off)
            return 0;
        end += bytes;
    }
    return end == s->data_len;
}

static void
test_damage(void)
{
    size_t n, cut = 0, refused = 0, bad_ones = 0, head;
    unsigned char *p = sample(&n), *q;
    struct st s;
    struct err e;

    ok(st_parse(&s, p, n, &e) == 0, "the sample parses");
    head = s.data_at;
    st_release(&s);
    for (size_t k = 0; k < n; k++) {
        q = xmalloc(k);
        memcpy(q, p, k);
        if (st_parse(&s, q, k, &e) == 0)
            st_release(&s);
        else
            cut++;
        free(q);
    }
    ok(cut == n, "every truncation is refused");
    for (size_t bit = 0; bit < 8 * head; bit++) {
        p[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (st_parse(&s, p, n, &e) == 0) {
            bad_ones += !sound(&s, p, n);
            st_release(&s);
        } else {
            refused++;
        }
        p[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ok(bad_ones == 0, "every flipped bit of the header is refused or sound");
    ok(refused > 6 * head, "most are refused (%zu of %zu)", refused, 8 * head);
    free(p);
}

/* Replace bytes, or overwrite a stretch by a copy of another one, in ten
 * thousand messages. */
static void
test_fuzz(void)
{
    static const char alphabet[] = "{}[]\",:0123456789\\ue.-+ aF_";
    size_t n, bad_ones = 0, good = 0;
    unsigned char *p = sample(&n);
    uint64_t x = 12345;

    for (int i = 0; i < 10000; i++) {
        unsigned char *q = xmalloc(n);
        struct st s;
        struct err e;

        memcpy(q, p, n);
        for (int k = 0; k <= i % 4; k++) {
            size_t at;

            x = x * 6364136223846793005u + 1442695040888963407u;
            at = 8 + (x >> 33) % (n - 8);
            if (x >> 20 & 1)
                q[at] =
                    (unsigned char)alphabet[(x >> 21) % (sizeof alphabet - 1)];
            else
                memmove(q + at, q + 8 + (at - 8) / 2, (n - at) / 2);
        }
        if (st_parse(&s, q, n, &e) == 0) {
            good++;
            bad_ones += !sound(&s, q, n);
            st_release(&s);
        }
        free(q);
    }
    ok(bad_ones == 0, "ten thousand mutations, %zu of them sound", good);
    free(p);
}

static void
test_many(void)
{
    struct st_out o = { 0 };
    const size_t one[] = { 1 };
    struct st s;
    struct err e;
    struct buf b = { 0 };
    char name[32];

    st_out_begin(&o);
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "t%d", i * 7919 % 20000);
        st_out_tensor(&o, name, DT_U8, 1, one, "x");
    }
    st_out_end(&o);
    buf_add(&b, o.head.p, o.head.n);
    for (size_t i = 0; i < o.npiece; i++)
        buf_add(&b, o.piece[i].p, o.piece[i].n);
    ok(st_parse(&s, b.p, b.n, &e) == 0 && s.nt == 20000,
        "twenty thousand tensors are read");
    st_release(&s);
    buf_release(&b);
    st_out_release(&o);
}

int
main(void)
{
    size_t n;

    test_good();
    test_bad();
    test_frame();
    test_round_trip();
    test_damage();
    test_fuzz();
    test_many();
    ok(dtype_bytes(DT_Q4_1, 64, &n) == 0 && n == 40 &&
            dtype_bytes(DT_Q8_0, 33, &n) < 0 &&
            dtype_bytes(DT_F64, SIZE_MAX / 4, &n) < 0,
        "types of tensors have their sizes");
    return done_testing();
}
