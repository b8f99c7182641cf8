"""Influence of each block of a golden model (ShortGPT, arXiv:2403.03853, eq. 1):
1 - cos(input, output), the mean over all tokens, of pieces run one by one through
transformers in double.
usage: influence.py tests/golden/family NAME       (tests/prune/influence.c)"""
import sys

import torch
import transformers
from safetensors.torch import load_file

folder, name = sys.argv[1:]
m = transformers.AutoModelForCausalLM.from_pretrained(
    f'{folder}/{name}', dtype=torch.float64, attn_implementation='eager').eval()
g = load_file(f'{folder}/{name}.safetensors')
total, tokens = torch.zeros(len(m.model.layers), dtype=torch.float64), 0


def watch(i):
    def hook(_, args, kwargs, out):
        x = args[0] if args else kwargs['hidden_states']
        y = out[0] if isinstance(out, tuple) else out
        total[i] += (1 - torch.cosine_similarity(x, y, dim=-1)).sum()
    return hook


for i, b in enumerate(m.model.layers):
    b.register_forward_hook(watch(i), with_kwargs=True)
for ids, first in zip(g['ids'].to(torch.int64), g['first'].to(torch.int64)):
    for at in first.unique():
        with torch.no_grad():
            m(ids[first == at][None])
    tokens += len(ids)
print('torch', torch.__version__, 'transformers', transformers.__version__)
print(', '.join(f'{v:.9f}' for v in total / tokens))
