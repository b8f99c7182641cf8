/*
 * A model in training: fp32 parameters and gradients.
 *
 * They lie in groups: 0..L-1 are the blocks, L the embedding, L+1 the final
 * norm, L+2 the head (empty if tied).  A group's parameters are one flat
 * buffer, in which a block's tensors (enum W_*) are views; so are its
 * gradients.
 */
#ifndef MODEL_TMODEL_H
#define MODEL_TMODEL_H

#include "base/mem.h"
#include "model/files/model.h"
#include "model/pass/stages.h"

#include <stddef.h>
#include <stdint.h>

/* Ranks that share a model: each process keeps a part of every group's
 * gradients and, with `params`, a part of the group's parameters.  It keeps all
 * parameters of the final norm. */
struct share {
    size_t rank, n; /* n <= 1: this process keeps everything */
    int params;     /* parameters are divided, too */
};

struct group {
    float *p, *g; /* [n] parameters, gradient sums */
    size_t n;
    /* If ranks share the model, this process keeps elements first..first+own-1:
     *   part_g [own]  their gradient sums.  g is a buffer that several
     *                 groups use, zero outside of bwd_backward and losses.
     *   part_p [own]  their parameters.  p is where all parameters of the
     *                 group are fetched to (fetch.h).  NULL: p has them all.
     * Otherwise both are NULL, and all elements are its own. */
    float *part_p, *part_g;
    size_t first, own;
    float *e;       /* [n] effective weights (effective.h) of p's matrices, or
                     * NULL */
    size_t at[W_N]; /* offset of each tensor of a block */
    uint16_t *half; /* [n] gradient sums as bf16, or NULL.  With it g is a
                     * buffer that all blocks use, zero outside of
                     * bwd_backward */
    unsigned char *mask[W_N]; /* of a sparse matrix (block.sparse): a bit for
                               * each weight, the lowest of a byte first; else
                               * NULL.  0: the weight is zero and stays zero;
                               * with effective.of: it is zero in e */
    uint64_t frozen; /* W_BIT of a block's tensors that tmodel_freeze froze; in
                      * another group 1: its tensor is frozen */
};

/* How effective weights are made (effective.h).
 *   ROUND_FILE: rounded as model_export_gguf writes the mixture `file`.
 *   ROUND_INT8: matrices of blocks only.  Each row is rounded to 255 multiples
 *     of a scale of its own; the largest multiple is the row's largest
 *     magnitude.
 *   of > 0: of each `of` numbers in a row all but `keep` are zero. */
enum effective_as { ROUND_NOT, ROUND_INT8, ROUND_FILE };
struct mixture;
struct effective {
    enum effective_as as;
    const struct mixture *file;
    size_t keep, of;
};

struct adapter;
struct tmodel {
    struct model m;          /* its weights are views into the groups */
    struct adapter *adapter; /* NULL, or the adapter that is trained instead of
                              * m's weights: these are as stored, a block's
                              * group has its numbers of the adapter, other
                              * groups are empty */
    struct group *group;     /* [L+3] */
    size_t ngroup, nparam;
    struct share share;
    struct pipeline stages;
    struct effective effective; /* { 0 }: passes use the parameters
                                 * themselves */
    struct arena effective_arena;
    /* If > 0, the embedding and the blocks below this one are frozen whole, and
     * bwd_backward ends at this block. */
    size_t lowest;
    /* Called when bwd_backward has finished a group's gradients; for an untied
     * head: when the losses before bwd_backward have.  The function takes the
     * gradients from g and sets g to zero.  NULL: gradients stay in g. */
    void (*take)(void *ctx, size_t group);
    void *take_ctx;
    struct arena arena;
};
/* Copy a model, widened to fp32, into one arena of parameters and gradients; if
 * memory runs out, the program ends.
 * grads of tmodel_init_as:
 *   DT_F32: as tmodel_init.
 *   DT_BF16: gradients of blocks are bf16.  Each call of bwd_backward rounds
 *     the sums, so here bits depend on how rows are grouped into calls. */
void tmodel_init(struct tmodel *t, const struct model *from);
void tmodel_init_as(struct tmodel *t, const struct model *from,
    enum dtype grads);
/* tmodel_init of a model that ranks share; its gradients are fp32. */
void tmodel_init_share(struct tmodel *t, const struct model *from,
    const struct share *share);
/* tmodel_init of a model in pipeline stages: groups of other ranks' stages have
 * neither parameters nor gradients (p, g are NULL). */
void tmodel_init_stages(struct tmodel *t, const struct model *from,
    const struct pipeline *stages);
/* Train an adapter of `from`, which is attached to it.  Neither is copied; both
 * must outlive t.  Passes read the weights of `from` as they are stored. */
void tmodel_init_adapter(struct tmodel *t, const struct model *from,
    struct adapter *a);
/* The Hugging Face name of tensor t of a block, or of the tensor of group L
 * (embedding), L + 1 (last norm) or L + 2 (head).  Free it. */
char *tmodel_name(const struct config *c, size_t group, int t);
/* Compute no gradients of matrices (embedding and head among them) for whose
 * Hugging Face names rate is 0, nor of the first blocks if the embedding and
 * all of their tensors have rate 0 (`lowest`).  Vectors and experts of other
 * blocks get gradients all the same.  Gradients of other tensors have the same
 * bits as without the call.  t has no adapter. */
void tmodel_freeze(struct tmodel *t,
    double (*rate)(const void *ctx, const char *name), const void *ctx);
int tmodel_has(const struct tmodel *t, size_t group);
/* First element of part r <= n of a group that n ranks divide: an even share,
 * rounded up to the next start of a tensor or multiple of GROUP_SPAN after the
 * start of a tensor.  In a model in stages the whole group is its owner's
 * part. */
enum { GROUP_SPAN = 1 << 12 };
size_t tmodel_cut(const struct tmodel *t, size_t group, size_t r, size_t n);
/* The address of element `at` of the group's parameters (group_p) or gradients
 * (group_g); this process must keep it. */
float *group_p(const struct group *g, size_t at);
float *group_g(const struct group *g, size_t at);
/* Bytes that this process keeps, in this order: of parameters, of gradient
 * sums, of shared gradient buffers, of masks. */
size_t tmodel_weight_bytes(const struct tmodel *t);
size_t tmodel_grad_bytes(const struct tmodel *t);
size_t tmodel_room_bytes(const struct tmodel *t);
size_t tmodel_mask_bytes(const struct tmodel *t);
/* Bytes of the mask of matrix k of a block's group; 0: no mask. */
size_t group_mask_bytes(const struct group *g, int k);
/* A model of that shape without values, to count its memory: its arena is
 * mapped and never touched.  shape: as b of config_params. */
void tmodel_layout(struct tmodel *t, const struct config *c,
    const struct block_shape *shape, enum dtype grads);
/* Point a group's parameters, and the weights that view them, to p [n].  For a
 * struct fetch (fetch.h). */
void tmodel_place(struct tmodel *t, size_t group, float *p);
void tmodel_release(struct tmodel *t);
/* Set the gradient sums that this process keeps to zero. */
void tmodel_zero_grad(struct tmodel *t);

#endif
