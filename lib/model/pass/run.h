/*
 * Work on one block, for the passes and for generation.
 *
 * A block is two branches of the residual stream, a mixer and then a
 * feed-forward.  Each is
 *     y = to + after(part(norm(x)))
 * where `after` is a bias, a norm and a factor, if the family has them.  The
 * branches are joined in one of two ways.  In most families the x and the `to`
 * of the feed-forward are the mixer's y.  In a parallel block only its `to` is
 * that: its x is the mixer's, and in some families its norm is, too.  A branch
 * that is alone has to = x.
 * What a branch computes between the norms is its part (struct part): a file
 * with one function for each direction.
 *
 * Functions of parts do not compute but add stages to the list of the run: work
 * on each row, or products.  An engine runs the list: that of batches below,
 * tile by tile, or that of decode/forward_kv.c, with a cache.  What needs all
 * rows before it first has the list run (run_stages).
 */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "model/files/adapter.h"
#include "model/pass/dropout.h"
#include "model/pass/forward_impl.h"

struct run;
struct branch;
struct grads;

/* A mixer or a feed-forward.
 *   has       is it in a block of shape b?
 *   widths    raise the numbers of w to what the part needs in such a block
 *   lay       allocate its room in f, for `rows` padded rows; parts: FWD_*
 *   lay_back  allocate its room in g, for `rows` padded rows and `tokens`
 *   forward   from in->xn to in->out
 *   backward  from in->d.out to in->d.xn, and the gradients of the weights; the
 *             activations are as `forward` left them, and in->xn too
 * lay and lay_back may be NULL.  They are run twice, first to count. */
struct part {
    int (*has)(const struct config *c, const struct block_shape *b);
    void (*widths)(const struct config *c, const struct block_shape *b,
        struct widths *w);
    void (*lay)(struct fwd *f, size_t rows, int parts, struct arena *a);
    void (*lay_back)(struct grads *g, const struct fwd *f, size_t rows,
        size_t tokens, struct arena *a);
    void (*forward)(struct run *u, const struct branch *in);
    void (*backward)(struct run *u, const struct branch *in);
};
/* mixers, and feed-forwards */
extern const struct part part_attention, part_latent, part_delta, part_short;
extern const struct part part_dense, part_plain, part_experts;

/* The shape of a block that has all that some block of m has.  widths_of: the
 * numbers of a block of shape b. */
struct block_shape shape_of_all(const struct model *m);
struct widths widths_of(const struct config *c, const struct block_shape *b);
/* Set *n to at least x. */
void raise_to(size_t *n, size_t x);
/* `lay` and `lay_back` of all parts that a model has. */
void parts_lay(struct fwd *f, size_t rows, int parts, struct arena *a);
void parts_lay_back(struct grads *g, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a);

/* Gradients within a branch, [B,Tp,d] (padded) unless stated. */
struct branch_grads {
    float *y;          /* of y */
    float *out;        /* of the part's output; may be y */
    float *xn;         /* of the norm's output */
    float *again;      /* the norm's output, computed again */
    float *rstd;       /* [B,T] 1/rms in the norm */
    float *mean;       /* [B,T] means in the norm; NULL: it is RMSNorm */
    float *rstd_after; /* [B,T] 1/rms in the norm after the part; NULL: there
                         * is no such norm */
};

struct branch {
    const struct part *part;          /* NULL: the block has no such branch */
    int norm, norm_bias, bias, after; /* vectors of the block, which it may not
                                       * have: the norm before the part and its
                                       * bias, the part's bias, the norm after
                                       * it */
    const float *x;        /* [B,T,d] residual stream that it reads */
    const float *to;       /* [B,T,d] stream that it adds to; mostly x */
    float *y;              /* [B,T,d] the sum; may be x or `to` */
    float *xn;             /* [B,Tp,d] normed rows */
    float *out;            /* [B,Tp,d] output of the part */
    struct branch_grads d; /* backward only */
};

/* A token of a run. */
struct run_row {
    const struct branch *in; /* the branch that the stage belongs to */
    size_t b, t;             /* sequence, place in it */
    size_t at;               /* row of padded arrays */
    size_t tok;              /* row of arrays [B,T,.]; valid if t < T */
    int live;                /* 0: padding, or past T */
    size_t worker;           /* thread */
};

/* A product with matrix w[k] of the block.  Forward: y = x w^T.  Backward y has
 * the gradients of the outputs: dx = y w, and the matrix's gradient is y^T x.
 * The sum over neighbours with the same dx is formed. */
struct product {
    int k;
    const float *x; /* [B,Tp,cols] */
    float *y;       /* [B,Tp,rows] */
    size_t ldy;     /* floats from one row of y to the next */
    float *dx;      /* [B,Tp,cols], or NULL going forward */
};
enum { PRODUCTS = 4, STAGES = 12 };

/* The tile of rows that begins at row t0 of sequence b, and a part of a stage's
 * work on it. */
struct run_spot {
    size_t b, t0, part, worker;
};

/* A stage: row is called for each row, or (row NULL) n products are formed.
 * flop, floats, exps: work for one row, for the profile. */
struct stage {
    void (*row)(struct run *u, const struct run_row *r);
    const struct branch *in;
    struct product p[PRODUCTS];
    size_t n;
    int glu; /* 1: the next stage computes act(gate) * up of these two products,
              * gate and up, in gate's place; it may be done at once */
    /* batches: `low`, if it is not NULL, is called for each product of a tile
     * (adapters), then `part` for all parts of a tile's work */
    void (
        *low)(struct run *u, const struct stage *s, const struct run_spot *at);
    void (
        *part)(struct run *u, const struct stage *s, const struct run_spot *at);
    size_t parts;
    /* NULL, or all parts of a tile at once, which may return 0: not done */
    int (*whole)(struct run *u, const struct stage *s,
        const struct run_spot *at);
    const char *name;
    size_t flop, floats, exps;
};

/* How a run's tokens see each other. */
struct engine {
    void (*stages)(struct run *u); /* run the list and empty it */
    /* heads: a.att = attention of the rows of a.qkv.  rule: a.att = outputs of
     * the gated delta rule for these rows. */
    void (*heads)(struct run *u);
    void (*rule)(struct run *u);
    /* For convolutions (conv.h).  before: the input [C] for the token that
     * comes `back` tokens before a live row; NULL: the text begins later.
     * convolved (NULL: nothing to do) is called when all rows have been
     * convolved. */
    const float *(
        *before)(const struct run *u, const struct run_row *r, size_t back);
    void (*convolved)(struct run *u);
    /* Set *position to a row's position in its text, and return its angles
     * [rotary] (NULL: the block has no RoPE).  The row is live. */
    const float *(*angles)(const struct run *u, const struct run_row *r,
        size_t *position);
};

/* What the rows of a batch see in a block with attention. */
struct sight {
    const uint32_t *first, *stem, *nstem; /* [B,T] tokens that each token
                                           * attends to, as in struct rows and
                                           * fwd_stems; stem may be NULL */
    const float *cs;       /* [T,rotary] angles of this block; NULL: no RoPE */
    const float *cs_piece; /* [B,T,rotary] angles of each token, in place of cs;
                            * or NULL */
};

struct run {
    struct fwd *f;
    const struct engine *engine;
    struct kvcache *cache; /* of decode's engine */
    const struct rows *r;
    struct cut c;
    size_t tile0, tiles; /* the tiles of each sequence that are run: the first,
                          * and how many */
    const struct block *b;
    size_t i;                /* the block's index */
    size_t H, KV, qkv;       /* the block's query and KV heads; numbers in a row
                              * of a.qkv */
    const float *const *vec; /* [W_N] the block's vectors in fp32; NULL: it has
                              * no such vector */
    struct branch mixer, ffn;
    int parallel;     /* 1: both branches are there and read the same stream */
    int one_norm;     /* 1: in a parallel block they read one norm of it */
    struct sight see; /* batches only */
    struct acts a;
    float *act;         /* [B,Tp,mlp]; may be a.gate */
    const float *group; /* [KV] factors of groups (struct fwd_part), or NULL */
    const float *scale; /* [mlp] factors of channels, or NULL */
    const struct dropout *drop; /* dropout of adapters' inputs, or NULL */
    struct grads *g;            /* backward only */
    struct grad_list *sums;     /* backward only */
    struct stage stage[STAGES];
    size_t nstage;
};

/* Set all but a, drop and the branches' streams for rows r in block i.  engine
 * NULL: that of batches.  run_streams then sets the branches' x and y, from x
 * to y over a.x2 or, in a parallel block, f->mid, and their out. */
void run_init(struct run *u, struct fwd *f, size_t i, const struct rows *r,
    const struct engine *engine);
void run_streams(struct run *u, const float *x, float *y);

/* Add a stage to the list: stage_rows one that calls `row` for each row,
 * stage_products one that computes n products. */
struct stage *stage_rows(struct run *u, const struct branch *in,
    void (*row)(struct run *u, const struct run_row *r), const char *name,
    size_t floats);
struct stage *stage_products(struct run *u, const struct branch *in,
    const struct product *p, size_t n, const char *name);
/* A stage of n products without its `part`, which the caller sets:
 * stage_products forward, stage_back backward.  low: the stage's `low` if a
 * matrix has an adapter. */
struct stage *stage_matrices(struct run *u, const struct branch *in,
    const struct product *p, size_t n,
    void (
        *low)(struct run *u, const struct stage *s, const struct run_spot *at),
    const char *name);
void run_stages(struct run *u);
/* Set p to the products of n matrices, from `first` on, of one x, whose results
 * lie side by side in rows of u->qkv numbers at y. */
void products_abreast(const struct run *u, int first, size_t n, const float *x,
    float *y, float *dx, struct product *p);

/* Show the tap, if there is one, a product's input x [B,Tp,n]. */
void show_input(struct run *u, const struct branch *in, enum fwd_input input,
    const float *x, size_t n);

/* Run the whole block, filling u->a and u->act. */
void block_forward(struct run *u);
/* Row stage: in->xn = norm(in->x). */
void branch_norm(struct run *u, const struct run_row *r);
/* y [d] = the embedding of an id, and of its position if these are learned. */
void embed_id(const struct fwd *f, uint32_t id, size_t position, float *y);

#endif
