/* The tensors that blocks consist of. */
#ifndef MODEL_TENSORS_H
#define MODEL_TENSORS_H

#include <stdint.h>

/* The tensors of a block, in this order everywhere.  Most families have the
 * first nine; OLMo 2 and 3 have no W_NORM1 and W_NORM2, and DeepSeek has no W_K
 * and W_V.  Some have biases of Q, K and V, norms of Q and K, or norms of the
 * outputs of attention and MLP.
 *
 * In a block with experts W_ROUTER scores them, and each of W_EXPERT_GATE, _UP
 * and _DOWN holds the matrices of all experts, in the order of their numbers.
 * W_GATE, W_UP and W_DOWN then belong to the shared expert, if there is one;
 * W_SHARED_GATE scales its output.  gpt-oss has a bias for each product (a row
 * for each expert) and a sink for each query head.
 *
 * W_DELTA_... are the gated delta rule's (delta.h) and W_SHORT_... the short
 * convolution's (short.c), whose blocks have no attention; both have W_CONV.
 * W_MLA_... are latent attention's (mla.h), in place of W_K and
 * W_V; W_Q is there only if queries have no latent.
 *
 * A family without W_GATE has the plain MLP (plain.c), whose unit is xIELU or,
 * without W_XIELU_..., GELU. */
enum {
    W_NORM1,
    W_Q,
    W_K,
    W_V,
    W_O,
    W_NORM2,
    W_GATE,
    W_UP,
    W_DOWN,
    W_BQ,
    W_BK,
    W_BV,
    W_NQ,
    W_NK,
    W_NORM_ATT,
    W_NORM_MLP,
    W_ROUTER,
    W_EXPERT_GATE,
    W_EXPERT_UP,
    W_EXPERT_DOWN,
    W_SHARED_GATE,
    W_DELTA_MIX,  /* [C,d] of queries, keys, values; C as in delta.h */
    W_DELTA_Z,    /* [values*dv,d] of the gates of outputs */
    W_DELTA_BETA, /* [values,d] */
    W_DELTA_RATE, /* [values,d] */
    W_CONV,       /* [C*conv] the convolution's taps, C groups of conv */
    W_DELTA_DT,   /* [values] */
    W_DELTA_LOG,  /* [values] */
    W_DELTA_NORM, /* [dv] */
    W_DELTA_OUT,  /* [d,values*dv] */
    W_BO,
    W_SINKS,
    W_ROUTER_BIAS,
    W_BIAS_GATE,
    W_BIAS_UP,
    W_BIAS_DOWN,
    W_ROUTER_SHIFT, /* [E] added to scores for the choice alone */
    W_MLA_QA,       /* [q_rank,d] */
    W_MLA_NQ,       /* [q_rank] norm of the latent of Q */
    W_MLA_QB,       /* [H*D,q_rank] */
    W_MLA_KVA,      /* [kv_rank+rope,d] */
    W_MLA_NKV,      /* [kv_rank] norm of the latent of K and V */
    W_MLA_KVB,      /* [H*(nope+v),kv_rank] */
    W_SHORT_IN,     /* [3*d,d] of b, c and x */
    W_SHORT_OUT,    /* [d,d] */
    W_XIELU_P,      /* [1] alpha_p of xIELU (kern.h) before its softplus */
    W_XIELU_N,      /* [1] alpha_n */
    W_XIELU_BETA,   /* [1] not trained */
    W_XIELU_EPS,    /* [1] not trained */
    W_BNORM1,       /* [d] biases of norms, of up and of down */
    W_BNORM2,
    W_BUP, /* [mlp] */
    W_BDOWN,
    W_N
};
/* The bit of tensor t in a set of tensors. */
#define W_BIT(t) (UINT64_C(1) << (t))

#endif
