/*
 * Adapters: low-rank changes of a model's matrices, as PEFT has them.
 *
 * LoRA (Hu et al., arXiv:2106.09685) changes a matrix W [out,in] so that
 *     y = W x + scale B (A x)
 * with A [rank,in] and B [out,rank].  scale is alpha / rank, or alpha /
 * sqrt(rank) (rsLoRA: Kalajdzievski, arXiv:2312.03732).  DoRA (Liu et al.,
 * arXiv:2402.09353) also sets the length of each row to a magnitude m [out]:
 *     y = m / n (W x + scale B (A x)),   n = |W + scale B A|
 * by rows; n counts as a constant in the backward pass.  A bias is added after
 * that, unchanged.  In training, dropout sets each element of the adapter's x
 * to zero with probability p, and divides the other elements by 1 - p.
 *
 * The model's own weights stay as they are stored.  Numbers of adapters are
 * fp32, also where products with W are in integers.  An element's sum has the
 * order of kern.gemm_nt, so its bits depend neither on threads nor on how rows
 * are grouped.
 */
#ifndef MODEL_ADAPTER_H
#define MODEL_ADAPTER_H

#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/files/model.h"

#include <jansson.h>

/* The change of one matrix (struct weight.low). */
struct low_rank {
    size_t rank;
    float scale;
    float *a;  /* [rank,in] */
    float *b;  /* [out,rank] */
    float *m;  /* [out] DoRA's magnitudes; NULL: LoRA */
    float *by; /* [out] m / n, set by adapter_norms; NULL: LoRA */
};

struct adapter {
    size_t L;
    struct low_rank *low; /* [L*W_N] as struct block.w; rank 0: unchanged */
    struct adapter_block {
        float *p; /* [n] A, B and m of each matrix that changes; the place of
                   * an A that is another matrix's holds zeros */
        size_t n;
        size_t at[W_N];    /* offset of each matrix's numbers in p */
    } * block;             /* [L] */
    struct low_rank embed; /* the embedding's [V,d], if rank > 0; a and b are
                            * malloc'd */
    size_t unused;         /* numbers that hold such zeros */
    int whole;             /* 1: embedding or head change, too */
    int dora;              /* 1: some matrix has magnitudes */
    double dropout;        /* probability p, for training */
    json_t *config;        /* adapter_config.json */
    struct arena arena;
    struct io_map map; /* the adapter's file; embedding and head may point into
                        * it */
};

/* Options of adapter_new. */
struct adapter_opt {
    size_t rank;
    double alpha, dropout;
    int rs;              /* 1: rsLoRA */
    int dora;            /* 1: DoRA */
    const char *targets; /* "all-linear", or names such as "q_proj,v_proj" */
    uint64_t seed;
};

/* Make an adapter for m, to train it, and attach it.  As in PEFT, the numbers
 * of A are uniform in +-1/sqrt(in) (by the seed), B is zero, and DoRA's
 * magnitudes are the lengths of W's rows, which the pool computes.
 *
 * Returns -1 with EX_USAGE and *e if a name in `targets` is not that of a
 * matrix in m's blocks, or if adapter_fits or adapter_trains refuses m. */
int adapter_new(struct adapter *a, const struct adapter_opt *o, struct model *m,
    struct pool *pool, struct err *e);
/* Is matrix k of blocks among `targets`: "all-linear", or a list of names such
 * as "q_proj,v_proj"? */
int adapter_targets(const struct config *c, size_t k, const char *targets);
/* Make m's matrices point to their changes in `a`.  m must have the shape that
 * `a` was made for.  Call it before fwd_new, bwd_new or kv_new of m: these
 * allocate room for the adapter that m has then. */
void adapter_attach(const struct adapter *a, struct model *m);
/* Compute `by`, DoRA's factors, from the present A, B and magnitudes and the
 * weights of the model m; call it after each change of A, B or magnitudes.
 * Without DoRA nothing is done. */
void adapter_norms(struct adapter *a, const struct model *m, struct pool *pool);
/* The number of elements that are trained. */
size_t adapter_params(const struct adapter *a);
void adapter_close(struct adapter *a);

/* Can an adapter change this model?  -1 (EX_USAGE) and *e: adapters are not
 * supported for latent attention, or for a type of config_renamed.h, whose
 * tensors have other names or another order.  In a mixture of experts they
 * change attention, beside the gated delta rule attention and MLP. */
int adapter_fits(const struct model *m, struct err *e);
/* Can an adapter of this model be trained?  -1 (EX_USAGE) and *e: not in a
 * mixture of experts or beside the gated delta rule, and with dropout not in a
 * fused family (phi3), whose Q, K and V have one A. */
int adapter_trains(const struct model *m, double dropout, struct err *e);
/* Sum the gradients g of block i's A that several matrices of m have, which the
 * passes keep apart. */
void adapter_join(const struct adapter *a, const struct model *m, size_t i,
    float *g);
/* Allocate low[] and block[], zeroed, for the ranks in rank [L*W_N] (0: the
 * tensor does not change).  For adapter_new and readers of files. */
void adapter_alloc(struct adapter *a, const struct model *m, const size_t *rank,
    int dora);

/* ---- arithmetic, for the passes ---- */

/* low_width: the sum of the ranks of a block's matrices.  low_offset: the sum
 * of the ranks of those before matrix k. */
size_t low_width(const struct block *b);
size_t low_offset(const struct block *b, size_t k);
/* The largest low_width of m's blocks; 0: m has no adapter. */
size_t low_widest(const struct model *m);
/* down [n,ldd] = scale A x for n rows of x [n,in]. */
void low_down(const struct low_rank *l, size_t in, const float *x, size_t n,
    float *down, size_t ldd);
/* Add columns c0..c0+cols-1 of the product of `down` and B to y [n,ldy], whose
 * first column is c0; for DoRA then multiply these columns of y by l->by. */
void low_up(const struct low_rank *l, const float *down, size_t ldd, size_t n,
    size_t c0, size_t cols, float *y, size_t ldy);

/* Add to y [d] the adapter's change of an id's embedding; nothing if no adapter
 * changes the embedding. */
void low_embed(const struct weight *embed, size_t id, float *y);

#endif
