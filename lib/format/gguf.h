/*
 * GGUF, versions 2 and 3, little-endian: metadata, tensor descriptions, data.
 * A strict reader of a file in memory.  Every length is checked against the
 * bytes that are left before it is used; sums and products are checked for
 * overflow.  No allocation is larger than the file's contents justify: arrays
 * stay in the file.  Names must be unique, and tensors follow one another,
 * aligned, without overlap.  llama.cpp writes such files and makes the same
 * checks.
 */
#ifndef FORMAT_GGUF_H
#define FORMAT_GGUF_H

#include "base/err.h"
#include "base/mem.h"
#include "format/safetensors.h"

#include <stddef.h>
#include <stdint.h>

#define GGUF_DIMS_MAX 4
#define GGUF_NAME_MAX 63 /* bytes of a tensor's name */
#define GGUF_KEY_MAX 65535

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STR,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES
};

/* A metadata entry.  value points into the file: the bytes of a number, the
 * text of a string (n bytes, no NUL), or the n elements of an array. */
struct gguf_kv {
    const char *key;     /* owned by the struct gguf */
    enum gguf_type type; /* GGUF_ARRAY for arrays */
    enum gguf_type elem; /* type of an array's elements; else == type */
    size_t n;            /* elements of an array, bytes of a string, or 1 */
    const unsigned char *value;
    size_t at; /* offset in the file, of the value */
};

struct gguf_tensor {
    const char *name; /* owned by the struct gguf */
    enum dtype dtype;
    int ndim;
    size_t shape[GGUF_DIMS_MAX]; /* slowest dimension first, as in y = x W^T */
    size_t n, nbytes;
    size_t at; /* offset in the file, of the data */
    const unsigned char *data;
};

struct gguf {
    struct gguf_kv *kv;
    struct gguf_tensor *t; /* in file order */
    size_t nkv, nt;
    size_t align;
    struct buf mem; /* keys and names */
};

/* Bytes of a number of type t; 0: t is not a type of numbers. */
size_t gguf_type_size(enum gguf_type t);
/* GGUF's number for a type of tensors; -1: it has none. */
int gguf_type_of(enum dtype t);

/* Parse n bytes at p, which stay the caller's and must outlive *g.  Errors
 * are "offset N: why".  *g is overwritten; nothing to release on failure. */
int gguf_parse(struct gguf *g, const void *p, size_t n, struct err *e);
/* Parse only the metadata, no matter what tensors follow: for a tokenizer. */
int gguf_parse_metadata(struct gguf *g, const void *p, size_t n, struct err *e);
void gguf_release(struct gguf *g);

const struct gguf_kv *gguf_kv(const struct gguf *g, const char *key);
const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name);

/* Typed metadata.  1: *r is set; 0: the key is missing, *r is unchanged; -1 and
 * *e "key: why".  A size may have any integer type, a real any float type (a
 * 32-bit float gives the shortest decimal that rounds to it). */
int gguf_size(const struct gguf *g, const char *key, size_t lo, size_t hi,
    size_t *r, struct err *e);
int gguf_real(const struct gguf *g, const char *key, double lo, double hi,
    double *r, struct err *e);
int gguf_bool(const struct gguf *g, const char *key, int *r, struct err *e);
/* *s points to *n bytes in the file, UTF-8 without NUL. */
int gguf_str(const struct gguf *g, const char *key, const char **s, size_t *n,
    struct err *e);
/* Is the value of key the text `want`?  0 also if the key is missing. */
int gguf_is(const struct gguf *g, const char *key, const char *want);

/* An iterator over the strings of an array, which gguf_parse has checked.
 * gguf_next: 1: the next string has *n bytes at *s, in the file; 0: the end. */
struct gguf_walk {
    const unsigned char *p;
    size_t left;
};
struct gguf_walk gguf_walk(const struct gguf_kv *a);
int gguf_next(struct gguf_walk *w, const char **s, size_t *n);
/* Element i < a->n of an array of integers, or, with i = 0, an integer itself,
 * widened. */
int64_t gguf_int(const struct gguf_kv *a, size_t i);
/* Element i < a->n of an array of GGUF_F32. */
float gguf_f32(const struct gguf_kv *a, size_t i);

#endif
