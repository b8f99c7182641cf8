/* Slices of the head, for logits (head.c) and targets (head_top.c). */
#ifndef MODEL_HEAD_IMPL_H
#define MODEL_HEAD_IMPL_H

#include "model/pass/forward_impl.h"

/* HEAD_TILE: rows of a tile; HEAD_SMALL: rows of the tile if all rows fit it.
 * HEAD_SLICE: ids in a slice of the vocabulary.  HEAD_ROWS: rows in a
 * round. */
enum { HEAD_TILE = 256, HEAD_SMALL = 64, HEAD_SLICE = 512, HEAD_ROWS = 1024 };
/* Work space, f->room[ROOM_HEAD]. */
struct head_room {
    float **logits;  /* [threads] HEAD_TILE x HEAD_SLICE */
    float *pad;      /* [HEAD_TILE,d] the last rows, padded with zeros */
    void *stat;      /* [V/HEAD_SLICE,HEAD_ROWS] each row's sums over a slice */
    float *target_z; /* [2,HEAD_ROWS] logits of the targets: of this model, of
                      * the base */
    int forget;      /* 1: drop the head's pages after reading
                      * (fwd_forget_head) */
};
/* Allocates the head's part of f. */
void head_layout(struct fwd *f, struct arena *a);
/* Raises f->wide_n to what head_slice needs. */
void head_wide(struct fwd *f);
/* Rows v0..v0+n-1 of the head in fp32, n <= HEAD_SLICE: as they are stored, or
 * a widened copy in the worker's scratch. */
const float *head_slice(struct fwd *f, size_t v0, size_t n, size_t worker);

#endif
