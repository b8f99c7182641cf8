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

#include "model/config/mla_config.h"

/* The scale of scores. */
float mla_scale(const struct config *c);

#endif
