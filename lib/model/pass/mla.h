/*
 * Multi-head latent attention of DeepSeek-V2 and V3: queries, and keys and
 * values, are products of short vectors, their latents.  arXiv:2405.04434,
 * s. 2.1; transformers' DeepseekV3Attention.
 *
 *   [k | r] = W_MLA_KVA x; [k_h | v_h] of head h = W_MLA_KVB norm(k)
 *   q_h = W_MLA_QB norm(W_MLA_QA x), or W_Q x
 *   attention of q_h and [k_h | r], RoPE having turned r and the last `rope`
 *   numbers of q_h; scores are multiplied by mla_scale
 *
 * Latents are widened to full heads, for ordinary attention.  A head's numbers
 * with RoPE come first, which changes no score, and zeros fill values up to D
 * numbers.  The cache of generation holds full heads: 8 H D bytes a token and
 * block, 192 KiB in DeepSeek-V3.  The latents alone would take 2.3 KB there.
 */
#ifndef MODEL_MLA_H
#define MODEL_MLA_H

#include "base/mem.h"
#include "model/config/mla_config.h"

/* The scale of scores. */
float mla_scale(const struct config *c);

/* Room of a pass for rows of latents.  While planning all are NULL. */
struct mla_room {
    float *latent; /* [rows,mla_latent] of Q, of K and V, and r */
    float *q, *kv; /* [rows,q_rank], [rows,kv_rank] normed latents */
    float *wide;   /* [rows,H*(nope+v)] keys and values of heads */
    float *out;    /* [rows,H*v] outputs of heads */
};
/* Allocate; nothing if c has no latent attention. */
void mla_lay(struct mla_room *m, const struct config *c, size_t rows,
    struct arena *a);

/* Norm the latents of row `at`; vec [W_N]: the block's vectors. */
void mla_norm(const struct mla_room *m, const struct config *c,
    const float *const *vec, size_t at);
/* Make qkv a row of attention, [q | k | v] of H heads of D numbers.  On entry
 * qkv begins with H queries as W_Q or W_MLA_QB gives them; k and v come from
 * row `at` of m.  RoPE has yet to turn the first `rope` numbers of each q and
 * k.  room [D]: scratch. */
void mla_heads(const struct mla_room *m, const struct config *c, size_t H,
    size_t at, float *qkv, float *room);
/* Set row `at` of m->out from att [H*D], the outputs of heads. */
void mla_outputs(const struct mla_room *m, const struct config *c, size_t H,
    size_t at, const float *att);

/* Each function below runs the one of its name above backward, for row `at`.
 * The arrays of g hold the gradients of those of the room m.
 *   mla_outputs_back  sets datt [H*D] from row `at` of g->out
 *   mla_heads_back    turns dqkv, the gradient of mla_heads's qkv, into that of
 *                     the queries given to it; sets g->wide, and in
 *                     g->latent the gradient of the key's rotated numbers
 *   mla_norm_back     sets the gradients of both latents in g->latent from g->q
 *                     and g->kv, and rstd [2]: 1/rms of Q's latent and of K
 *                     and V's */
void mla_outputs_back(const struct mla_room *g, const struct config *c,
    size_t H, size_t at, float *datt);
void mla_heads_back(const struct mla_room *g, const struct config *c, size_t H,
    size_t at, float *dqkv, float *room);
void mla_norm_back(const struct mla_room *g, const struct mla_room *m,
    const struct config *c, const float *const *vec, size_t at, float *rstd);

#endif
