/*
 * safetensors (u64 header length, JSON header, data): the one parser of
 * messages, shards and checkpoints.  It is strict:
 * - The header begins with '{' and has at most ST_HEADER_MAX bytes.
 * - Names are unique.
 * - A tensor has 0 to 8 dimensions, each at most 2^40.
 * - data_offsets are below 10^15 and fit shape and dtype.  Sorted, they have no
 *   hole or overlap, and end where the data ends.
 * - __metadata__ maps strings to strings.
 */
#ifndef FORMAT_SAFETENSORS_H
#define FORMAT_SAFETENSORS_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ST_HEADER_MAX 100000000u
#define ST_DIMS_MAX 8

enum dtype {
    DT_BOOL,
    DT_U8,
    DT_I8,
    DT_U16,
    DT_I16,
    DT_F16,
    DT_BF16,
    DT_U32,
    DT_I32,
    DT_F32,
    DT_U64,
    DT_I64,
    DT_F64,
    DT_F8_E4M3, /* of weights alone: sign, 4 bits of exponent, 3 of mantissa */
    /* quantised types of GGUF; never in a safetensors file */
    DT_Q8_0,
    DT_Q4_0,
    DT_Q4_1,
    DT_Q5_0,
    DT_Q5_1,
    DT_Q2_K,
    DT_Q3_K,
    DT_Q4_K,
    DT_Q5_K,
    DT_Q6_K,
    DT_IQ4_NL,
    DT_IQ4_XS,
    DT_MXFP4,
    DT_N
};
const char *dtype_name(enum dtype t); /* "F32", "BF16", ... */
/* Bytes of n elements; -1: they overflow, or n is no multiple of a quantised
 * type's block (32 or 256 elements). */
int dtype_bytes(enum dtype t, size_t n, size_t *bytes);

struct st_tensor {
    const char *name; /* owned by the struct st */
    enum dtype dtype;
    int ndim;
    size_t shape[ST_DIMS_MAX];
    size_t n;           /* elements */
    size_t off, nbytes; /* offset in the data part, length in bytes */
    const void *data;   /* set by st_set_data, else NULL */
};

struct st {
    struct st_tensor *t; /* in order of off */
    size_t nt;
    char **key, **val; /* __metadata__, in file order */
    size_t nmeta;
    size_t data_len; /* bytes of data */
    size_t data_at;  /* offset of the data: 8 + header length */
    struct buf mem;  /* names and strings */
};

/* Parse the JSON header of n bytes.  Errors are "offset N: why", with N counted
 * from the start of the message, 8 bytes before the header; the caller puts the
 * name in front.  *s need not be initialised; release it after success only.
 * The JSON may list tensors in any order; s->t is in order of off. */
int st_parse_header(struct st *s, const char *json, size_t n, struct err *e);
/* Point every tensor's data into `data` (data_len bytes, not copied).  The
 * format aligns nothing: read values with memcpy, not through a cast. */
void st_set_data(struct st *s, const void *data);
/* Parse a whole buffer (a mapped file): also checks that the data ends at n. */
int st_parse(struct st *s, const void *p, size_t n, struct err *e);
void st_release(struct st *s);

const struct st_tensor *st_find(const struct st *s, const char *name);
const char *st_meta(const struct st *s, const char *key); /* or NULL: none */
/* Find tensor `name` and check its dtype and shape (a dimension SIZE_MAX: any).
 * NULL and *e, which names the tensor. */
const struct st_tensor *st_need(const struct st *s, const char *name,
    enum dtype t, int ndim, const size_t *shape, struct err *e);

/* Element i of a U16 or U32 tensor, which may lie at any address (a mapped
 * file).  i is below t->n. */
static inline uint16_t
st_u16(const struct st_tensor *t, size_t i)
{
    uint16_t v;

    memcpy(&v, (const char *)t->data + 2 * i, 2);
    return v;
}

static inline uint32_t
st_u32(const struct st_tensor *t, size_t i)
{
    uint32_t v;

    memcpy(&v, (const char *)t->data + 4 * i, 4);
    return v;
}

/* Element i of a tensor of whole numbers, zero-extended. */
static inline uint64_t
st_uint(const struct st_tensor *t, size_t i)
{
    const size_t size = t->nbytes / t->n;
    uint64_t v = 0;

    memcpy(&v, (const char *)t->data + size * i, size);
    return v;
}

/*
 * A writer: metadata and tensors in the order of the calls; data must stay
 * valid until the message is written.  The header is padded with spaces to a
 * multiple of 8, so the same calls give the same bytes everywhere.
 */
struct st_out {
    struct buf meta, tensors, head;
    struct st_piece {
        const void *p;
        size_t n;
    } * piece;
    size_t npiece, cap, data_len;
};
void st_out_begin(struct st_out *o); /* empties *o; { 0 } is empty, too */
void st_out_meta(struct st_out *o, const char *key, const char *val);
/* Add a metadata entry with a number in decimal. */
void st_out_number(struct st_out *o, const char *key, uint64_t v);
void st_out_tensor(struct st_out *o, const char *name, enum dtype t, int ndim,
    const size_t *shape, const void *data);
/* Finish after the last tensor: the message is then head (length and header)
 * and the pieces. */
void st_out_end(struct st_out *o);
/* After st_out_end: write the message to a file, which appears whole or not at
 * all. */
int st_out_save(const struct st_out *o, const char *path, struct err *e);
void st_out_release(struct st_out *o);

#endif
