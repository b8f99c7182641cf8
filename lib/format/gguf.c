/* A strict reader of GGUF; see gguf.h.  It refuses the attacks that are known
 * against other readers: lengths and counts beyond the file, sums that
 * overflow, alignment 0, unknown type numbers, unterminated names. */
#include "format/gguf.h"
#include "base/bytes.h"

#include "format/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM_MAX ((uint64_t)1 << 40)
#define ALIGN_MAX 65536

static const unsigned type_size[GGUF_TYPES] = {
    [GGUF_U8] = 1,
    [GGUF_I8] = 1,
    [GGUF_U16] = 2,
    [GGUF_I16] = 2,
    [GGUF_U32] = 4,
    [GGUF_I32] = 4,
    [GGUF_F32] = 4,
    [GGUF_BOOL] = 1,
    [GGUF_U64] = 8,
    [GGUF_I64] = 8,
    [GGUF_F64] = 8,
};

/* ggml's tensor types by number; d is DT_N for types that are not supported. */
static const struct {
    const char *name;
    enum dtype d;
} ggml_types[] = {
    { "F32", DT_F32 },
    { "F16", DT_F16 },
    { "Q4_0", DT_Q4_0 },
    { "Q4_1", DT_Q4_1 },
    { "Q4_2", DT_N },
    { "Q4_3", DT_N },
    { "Q5_0", DT_Q5_0 },
    { "Q5_1", DT_Q5_1 },
    { "Q8_0", DT_Q8_0 },
    { "Q8_1", DT_N },
    { "Q2_K", DT_Q2_K },
    { "Q3_K", DT_Q3_K },
    { "Q4_K", DT_Q4_K },
    { "Q5_K", DT_Q5_K },
    { "Q6_K", DT_Q6_K },
    { "Q8_K", DT_N },
    { "IQ2_XXS", DT_N },
    { "IQ2_XS", DT_N },
    { "IQ3_XXS", DT_N },
    { "IQ1_S", DT_N },
    { "IQ4_NL", DT_IQ4_NL },
    { "IQ3_S", DT_N },
    { "IQ2_S", DT_N },
    { "IQ4_XS", DT_IQ4_XS },
    { "I8", DT_N },
    { "I16", DT_N },
    { "I32", DT_N },
    { "I64", DT_N },
    { "F64", DT_N },
    { "IQ1_M", DT_N },
    { "BF16", DT_BF16 },
    { "Q4_0_4_4", DT_N },
    { "Q4_0_4_8", DT_N },
    { "Q4_0_8_8", DT_N },
    { "TQ1_0", DT_N },
    { "TQ2_0", DT_N },
    { "IQ4_NL_4_4", DT_N },
    { "IQ4_NL_4_8", DT_N },
    { "IQ4_NL_8_8", DT_N },
    { "MXFP4", DT_MXFP4 },
};

size_t
gguf_type_size(enum gguf_type t)
{
    return type_size[t];
}

int
gguf_type_of(enum dtype t)
{
    const int n = sizeof ggml_types / sizeof *ggml_types;

    for (int i = 0; i < n && t != DT_N; i++)
        if (ggml_types[i].d == t)
            return i;
    return -1;
}

struct gguf_in {
    const unsigned char *p;
    size_t n, at;
    struct gguf *g;
    struct err *e;
};

static int
get(struct gguf_in *c, unsigned size, const char *what, uint64_t *v)
{
    *v = 0;
    if (c->n - c->at < size)
        return err_at(c->e, c->at, "file ends inside %s", what);
    *v = le_get(c->p + c->at, size);
    c->at += size;
    return 0;
}

/* A string: its text stays in the file. */
static int
get_str(struct gguf_in *c, const char *what, const char **s, size_t *n)
{
    const size_t at = c->at;
    uint64_t len;

    if (get(c, 8, what, &len) < 0)
        return -1;
    if (len > c->n - c->at)
        return err_at(c->e, at, "%s of %llu bytes, but %zu are left", what,
            (unsigned long long)len, c->n - c->at);
    *s = (const char *)c->p + c->at;
    *n = (size_t)len;
    c->at += (size_t)len;
    return 0;
}

/* A name or key, copied with a NUL.  Names are kept as offsets into mem until
 * all are read, since mem moves while it grows. */
static int
get_name(struct gguf_in *c, const char *what, size_t max, size_t *off)
{
    const size_t at = c->at;
    const char *s;
    size_t n;

    if (get_str(c, what, &s, &n) < 0)
        return -1;
    if (n == 0 || n > max)
        return err_at(c->e, at, "%s of %zu bytes, not 1 to %zu", what, n, max);
    if (!utf8_text(s, n))
        return err_at(c->e, at + 8, "%s is not UTF-8 text", what);
    *off = c->g->mem.n;
    buf_add(&c->g->mem, s, n);
    buf_addc(&c->g->mem, '\0');
    return 0;
}

static int
check_bools(struct gguf_in *c, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] > 1)
            return err_at(c->e, (size_t)(p - c->p) + i, "bool of value %d",
                p[i]);
    return 0;
}

static int
get_array(struct gguf_in *c, struct gguf_kv *v)
{
    const size_t at = c->at;
    uint64_t type, n;
    size_t bytes;
    const char *s;

    if (get(c, 4, "an array's type", &type) < 0 ||
        get(c, 8, "an array's length", &n) < 0)
        return -1;
    if (type >= GGUF_TYPES || type == GGUF_ARRAY)
        return err_at(c->e, at, "array of type %llu", (unsigned long long)type);
    v->elem = (enum gguf_type)type;
    v->value = c->p + c->at;
    v->at = c->at;
    v->n = (size_t)n;
    if (type == GGUF_STR) {
        if (n > (c->n - c->at) / 8)
            return err_at(c->e, at,
                "array of %llu strings, but %zu bytes are "
                "left",
                (unsigned long long)n, c->n - c->at);
        for (uint64_t i = 0; i < n; i++)
            if (get_str(c, "a string of an array", &s, &bytes) < 0)
                return -1;
        return 0;
    }
    if (size_mul((size_t)n, type_size[type], &bytes) < 0 ||
        bytes > c->n - c->at)
        return err_at(c->e, at,
            "array of %llu elements, but %zu bytes are "
            "left",
            (unsigned long long)n, c->n - c->at);
    c->at += bytes;
    return type == GGUF_BOOL ? check_bools(c, v->value, v->n) : 0;
}

static int
get_kv(struct gguf_in *c, struct gguf_kv *v, size_t *name)
{
    size_t at;
    uint64_t type;
    const char *s;

    if (get_name(c, "a metadata key", GGUF_KEY_MAX, name) < 0)
        return -1;
    at = c->at;
    if (get(c, 4, "a metadata type", &type) < 0)
        return -1;
    if (type >= GGUF_TYPES)
        return err_at(c->e, at, "metadata of type %llu",
            (unsigned long long)type);
    v->type = v->elem = (enum gguf_type)type;
    v->n = 1;
    v->at = c->at;
    if (type == GGUF_ARRAY)
        return get_array(c, v);
    if (type == GGUF_STR) {
        if (get_str(c, "a metadata string", &s, &v->n) < 0)
            return -1;
        v->value = (const unsigned char *)s;
        return 0;
    }
    if (c->n - c->at < type_size[type])
        return err_at(c->e, c->at, "file ends inside a metadata value");
    v->value = c->p + c->at;
    c->at += type_size[type];
    return type == GGUF_BOOL ? check_bools(c, v->value, 1) : 0;
}

/* Read the shape; set elements and bytes; check that rows are whole blocks. */
static int
get_shape(struct gguf_in *c, struct gguf_tensor *t, const char *name)
{
    size_t at = c->at, row;
    uint64_t nd, v;

    if (get(c, 4, "a tensor's dimensions", &nd) < 0)
        return -1;
    if (nd < 1 || nd > GGUF_DIMS_MAX)
        return err_at(c->e, at, "tensor %s: %llu dimensions, not 1 to %d", name,
            (unsigned long long)nd, GGUF_DIMS_MAX);
    t->ndim = (int)nd;
    t->n = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        at = c->at;
        if (get(c, 8, "a tensor's dimensions", &v) < 0)
            return -1;
        if (v < 1 || v > DIM_MAX || size_mul(t->n, (size_t)v, &t->n) < 0)
            return err_at(c->e, at, "tensor %s: dimension of %llu", name,
                (unsigned long long)v);
        t->shape[i] = (size_t)v;
    }
    at = c->at;
    if (get(c, 4, "a tensor's type", &v) < 0)
        return -1;
    if (v >= sizeof ggml_types / sizeof *ggml_types)
        return err_at(c->e, at, "tensor %s: type %llu is unknown", name,
            (unsigned long long)v);
    if (ggml_types[v].d == DT_N)
        return err_at(c->e, at,
            "tensor %s: type %s is not supported (F32, "
            "F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K to Q6_K, IQ4_NL, "
            "IQ4_XS, MXFP4)",
            name, ggml_types[v].name);
    t->dtype = ggml_types[v].d;
    if (dtype_bytes(t->dtype, t->shape[t->ndim - 1], &row) < 0)
        return err_at(c->e, at,
            "tensor %s: rows of %zu are no whole blocks "
            "of %s",
            name, t->shape[t->ndim - 1], dtype_name(t->dtype));
    if (size_mul(row, t->n / t->shape[t->ndim - 1], &t->nbytes) < 0)
        return err_at(c->e, at, "tensor %s: shape overflows", name);
    return 0;
}

static int
get_alignment(struct gguf_in *c)
{
    const struct gguf_kv *v = gguf_kv(c->g, "general.alignment");
    uint64_t a;

    c->g->align = 32;
    if (!v)
        return 0;
    if (v->type != GGUF_U32)
        return err_at(c->e, v->at, "general.alignment is no 32-bit number");
    a = le_get(v->value, 4);
    if (a == 0 || a > ALIGN_MAX || (a & (a - 1)) != 0)
        return err_at(c->e, v->at,
            "general.alignment: %llu is no power of two "
            "up to %d",
            (unsigned long long)a, ALIGN_MAX);
    c->g->align = (size_t)a;
    return 0;
}

/* *r = v rounded up to the alignment; -1: that overflows. */
static int
round_to_align(size_t v, size_t align, size_t *r)
{
    if (size_add(v, align - 1, r) < 0)
        return -1;
    *r &= ~(align - 1);
    return 0;
}

/* Check the places of tensors: each begins where the one before ends, rounded
 * up, and the last ends at the file's end (its padding may be missing). */
static int
place_tensor(struct gguf_in *c)
{
    struct gguf *g = c->g;
    size_t begin, next = 0, end;

    if (round_to_align(c->at, g->align, &begin) < 0 ||
        (begin > c->n && g->nt > 0))
        return err_at(c->e, c->at, "file ends before the data");
    if (begin > c->n) /* no data, and no padding */
        return 0;
    end = begin;
    for (size_t i = 0; i < g->nt; i++) {
        struct gguf_tensor *t = &g->t[i];

        if (t->at != next)
            return err_at(c->e, begin, "tensor %s: data at %zu, not at %zu",
                t->name, t->at, next);
        if (t->nbytes > c->n - begin || next > c->n - begin - t->nbytes)
            return err_at(c->e, c->n,
                "file ends inside the data of tensor %s "
                "(%zu bytes at %zu)",
                t->name, t->nbytes, next);
        end = begin + next + t->nbytes;
        t->at = begin + next;
        t->data = c->p + t->at;
        if (round_to_align(next + t->nbytes, g->align, &next) < 0)
            return err_at(c->e, begin, "tensor %s: offset overflows", t->name);
    }
    if (c->n - begin > next)
        return err_at(c->e, end, "%zu bytes after the last tensor", c->n - end);
    return 0;
}

static int
read_gguf_head(struct gguf_in *c, uint64_t *nt, uint64_t *nkv)
{
    uint64_t version;

    if (c->n < 4 || memcmp(c->p, "GGUF", 4) != 0)
        return err_at(c->e, 0, "is no GGUF file");
    c->at = 4;
    if (get(c, 4, "the version", &version) < 0)
        return -1;
    if (version > 0 && (version & 0xffff) == 0)
        return err_at(c->e, 4, "big-endian GGUF is not supported");
    if (version != 2 && version != 3)
        return err_at(c->e, 4, "GGUF version %llu is not supported (2, 3)",
            (unsigned long long)version);
    if (get(c, 8, "the number of tensors", nt) < 0 ||
        get(c, 8, "the number of metadata", nkv) < 0)
        return -1;
    /* an entry takes at least 13 bytes, a tensor at least 33 */
    if (*nkv > (c->n - c->at) / 13)
        return err_at(c->e, 16, "%llu metadata, but %zu bytes are left",
            (unsigned long long)*nkv, c->n - c->at);
    if (*nt > (c->n - c->at) / 33)
        return err_at(c->e, 8, "%llu tensors, but %zu bytes are left",
            (unsigned long long)*nt, c->n - c->at);
    return 0;
}

/* Set v[n] to the names, which are all in mem now, at offsets off[n].  -1: one
 * of them occurs twice. */
static int
name_all(struct gguf_in *c, const size_t *off, const char **v, size_t n,
    const char *what)
{
    const char *twice;

    for (size_t i = 0; i < n; i++)
        v[i] = c->g->mem.p + off[i];
    if ((twice = names_twice(v, n)) != NULL)
        return err_at(c->e, 0, "%s \"%.80s\" is given twice", what, twice);
    return 0;
}

/* Read the metadata; if `tensors` is 1, then the tensors' descriptions and the
 * places of their data. */
static int
parse_gguf(struct gguf_in *c, size_t **off, int tensors)
{
    struct gguf *g = c->g;
    uint64_t nt = 0, nkv = 0, v;
    const char **name;
    size_t n = 0, kv_end;
    int r;

    if (read_gguf_head(c, &nt, &nkv) < 0)
        return -1;
    for (uint64_t i = 0; i < nkv; i++, n++, g->nkv++) {
        g->kv = xgrow_pow2(g->kv, g->nkv, sizeof *g->kv);
        *off = xgrow_pow2(*off, n, sizeof **off);
        if (get_kv(c, &g->kv[g->nkv], &(*off)[n]) < 0)
            return -1;
    }
    kv_end = n;
    for (uint64_t i = 0; tensors && i < nt; i++, n++, g->nt++) {
        struct gguf_tensor *t;

        g->t = xgrow_pow2(g->t, g->nt, sizeof *g->t);
        *off = xgrow_pow2(*off, n, sizeof **off);
        t = memset(&g->t[g->nt], 0, sizeof *t);
        if (get_name(c, "a tensor's name", GGUF_NAME_MAX, &(*off)[n]) < 0 ||
            get_shape(c, t, g->mem.p + (*off)[n]) < 0 ||
            get(c, 8, "a tensor's offset", &v) < 0)
            return -1;
        t->at = (size_t)v;
    }
    for (size_t i = 0; i < n; i++) {
        const char *s = g->mem.p + (*off)[i];

        if (i < kv_end)
            g->kv[i].key = s;
        else
            g->t[i - kv_end].name = s;
    }
    name = xreallocarray(NULL, n + 1, sizeof *name);
    r = name_all(c, *off, name, kv_end, "metadata key");
    if (r == 0 && n > kv_end)
        r = name_all(c, *off + kv_end, name, n - kv_end, "tensor");
    free(name);
    return r < 0 || get_alignment(c) < 0 ? -1 : tensors ? place_tensor(c) : 0;
}

static int
parse_file(struct gguf *g, const void *p, size_t n, int tensors, struct err *e)
{
    struct gguf_in c = { p, n, 0, g, e };
    size_t *off = NULL;
    int r;

    memset(g, 0, sizeof *g);
    r = parse_gguf(&c, &off, tensors);
    free(off);
    if (r < 0)
        gguf_release(g);
    return r;
}

int
gguf_parse(struct gguf *g, const void *p, size_t n, struct err *e)
{
    return parse_file(g, p, n, 1, e);
}

int
gguf_parse_metadata(struct gguf *g, const void *p, size_t n, struct err *e)
{
    return parse_file(g, p, n, 0, e);
}

void
gguf_release(struct gguf *g)
{
    free(g->kv);
    free(g->t);
    buf_release(&g->mem);
    memset(g, 0, sizeof *g);
}

const struct gguf_kv *
gguf_kv(const struct gguf *g, const char *key)
{
    for (size_t i = 0; i < g->nkv; i++)
        if (strcmp(g->kv[i].key, key) == 0)
            return &g->kv[i];
    return NULL;
}

const struct gguf_tensor *
gguf_tensor(const struct gguf *g, const char *name)
{
    for (size_t i = 0; i < g->nt; i++)
        if (strcmp(g->t[i].name, name) == 0)
            return &g->t[i];
    return NULL;
}

static int
is_int(enum gguf_type t)
{
    return t <= GGUF_I32 || t == GGUF_U64 || t == GGUF_I64;
}

int64_t
gguf_int(const struct gguf_kv *a, size_t i)
{
    const unsigned size = type_size[a->elem];
    const uint64_t v = le_get(a->value + i * size, size);

    switch (a->elem) {
    case GGUF_I8: return (int8_t)v;
    case GGUF_I16: return (int16_t)v;
    case GGUF_I32: return (int32_t)v;
    case GGUF_U64: /* 2^63 or more, which no size is, becomes negative */
    default: return (int64_t)v;
    }
}

float
gguf_f32(const struct gguf_kv *a, size_t i)
{
    const uint32_t v =
        (uint32_t)le_get(a->value + i * sizeof(float), sizeof(float));
    float f;

    memcpy(&f, &v, sizeof f);
    return f;
}

int
gguf_size(const struct gguf *g, const char *key, size_t lo, size_t hi,
    size_t *r, struct err *e)
{
    const struct gguf_kv *v = gguf_kv(g, key);
    int64_t k;

    if (!v)
        return 0;
    if (!is_int(v->type))
        return err_set(e, EX_INPUT, "%s: is no whole number", key);
    k = gguf_int(v, 0);
    if (k < 0 || (size_t)k < lo || (size_t)k > hi)
        return err_set(e, EX_INPUT, "%s: %lld is outside %zu to %zu", key,
            (long long)k, lo, hi);
    *r = (size_t)k;
    return 1;
}

/* The shortest decimal that rounds to f: 1e-05 stored in 32 bits is
 * 9.99999974738e-06, but 1e-05 was meant. */
static double
meant(float f)
{
    char s[40];

    for (int digits = 6; digits < 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double)f);
        if (strtof(s, NULL) == f)
            return strtod(s, NULL);
    }
    return f;
}

int
gguf_real(const struct gguf *g, const char *key, double lo, double hi,
    double *r, struct err *e)
{
    const struct gguf_kv *v = gguf_kv(g, key);
    double k;
    float f;

    if (!v)
        return 0;
    if (v->type == GGUF_F32) {
        memcpy(&f, v->value, sizeof f);
        k = isfinite(f) ? meant(f) : (double)f;
    } else if (v->type == GGUF_F64) {
        memcpy(&k, v->value, sizeof k);
    } else {
        return err_set(e, EX_INPUT, "%s: is no real number", key);
    }
    if (!(k >= lo && k <= hi))
        return err_set(e, EX_INPUT, "%s: %g is outside %g to %g", key, k, lo,
            hi);
    *r = k;
    return 1;
}

int
gguf_bool(const struct gguf *g, const char *key, int *r, struct err *e)
{
    const struct gguf_kv *v = gguf_kv(g, key);

    if (!v)
        return 0;
    if (v->type != GGUF_BOOL)
        return err_set(e, EX_INPUT, "%s: is no bool", key);
    *r = v->value[0];
    return 1;
}

int
gguf_str(const struct gguf *g, const char *key, const char **s, size_t *n,
    struct err *e)
{
    const struct gguf_kv *v = gguf_kv(g, key);

    if (!v)
        return 0;
    if (v->type != GGUF_STR || !utf8_text(v->value, v->n))
        return err_set(e, EX_INPUT, "%s: is no text", key);
    *s = (const char *)v->value;
    *n = v->n;
    return 1;
}

int
gguf_is(const struct gguf *g, const char *key, const char *want)
{
    const struct gguf_kv *v = gguf_kv(g, key);

    return v && v->type == GGUF_STR && v->n == strlen(want) &&
        memcmp(v->value, want, v->n) == 0;
}

struct gguf_walk
gguf_walk(const struct gguf_kv *a)
{
    return (struct gguf_walk){ a->value, a->elem == GGUF_STR ? a->n : 0 };
}

int
gguf_next(struct gguf_walk *w, const char **s, size_t *n)
{
    if (w->left == 0)
        return 0;
    *n = (size_t)le_get(w->p, 8);
    *s = (const char *)w->p + 8;
    w->p += 8 + *n;
    w->left--;
    return 1;
}
