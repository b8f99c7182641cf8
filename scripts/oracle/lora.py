"""Adapters by PEFT: logits, and training with AdamW, in double precision.
usage: PYTHONHASHSEED=0 lora.py OUTDIR
  (tests/golden/lora; needs peft, torch, transformers)
OUTDIR already holds plain, dora and rs_embed, adapters written by PEFT for a model
of one block.  Writes
  one/, two/      base models (Llama; one block with a head of its own; two blocks,
                  tied), fp32
  start/          a LoRA of all matrices of two/, rank 4, alpha 6, B not zero
  start_dora/     the same as a DoRA of q_proj, v_proj, o_proj, gate_proj, down_proj
  tied/           a LoRA of q_proj and the embedding of two/, whose head is tied to it
  lora.safetensors
    ids u16 [2,20]; first u32 [2,20]: where in its row each token's piece begins
    logits.NAME F64 [2,20,64] of one/ or two/ with the adapter NAME
    loss.NAME F64 [5]: mean cross-entropy before each of 5 steps of AdamW
    after.NAME.TENSOR F64: the adapter's tensors after these steps
AdamW: lr 0.01, betas 0.9 0.95, eps 1e-8, no weight decay, no clipping.  The loss is
the mean over the positions whose next token is in the same piece; each piece is a
forward pass of its own."""
import json
import os
import sys

import peft
import torch
import transformers
from safetensors.torch import load_file

import llama_ref as R
import st

SEED = 17
ROWS = [[20], [13, 7]]
ONE = dict(vocab=64, hidden=16, heads=2, kv_heads=1, head_dim=8, theta=10000.0,
           eps=1e-5, blocks=1, mlp=[32])
TWO = dict(ONE, blocks=2, mlp=[32, 32])
ALL = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
SOME = ['q_proj', 'v_proj', 'o_proj', 'gate_proj', 'down_proj']


def weights(c, tied, gen):
    d, q, k = c['hidden'], c['heads'] * c['head_dim'], c['kv_heads'] * c['head_dim']
    shapes = {'model.embed_tokens': (c['vocab'], d)}
    for i, m in enumerate(c['mlp']):
        shapes.update({f'model.layers.{i}.{n}': s for n, s in {
            'input_layernorm': (d,), 'self_attn.q_proj': (q, d),
            'self_attn.k_proj': (k, d), 'self_attn.v_proj': (k, d),
            'self_attn.o_proj': (d, q), 'post_attention_layernorm': (d,),
            'mlp.gate_proj': (m, d), 'mlp.up_proj': (m, d),
            'mlp.down_proj': (d, m)}.items()})
    shapes['model.norm'] = (d,)
    if not tied:
        shapes['lm_head'] = (c['vocab'], d)
    out = {}
    for n, s in shapes.items():
        x = torch.randn(s, generator=gen)
        out[n + '.weight'] = (1 + 0.1 * x if len(s) == 1 else 0.3 * x).double()
    return out


def write_base(out, name, w, c, tied):
    os.makedirs(f'{out}/{name}', exist_ok=True)
    with open(f'{out}/{name}/config.json', 'w') as f:
        json.dump(R.hf_config(c, tied), f, indent=2)
        f.write('\n')
    st.save(f'{out}/{name}/model.safetensors', {n: x.float() for n, x in w.items()},
            {'format': 'pt'})


def pieces():
    for r, lens in enumerate(ROWS):
        at = 0
        for n in lens:
            yield r, at, n
            at += n


def logits(model, ids):
    z = torch.zeros(2, 20, ONE['vocab'], dtype=torch.float64)
    for r, s, n in pieces():
        z[r, s:s + n] = model(ids[r:r + 1, s:s + n]).logits[0]
    return z


def loss(model, ids):
    total = count = 0
    for r, s, n in pieces():
        z = torch.log_softmax(model(ids[r:r + 1, s:s + n]).logits[0, :-1], -1)
        total = total - z[range(n - 1), ids[r, s + 1:s + n]].sum()
        count += n - 1
    return total / count


def load(w, c, path):
    return peft.PeftModel.from_pretrained(R.hf_model(w, c), path,
                                          is_trainable=True).double()


def make_start(out, name, w, targets, dora, gen):
    cfg = peft.LoraConfig(r=4, lora_alpha=6, target_modules=targets, use_dora=dora,
                          task_type='CAUSAL_LM')
    m = peft.get_peft_model(R.hf_model(w, TWO), cfg).float()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if 'lora_' in n and 'magnitude' not in n:
                p.copy_(0.2 * torch.randn(p.shape, generator=gen))
            if 'magnitude' in n:
                p.copy_(p * (1 + 0.1 * torch.randn(p.shape, generator=gen)))
    m.save_pretrained(f'{out}/{name}')
    os.remove(f'{out}/{name}/README.md')


def train(model, ids):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=0.01, betas=(0.9, 0.95), eps=1e-8,
                            weight_decay=0)
    path = []
    for _ in range(5):
        x = loss(model, ids)
        path.append(x.item())
        opt.zero_grad()
        x.backward()
        opt.step()
    return torch.tensor(path, dtype=torch.float64)


def main(out):
    gen = torch.Generator().manual_seed(SEED)
    one, two = weights(ONE, False, gen), weights(TWO, True, gen)
    write_base(out, 'one', one, ONE, False)
    write_base(out, 'two', two, TWO, True)
    make_start(out, 'start', two, ALL, False, gen)
    make_start(out, 'start_dora', two, SOME, True, gen)
    ids = torch.randint(0, ONE['vocab'], (2, 20), generator=gen)
    make_start(out, 'tied', two, ['q_proj', 'embed_tokens'], False, gen)
    first = torch.zeros(2, 20, dtype=torch.int64)
    first[1, 13:] = 13
    got = {'ids': ids.to(torch.uint16), 'first': first.to(torch.uint32)}
    for name in ('plain', 'dora', 'rs_embed', 'start', 'start_dora', 'tied'):
        w, c = (one, ONE) if name in ('plain', 'dora', 'rs_embed') else (two, TWO)
        model = load(w, c, f'{out}/{name}')
        with torch.no_grad():
            got['logits.' + name] = logits(model, ids)
        if 'start' in name:
            got['loss.' + name] = train(model, ids)
            for n, x in peft.get_peft_model_state_dict(model).items():
                got[f'after.{name}.{n}'] = x.double()
    st.save(f'{out}/lora.safetensors', got, dict(
        script='scripts/oracle/lora.py', seed=SEED, peft=peft.__version__,
        torch=torch.__version__, transformers=transformers.__version__))


if __name__ == '__main__':
    main(sys.argv[1])
