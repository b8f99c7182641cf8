"""Time and memory of LoRA training by PEFT, beside student --lora.
usage: lora_peer.py MODEL BATCHES [--threads N] [--steps N] [--dtype f32|bf16]
                    [--checkpointing] [--rank N]
MODEL: a Hugging Face directory; BATCHES: a stream of batches whose rows are full, as
`stream -B ROWS -T TOKENS -o BATCHES` writes it.  Prints a line for each step, and the
median of the steps after the second: wall and processor seconds, samples a second, and
the process's peak memory.  The adapter changes all linear layers but the head; its
optimiser is torch.optim.AdamW.  scripts/lora-peer runs it and student in turn."""
import argparse
import json
import resource
import statistics
import struct
import time

import numpy as np
import peft
import torch
import transformers


def batches(path):
    """ids [B,T] of each batch of a stream"""
    with open(path, 'rb') as f:
        while head := f.read(8):
            n, = struct.unpack('<Q', head)
            text = json.loads(f.read(n))
            size = max((t['data_offsets'][1] for k, t in text.items()
                        if k != '__metadata__'), default=0)
            data = f.read(size)
            if text['__metadata__']['kind'] != 'batch':
                continue
            t = text['ids']
            a, b = t['data_offsets']
            kind = np.uint16 if t['dtype'] == 'U16' else np.uint32
            yield torch.tensor(np.frombuffer(data[a:b], kind).reshape(t['shape'])
                               .astype(np.int64))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('model')
    p.add_argument('batches')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--steps', type=int, default=7)
    p.add_argument('--rank', type=int, default=16)
    p.add_argument('--dtype', default='f32')
    p.add_argument('--checkpointing', action='store_true')
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    dtype = torch.float32 if a.dtype == 'f32' else torch.bfloat16
    m = transformers.AutoModelForCausalLM.from_pretrained(a.model, dtype=dtype)
    if a.checkpointing:
        m.gradient_checkpointing_enable()
        m.enable_input_require_grads()
    m = peft.get_peft_model(m, peft.LoraConfig(
        r=a.rank, lora_alpha=2 * a.rank, target_modules='all-linear',
        task_type='CAUSAL_LM'))
    m.train()
    opt = torch.optim.AdamW([x for x in m.parameters() if x.requires_grad], lr=1e-3,
                            betas=(0.9, 0.95), weight_decay=0)
    data = list(batches(a.batches))
    wall, cpu = [], []
    for i in range(a.steps):
        ids = data[i % len(data)]
        t, c = time.perf_counter(), time.process_time()
        loss = m(ids, labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        wall.append(time.perf_counter() - t)
        cpu.append(time.process_time() - c)
        print(f'{i + 1}\t{loss.item():.4f}\t{wall[-1]:.3f}\t{cpu[-1]:.3f}', flush=True)
    rows = data[0].shape[0]
    print(f'# PEFT {a.dtype}, {rows} rows of {data[0].shape[1]}: '
          f'wall {statistics.median(wall[2:]):.3f} s, cpu '
          f'{statistics.median(cpu[2:]):.3f} s (least {min(cpu[2:]):.3f}), '
          f'{rows / statistics.median(wall[2:]):.3f} samples/s, peak '
          f'{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB')


main()
