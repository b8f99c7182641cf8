/*
 * Makes the head of a GGUF file (version 3, little-endian, aligned to 32
 * bytes): metadata, then tensor descriptions in the order of their data.  The
 * same calls give the same bytes everywhere.
 */
#ifndef FORMAT_GGUF_WRITE_H
#define FORMAT_GGUF_WRITE_H

#include "format/gguf.h"

#define GGUF_ALIGN 32

struct gguf_out {
    struct buf kv, tensors;
    size_t nkv, nt;
    size_t data; /* bytes of data so far, padded */
};

/* Add metadata; { 0 } is an empty file.  Keys must be unique. */
void gguf_out_str(struct gguf_out *o, const char *key, const char *s, size_t n);
void gguf_out_u32(struct gguf_out *o, const char *key, size_t v);
void gguf_out_f32(struct gguf_out *o, const char *key, double v);
void gguf_out_bool(struct gguf_out *o, const char *key, int v);
/* Begin an array of n elements.  Add them next: numbers of `size` bytes by
 * gguf_out_num, or strings by gguf_out_text. */
void gguf_out_array(struct gguf_out *o, const char *key, enum gguf_type elem,
    size_t n);
void gguf_out_num(struct gguf_out *o, uint64_t v, size_t size);
void gguf_out_text(struct gguf_out *o, const char *s, size_t n);
/* Copy an entry of another file. */
void gguf_out_copy(struct gguf_out *o, const struct gguf_kv *v);

/* Add a tensor of a type that GGUF has (gguf_type_of), shape slowest first.
 * -1: the length of its rows is no multiple of the type's block size. */
int gguf_out_tensor(struct gguf_out *o, const char *name, enum dtype t,
    int ndim, const size_t *shape);

/* Write the head to *b (cleared first), padded to the start of the data.  The
 * caller pads each tensor's data to GGUF_ALIGN too. */
void gguf_out_head(const struct gguf_out *o, struct buf *b);
void gguf_out_release(struct gguf_out *o);

#endif
