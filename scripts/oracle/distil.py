"""Peer of recipes/reference.mk and gemma3.mk: distillation in PyTorch as a user
of transformers writes it; the student is the model without its blocks of least
influence.
usage: distil.py LR kd|ce|eval STEPS BLOCKS_REMOVED HFDIR TRAIN EVAL.txt
                 [SEED | STREAM [DIR]]
       (needs torch, transformers, tokenizers; written with torch 2.13,
        transformers 5; HFDIR: the model, by retort's convert or prune)
kd: 0.25 CE + KL (T = 3, times 9) + SquareHead; ce: CE alone.  A step has 4
rows of 256 tokens, drawn by SEED (0) from all rows of TRAIN but the last 40.
With STREAM, a file that retort's stream wrote, steps are its batches in order,
at the learning rates of student, and the loss of each step is printed.  AdamW
(0.9, 0.95; no decay), 10 steps of warm-up, cosine to 0, gradients clipped at
1.  Prints perplexity, KL to the model and agreement on the first 40 rows of
the first 60,000 characters of EVAL, and on the 40 rows of TRAIN left out.
TRAIN: a file, or a folder of files, at most 200 rows of each.  The student is
written to DIR.  Weights are fp32; with AUTOCAST in the environment products
are in bfloat16, as torch.autocast has them."""
import json
import math
import os
import shutil
import struct
import sys
import time

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

L, B = 256, 4
torch.set_num_threads(len(os.sched_getaffinity(0)))
order = sys.argv[8] if len(sys.argv) > 8 else "0"
saved = sys.argv[9] if len(sys.argv) > 9 else None
torch.manual_seed(int(order) if order.isdigit() else 0)
lr, mode = float(sys.argv[1]), sys.argv[2]
steps, ndrop, hf = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
tok = Tokenizer.from_file(hf + "/tokenizer.json")


def load():
    return AutoModelForCausalLM.from_pretrained(hf, dtype=torch.float32)


def rows(text):
    """Rows of text, each with BOS if the tokenizer puts one before a text."""
    bos = torch.tensor(tok.encode("").ids, dtype=torch.int64)
    ids = torch.tensor(tok.encode(text, add_special_tokens=False).ids)
    n = L - len(bos)
    ids = ids[: len(ids) // n * n].view(-1, n)
    return torch.cat([bos.expand(len(ids), -1), ids], 1)


def files(path):
    """Rows of a file, or at most 200 of each file of a folder."""
    if not os.path.isdir(path):
        return rows(open(path).read())
    return torch.cat([rows(open(os.path.join(path, f)).read())[:200]
                      for f in sorted(os.listdir(path)) if f.endswith(".txt")])


def products():
    return torch.autocast("cpu", torch.bfloat16, "AUTOCAST" in os.environ)


def streamed(path):
    """Rows of ids of each batch of a stream: safetensors one after another."""
    r = []
    with open(path, "rb") as f:
        while size := f.read(8):
            head = json.loads(f.read(struct.unpack("<Q", size)[0]))
            kind = head.pop("__metadata__")["kind"]
            data = f.read(max((t["data_offsets"][1] for t in head.values()),
                              default=0))
            if kind == "batch":
                a, b = head["ids"]["data_offsets"]
                ids = torch.frombuffer(bytearray(data[a:b]), dtype=torch.uint16)
                r.append(ids.to(torch.int64).view(head["ids"]["shape"]))
    return r


T, S = load().eval(), load()
V, blocks = T.config.vocab_size, T.config.num_hidden_layers
batches = [] if order.isdigit() else streamed(order)
train = files(sys.argv[6])
train, hold = train[:-40], train[-40:]
judged = rows(open(sys.argv[7]).read()[:60000])[:40]
print("train rows", len(train), "tokens", train.numel(), flush=True)


@torch.no_grad()
def figures(m):
    """Perplexity, KL from T and agreement with it, on both sets of rows."""
    r = []
    for X in (judged, hold):
        nll = kl = same = n = 0
        for i in range(0, len(X), 8):
            x = X[i : i + 8]
            with products():
                a, b = m(x).logits[:, :-1], T(x).logits[:, :-1]
            a = torch.log_softmax(a.float(), -1)
            b = torch.log_softmax(b.float(), -1)
            nll -= a.gather(-1, x[:, 1:, None]).sum().item()
            kl += (b.exp() * (b - a)).sum().item()
            same += (a.argmax(-1) == b.argmax(-1)).sum().item()
            n += x[:, 1:].numel()
        r += [round(math.exp(nll / n), 2), round(kl / n, 3), round(same / n, 3)]
    return r


if mode == "eval":
    print("teacher", figures(T))
    sys.exit()

# The influence of a block: 1 - cos(input, output), of the first 32 rows.
with torch.no_grad():
    h = T(train[:32], output_hidden_states=True).hidden_states
    bi = [(1 - F.cosine_similarity(h[i], h[i + 1], dim=-1)).mean().item()
          for i in range(blocks)]
drop = sorted(sorted(range(1, blocks - 1), key=lambda i: bi[i])[:ndrop])
keep = [i for i in range(blocks) if i not in drop]
print("BI", [round(b, 3) for b in bi], "drop", drop, flush=True)
S.model.layers = torch.nn.ModuleList([S.model.layers[i] for i in keep])
for j, layer in enumerate(S.model.layers):
    layer.self_attn.layer_idx = j
S.config.num_hidden_layers = len(keep)
if getattr(S.config, "layer_types", None):
    S.config.layer_types = [S.config.layer_types[i] for i in keep]
print("params", sum(p.numel() for p in S.parameters()), "pruned eval", figures(S),
      flush=True)


def as_student(it):
    """Share of the peak rate at a step, by transformers' cosine with warm-up."""
    if it < 10:
        return it / 10
    return 0.5 * (1 + math.cos(math.pi * (it - 10) / (steps - 10)))


def square_head(s, t):
    """Mean over blocks of the squared distance, divided by the teacher's square."""
    return sum(
        F.mse_loss(s[j + 1].float(), t[k + 1].float()) /
        (t[k + 1].float().pow(2).mean() + 1e-6)
        for j, k in enumerate(keep)) / len(keep)


opt = torch.optim.AdamW(S.parameters(), lr=lr, betas=(0.9, 0.95),
                        weight_decay=0.0)
began = time.time()
S.train()
for it in range(steps):
    rate = lr * (as_student(it) if batches else min(1, (it + 1) / 10) *
                 0.5 * (1 + math.cos(math.pi * it / steps)))
    for group in opt.param_groups:
        group["lr"] = rate
    x = batches[it] if batches else train[torch.randint(0, len(train), (B,))]
    with products():
        s = S(x, output_hidden_states=mode == "kd")
    zs = s.logits[:, :-1].reshape(-1, V).float()
    ce = F.cross_entropy(zs, x[:, 1:].reshape(-1))
    kl = sh = torch.tensor(0.0)
    loss = ce
    if mode == "kd":
        with torch.no_grad(), products():
            t = T(x, output_hidden_states=True)
        zt = t.logits[:, :-1].reshape(-1, V).float()
        kl = 9.0 * F.kl_div(F.log_softmax(zs / 3.0, -1),
                            F.log_softmax(zt / 3.0, -1), log_target=True,
                            reduction="batchmean")
        sh = square_head(s.hidden_states, t.hidden_states)
        loss = 0.25 * ce + kl + sh
    loss.backward()
    torch.nn.utils.clip_grad_norm_(S.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    if batches:
        print("step %d loss %.6f" % (it + 1, loss.item()), flush=True)
    if (it + 1) % (steps // 4) == 0:
        S.eval()
        print(it + 1, (it + 1) * B * L, "ce %.3f kl %.3f sh %.4f" %
              (ce.item(), kl.item(), sh.item()), "ppl/kl/agree, in-domain",
              figures(S), "%.0fs" % (time.time() - began), flush=True)
        S.train()
if saved:
    S.save_pretrained(saved)
    for f in os.listdir(hf):
        if "token" in f:
            shutil.copy(os.path.join(hf, f), saved)
