"""Writes safetensors with the same bytes every time (tensors by falling
element size, then by name; metadata sorted), so that a golden file changes
only when its content does.  Arrays are numpy or torch; a torch bfloat16
tensor is written as BF16."""
import json
import platform
import struct

import numpy as np

NAMES = {'f8': 'F64', 'f4': 'F32', 'f2': 'F16', 'u8': 'U64', 'i8': 'I64',
         'u4': 'U32', 'i4': 'I32', 'u2': 'U16', 'u1': 'U8', 'b1': 'BOOL'}


def to_numpy(x):
    """(safetensors dtype, numpy array) of an array or tensor"""
    if hasattr(x, 'detach'):
        x = x.detach().cpu().contiguous()
        if str(x.dtype) == 'torch.bfloat16':
            import torch
            return 'BF16', x.view(torch.uint16).numpy()
        x = x.numpy()
    x = np.asarray(x, order='C')
    return NAMES[x.dtype.str[1:]], x


def save(path, tensors, meta):
    items = [(n, *to_numpy(x)) for n, x in tensors.items()]
    items.sort(key=lambda t: (-t[2].dtype.itemsize, t[0]))
    head, at = {}, 0
    head['__metadata__'] = {k: str(meta[k]) for k in sorted(meta)}
    for name, dtype, x in items:
        head[name] = {'dtype': dtype, 'shape': list(x.shape),
                      'data_offsets': [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        for _, _, x in items:
            f.write(x.tobytes())
    from safetensors import safe_open          # an independent reader agrees
    with safe_open(path, 'np') as f:
        assert sorted(f.keys()) == sorted(tensors)


def versions(*modules):
    """metadata every golden file carries"""
    return ' '.join([f'python {platform.python_version()}'] +
                    [f'{m.__name__} {m.__version__}' for m in modules])
