"""The Llama network in double precision, written from its definition with
plain tensor operations; used by grad.py and gguf_small.py.

A model is a dict of tensors under Hugging Face names (a tied head has no
lm_head.weight) and a dict of sizes.  One call handles one piece (document):
positions start at 0 and attention is causal, so packing and padding cannot
leak: they are not there."""
import inspect
import re
import types

import torch


def rmsnorm(x, g, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * g


def rope(x, theta):
    """x [T,H,D]; HF rotate-half: dimension i turns with i + D/2"""
    T, _, D = x.shape
    f = theta ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a = torch.arange(T, dtype=x.dtype)[:, None] * f
    c, s = a.cos()[:, None, :], a.sin()[:, None, :]
    x1, x2 = x[..., :D // 2], x[..., D // 2:]
    return torch.cat((x1 * c - x2 * s, x2 * c + x1 * s), -1)


def attention(q, k, v):
    """q [T,H,D], k v [T,K,D]: causal softmax attention, head h reads h//(H/K)"""
    T, H, D = q.shape
    K = k.shape[1]
    out = []
    for h in range(H):
        g = h // (H // K)
        s = q[:, h] @ k[:, g].T / D ** 0.5
        later = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        out.append(torch.softmax(s.masked_fill(later, -torch.inf), -1) @ v[:, g])
    return torch.stack(out, 1)


def silu(x):
    return x / (1 + torch.exp(-x))


def block(x, w, i, c):
    T = x.shape[0]
    H, K, D = c['heads'], c['kv_heads'], c['head_dim']
    g = lambda n: w[f'model.layers.{i}.{n}.weight']
    y = rmsnorm(x, g('input_layernorm'), c['eps'])
    q = (y @ g('self_attn.q_proj').T).reshape(T, H, D)
    k = (y @ g('self_attn.k_proj').T).reshape(T, K, D)
    v = (y @ g('self_attn.v_proj').T).reshape(T, K, D)
    a = attention(rope(q, c['theta']), rope(k, c['theta']), v)
    x = x + a.reshape(T, H * D) @ g('self_attn.o_proj').T
    y = rmsnorm(x, g('post_attention_layernorm'), c['eps'])
    y = silu(y @ g('mlp.gate_proj').T) * (y @ g('mlp.up_proj').T)
    return x + y @ g('mlp.down_proj').T


def forward(w, c, ids):
    """ids [T] -> logits [T,V], final [T,d] (after the norm), [h_0, h_1, ...]"""
    x = w['model.embed_tokens.weight'][ids]
    hidden = []
    for i in range(c['blocks']):
        x = block(x, w, i, c)
        hidden.append(x)
    final = rmsnorm(x, w['model.norm.weight'], c['eps'])
    head = w.get('lm_head.weight', w['model.embed_tokens.weight'])
    return final @ head.T, final, hidden


def hf_config(c, tied):
    return dict(
        architectures=['LlamaForCausalLM'], model_type='llama',
        vocab_size=c['vocab'], hidden_size=c['hidden'],
        intermediate_size=max(c['mlp']), num_hidden_layers=c['blocks'],
        num_attention_heads=c['heads'], num_key_value_heads=c['kv_heads'],
        head_dim=c['head_dim'], rms_norm_eps=c['eps'], hidden_act='silu',
        max_position_embeddings=c.get('ctx', 64), tie_word_embeddings=tied,
        rope_theta=c['theta'], attention_bias=False, mlp_bias=False,
        rope_parameters=dict(rope_type='default', rope_theta=c['theta']),
        bos_token_id=c.get('bos'), eos_token_id=c.get('eos'))


def hf_model(w, c, double=True):
    """transformers' LlamaForCausalLM holding w.  With double, its own source
    with every float32 turned into float64: it rounds norms, RoPE and the
    eager softmax to float32 otherwise."""
    from transformers import LlamaConfig
    from transformers.models.llama import modeling_llama as M
    if double:
        src = inspect.getsource(M)
        src = re.sub(r'torch\.float(32)?\b', 'torch.float64', src)
        src = src.replace('.float()', '.double()')
        mod = types.ModuleType('transformers.models.llama.modeling_double')
        mod.__package__ = 'transformers.models.llama'
        mod.__file__ = M.__file__
        import sys
        sys.modules[mod.__name__] = mod
        exec(compile(src, mod.__name__, 'exec'), mod.__dict__)
        M = mod
    cfg = hf_config(c, 'lm_head.weight' not in w)
    cfg.pop('rope_theta')
    cfg = LlamaConfig(**cfg, attn_implementation='eager')
    m = M.LlamaForCausalLM(cfg)
    for i, width in enumerate(c['mlp']):        # blocks may differ in width
        cfg.intermediate_size = width
        m.model.layers[i].mlp = M.LlamaMLP(cfg)
    m = m.double() if double else m.float()
    sd = {k: v.detach().clone() for k, v in w.items()}
    sd.setdefault('lm_head.weight', sd['model.embed_tokens.weight'])
    m.load_state_dict(sd)
    m.tie_weights()
    return m.eval()
