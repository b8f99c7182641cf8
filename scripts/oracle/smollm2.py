"""Golden values of SmolLM2-135M: logits, perplexities, a greedy continuation.
usage: smollm2.py HFDIR MODEL.gguf TEXT OUTDIR [LLAMA_BIN F32.gguf]
HFDIR: the GGUF as a float32 Hugging Face directory, its tokenizer with the
Digits(individual) step that transformers' conversion drops and its config with
both rope_theta and rope_parameters.  TEXT: tests/golden/smollm2/text.txt.
OUTDIR: tests/golden/smollm2.  LLAMA_BIN: folder of llama.cpp's programs;
F32.gguf: the model by llama-quantize --allow-requantize
--token-embedding-type f32 MODEL.gguf F32.gguf F32.
Writes ids.bin (u16), logits.safetensors, values.json.

Perplexity as llama-perplexity has it: ids of the whole text; disjoint windows
of 512, the rest dropped; if the tokenizer adds a BOS (this one does not:
tokenizer.ggml.add_bos_token is false) it replaces the first id of a window;
positions 256..510 are scored, 255 a window, each predicting the next id;
exp(mean).  It strips one newline at the end of the text and expands backslash
escapes in it; add_special is true, special tokens in the text stay text."""
import json
import math
import os
import re
import subprocess
import sys

import gguf
import numpy as np
import safetensors.numpy
import torch
import transformers
import tokenizers

import llama_ref as R
import st

POS = [0, 1, 2, 3, 7, 31, 63, 127, 128, 200, 255, 256, 300, 383, 500, 511]
PROMPT = 'The lighthouse keeper opened the door and'
T = 512


def from_gguf(path):
    """weights of a llama GGUF under Hugging Face names, Q and K unpermuted"""
    r = gguf.GGUFReader(path)
    heads = r.fields['llama.attention.head_count'].contents()
    kv = r.fields['llama.attention.head_count_kv'].contents()
    name = {'attn_norm': 'input_layernorm', 'ffn_norm': 'post_attention_layernorm',
            'attn_q': 'self_attn.q_proj', 'attn_k': 'self_attn.k_proj',
            'attn_v': 'self_attn.v_proj', 'attn_output': 'self_attn.o_proj',
            'ffn_gate': 'mlp.gate_proj', 'ffn_up': 'mlp.up_proj',
            'ffn_down': 'mlp.down_proj'}
    out = {}
    for t in r.tensors:
        w = gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
        w = w.reshape(t.shape[::-1])
        p = t.name.split('.')
        if p[0] == 'blk':
            if p[2] in ('attn_q', 'attn_k'):
                h = heads if p[2] == 'attn_q' else kv
                # the file holds dimension i and i + D/2 of a head side by side
                w = w.reshape(h, w.shape[0] // h // 2, 2, -1).swapaxes(1, 2)
                w = w.reshape(-1, w.shape[-1])
            n = f'model.layers.{p[1]}.{name[p[2]]}.weight'
        else:
            n = {'token_embd': 'model.embed_tokens.weight', 'output': 'lm_head.weight',
                 'output_norm': 'model.norm.weight'}[p[0]]
        out[n] = np.ascontiguousarray(w)
    return out


def perplexity(bindir, model, text, *more):
    cmd = ['llama-perplexity', '-m', model, '-f', text, '-c', str(T), '-t', '2', *more]
    r = subprocess.run([f'{bindir}/{cmd[0]}', *cmd[1:]], capture_output=True, text=True)
    out = r.stdout + r.stderr
    run = [float(x) for x in re.findall(r'\[\d+\]([0-9.]+),', out)]
    end = re.search(r'PPL = ([0-9.]+) \+/- ([0-9.]+)', out)
    cmd[2], cmd[4] = os.path.basename(model), os.path.basename(text)
    return dict(command=' '.join(cmd), running=run, ppl=float(end[1]), error=float(end[2]))


def main(hf, path, textfile, out, bindir=None, f32=None):
    torch.set_num_threads(2)
    tok = tokenizers.Tokenizer.from_file(f'{hf}/tokenizer.json')
    text = open(textfile, encoding='utf-8', newline='').read()
    ids = tok.encode(text, add_special_tokens=False).ids
    m = transformers.AutoModelForCausalLM.from_pretrained(hf, dtype=torch.float32).eval()
    mine = from_gguf(path)
    theirs = safetensors.numpy.load_file(f'{hf}/model.safetensors')
    assert sorted(mine) == sorted(theirs)
    assert all(np.array_equal(mine[k], theirs[k]) for k in mine)

    n = len(ids) // T
    x = torch.tensor(ids[:n * T]).reshape(n, T)
    with torch.no_grad():
        z = torch.cat([m(r[None]).logits for r in x])
        w = {k: torch.from_numpy(v).double() for k, v in mine.items()}
        c = dict(blocks=m.config.num_hidden_layers, heads=m.config.num_attention_heads,
                 kv_heads=m.config.num_key_value_heads, head_dim=m.config.head_dim,
                 eps=m.config.rms_norm_eps, theta=m.config.rope_parameters['rope_theta'])
        exact = torch.stack([R.forward(w, c, r)[0] for r in x])
        prompt = tok.encode(PROMPT, add_special_tokens=False).ids
        y, margin = torch.tensor([prompt]), []
        for _ in range(32):
            top = m(y).logits[0, -1].topk(2)
            margin.append((top.values[0] - top.values[1]).item())
            y = torch.cat((y, top.indices[None, :1]), 1)
    lp = torch.log_softmax(z.double(), -1)
    nll = -lp[:, :-1].gather(2, x[:, 1:, None])[..., 0]
    nlx = -torch.log_softmax(exact, -1)[:, :-1].gather(2, x[:, 1:, None])[..., 0]
    run = [math.exp(nll[:i + 1, 256:].mean()) for i in range(n)]
    g = torch.Generator().manual_seed(3)
    pick = torch.randperm(z.shape[-1], generator=g)[:126].tolist() + [0, z.shape[-1] - 1]
    pick = torch.tensor(sorted(set(pick)))
    np.array(ids, dtype='<u2').tofile(f'{out}/ids.bin')
    top = z.max(-1)
    st.save(f'{out}/logits.safetensors', {
        'ids': x.to(torch.uint16), 'positions': torch.tensor(POS).int(),
        'vocab': pick.int(), 'logits': z[:, POS][:, :, pick].contiguous(),
        'lse': torch.logsumexp(z.double(), -1).float(), 'max': top.values,
        'argmax': top.indices.int(), 'nll': nll.float()},
        dict(made_by='scripts/oracle/smollm2.py',
             versions=st.versions(torch, transformers, tokenizers),
             model=os.path.basename(path)))
    v = dict(
        made_by='smollm2.py HFDIR MODEL.gguf TEXT OUTDIR LLAMA_BIN F32.gguf',
        versions=st.versions(torch, transformers, tokenizers),
        model=os.path.basename(path), window=T, windows=n, scored=255 * n,
        bytes=len(text.encode()), tokens=len(ids), add_bos=False,
        transformers=dict(ppl=run[-1], running=run, nll_sum=nll[:, 256:].sum().item(),
                          all_positions_ppl=math.exp(nll.mean())),
        double=dict(ppl=math.exp(nlx[:, 256:].mean()),
                    note='the same weights in double precision (llama_ref.py)',
                    max_abs_logit_difference=(exact - z).abs().max().item()),
        greedy=dict(prompt=PROMPT, prompt_ids=prompt, ids=y[0, len(prompt):].tolist(),
                    text=tok.decode(y[0, len(prompt):].tolist(), skip_special_tokens=False),
                    smallest_margin=min(margin)))
    if bindir:
        r = subprocess.run([f'{bindir}/llama-perplexity', '--version'],
                           capture_output=True, text=True)
        k = subprocess.run([f'{bindir}/llama-tokenize', '-m', f32, '-f', textfile, '--ids',
                            '--no-parse-special', '--log-disable'], capture_output=True, text=True)
        v['llama.cpp'] = dict(
            version=re.search(r'version: (.*)', r.stdout + r.stderr)[1],
            ids_equal=json.loads(k.stdout) == ids,
            f32=perplexity(bindir, f32, textfile),
            f32_kv_f32=perplexity(bindir, f32, textfile, '-ctk', 'f32', '-ctv', 'f32', '-fa', 'off'),
            q4_1=perplexity(bindir, path, textfile))
    with open(f'{out}/values.json', 'w') as f:
        json.dump(v, f, indent=1, ensure_ascii=False)
        f.write('\n')
    print(json.dumps(v, indent=1, ensure_ascii=False))


main(*sys.argv[1:])
