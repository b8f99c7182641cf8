/* A cache of generation, and products with its rows: shared by forward_kv.c and
 * kv_products.c. */
#ifndef MODEL_KV_IMPL_H
#define MODEL_KV_IMPL_H

#include "model/decode/text_states.h"
#include "model/decode/forward_kv.h"
#include "model/decode/kv_pages.h"

/* KV_TILE: tokens in a tile.  KV_PART: rows of a weight that are widened at
 * once.  KV_ROWS: tokens in a task that goes row by row.  KV_PAD: floats after
 * a widened row; without them, rows of 6 KiB fall into the same lines of the
 * first-level cache. */
enum { KV_TILE = 256, KV_PART = 32, KV_ROWS = 16, KV_PAD = 16 };

/* A token in a tile. */
struct kv_row {
    size_t text, pos; /* its text, its position there */
    float *state;     /* [d] out: its final state; NULL: not wanted */
    float *last;      /* [d] out: its final state once more, for its logits;
                       * NULL: logits are not wanted */
    const float *cs;  /* [rotary] its angles in blocks without a window */
    size_t span;      /* kvcache.span[span] is the run of its text's tokens */
};

/* n rows of a tile, from row `row` on, that are tokens of one page. */
struct kv_run {
    size_t row, n;
};

struct kvcache {
    struct fwd *f; /* of one row of KV_TILE tokens: the tile */
    size_t texts, longest;
    struct arena arena;
    struct kv_pages pages;
    size_t *n;            /* [texts] tokens of each text */
    unsigned char *k, *v; /* [L][KV,pages,page] as in struct attn_text, KV of
                           * the block */
    size_t page;          /* attn_page_bytes */
    size_t *at;           /* [L] bytes before a block's part of k and v */
    /* a tile of rows */
    struct kv_row *row; /* [KV_TILE] */
    struct kv_run *run; /* [KV_TILE] */
    size_t rows, runs;
    float *x;        /* [KV_TILE,d] residual stream */
    float *last;     /* [texts,d] final states whose logits are wanted */
    uint32_t *first; /* [KV_TILE] zeros, for struct rows */
    struct text_states states; /* of `linear` blocks */
    struct text_run *span;     /* [KV_TILE] a run of tokens for each text of the
                             * tile, `spans` runs, in order of rows */
    size_t spans;
    float *cs, *cs_local;   /* [longest,rotary] angles, as in struct fwd */
    float *cs_row;          /* [KV_TILE,rotary] angles of rows whose texts are
                             * longer than angles_short; NULL: the cache has
                             * no room for such texts */
    float **scratch;        /* [threads] scratch of attention */
    float **wide;           /* [threads] KV_PART widened rows, or a panel */
    unsigned char *rounded; /* rows of a product rounded to 8-bit integers */
};

/* y [n,ldy] = x [n,cols] w^T, by tasks of `part` rows of w */
struct matjob {
    struct kvcache *k;
    const struct weight *w;
    const float *x;
    float *y;
    size_t n, ldy, part;
    float cap;  /* of the products, as in struct config; 0: none */
    float *low; /* [n,rank] scale A x of w's adapter, set by
                 * kv_begin_products */
};

size_t kv_parts(const struct matjob *j);
/* Get ready for the products of one x with n weights: choose parts, round x for
 * products in integers, and compute scale A x of adapters. */
void kv_begin_products(struct kvcache *k, struct matjob *j, size_t n);
/* Multiply one x by n weights. */
void multiply_kv(struct kvcache *k, struct matjob *j, size_t n);
/* A task of a pool; ctx: the jobs of gate and up, side by side.  It computes a
 * part of both products and stores act(gate) * up in gate's result. */
void kv_mlp_task(void *ctx, size_t task, size_t worker);

#endif
