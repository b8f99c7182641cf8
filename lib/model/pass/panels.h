/*
 * Copies of blocks' matrices for products in bfloat16: rounded, and in the
 * order in which the products read them (kern.pack).  block_now makes those of
 * its block; then all tiles of rows and all threads multiply by them.  Without
 * the copies each tile would round the matrix again.  With products in fp32,
 * for matrices of experts, and in passes of less than PANELS_ROWS tokens there
 * are none, and products read the weights themselves.
 *
 * There is room for the copies of one block, or (fwd_hold) of all blocks; the
 * latter are made once.
 *
 * PANELS_OUT: for y = x W^T.  PANELS_BACK: for dx = dy W; only of matrices in
 * fp32 or bf16.
 */
#ifndef MODEL_PANELS_H
#define MODEL_PANELS_H

#include "base/mem.h"
#include "kern/kern.h"
#include "model/config/tensors.h"
#include "model/files/weights.h"

#include <stddef.h>
#include <stdint.h>

struct fwd;

enum { PANELS_OUT, PANELS_BACK, PANELS_WAYS };
enum { PANELS_ROWS = 64 };

struct block_panels {
    int ways;       /* 0: no copies; 1: PANELS_OUT; 2: PANELS_BACK too */
    size_t slots;   /* blocks that have room: one, or all */
    void **at;      /* [slots,ways,W_N] room for a matrix, or NULL */
    uint64_t *laid; /* [slots,ways] W_BIT of the matrices that are laid out */
    struct arena arena;
};

/* Bytes of the panels of matrix k of a block, w. */
size_t panels_bytes(const struct weight *w, int way, int k);
/* Allocate room in f for one block, or (all 1) for all blocks.  ways: 1 for
 * PANELS_OUT, 2 for both. */
void panels_init(struct fwd *f, int ways, int all);
void panels_release(struct fwd *f);
/* Lay out the matrices of block i for the ways of a set: 1 << PANELS_OUT, 1 <<
 * PANELS_BACK or both.  With room for all blocks that is done once. */
void panels_fill(struct fwd *f, size_t i, unsigned ways);
/* Does f have panels of matrix k of block i? */
int panels_have(const struct fwd *f, size_t i, int way, int k);
/* Columns j0..j0+n-1 of that matrix as a factor whose product goes to c; j0 is
 * a multiple of PACKED_COLUMNS. */
struct kern_packed panels_factor(const struct fwd *f, size_t i, int way, int k,
    size_t j0, size_t n, float *c, size_t ldc);

#endif
