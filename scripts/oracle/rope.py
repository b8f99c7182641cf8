"""Frequencies of RoPE by transformers' functions, in which every float32 is
replaced by float64.
usage: rope.py                                  (values in tests/kern/rows.c)"""
import inspect
import re
import types

import torch
import transformers
from transformers import modeling_rope_utils as utils

src = re.sub(r'torch\.float(32)?\b', 'torch.float64', inspect.getsource(utils))
new = types.ModuleType('double')
new.__package__ = utils.__package__
exec(compile(src.replace('.float()', '.double()'), 'double', 'exec'), new.__dict__)
print('transformers', transformers.__version__, 'torch', torch.__version__)


def show(name, dim, at, length=None, **rope):
    cfg = transformers.LlamaConfig(head_dim=dim, max_position_embeddings=rope.pop('most', 4096))
    cfg.rope_parameters = rope
    inv, scale = new.ROPE_INIT_FUNCTIONS[rope['rope_type']](cfg, 'cpu', seq_len=length)
    print(name, 'scale %.9f' % scale, *('%d: %.9g' % (i, inv[i]) for i in at))


show('yarn, between', 64, (8, 16, 31), rope_type='yarn', rope_theta=150000.0, factor=32.0,
     original_max_position_embeddings=4096, truncate=False)
show('yarn, whole', 128, (16, 32, 48), rope_type='yarn', rope_theta=1e6, factor=16.0,
     original_max_position_embeddings=16384)
for length in 8192, 4096:
    show('dynamic', 128, (1,), length, rope_type='dynamic', rope_theta=1e4, factor=2.0)
for length in 8, 9:
    show('longrope', 8, (2,), length, rope_type='longrope', rope_theta=1e4, factor=1.0,
         short_factor=[1.0, 1.25, 1.5, 2.0], long_factor=[1.5, 4.0, 9.0, 32.0],
         original_max_position_embeddings=8)
