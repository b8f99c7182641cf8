"""Golden merges of small models, in double precision, by the formulas of
mergekit 0.1 (linear, slerp.py, generalized_task_arithmetic.py with
sparsify.magnitude), tensor by tensor.
usage: merge.py GOLDEN     (tests/golden; writes merge/: the models base, a, b
                            and, as models, average, slerp, ties)

average  (a + b) / 2
slerp    of a and b at 0.3; nearly parallel tensors (|cos| > 0.9995) linearly
ties     base + mean over the differences a - base, b - base of the elements that
         are among the largest 40 % of their tensor and have the sign of the sum
Some of b's tensors are a's times a number, so that slerp is linear for them."""
import json
import os
import sys

import numpy as np

import st

SEED = 11
V, D, F, H, KV, HD = 61, 16, 24, 4, 2, 6
SHAPES = {'model.embed_tokens': (V, D), 'model.norm': (D,)}
SHAPES |= {f'model.layers.0.{n}': s for n, s in {
    'input_layernorm': (D,), 'post_attention_layernorm': (D,),
    'self_attn.q_proj': (H * HD, D), 'self_attn.k_proj': (KV * HD, D),
    'self_attn.v_proj': (KV * HD, D), 'self_attn.o_proj': (D, H * HD),
    'mlp.gate_proj': (F, D), 'mlp.up_proj': (F, D),
    'mlp.down_proj': (D, F)}.items()}
CONFIG = dict(
    architectures=['LlamaForCausalLM'], model_type='llama', vocab_size=V,
    hidden_size=D, intermediate_size=F, num_hidden_layers=1,
    num_attention_heads=H, num_key_value_heads=KV, head_dim=HD,
    rms_norm_eps=1e-5, hidden_act='silu', max_position_embeddings=64,
    tie_word_embeddings=True, rope_theta=10000.0, attention_bias=False,
    mlp_bias=False, bos_token_id=None, eos_token_id=None)


def slerp(t, v0, v1, threshold=0.9995, eps=1e-8):
    n0, n1 = np.linalg.norm(v0), np.linalg.norm(v1)
    u0 = v0 / n0 if n0 > eps else v0
    u1 = v1 / n1 if n1 > eps else v1
    dot = np.sum(u0 * u1)
    if np.abs(dot) > threshold:
        return (1 - t) * v0 + t * v1
    theta = np.arccos(dot)
    return (np.sin(theta - theta * t) * v0 + np.sin(theta * t) * v1) / np.sin(theta)


def magnitude(x, density):
    k = int(density * x.size)
    top = np.argsort(-np.abs(x).ravel(), kind='stable')[:k]
    mask = np.zeros(x.size)
    mask[top] = 1
    return x * mask.reshape(x.shape)


def ties(base, models, density):
    d = np.stack([magnitude(m - base, density) for m in models])
    majority = (d.sum(0) >= 0) * 2 - 1
    mask = np.sign(d) == majority
    count = mask.sum(0)
    count[count == 0] = 1
    return base + (d * mask).sum(0) / count


def save(top, name, tensors):
    out = f'{top}/merge/{name}'
    os.makedirs(out, exist_ok=True)
    st.save(f'{out}/model.safetensors',
            {f'{k}.weight': x.astype('f4') for k, x in tensors.items()},
            dict(format='pt', made_by='scripts/oracle/merge.py GOLDEN',
                 seed=SEED, versions=st.versions(np)))
    with open(f'{out}/config.json', 'w') as f:
        json.dump(CONFIG, f, indent=1)
        f.write('\n')


def main():
    rng, top = np.random.default_rng(SEED), sys.argv[1]
    f4 = lambda x: x.astype('f4').astype('f8')
    base = {k: f4(rng.normal(size=s) * 0.3 + (len(s) == 1)) for k, s in SHAPES.items()}
    a = {k: f4(x + 0.1 * rng.normal(size=x.shape)) for k, x in base.items()}
    b = {k: f4(x + 0.1 * rng.normal(size=x.shape)) for k, x in base.items()}
    b['model.layers.0.mlp.up_proj'] = f4(1.5 * a['model.layers.0.mlp.up_proj'])
    for name, m in dict(base=base, a=a, b=b).items():
        save(top, name, m)
    save(top, 'average', {k: (a[k] + b[k]) / 2 for k in a})
    save(top, 'slerp', {k: slerp(0.3, a[k], b[k]) for k in a})
    save(top, 'ties', {k: ties(base[k], [a[k], b[k]], 0.4) for k in a})


main()
