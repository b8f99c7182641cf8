/*
 * llama.cpp's file of a model's predictions (written by llama-perplexity
 * --save-all-logits, read by --kl-divergence), all little-endian:
 *
 *   "_logits_", int32 context c, int32 vocabulary V, int32 windows n
 *   int32 tokens [n,c] of the text, without BOS
 *   a row for each scored prediction, c - 1 - c/2 in a window: float scale,
 *       float low, uint16 u[V], and one more 0 if V is odd:
 *       log p_v = scale u_v + low
 *
 * The largest u is 65535.  All log p more than 16 nats below the largest have
 * u = 0.  The file is read and written in order, some rows at a time.
 */
#ifndef EVALPPL_BASE_FILE_H
#define EVALPPL_BASE_FILE_H

#include "base/err.h"
#include "base/io.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of a row. */
size_t base_row_bytes(size_t V);
/* Rows of a window. */
size_t base_window_rows(size_t c);

struct base_in {
    int fd;
    char *path;
    size_t c, V, windows;
    uint32_t *tokens; /* [windows,c] < V */
    size_t row;       /* index of the next row to read */
};
/* Open the file and read its head and tokens.  -1 and *e:
 * EX_SYS: the file cannot be read.
 * EX_INPUT: it is no such file, its size is not the one that its head states,
 * or a token is not below V.
 * Call base_in_close in any case. */
int base_in_open(struct base_in *b, const char *path, struct err *e);
/* Read the next n rows into rows [n, base_row_bytes(V)].  The file must have n
 * rows left. */
int base_in_rows(struct base_in *b, unsigned char *rows, size_t n,
    struct err *e);
void base_in_close(struct base_in *b);

struct base_out {
    struct io_out o;
    size_t V;
};
/* Begin a file with tokens [windows,c]; it gets its name when it is committed.
 * -1 and *e: EX_SYS; EX_INPUT: a number does not fit an int32.  After a failure
 * call io_out_abort(&b->o). */
int base_out_begin(struct base_out *b, const char *path, size_t c, size_t V,
    const uint32_t *tokens, size_t windows, struct err *e);
int base_out_rows(struct base_out *b, const unsigned char *rows, size_t n,
    struct err *e);

/* Make a row from finite logits z [V]. */
void base_row_pack(unsigned char *row, const float *z, size_t V);
/* Compute log p [V] from a row.  -1: the row's scale or low is not finite or
 * has the wrong sign. */
int base_row_unpack(const unsigned char *row, float *logp, size_t V);

#endif
