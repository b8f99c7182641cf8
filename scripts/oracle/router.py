"""Routing of mixtures of experts in double, by torch; gradients by autograd.
usage: router.py OUT.safetensors        (tests/golden/router.safetensors)
For each combination of flags, case NNN:
  NNN.flags F64 [9]: experts n, chosen k, score (0 softmax, 1 sigmoid, 2 softmax of
    the chosen), groups, groups kept, group score (0 best, 1 sum of the two best),
    renorm, scale, with a bias for the choice
  NNN.z F32 [n] logits; NNN.bias F32 [n]; NNN.id F64 [k]; NNN.w F64 [k]
  NNN.dw F32 [k] the gradient at the weights; NNN.dp F32 [n] a further gradient at
    all scores divided by their sum; NNN.dz F64 [n] the gradient at the logits
Written from DeepSeek-V3's paper (arXiv:2412.19437, s. 2.1.2) and the formulas of
transformers' modeling_mixtral, modeling_qwen2_moe, modeling_deepseek_v3,
modeling_gpt_oss, not from this project's code."""
import itertools
import sys

import torch

import st

SEED = 17
N, K = 12, 3


def route(z, bias, k, score, groups, keep, group, renorm, scale):
    """ids, weights, scores"""
    p = torch.sigmoid(z) if score == 1 else torch.softmax(z, -1)
    choice = (z if score == 2 else p) + bias
    if groups > 1:
        by = choice.view(groups, -1)
        value = by.max(1).values if group == 0 else by.topk(2, 1).values.sum(1)
        mask = torch.full((groups,), float('-inf'), dtype=z.dtype)
        mask[value.topk(keep).indices] = 0
        choice = (by + mask[:, None]).reshape(-1)
    ids = choice.topk(k).indices
    w = torch.softmax(z[ids], 0) if score == 2 else p[ids]
    if renorm:
        w = w / (w.sum() + 1e-20)
    return ids, w * scale, p


def main():
    gen = torch.Generator().manual_seed(SEED)
    out = {}
    flags = itertools.product((0, 1, 2), ((1, 1, 0), (4, 2, 0), (4, 2, 1), (3, 1, 1)),
                              (0, 1), (1.0, 2.5), (0, 1))
    for i, (score, (groups, keep, group), renorm, scale, biased) in enumerate(flags):
        z = (2 * torch.randn(N, generator=gen)).float().double().requires_grad_()
        bias = 0.5 * biased * torch.randn(N, generator=gen)
        dw = torch.randn(K, generator=gen)
        dp = torch.randn(N, generator=gen)
        ids, w, p = route(z, bias.double(), K, score, groups, keep, group, renorm, scale)
        ((w * dw.double()).sum() + (p / p.sum() * dp.double()).sum()).backward()
        out |= {f'{i:03}.flags': torch.tensor([N, K, score, groups, keep, group, renorm,
                                               scale, biased], dtype=torch.float64),
                f'{i:03}.z': z.detach().float(), f'{i:03}.bias': bias, f'{i:03}.dw': dw,
                f'{i:03}.dp': dp, f'{i:03}.id': ids.double(), f'{i:03}.w': w.detach(),
                f'{i:03}.dz': z.grad}
    st.save(sys.argv[1], out, dict(
        made_by='scripts/oracle/router.py tests/golden/router.safetensors', seed=SEED,
        versions=st.versions(torch)))


main()
