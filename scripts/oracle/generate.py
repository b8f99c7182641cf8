"""Golden output of transformers' generate: greedy texts of the tiny models of
family.py, and the tokens that its top-p keeps.
usage: generate.py FAMILYDIR OUTDIR      (tests/golden/family tests/golden/generate)
Writes OUTDIR/greedy.tsv (model, ids of a prompt, ids of what
generate(do_sample=False, max_new_tokens=24) adds, an id of EOS left out, why it
ends) and OUTDIR/nucleus.safetensors:
  logits F32 [N,V]; tau, p F32 [N]
  kept u8 [N,V]: finite after TemperatureLogitsWarper, TopPLogitsWarper
Prompts are random and have 1 to 17 ids.  A text of which two logits are ever
nearer than 1e-3 is left out: float32 may take either.
The models of BY_LENGTH have other angles of RoPE in texts longer than 9 (olmo2:
dynamic) and 8 tokens (phi3: longrope): prompts of 1 to 12 ids are shorter and
longer, texts cross these lengths.  Prompts of each of SEEDED are random by a seed of
their own, so that they do not depend on the models before.  Each text has a model of its own, for transformers goes on
with the angles of the longest text that a model has seen."""
import os
import sys

import torch
import transformers
from transformers.generation.logits_process import (
    TemperatureLogitsWarper, TopPLogitsWarper)

import st

SEED = 17
NAMES = ['gemma3', 'mistral', 'qwen2', 'qwen3']
BY_LENGTH = ['olmo2', 'phi3']
LATER = ['cohere', 'cohere2', 'apertus']
SEEDED = ['gpt_neox', 'gpt2-untied', 'starcoder2', 'phi', 'glm4', 'exaone4',
          '../experts/qwen3_next', '../experts/qwen3_5_moe']
NEW = 24


def open_model(family, name):
    return transformers.AutoModelForCausalLM.from_pretrained(
        f'{family}/{name}', dtype=torch.float32, attn_implementation='eager').eval()


def greedy(family, name, gen, lines):
    m = open_model(family, name)
    eos = m.config.eos_token_id
    eos = eos if isinstance(eos, list) else [eos]
    n = 0
    while n < 12:
        if name in BY_LENGTH:
            m = open_model(family, name)
        k = int(torch.randint(1, 13 if name in BY_LENGTH else 18, (1,), generator=gen))
        ids = torch.randint(8, m.config.vocab_size, (1, k), generator=gen)
        r = m.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False,
                       max_new_tokens=NEW, eos_token_id=eos, pad_token_id=0,
                       return_dict_in_generate=True, output_logits=True)
        margin = min((z.topk(2).values[0] @ torch.tensor([1., -1.])).item() for z in r.logits)
        if margin < 1e-3:
            continue
        new, why = r.sequences[0, k:].tolist(), 'length'
        if new[-1] in eos:
            new, why = new[:-1], 'eos'
        text = [' '.join(map(str, x)) or '-' for x in (ids[0].tolist(), new)]
        lines.append('\t'.join([name, *text, why]))
        n += 1


def nucleus(out, gen):
    n, v = 60, 50
    z = torch.randn(n, v, generator=gen) * torch.linspace(0.1, 6, n)[:, None]
    tau = 0.2 + 2 * torch.rand(n, generator=gen)
    p = torch.rand(n, generator=gen)
    p[0], p[1] = 0.001, 0.999
    kept = [TopPLogitsWarper(float(q))(None, TemperatureLogitsWarper(float(t))(None, r[None]))
            for r, t, q in zip(z, tau, p)]
    st.save(f'{out}/nucleus.safetensors',
            dict(logits=z, tau=tau, p=p, kept=torch.cat(kept).isfinite().to(torch.uint8)),
            dict(made_by='scripts/oracle/generate.py FAMILYDIR OUTDIR', seed=SEED,
                 versions=st.versions(torch, transformers)))


def main(family, out):
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(SEED)
    os.makedirs(out, exist_ok=True)
    lines = [f'# scripts/oracle/generate.py FAMILYDIR OUTDIR; seed {SEED}; '
             f'{st.versions(torch, transformers)}']
    for name in NAMES:
        greedy(family, name, gen, lines)
    nucleus(out, gen)
    for name in BY_LENGTH + LATER:
        greedy(family, name, gen, lines)
    for name in SEEDED:
        greedy(family, name, torch.Generator().manual_seed(SEED), lines)
    with open(f'{out}/greedy.tsv', 'w') as f:
        f.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
