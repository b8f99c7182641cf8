/* The GGUF reader takes good files, and refuses the attacks known against such
 * readers. */
#include "base/io.h"
#include "base/mem.h"
#include "format/gguf.h"
#include "format/gguf_tok.h"
#include "model/files/model.h"
#include "../lib/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
put(struct buf *b, uint64_t v, int size)
{
    for (int i = 0; i < size; i++)
        buf_addc(b, i < 8 ? (int)(v >> (8 * i) & 255) : 0);
}

static void
put_str(struct buf *b, const char *s)
{
    put(b, strlen(s), 8);
    buf_adds(b, s);
}

static void
put_head(struct buf *b, unsigned version, uint64_t nt, uint64_t nkv)
{
    buf_adds(b, "GGUF");
    put(b, version, 4);
    put(b, nt, 8);
    put(b, nkv, 8);
}

static void
put_kv_u32(struct buf *b, const char *key, uint32_t v)
{
    put_str(b, key);
    put(b, GGUF_U32, 4);
    put(b, v, 4);
}

static void
put_tensor(struct buf *b, const char *name, uint64_t cols, uint64_t rows,
    unsigned type, uint64_t at)
{
    put_str(b, name);
    put(b, 2, 4);
    put(b, cols, 8);
    put(b, rows, 8);
    put(b, type, 4);
    put(b, at, 8);
}

static void
pad(struct buf *b, size_t align)
{
    while (b->n % align)
        buf_addc(b, 0);
}

/* Does the file parse, in a buffer of exactly its size? */
static int
parses(const struct buf *b, struct err *e)
{
    unsigned char *p = xmalloc(b->n);
    struct gguf g;
    int r;

    if (b->n > 0)
        memcpy(p, b->p, b->n);
    r = gguf_parse(&g, p, b->n, e);
    if (r == 0)
        gguf_release(&g);
    free(p);
    return r == 0;
}

/* The file *b must be refused with a message that contains `why`.  Empties
 * b. */
static void
refuse(struct buf *b, const char *what, const char *why)
{
    struct err e = { 0 };

    if (!ok(!parses(b, &e) && e.code == EX_INPUT && strstr(e.msg, why) &&
                strstr(e.msg, "offset "),
            "%s is refused: %s", what, why))
        printf("# %s\n", e.msg);
    buf_clear(b);
}

/* As refuse; the file says that `what` has length n, but ends before that. */
static void
refuse_length(struct buf *b, const char *what, uint64_t n)
{
    char name[80];

    snprintf(name, sizeof name, "%s of length %" PRIu64, what, n);
    refuse(b, name, "are left");
}

/* Make a file with 8 metadata (numbers, a bool, a text, lists) and two tensors,
 * Q8_0 and F32. */
static void
sample(struct buf *b)
{
    buf_clear(b);
    put_head(b, 3, 2, 8);
    put_kv_u32(b, "general.alignment", 64);
    put_str(b, "u8");
    put(b, GGUF_U8, 4);
    put(b, 200, 1);
    put_str(b, "i16");
    put(b, GGUF_I16, 4);
    put(b, 0xfffe, 2);
    put_str(b, "eps");
    put(b, GGUF_F32, 4);
    put(b, 0x3727c5ac, 4); /* 1e-05f */
    put_str(b, "yes");
    put(b, GGUF_BOOL, 4);
    put(b, 1, 1);
    put_str(b, "name");
    put(b, GGUF_STR, 4);
    put_str(b, "h\xc3\xa9");
    put_str(b, "words");
    put(b, GGUF_ARRAY, 4);
    put(b, GGUF_STR, 4);
    put(b, 3, 8);
    put_str(b, "one");
    put_str(b, "");
    put_str(b, "three");
    put_str(b, "kinds");
    put(b, GGUF_ARRAY, 4);
    put(b, GGUF_I32, 4);
    put(b, 2, 8);
    put(b, 5, 4);
    put(b, 0xffffffff, 4);
    put_tensor(b, "a.weight", 32, 3, 8, 0);
    put_tensor(b, "b.weight", 4, 2, 0, 128);
    pad(b, 64);
    for (int i = 0; i < 128 + 32; i++)
        buf_addc(b, i < 102 ? i : 0);
}

static void
test_good(void)
{
    struct buf b = { 0 };
    struct gguf g;
    struct err e;
    size_t v = 0, n;
    double x = 0;
    int yes = 0;
    const char *s;
    struct gguf_walk w;

    sample(&b);
    ok(gguf_parse(&g, b.p, b.n, &e) == 0, "a good file is parsed");
    ok(g.nkv == 8 && g.nt == 2 && g.align == 64,
        "its entries and tensors are counted");
    ok(gguf_size(&g, "u8", 0, 255, &v, &e) == 1 && v == 200,
        "a number of u8 is read");
    ok(gguf_size(&g, "i16", 0, 255, &v, &e) < 0,
        "a negative number is no size: %s", e.msg);
    ok(gguf_size(&g, "u8", 0, 199, &v, &e) < 0,
        "a number out of range is refused: %s", e.msg);
    ok(gguf_size(&g, "name", 0, 199, &v, &e) < 0, "a text is no size: %s",
        e.msg);
    ok(gguf_size(&g, "no", 0, 1, &v, &e) == 0 && v == 200,
        "a missing key changes nothing");
    ok(gguf_real(&g, "eps", 0, 1, &x, &e) == 1 && x == 1e-5,
        "a float means its shortest decimal: %.17g", x);
    ok(gguf_bool(&g, "yes", &yes, &e) == 1 && yes == 1,
        "a truth value is read");
    ok(gguf_str(&g, "name", &s, &n, &e) == 1 && n == 3, "a text is read");
    ok(gguf_is(&g, "name", "h\xc3\xa9") && !gguf_is(&g, "name", "h") &&
            !gguf_is(&g, "u8", "h"),
        "a text is compared whole");
    w = gguf_walk(gguf_kv(&g, "words"));
    ok(gguf_next(&w, &s, &n) && n == 3 && gguf_next(&w, &s, &n) && n == 0 &&
            gguf_next(&w, &s, &n) && n == 5 && memcmp(s, "three", 5) == 0 &&
            !gguf_next(&w, &s, &n),
        "a list of words");
    ok(gguf_int(gguf_kv(&g, "kinds"), 1) == -1, "a list of numbers");
    ok(g.t[0].shape[0] == 3 && g.t[0].shape[1] == 32 && g.t[0].nbytes == 102 &&
            g.t[1].at == g.t[0].at + 128 && g.t[1].nbytes == 32,
        "tensors have their shapes and data");
    gguf_release(&g);
    b.n -= 1;
    ok(!parses(&b, &e), "a file that is cut is refused: %s", e.msg);
    sample(&b);
    for (int i = 0; i < 32; i++)
        buf_addc(&b, 0);
    ok(parses(&b, &e), "a file that is padded at its end is parsed");
    buf_addc(&b, 0);
    refuse(&b, "a byte too many", "after the last tensor");
    put_head(&b, 2, 0, 0);
    ok(parses(&b, &e), "an empty file of version 2 is parsed");
    buf_release(&b);
}

static void
test_head(void)
{
    struct buf b = { 0 };
    char what[20];

    refuse(&b, "an empty file", "no GGUF");
    buf_adds(&b, "GGU");
    refuse(&b, "half a magic", "no GGUF");
    buf_adds(&b, "GGML12345678901234567890");
    refuse(&b, "another magic", "no GGUF");
    buf_adds(&b, "GGUF");
    refuse(&b, "no version", "inside the version");
    for (unsigned v = 0; v < 6; v++)
        if (v != 2 && v != 3) {
            put_head(&b, v, 0, 0);
            snprintf(what, sizeof what, "version %u", v);
            refuse(&b, what, "version");
        }
    put_head(&b, 0x03000000, 0, 0);
    refuse(&b, "the other byte order", "big-endian");
    put_head(&b, 3, 0, UINT64_MAX);
    refuse(&b, "2^64-1 metadata", "metadata, but");
    put_head(&b, 3, 0, (uint64_t)1 << 60);
    refuse(&b, "metadata whose array would wrap", "metadata, but");
    put_head(&b, 3, UINT64_MAX, 0);
    refuse(&b, "2^64-1 tensors", "tensors, but");
    put_head(&b, 3, UINT64_MAX / 33 + 2, 0);
    refuse(&b, "tensors whose array would wrap", "tensors, but");
    put_head(&b, 3, 1, 0);
    refuse(&b, "a tensor that is not there", "tensors, but");
    buf_release(&b);
}

static void
test_metadata(void)
{
    char what[80];
    struct buf b = { 0 };
    static const uint64_t len[] = { UINT64_MAX, UINT64_MAX - 7,
        (uint64_t)1 << 63, (uint64_t)1 << 32, 1000 };

    for (size_t i = 0; i < sizeof len / sizeof *len; i++) {
        put_head(&b, 3, 0, 1);
        put(&b, len[i], 8);
        buf_adds(&b, "key 12345678901234567890");
        refuse_length(&b, "a key", len[i]);
        put_head(&b, 3, 0, 1);
        put_str(&b, "k");
        put(&b, GGUF_STR, 4);
        put(&b, len[i], 8);
        buf_adds(&b, "text");
        refuse_length(&b, "a string", len[i]);
        put_head(&b, 3, 0, 1);
        put_str(&b, "k");
        put(&b, GGUF_ARRAY, 4);
        put(&b, GGUF_U64, 4);
        put(&b, len[i], 8);
        put(&b, 0, 8);
        refuse_length(&b, "an array", len[i]);
        put_head(&b, 3, 0, 1);
        put_str(&b, "k");
        put(&b, GGUF_ARRAY, 4);
        put(&b, GGUF_STR, 4);
        put(&b, len[i], 8);
        put(&b, 0, 8);
        refuse_length(&b, "an array of strings", len[i]);
    }
    put_head(&b, 3, 0, 1);
    put_str(&b, "k");
    put(&b, GGUF_ARRAY, 4);
    put(&b, GGUF_STR, 4);
    put(&b, 2, 8);
    put_str(&b, "one");
    put(&b, UINT64_MAX, 8);
    refuse(&b, "a string of an array that wraps", "are left");
    put_head(&b, 3, 0, 1);
    put_str(&b, "k");
    put(&b, GGUF_ARRAY, 4);
    put(&b, GGUF_ARRAY, 4);
    put(&b, 1, 8);
    put(&b, 0, 8);
    refuse(&b, "an array of arrays", "array of type");
    for (unsigned t = GGUF_TYPES; t != 0; t = t == GGUF_TYPES ? 255
             : t == 255                                       ? UINT32_MAX
                                                              : 0) {
        put_head(&b, 3, 0, 1);
        put_str(&b, "k");
        put(&b, t, 4);
        put(&b, 0, 8);
        snprintf(what, sizeof what, "a value of type %u", t);
        refuse(&b, what, "of type");
        put_head(&b, 3, 0, 1);
        put_str(&b, "k");
        put(&b, GGUF_ARRAY, 4);
        put(&b, t, 4);
        put(&b, 1, 8);
        put(&b, 0, 8);
        snprintf(what, sizeof what, "an array of type %u", t);
        refuse(&b, what, "of type");
    }
    put_head(&b, 3, 0, 1);
    put_str(&b, "");
    put_kv_u32(&b, "", 1);
    refuse(&b, "a key of no bytes", "1 to");
    put_head(&b, 3, 0, 1);
    put(&b, 2, 8);
    buf_add(&b, "k\0", 2);
    put(&b, GGUF_U32, 4);
    put(&b, 1, 8);
    refuse(&b, "a NUL in a key", "UTF-8");
    put_head(&b, 3, 0, 2);
    put_kv_u32(&b, "k", 1);
    put_kv_u32(&b, "k", 2);
    refuse(&b, "a key twice", "given twice");
    put_head(&b, 3, 0, 1);
    put_str(&b, "k");
    put(&b, GGUF_BOOL, 4);
    put(&b, 2, 1);
    refuse(&b, "a bool of 2", "bool");
    put_head(&b, 3, 0, 1);
    put_str(&b, "k");
    put(&b, GGUF_U64, 4);
    put(&b, 2, 4);
    refuse(&b, "half a number", "inside a metadata value");
    buf_release(&b);
}

static void
test_alignment(void)
{
    char what[80];
    static const uint32_t align[] = { 0, 3, 48, 131072, 0x80000000u,
        UINT32_MAX };
    struct buf b = { 0 };

    for (size_t i = 0; i < sizeof align / sizeof *align; i++) {
        put_head(&b, 3, 0, 1);
        put_kv_u32(&b, "general.alignment", align[i]);
        snprintf(what, sizeof what, "an alignment of %u", align[i]);
        refuse(&b, what, "power of two");
    }
    put_head(&b, 3, 0, 1);
    put_str(&b, "general.alignment");
    put(&b, GGUF_U64, 4);
    put(&b, 32, 8);
    refuse(&b, "an alignment of another type", "32-bit");
    buf_release(&b);
}

/* Make a file with one tensor [rows,cols] at offset `at` of the data, which has
 * n bytes. */
static void
one_tensor(struct buf *b, uint64_t cols, uint64_t rows, unsigned type,
    uint64_t at, size_t n)
{
    buf_clear(b);
    put_head(b, 3, 1, 0);
    put_tensor(b, "t", cols, rows, type, at);
    pad(b, 32);
    for (size_t i = 0; i < n; i++)
        buf_addc(b, 0);
}

/* gguf_parse_metadata takes a file whose tensors are refused. */
static void
test_metadata_alone(const struct buf *b)
{
    struct gguf g;
    struct err e = { 0 };

    if (!ok(!parses(b, &e) && gguf_parse_metadata(&g, b->p, b->n, &e) == 0,
            "the metadata of such a file %s", e.msg))
        return;
    ok(g.nkv == 0 && g.nt == 0, "such a file has no entries");
    gguf_release(&g);
}

static void
test_tensors(void)
{
    char what[80];
    struct buf b = { 0 };
    struct err e;
    const uint64_t big = (uint64_t)1 << 40;

    one_tensor(&b, 4, 2, 0, 0, 32);
    ok(parses(&b, &e), "a file of one tensor parses");
    one_tensor(&b, 4, 2, 0, 0, 31);
    refuse(&b, "data that are cut", "inside the data");
    one_tensor(&b, 4, 2, 0, 32, 64);
    refuse(&b, "a hole before the data", "not at 0");
    one_tensor(&b, 4, 2, 0, 1, 64);
    refuse(&b, "an offset that is not aligned", "not at 0");
    one_tensor(&b, 4, 2, 0, UINT64_MAX - 31, 64);
    refuse(&b, "an offset that wraps", "not at 0");
    one_tensor(&b, 0, 2, 0, 0, 0);
    refuse(&b, "a dimension of 0", "dimension of 0");
    one_tensor(&b, big + 1, 1, 0, 0, 32);
    refuse(&b, "a dimension above 2^40", "dimension of");
    one_tensor(&b, UINT64_MAX, 1, 0, 0, 32);
    refuse(&b, "a negative dimension", "dimension of");
    one_tensor(&b, big, big, 0, 0, 32);
    refuse(&b, "dimensions whose product wraps to 0", "dimension of");
    one_tensor(&b, big, 4194304, 0, 0, 32);
    refuse(&b, "bytes that wrap to 0", "overflows");
    one_tensor(&b, big, 1000, 0, 0, 32);
    refuse(&b, "terabytes in a small file", "inside the data");
    one_tensor(&b, 32, 1, 14, 0, 64);
    refuse(&b, "Q6_K", "rows of 32 are no whole blocks of Q6_K");
    one_tensor(&b, 256, 2, 14, 0, 448);
    ok(parses(&b, &e), "Q6_K: two rows of 210 bytes");
    one_tensor(&b, 256, 2, 14, 0, 419);
    refuse(&b, "a byte less", "inside the data");
    one_tensor(&b, 256, 1, 16, 0, 96);
    test_metadata_alone(&b);
    refuse(&b, "IQ2_XXS", "type IQ2_XXS is not supported");
    one_tensor(&b, 32, 1, 4, 0, 64);
    refuse(&b, "a type that is gone", "Q4_2 is not supported");
    one_tensor(&b, 32, 1, 31, 0, 64);
    refuse(&b, "a type for other processors", "Q4_0_4_4 is not supported");
    one_tensor(&b, 32, 1, 99, 0, 64);
    refuse(&b, "a type beyond the table", "type 99 is unknown");
    one_tensor(&b, 32, 1, UINT32_MAX, 0, 64);
    refuse(&b, "type -1", "is unknown");
    one_tensor(&b, 33, 1, 8, 0, 64);
    refuse(&b, "rows that are no whole blocks", "whole blocks");
    one_tensor(&b, 16, 2, 3, 0, 64);
    refuse(&b, "two rows in one block", "whole blocks");
    for (unsigned nd = 0; nd < 7; nd += nd == 0 ? 5 : 1) {
        put_head(&b, 3, 1, 0);
        put_str(&b, "t");
        put(&b, nd, 4);
        for (int i = 0; i < 6; i++)
            put(&b, 1, 8);
        snprintf(what, sizeof what, "a tensor of %u dimensions", nd);
        refuse(&b, what, "dimensions");
    }
    put_head(&b, 3, 1, 0);
    put_str(&b, "t");
    put(&b, UINT32_MAX, 4);
    for (int i = 0; i < 6; i++)
        put(&b, 1, 8);
    refuse(&b, "2^32-1 dimensions", "dimensions");
    put_head(&b, 3, 2, 0);
    put_tensor(&b, "t", 8, 1, 0, 0);
    put_tensor(&b, "t", 8, 1, 0, 32);
    pad(&b, 32);
    put(&b, 0, 64);
    refuse(&b, "a tensor twice", "given twice");
    put_head(&b, 3, 2, 0);
    put_tensor(&b, "s", 8, 1, 0, 0);
    put_tensor(&b, "t", 8, 1, 0, 0);
    pad(&b, 32);
    put(&b, 0, 64);
    refuse(&b, "tensors one on another", "not at 32");
    /* sizes whose sum, with padding, wraps */
    put_head(&b, 3, 3, 0);
    put_tensor(&b, "a", big, 4194303, 0, 0);
    put_tensor(&b, "b", big, 4194303, 0, big * 4194303 * 4);
    put_tensor(&b, "c", 8, 1, 0, 0);
    pad(&b, 32);
    put(&b, 0, 64);
    refuse(&b, "a sum of sizes that wraps", "inside the data");
    put_head(&b, 3, 1, 0);
    put_tensor(&b,
        "0123456789012345678901234567890123456789"
        "012345678901234567890123",
        8, 1, 0, 0);
    refuse(&b, "a name of 64 bytes", "1 to 63");
    buf_release(&b);
}

/* A file that is cut anywhere, or has any bit flipped, is refused or sound. */
static void
test_damage(void)
{
    struct buf b = { 0 };
    struct gguf g;
    struct err e;
    size_t cut = 0, unsound = 0, good = 0, n;

    sample(&b);
    n = b.n;
    for (b.n = 0; b.n < n; b.n++)
        cut += !parses(&b, &e);
    ok(cut == n, "every truncation is refused");
    for (size_t bit = 0; bit < 8 * n; bit++) {
        b.p[bit / 8] ^= (char)(1 << bit % 8);
        if (gguf_parse(&g, b.p, n, &e) == 0) {
            good++;
            for (size_t i = 0; i < g.nt; i++)
                unsound += g.t[i].at > n || g.t[i].nbytes > n - g.t[i].at ||
                    g.t[i].data != (unsigned char *)b.p + g.t[i].at;
            gguf_release(&g);
        }
        b.p[bit / 8] ^= (char)(1 << bit % 8);
    }
    ok(unsound == 0, "every flipped bit is refused or sound (%zu sound)", good);
    buf_release(&b);
}

static void
open_file(struct gguf *g, struct io_map *m, const char *path)
{
    struct err e;

    if (io_map(m, path, &e) < 0 || gguf_parse(g, m->p, m->n, &e) < 0) {
        printf("Bail out! %s: %s\n", path, e.msg);
        exit(1);
    }
}

/* Replace `from` by `to` in a copy of f32.gguf: the tokenizer in it must be
 * refused with a message that contains `why`. */
static void
tok_refuse(const char *from, const char *to, const char *why)
{
    struct io_map m;
    struct gguf g;
    struct err e = { 0 };
    const size_t n = strlen(from);
    unsigned char *p, *q = NULL;
    json_t *j = NULL;

    open_file(&g, &m, "tests/golden/gguf/f32.gguf");
    gguf_release(&g);
    p = xmalloc(m.n);
    memcpy(p, m.p, m.n);
    for (size_t i = 0; i + n <= m.n && !q; i++)
        if (memcmp(p + i, from, n) == 0)
            q = p + i;
    if (q)
        memcpy(q, to, n);
    if (q && gguf_parse(&g, p, m.n, &e) == 0) {
        j = gguf_tokenizer_json(&g, &e);
        gguf_release(&g);
    }
    if (!ok(q && !j && strstr(e.msg, why),
            "a tokenizer without its %s is refused: %s", from, why))
        printf("# %s\n", e.msg);
    json_decref(j);
    free(p);
    io_unmap(&m);
}

static void
test_tokenizer(void)
{
    static const char *const files[] = { "f32", "f16", "bf16", "q8_0", "q4_0",
        "q4_1" };
    char path[80];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct io_map m;
        struct gguf g;
        struct err e = { 0 };
        json_t *t, *want;

        snprintf(path, sizeof path, "tests/golden/gguf/%s.gguf", files[i]);
        open_file(&g, &m, path);
        t = gguf_tokenizer_json(&g, &e);
        ok(t != NULL, "%s: its tokenizer is read %s", path, t ? "" : e.msg);
        if (i == 0 || i == 5) {
            snprintf(path, sizeof path,
                "tests/golden/gguf/%s-hf/tokenizer.json", files[i]);
            want = json_load_file(path, 0, NULL);
            ok(json_equal(json_object_get(t, "added_tokens"),
                   json_object_get(want, "added_tokens")) &&
                    json_equal(json_object_get(t, "pre_tokenizer"),
                        json_object_get(want, "pre_tokenizer")) &&
                    json_equal(json_object_get(json_object_get(t, "model"),
                                   "vocab"),
                        json_object_get(json_object_get(want, "model"),
                            "vocab")) &&
                    json_equal(json_object_get(json_object_get(t, "model"),
                                   "merges"),
                        json_object_get(json_object_get(want, "model"),
                            "merges")),
                "it equals %s", path);
            json_decref(want);
        }
        if (i == 1)
            ok(strcmp(json_string_value(
                          json_object_get(json_object_get(t, "post_processor"),
                              "type")),
                   "TemplateProcessing") == 0 &&
                    strcmp(json_string_value(
                               json_object_get(json_object_get(t,
                                                   "pre_tokenizer"),
                                   "type")),
                        "ByteLevel") == 0,
                "BOS gives a template, gpt-2 is ByteLevel alone");
        json_decref(t);
        t = gguf_tokenizer_config(&g, &e);
        ok(json_object_get(t, "chat_template") &&
                json_object_get(t, "eos_token"),
            "%s has a chat template and EOS", files[i]);
        json_decref(t);
        gguf_release(&g);
        io_unmap(&m);
    }
    tok_refuse("smollm", "smolln", "\"smolln\" is not supported");
    tok_refuse("gpt2", "gpt3", "tokenizer.ggml.model");
    tok_refuse("tokenizer.ggml.pre", "tokenizer.ggml.prf", "is missing");
    tok_refuse("tokenizer.ggml.merges", "tokenizer.ggml.merget", "is missing");
    tok_refuse("\xc4\xa0"
               "b",
        "\xc4\xa0s", "there twice");
    tok_refuse("\xc4\xa0 s", "\xc4\xa0 \x01", "number 0 does not join");
}

/* Write the GGUF of a Llama without blocks.  The file has the least metadata,
 * `key`, the embedding and, if `table` is 1, RoPE's divisors.  The value of a
 * key of type GGUF_STR is "longrope".  key NULL: the file has no such key, and
 * no epsilon or base of RoPE. */
static void
put_llama(const char *file, const char *key, enum gguf_type type,
    uint32_t value, int table)
{
    struct buf b = { 0 };
    struct err e;

    put_head(&b, 3, 1 + (table != 0), key ? 9 : 6);
    put_str(&b, "general.architecture");
    put(&b, GGUF_STR, 4);
    put_str(&b, "llama");
    put_kv_u32(&b, "llama.embedding_length", 4);
    put_kv_u32(&b, "llama.feed_forward_length", 4);
    put_kv_u32(&b, "llama.block_count", 1);
    put_kv_u32(&b, "llama.attention.head_count", 1);
    put_kv_u32(&b, "llama.context_length", 8);
    if (key) {
        put_str(&b, "llama.attention.layer_norm_rms_epsilon");
        put(&b, GGUF_F32, 4);
        put(&b, 0x3727c5ac, 4);
        put_str(&b, "llama.rope.freq_base");
        put(&b, GGUF_F32, 4);
        put(&b, 0x461c4000, 4);
        put_str(&b, key);
        put(&b, type, 4);
        if (type == GGUF_STR)
            put_str(&b, "longrope");
        else
            put(&b, value, type == GGUF_BOOL ? 1 : 4);
    }
    put_tensor(&b, "token_embd.weight", 4, 8, 0, 0);
    if (table)
        put_tensor(&b, "rope_freqs.weight", 2, 1, 0, 128);
    pad(&b, 32);
    put(&b, 0, 128);
    put(&b, 0x3f8000003f800000, table ? 32 : 0); /* 1.0f, 1.0f */
    io_put_file(file, b.p, b.n, &e);
    buf_release(&b);
}

/* Opening the file of put_llama as a model must fail with a message that
 * contains `why`. */
static void
model_refused(const char *key, enum gguf_type type, uint32_t value, int table,
    const char *why)
{
    struct model m;
    struct err e = { 0 };

    put_llama("m.gguf", key, type, value, table);
    if (!ok(model_open(&m, "m.gguf", &e) < 0 && strstr(e.msg, why),
            "a model with %s = %#x%s stops at %s", key ? key : "no other key",
            value, table ? " and RoPE's table" : "", why))
        printf("# %s\n", e.msg);
    remove("m.gguf");
}

/* Keys that are missing or unknown, or that ask for something which is not
 * implemented here. */
static void
test_model_keys(void)
{
    static const char missing[] = "output_norm.weight: is missing";
    const uint32_t one = 0x3f800000, two = 0x40000000;

    model_refused(NULL, 0, 0, 0, "layer_norm_rms_epsilon: is missing");
    model_refused("llama.attention.causal", GGUF_BOOL, 0, 0,
        "llama.attention.causal: a value other than 1");
    model_refused("llama.rope.scaling.attn_factor", GGUF_F32, two, 0,
        "llama.rope.scaling.attn_factor: a value other than 1");
    model_refused("llama.rope.scaling.factor", GGUF_F32, two, 1,
        "llama.rope.scaling.factor: 2 beside tensor rope_freqs.weight");
    model_refused("llama.rope.scaling.type", GGUF_STR, 0, 1,
        "longrope beside tensor rope_freqs.weight");
    model_refused("llama.attention.sliding_window", GGUF_U32, 8, 0,
        "llama.attention.sliding_window: a value other than 0");
    model_refused("llama.expert_count", GGUF_U32, 4, 0,
        "llama.expert_used_count: is missing");
    model_refused("llama.logit_scale", GGUF_F32, one, 0,
        "llama.logit_scale: is not known");
    /* these values change nothing */
    model_refused("llama.attention.causal", GGUF_BOOL, 1, 0, missing);
    model_refused("llama.rope.scaling.attn_factor", GGUF_F32, one, 0, missing);
    model_refused("llama.rope.scaling.factor", GGUF_F32, one, 1, missing);
}

int
main(void)
{
    test_good();
    test_head();
    test_metadata();
    test_alignment();
    test_tensors();
    test_damage();
    test_tokenizer();
    test_model_keys();
    return done_testing();
}
