/* A base model's file of predictions; see base_file.h. */
#include "base_file.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "kern/kern.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "_logits_";
enum {
    HEAD = sizeof(magic) - 1 + 3 * 4,
    ROW_HEAD = 8,
    STEPS = 65535,
    RANGE = 16 /* nats between a row's largest and smallest log p */
};

size_t
base_row_bytes(size_t V)
{
    return ROW_HEAD + (V + V % 2) * sizeof(uint16_t);
}

size_t
base_window_rows(size_t c)
{
    return c - 1 - c / 2;
}

static float
get_float(const unsigned char *p)
{
    const uint32_t u = (uint32_t)le_get(p, 4);
    float v;

    memcpy(&v, &u, sizeof(v));
    return v;
}

static void
put_float(unsigned char *p, float v)
{
    uint32_t u;

    memcpy(&u, &v, sizeof(u));
    le_put(p, u, 4);
}

/* Read n bytes; fewer are an error. */
static int
read_exactly(struct base_in *b, void *p, size_t n, struct err *e)
{
    const ptrdiff_t got = io_read(b->fd, p, n);

    if (got < 0)
        return err_set(e, EX_SYS, "%s:", b->path);
    if ((size_t)got < n)
        return err_set(e, EX_INPUT, "%s: has become shorter", b->path);
    return 0;
}

/* Compute the file size that the numbers in the head imply; -1: it does not fit
 * a size_t. */
static int
stated_size(const struct base_in *b, uint64_t *size)
{
    size_t window;

    if (size_mul(base_window_rows(b->c), base_row_bytes(b->V), &window) < 0 ||
        size_add(window, b->c * 4, &window) < 0 ||
        size_mul(window, b->windows, &window) < 0 ||
        size_add(window, HEAD, &window) < 0)
        return -1;
    *size = window;
    return 0;
}

static int
check_file_size(const struct base_in *b, uint64_t size, struct err *e)
{
    uint64_t want;

    if (stated_size(b, &want) < 0)
        return err_set(e, EX_INPUT,
            "%s: %zu windows of %zu tokens, vocabulary %zu: no file is so "
            "large",
            b->path, b->windows, b->c, b->V);
    if (size != want)
        return err_set(e, EX_INPUT,
            "%s: %s: %zu windows of %zu tokens with a vocabulary of %zu take "
            "%" PRIu64 " bytes, and it has %" PRIu64,
            b->path, size < want ? "is truncated" : "has more than it says",
            b->windows, b->c, b->V, want, size);
    return 0;
}

static int
read_file_head(struct base_in *b, uint64_t size, struct err *e)
{
    unsigned char head[HEAD];
    int32_t v[3];

    if (size < HEAD || read_exactly(b, head, HEAD, e) < 0 ||
        memcmp(head, magic, sizeof(magic) - 1) != 0)
        return err_set(e, EX_INPUT,
            "%s: is no file of llama-perplexity's --save-all-logits", b->path);
    for (size_t i = 0; i < 3; i++)
        v[i] = (int32_t)le_get(head + HEAD - 12 + 4 * i, 4);
    if (v[0] < 3 || v[1] < 1 || v[2] < 1)
        return err_set(e, EX_INPUT,
            "%s: context %" PRId32 ", vocabulary %" PRId32 ", %" PRId32
            " windows: there is nothing to read",
            b->path, v[0], v[1], v[2]);
    b->c = (size_t)v[0];
    b->V = (size_t)v[1];
    b->windows = (size_t)v[2];
    return check_file_size(b, size, e);
}

static int
read_file_tokens(struct base_in *b, struct err *e)
{
    const size_t n = b->windows * b->c;

    b->tokens = xreallocarray(NULL, n, sizeof(*b->tokens));
    if (read_exactly(b, b->tokens, n * sizeof(*b->tokens), e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        b->tokens[i] = (uint32_t)le_get(&b->tokens[i], 4);
        if (b->tokens[i] >= b->V)
            return err_set(e, EX_INPUT,
                "%s: token %zu is %" PRIu32 ", and the vocabulary %zu", b->path,
                i, b->tokens[i], b->V);
    }
    return 0;
}

int
base_in_open(struct base_in *b, const char *path, struct err *e)
{
    uint64_t size;

    memset(b, 0, sizeof(*b));
    b->path = xstrdup(path);
    b->fd = io_open_file(path, &size, e);
    return b->fd < 0 || read_file_head(b, size, e) < 0 ? -1
                                                       : read_file_tokens(b, e);
}

int
base_in_rows(struct base_in *b, unsigned char *rows, size_t n, struct err *e)
{
    b->row += n;
    return read_exactly(b, rows, n * base_row_bytes(b->V), e);
}

void
base_in_close(struct base_in *b)
{
    if (b->fd >= 0)
        io_close_in(b->fd);
    free(b->path);
    free(b->tokens);
    b->path = NULL;
    b->tokens = NULL;
    b->fd = -1;
}

int
base_out_begin(struct base_out *b, const char *path, size_t c, size_t V,
    const uint32_t *tokens, size_t windows, struct err *e)
{
    unsigned char head[HEAD], word[4];

    memset(b, 0, sizeof(*b));
    b->V = V;
    if (c > INT32_MAX || V > INT32_MAX || windows > INT32_MAX)
        return err_set(e, EX_INPUT, "%s: cannot count %zu windows of %zu", path,
            windows, c);
    memcpy(head, magic, sizeof(magic) - 1);
    le_put(head + HEAD - 12, c, 4);
    le_put(head + HEAD - 8, V, 4);
    le_put(head + HEAD - 4, windows, 4);
    if (io_out_begin(&b->o, path, e) < 0 ||
        io_out_write(&b->o, head, HEAD, e) < 0)
        return -1;
    for (size_t i = 0; i < windows * c; i++) {
        le_put(word, tokens[i], sizeof(word));
        if (io_out_write(&b->o, word, sizeof(word), e) < 0)
            return -1;
    }
    return 0;
}

int
base_out_rows(struct base_out *b, const unsigned char *rows, size_t n,
    struct err *e)
{
    return io_out_write(&b->o, rows, n * base_row_bytes(b->V), e);
}

/* Round 0 <= x <= 65535.5 to the nearest whole number, ties to even, by adding
 * 2^23: floats of 2^23 and above have no fraction. */
static uint16_t
nearest_step(float x)
{
    return (uint16_t)(x + 0x1p23f - 0x1p23f);
}

void
base_row_pack(unsigned char *row, const float *z, size_t V)
{
    const float max = kern.max(z, V);
    const float lse = (float)log(kern.expsum(z, V, max, 1.0f));
    float min = max, scale, inverse;

    for (size_t v = 0; v < V; v++)
        min = z[v] < min ? z[v] : min;
    min = min < max - RANGE ? max - RANGE : min;
    scale = (max - min) / STEPS;
    inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    put_float(row, scale);
    put_float(row + 4, min - max - lse);
    memset(row + base_row_bytes(V) - 2, 0, 2);
    for (size_t v = 0; v < V; v++)
        le_put(row + ROW_HEAD + 2 * v,
            z[v] > min ? nearest_step(inverse * (z[v] - min)) : 0, 2);
}

int
base_row_unpack(const unsigned char *row, float *logp, size_t V)
{
    const float scale = get_float(row), low = get_float(row + 4);

    if (!(scale >= 0.0f && scale < INFINITY && low <= 0.0f && low > -INFINITY))
        return -1;
    for (size_t v = 0; v < V; v++)
        logp[v] = scale * (float)le_get(row + ROW_HEAD + 2 * v, 2) + low;
    return 0;
}
