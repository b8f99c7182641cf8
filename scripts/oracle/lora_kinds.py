"""Adapters by PEFT of each family: logits in double precision.
usage: lora_kinds.py OUTDIR [NAME...]   (tests/golden/lora; needs peft)
With names, the others' tensors stay as they are in OUTDIR/kinds.safetensors.
The base models are those of tests/golden/family and tests/golden/experts, made again
from their seeds.  Writes OUTDIR/NAME/, an adapter whose B is not zero, and
OUTDIR/kinds.safetensors: ids u16 and first u32 [2,20] of each NAME as family.py, and
logits.NAME F32.
  and of all but NOT_TRAINED loss.NAME F64 [5], after.NAME.TENSOR F64 as lora.py,
whose AdamW it is.
  phi3, phi3-dora    qkv_proj, gate_up_proj (each one matrix), o_proj, down_proj
  mixtral, qwen2_moe, qwen3_moe, olmoe, gpt_oss  q_proj, k_proj, v_proj, o_proj beside experts
  qwen3_next, qwen3_5_moe  the same, beside blocks without attention too
  qwen3_5            the same, beside blocks without attention, and the MLP
  cohere, cohere2    the same, and the MLP, which read one norm
  exaone4            the same, whose norms come after
  the names of PLAIN the same, in Llama's order
  apertus, starcoder2, phi  the same, whose MLP has no gate
  glm4, glm          attention, and gate_up_proj (one matrix)
  gpt_neox, gpt_neox-dora  query_key_value (one matrix, its rows by head), and the others
  gpt2, gpt2-dora    c_attn (one matrix), c_fc and both c_proj, stored as [in, out]
  lfm2               all matrices of blocks with attention or the short convolution"""
import os
import sys

import peft
import torch
import transformers
from safetensors.torch import load

import experts
import family
import gpt_oss
import st
from family import SEED

ATTENTION = ['q_proj', 'k_proj', 'v_proj', 'o_proj']
MLP = ['gate_proj', 'up_proj', 'down_proj']
FUSED = ['qkv_proj', 'gate_up_proj', 'o_proj', 'down_proj']
NEOX = ['query_key_value', 'dense', 'dense_h_to_4h', 'dense_4h_to_h']
GPT2 = ['c_attn', 'c_fc', 'c_proj']
NOT_TRAINED = ['cohere', 'glm', 'gpt2-dora', 'gpt_neox-dora']
PLAIN = ['llama', 'mistral', 'qwen2', 'qwen3', 'gemma3', 'gemma2', 'gemma', 'olmo2', 'olmo3',
         'smollm3', 'granite', 'ministral3', 'seed_oss', 'ministral']
KINDS = {
    'phi3': (lambda: family.make('phi3'), FUSED, False),
    'phi3-dora': (lambda: family.make('phi3'), FUSED, True),
    'qwen3_moe': (lambda: experts.random_model(*experts.FAMILIES['qwen3_moe'], 10)[:2],
                  ATTENTION, False),
    'qwen3_next': (lambda: experts.random_model(*experts.FAMILIES['qwen3_next'], 3)[:2],
                   ATTENTION, False),
    'qwen3_5_moe': (lambda: experts.random_model(*experts.FAMILIES['qwen3_5_moe'], 3)[:2],
                    ATTENTION, False),
    'gpt_oss': (lambda: gpt_oss.make('gpt_oss')[:2], ATTENTION, False),
    'qwen3_5': (lambda: family.make('qwen3_5'), ATTENTION + MLP, False),
    'cohere': (lambda: family.make('cohere'), ATTENTION + MLP, False),
    'cohere2': (lambda: family.make('cohere2'), ATTENTION + MLP, False),
    'lfm2': (lambda: family.make('lfm2'), [
        'q_proj', 'k_proj', 'v_proj', 'in_proj', 'out_proj', 'w1', 'w2', 'w3'], False),
    'apertus': (lambda: family.make('apertus'), ATTENTION + MLP[1:], False),
    'starcoder2': (lambda: family.make('starcoder2'), ATTENTION + GPT2[1:], False),
    'exaone4': (lambda: family.make('exaone4'), ATTENTION + MLP, False),
    'glm4': (lambda: family.make('glm4'), ATTENTION + FUSED[1:2] + MLP[2:], False),
    'glm': (lambda: family.make('glm'), ATTENTION + FUSED[1:2] + MLP[2:], False),
    'phi': (lambda: family.make('phi'), ATTENTION[:3] + ['dense', 'fc1', 'fc2'], False),
    'gpt_neox': (lambda: family.make('gpt_neox'), NEOX, False),
    'gpt2': (lambda: family.make('gpt2'), GPT2, False),
    'gpt2-dora': (lambda: family.make('gpt2'), GPT2, True),
    'gpt_neox-dora': (lambda: family.make('gpt_neox'), NEOX, True),
}
for one in PLAIN:
    KINDS[one] = (lambda one=one: family.make(one)), ATTENTION + MLP, False
for one in 'mixtral', 'qwen2_moe', 'olmoe':
    KINDS[one] = (lambda one=one: experts.random_model(*experts.FAMILIES[one], 10)[:2],
                  ATTENTION, False)


def golden(out, name, got):
    make, targets, dora = KINDS[name]
    cfg, m = make()
    gen = torch.Generator().manual_seed(SEED + 2)
    adapted = peft.get_peft_model(m, peft.LoraConfig(
        r=3, lora_alpha=6, target_modules=targets, use_dora=dora, task_type='CAUSAL_LM'))
    with torch.no_grad():
        for n, p in adapted.named_parameters():
            if 'lora_' in n:
                x = torch.randn(p.shape, generator=gen)
                x = p * (1 + 0.1 * x) if 'magnitude' in n else 0.2 * x
                p.copy_(x.float().double())
    adapted.double()
    ids, first, logits, _ = family.run(cfg, m)
    got |= {f'ids.{name}': ids.to(torch.uint16), f'first.{name}': first.to(torch.uint32),
            f'logits.{name}': logits}
    adapted.float().save_pretrained(f'{out}/{name}')
    os.remove(f'{out}/{name}/README.md')
    if name not in NOT_TRAINED:
        train(cfg, m, adapted.double(), name, got)


def train(cfg, m, adapted, name, got):
    opt = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=0.01,
                            betas=(0.9, 0.95), eps=1e-8, weight_decay=0)
    path = []
    for _ in range(5):
        ce = family.run(cfg, m)[3]
        path.append(ce.item())
        opt.zero_grad()
        ce.backward()
        opt.step()
    got[f'loss.{name}'] = torch.tensor(path, dtype=torch.float64)
    for n, x in peft.get_peft_model_state_dict(adapted).items():
        got[f'after.{name}.{n}'] = x.double()


if __name__ == '__main__':
    got = load(open(f'{sys.argv[1]}/kinds.safetensors', 'rb').read()) if sys.argv[2:] else {}
    for name in sys.argv[2:] or KINDS:
        golden(sys.argv[1], name, got)
    st.save(f'{sys.argv[1]}/kinds.safetensors', got, dict(
        made_by='scripts/oracle/lora_kinds.py OUTDIR', seed=SEED, versions=st.versions(
            peft, torch, transformers)))
