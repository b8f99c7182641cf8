"""Peer of the row ce_step of scripts/bench: training on cross entropy alone in
PyTorch, as an ordinary user of transformers writes it.  A random Llama of
SmolLM2-135M's shape in fp32, SDPA attention, fused AdamW, gradients clipped.
--amp: under autocast to bfloat16.
usage: ce_peer.py [-B rows] [-T tokens] [--steps n] [--threads n] [--amp]
       (needs torch and transformers; written with torch 2.13, transformers 5)
Prints one line of JSON: tok_s, tokens/s of the median step without the first;
peak_GB, resident memory in million kB; step_s, each step's seconds; the
versions."""
import argparse
import json
import resource
import statistics
import time

import torch
import transformers


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument('-B', type=int, default=2)
    p.add_argument('-T', type=int, default=512)
    p.add_argument('--steps', type=int, default=5)
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--amp', action='store_true')
    return p.parse_args()


def smollm2():
    shape = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536,
        num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
        max_position_embeddings=8192, rope_theta=100000.0,
        tie_word_embeddings=True, use_cache=False)
    return transformers.LlamaForCausalLM(shape).float().train()


def main():
    a = arguments()
    torch.manual_seed(1)
    torch.set_num_threads(a.threads)
    model = smollm2()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4,
                                  betas=(0.9, 0.95), fused=True)
    seconds = []
    for _ in range(a.steps):
        ids = torch.randint(model.config.vocab_size, (a.B, a.T))
        begin = time.perf_counter()
        with torch.autocast('cpu', dtype=torch.bfloat16, enabled=a.amp):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - begin)
    median = statistics.median(seconds[1:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({
        'tok_s': round(a.B * a.T / median, 1), 'peak_GB': round(peak / 1e6, 3),
        'step_s': [round(s, 3) for s in seconds],
        'torch': torch.__version__,
        'transformers': transformers.__version__}))


if __name__ == '__main__':
    main()
