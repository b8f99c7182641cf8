/*
 * Logits of a head, for losses that use logits.  They exist only for a tile of
 * at most 256 predictions (512 with products by AMX), in slices of the
 * vocabulary.  Each slice is a task.  The borders of slices are fixed, so the
 * number of threads changes no bit.
 */
#ifndef TRAIN_HEAD_SLICES_H
#define TRAIN_HEAD_SLICES_H

#include "base/mem.h"
#include "base/pool.h"
#include "model/files/weights.h"

#include <stddef.h>
#include <stdint.h>

struct head_slices {
    struct pool *pool;
    size_t V, d;          /* ids and width of the model */
    size_t R;             /* most predictions of a tile */
    size_t width, nslice; /* width and number of slices of the vocabulary */
    size_t ld;            /* numbers from a row of logits to the next: width,
                           * and so many that rows do not share cache sets */
    float *zs;            /* [nslice][R,ld] logits, then gradients */
    float *part;          /* [nslice][R,d] slices' parts of dh */
    float cap;            /* head_slices_cap; 0: none */
    float *capped;        /* [workers][width] */
    float *wide;          /* [workers][WEIGHT_PIECE], or NULL */
    float *db;            /* [V] gradient of the head's bias; NULL: there is
                           * none, or it is not wanted */
};

/* Allocate zs, part and, if `widen`, wide in `a` (which may be planning), for a
 * head [V,d] and calls of at most `rows` predictions.  widen: weights of other
 * types than fp32 will be used. */
void head_slices_init(struct head_slices *h, struct arena *a, struct pool *pool,
    size_t V, size_t d, size_t rows, int widen);
/* Cap logits as config.final_cap does; 0: do not.  Call it right after
 * head_slices_init, with the same arena. */
void head_slices_cap(struct head_slices *h, struct arena *a, double cap);
/* Cap the logits of n predictions in slice s, before anything uses them. */
void head_slices_capped(const struct head_slices *h, size_t s, size_t n);
/* head_slices_keep copies row i of the capped logits of slice s, before their
 * gradient overwrites them; head_slices_uncap then takes this gradient back
 * through the cap.  by: factor by which the logits were multiplied after the
 * cap. */
void head_slices_keep(const struct head_slices *h, size_t s, size_t i,
    size_t worker);
void head_slices_uncap(const struct head_slices *h, size_t s, size_t i,
    size_t worker, float by);
/* A worker's memory for widened weights, or NULL. */
float *head_slices_wide(const struct head_slices *h, size_t worker);
/* Width of slice s: the last one may be narrower. */
size_t head_slices_cols(const struct head_slices *h, size_t s);
/* hs [n,d]: states of n predictions.  From the gradients of their logits in
 * slice s, add the gradient of the head ws [V,d] to dw [V,d] (NULL: it is not
 * wanted) and that of its bias to h->db, and compute the slice's part of dh. */
void head_slices_products(const struct head_slices *h, size_t s, size_t n,
    const struct weight *ws, const float *hs, float *dw, size_t worker);
/* Write dh [n,d], the sum of the slices' parts. */
void head_slices_join(const struct head_slices *h, size_t n, float *dh);

#endif
