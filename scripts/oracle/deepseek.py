"""Tiny random DeepSeek-V2 and V3, and a GLM that computes as V3, their logits, choices and gradients in double.
usage: deepseek.py OUTDIR [NAME...]           (tests/golden/experts)
       deepseek.py --sweep OUTDIR build/tests/model/experts
Writes a folder as models are published and NAME.safetensors with ids, first, logits,
route.K and grad.X as experts.py, losses of those without a dash, experts.K, kept.K and
cut of those without groups, and aux and aux.X, the loss of load balance and its
gradient, from scores that are divided by their sum (arXiv:2412.19437, eq. 17 to 20, times
the number of experts a token goes to).  deepseek_v2 also as a GGUF of the kind that
llama.cpp's converter wrote first, deepseek_v3-equal only as one of today's kind, with
attn_kv_b in two parts and sizes of the latents; models that end with -equal or -one
have no gradients.  Routers' weights are large, so that no two
experts are equal, and shifts (e_score_correction_bias) are in float32 with numbers
that bfloat16 does not have, so large that they change choices.
--sweep makes other configurations and lets the test compare them."""
import os
import re
import sys

import gguf
import numpy as np
import torch
import transformers

import experts
import st
from family import ROWS, SEED, trained

SIZE = dict(vocab_size=47, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
            num_attention_heads=3, num_key_value_heads=3, max_position_embeddings=64,
            bos_token_id=1, eos_token_id=2, pad_token_id=None, q_lora_rank=10,
            kv_lora_rank=14, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=7,
            n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=12,
            n_shared_experts=2, first_k_dense_replace=1, routed_scaling_factor=1.5)
YARN = dict(rope_type='yarn', rope_theta=1e3, factor=4.0, beta_fast=4.0,
            beta_slow=0.5, mscale=1.0, mscale_all_dim=0.7,
            original_max_position_embeddings=8)
PLAIN = dict(rope_type='default', rope_theta=1e4)
V2, V3 = ('deepseek_v2', 'DeepseekV2'), ('deepseek_v3', 'DeepseekV3')
MODELS = {
    'deepseek_v2': (*V2, dict(SIZE, q_lora_rank=None, rope_parameters=PLAIN)),
    'deepseek_v2-groups': (*V2, dict(
        SIZE, topk_method='group_limited_greedy', n_group=4, topk_group=2,
        rope_parameters=YARN)),
    'deepseek_v3': (*V3, dict(SIZE, n_group=4, topk_group=2, rope_parameters=YARN)),
    # experts that form no groups can be removed
    'deepseek_v3-one': (*V3, dict(SIZE, n_group=1, topk_group=1, num_experts_per_tok=2,
                                  rope_parameters=PLAIN)),
    # a GGUF has one mscale
    'deepseek_v3-equal': (*V3, dict(SIZE, n_group=4, topk_group=2, rope_parameters=dict(
        YARN, mscale=0.7))),
    # the same under another name, which lists the blocks with experts
    'glm4_moe_lite': ('glm4_moe_lite', 'Glm4MoeLite', dict(
        {k: v for k, v in SIZE.items() if k != 'first_k_dense_replace'}, n_group=2,
        topk_group=1, mlp_layer_types=['dense', 'dense', 'sparse'], rope_parameters=YARN)),
}
MODELS['glm4_moe_lite-equal'] = (*MODELS['glm4_moe_lite'][:2], dict(
    MODELS['glm4_moe_lite'][2], rope_parameters=dict(YARN, mscale=0.7)))
SWEEP = {
    'v2-lora': (*V2, dict(SIZE, rope_parameters=PLAIN)),
    'v2-wide-value': (*V2, dict(SIZE, v_head_dim=10, rope_parameters=YARN)),
    'v2-no-dense': (*V2, dict(SIZE, first_k_dense_replace=0, rope_parameters=PLAIN)),
    'v2-one-shared': (*V2, dict(SIZE, n_shared_experts=1, rope_parameters=PLAIN)),
    'v2-tied': (*V2, dict(SIZE, tie_word_embeddings=True, rope_parameters=PLAIN)),
    'v2-eps': (*V2, dict(SIZE, rms_norm_eps=1e-3, rope_parameters=PLAIN)),
    'v2-linear': (*V2, dict(SIZE, rope_parameters=dict(PLAIN, rope_type='linear', factor=3.0))),
    'v3-plain': (*V3, dict(SIZE, n_group=1, topk_group=1, rope_parameters=PLAIN)),
    'v3-no-lora': (*V3, dict(SIZE, q_lora_rank=None, n_group=2, topk_group=1,
                             rope_parameters=YARN)),
    'v3-halves': (*V3, dict(SIZE, rope_interleave=False, n_group=4, topk_group=3,
                            rope_parameters=YARN)),
    'v3-unnormed': (*V3, dict(SIZE, norm_topk_prob=False, n_group=2, topk_group=2,
                              rope_parameters=PLAIN)),
    'v3-no-mscale': (*V3, dict(SIZE, n_group=4, topk_group=2, rope_parameters={
        k: v for k, v in YARN.items() if 'mscale' not in k})),
    'v3-two-dense': (*V3, dict(SIZE, first_k_dense_replace=2, n_group=4, topk_group=2,
                               rope_parameters=PLAIN)),
}


def make(name):
    # a router without shifts has small weights, so that the best groups by one and
    # by two experts differ
    cfg, m, gen = experts.random_model(*MODELS[name], 1.5 if 'v2-groups' in name else 5)
    with torch.no_grad():
        for n, p in m.named_buffers():
            if n.endswith('e_score_correction_bias'):
                p.copy_((0.4 * torch.randn(p.shape, generator=gen)).double())
    return cfg, m


def write_gguf(path, cfg, m, parts):
    """as llama.cpp's converter writes it, matrices in BF16; parts: attn_kv_b in two"""
    arch = gguf.MODEL_ARCH.DEEPSEEK2
    o = experts.begin_gguf(path, gguf.MODEL_ARCH_NAMES[arch], cfg)
    heads, nope, rope = cfg.num_attention_heads, cfg.qk_nope_head_dim, cfg.qk_rope_head_dim
    o.add_layer_norm_rms_eps(cfg.rms_norm_eps)
    o.add_rope_freq_base(cfg.rope_parameters['rope_theta'])
    o.add_vocab_size(cfg.vocab_size)
    o.add_kv_lora_rank(cfg.kv_lora_rank)
    if cfg.q_lora_rank is not None:
        o.add_q_lora_rank(cfg.q_lora_rank)
    if parts:
        o.add_head_count_kv(1)
        o.add_key_length(cfg.kv_lora_rank + rope)
        o.add_value_length(cfg.kv_lora_rank)
        o.add_key_length_mla(nope + rope)
        o.add_value_length_mla(cfg.v_head_dim)
    else:
        o.add_head_count_kv(heads)
        o.add_key_length(nope + rope)
        o.add_value_length(cfg.v_head_dim)
    o.add_rope_dimension_count(rope)
    o.add_leading_dense_block_count(cfg.first_k_dense_replace)
    o.add_expert_count(cfg.n_routed_experts)
    o.add_expert_used_count(cfg.num_experts_per_tok)
    o.add_expert_shared_count(cfg.n_shared_experts)
    o.add_expert_feed_forward_length(cfg.moe_intermediate_size)
    o.add_expert_weights_scale(cfg.routed_scaling_factor)
    if cfg.model_type == 'deepseek_v3':
        o.add_expert_weights_norm(cfg.norm_topk_prob)
        o.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        o.add_expert_group_count(cfg.n_group)
        o.add_expert_group_used_count(cfg.topk_group)
    yarn = cfg.rope_parameters
    if yarn['rope_type'] == 'yarn':
        o.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        o.add_rope_scaling_factor(yarn['factor'])
        o.add_rope_scaling_orig_ctx_len(yarn['original_max_position_embeddings'])
        o.add_rope_scaling_yarn_log_mul(0.1 * yarn['mscale_all_dim'])
        o.add_rope_scaling_yarn_beta_fast(yarn['beta_fast'])
        o.add_rope_scaling_yarn_beta_slow(yarn['beta_slow'])
    o.add_bos_token_id(cfg.bos_token_id)
    o.add_eos_token_id(cfg.eos_token_id)
    names = gguf.get_tensor_name_map(arch, cfg.num_hidden_layers)
    tensors = dict(m.named_parameters())
    tensors |= {k: p for k, p in m.named_buffers() if 'e_score' in k}
    for k, p in tensors.items():
        x, blk = p.detach().float().numpy(), '.'.join(['blk', *k.split('.')[2:3], ''])
        if k.endswith('experts.gate_up_proj'):
            for part, half in zip(('gate', 'up'), np.split(x, 2, 1)):
                experts.put_bf16(o, f'{blk}ffn_{part}_exps.weight', half)
        elif k.endswith('experts.down_proj'):
            experts.put_bf16(o, f'{blk}ffn_down_exps.weight', x)
        elif k.endswith('kv_b_proj.weight') and parts:
            k_b, v_b = np.split(x.reshape(heads, -1, cfg.kv_lora_rank), [nope], 1)
            experts.put_bf16(o, f'{blk}attn_k_b.weight', k_b.swapaxes(1, 2))
            experts.put_bf16(o, f'{blk}attn_v_b.weight', v_b)
        elif 'e_score' in k:
            experts.put_bf16(o, f'{blk}exp_probs_b.bias', x)
        else:
            experts.put_bf16(o, names.get_name(k, try_suffixes=('.weight', '.bias')), x)
    experts.end_gguf(o)


def forward(m, ids):
    """logits, and of each block with experts the choices and the router's logits"""
    seen, hooks = {}, []
    for n, part in m.named_modules():
        if re.search(r'\.mlp\.gate$', n):
            hooks.append(part.register_forward_hook(
                lambda _, x, out, n=n: seen.__setitem__(int(n.split('.')[2]), (_, out))))
    z = m(ids).logits[0]
    for h in hooks:
        h.remove()
    return z, {i: (best_first(part, *out), out[0].flatten(0, -2))
               for i, (part, out) in seen.items()}


def best_first(part, logits, weights, chosen):
    """the chosen experts of each token in the order of the choice, by scores and shift"""
    if hasattr(part, 'e_score_correction_bias'):
        key = logits.sigmoid() + part.e_score_correction_bias
    else:
        key = logits
    order = key.gather(1, chosen).sort(1, descending=True)
    assert (order.values[:, :-1] - order.values[:, 1:]).min() > 1e-6
    if getattr(part, 'topk_method', '') == 'group_limited_greedy':
        two = logits.softmax(-1).unflatten(1, (part.num_group, -1)).topk(2).values
        best = [x.topk(part.topk_group).indices.sort().values
                for x in (two[..., 0], two.sum(-1))]
        part.differ = getattr(part, 'differ', 0) + (best[0] != best[1]).any(1).sum().item()
    return chosen.gather(1, order.indices).to(torch.uint8)


def balance(cfg, chosen, z):
    """the loss of load balance of a row from the choices and logits of all its blocks"""
    score = z.sigmoid() if cfg.model_type != 'deepseek_v2' else z.softmax(-1)
    often = torch.nn.functional.one_hot(chosen.long(), z.shape[1]).sum(1).double().mean(0)
    mean = (score / score.sum(-1, keepdim=True)).mean(0)
    return z.shape[1] * (often * mean).sum()


def gradients(cfg, m, loss, prefix, pattern):
    m.zero_grad()
    loss.backward(retain_graph=True)
    return {prefix + key: g.float().contiguous() for key, g in experts.grads(cfg, m).items()
            if re.search(pattern, key)}


def golden(out, name):
    cfg, m = make(name)
    gen = torch.Generator().manual_seed(SEED + 1)
    ids = torch.randint(0, cfg.vocab_size, (2, 20), generator=gen)
    first, logits, route = torch.zeros(2, 20), torch.zeros(2, 20, cfg.vocab_size), {}
    ce, n, aux = 0, 0, []
    for b, lens in enumerate(ROWS):
        at, seen = 0, {}
        for length in lens:
            z, of = forward(m, ids[b:b + 1, at:at + length])
            logits[b, at:at + length], first[b, at:at + length] = z.detach().float(), at
            ce = ce - z[:-1].log_softmax(-1).gather(
                1, ids[b, at + 1:at + length, None]).sum()
            at, n = at + length, n + length - 1
            for i, r in of.items():
                seen.setdefault(i, []).append(r)
        seen = {i: [torch.cat(x) for x in zip(*r)] for i, r in seen.items()}
        for i in seen:
            route.setdefault(i, []).append(seen[i][0])
        aux.append(balance(cfg, *[torch.cat(x) for x in zip(*seen.values())]))
    for part in m.modules():
        assert getattr(part, 'differ', 1) > 0
    tensors = dict(ids=ids.to(torch.uint16), first=first.to(torch.uint32), logits=logits)
    if '-' not in name:
        tensors['losses'] = trained(cfg, m)
    if cfg.n_group is None or cfg.n_group <= 1:
        tensors |= experts.removed(cfg, m, ids)
    if not name.endswith(('-equal', '-one')):
        tensors |= gradients(cfg, m, ce / n, 'grad.', '')
        tensors |= gradients(cfg, m, sum(20 * a for a in aux), 'aux.', r'\.gate\.weight$')
        tensors['aux'] = torch.stack(aux).detach()
    tensors |= {f'route.{i}': torch.stack(r) for i, r in route.items()}
    weights = {}
    for key, p in m.named_parameters():
        weights |= experts.stored(cfg, key, p.detach().bfloat16().contiguous())
    weights |= {k: p.float() for k, p in m.named_buffers() if 'e_score' in k}
    meta = dict(made_by=f'scripts/oracle/deepseek.py OUTDIR {name}', seed=SEED,
                versions=st.versions(torch, transformers))
    st.save(f'{out}/{name}.safetensors', tensors, meta)
    if name in ('deepseek_v2', 'deepseek_v3-equal'):
        write_gguf(f'{out}/{name}.gguf', cfg, m, name == 'deepseek_v3-equal')
    if name == 'deepseek_v3-equal':
        return
    os.makedirs(f'{out}/{name}', exist_ok=True)
    st.save(f'{out}/{name}/model.safetensors',
            {a: b.contiguous() for a, b in weights.items()}, dict(meta, format='pt'))
    cfg.architectures = [type(m).__name__]
    cfg.dtype = 'bfloat16'
    cfg.to_json_file(f'{out}/{name}/config.json', use_diff=False)
    experts.reads_back(f'{out}/{name}', m, ids, logits)


def sweep(out, test):
    failed = 0
    MODELS.update(SWEEP)
    os.makedirs(f'{out}/tests/golden/experts', exist_ok=True)
    for name in SWEEP:
        golden(f'{out}/tests/golden/experts', name)
        failed += experts.compare(test, out, name)
    sys.exit(failed > 0)


if __name__ == '__main__':
    experts.main(MODELS, golden, sweep)
