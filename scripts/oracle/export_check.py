"""Does a directory written by retort load where users load it?
usage: export_check.py DIR [--ref DIR2] [--logits FILE.safetensors]
                       [--text FILE] [--cases FILE.jsonl] [--tol 2e-3]
                       [--llama CHECKOUT]
DIR       loaded with AutoModelForCausalLM, AutoTokenizer, GenerationConfig;
          missing or unexpected tensors and a config.json without rope_theta or
          rope_parameters are failures; a README.md must be a model card that
          huggingface_hub (1.x) reads, with valid YAML and the tag retort; an
          index must agree with the shards
--ref     another directory: largest difference of logits, equal ids, equal
          rendering of the chat template
--logits  golden logits (ids, positions, vocab, logits as in
          tests/golden/smollm2/logits.safetensors; vocab may be missing)
--text    text for ids and, with --ref, logits (up to 4 windows of 512)
--cases   {"text","ids"} a line, compared with DIR's tokenizer
--llama   llama.cpp checkout with build/bin: convert_hf_to_gguf.py, then ids by
          llama-tokenize and perplexity by llama-perplexity (float32 KV cache)
Prints one line a check, `ok` or `FAILED`; status 1 if any failed."""
import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

failed = 0


def check(good, what):
    global failed
    failed += not good
    print('ok' if good else 'FAILED', '-', what, flush=True)


def load(path):
    m, info = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, output_loading_info=True)
    return m.eval(), AutoTokenizer.from_pretrained(path), info


def card(path):
    from huggingface_hub import ModelCard
    d = ModelCard.load(path).data.to_dict()
    check('retort' in d['tags'] and d['library_name'] == 'transformers', f'README.md: {d}')


def shards(path):
    index = json.load(open(path))
    held, size = {}, 0
    for name in sorted(set(index['weight_map'].values())):
        with safe_open(f'{os.path.dirname(path)}/{name}', 'pt') as s:
            for k in s.keys():
                held[k] = name
                size += s.get_tensor(k).nbytes
    check(held == index['weight_map'] and size == index['metadata']['total_size'],
          f'index: {len(held)} tensors, {size} bytes in {len(set(held.values()))} shards')


def logits(m, ids):
    with torch.no_grad():
        return torch.cat([m(r[None]).logits for r in ids])


def windows(ids, n=512):
    k = min(4, len(ids) // n) or 1
    n = min(n, len(ids))
    return torch.tensor(ids[:k * n]).reshape(k, n)


def worst(a, b):
    return (a - b).abs().max().item()


def with_llama(a, m, tok, text):
    py = sys.executable
    with tempfile.TemporaryDirectory() as tmp:
        out = f'{tmp}/model.gguf'
        r = subprocess.run([py, f'{a.llama}/convert_hf_to_gguf.py', a.dir, '--outfile', out,
                            '--outtype', 'f32'], capture_output=True, text=True)
        check(r.returncode == 0, 'convert_hf_to_gguf.py' + ''.join(
            '\n# ' + x for x in r.stderr.splitlines()[-5:] if r.returncode))
        if r.returncode:
            return
        opt = ['-m', out, '-f', a.text]
        ids = tok(text, add_special_tokens=False).input_ids
        r = subprocess.run([f'{a.llama}/build/bin/llama-tokenize', *opt, '--ids', '--no-bos',
                            '--no-escape', '--no-parse-special', '--log-disable'],
                           capture_output=True, text=True)
        check(json.loads(r.stdout or '[]') == ids, f'llama-tokenize: {len(ids)} ids equal')
        r = subprocess.run([f'{a.llama}/build/bin/llama-perplexity', *opt, '-c', '512', '-t', '2',
                            '--no-escape', '--chunks', '4', '-ctk', 'f32', '-ctv', 'f32',
                            '-fa', 'off'], capture_output=True, text=True)
        theirs = re.search(r'PPL = ([0-9.]+)', r.stdout + r.stderr)
        if not theirs:
            return check(False, 'llama-perplexity: ' + r.stderr.strip()[-200:])
        x = windows(ids)
        z = x.clone()
        if 'add BOS token = 1' in r.stderr or tok('a').input_ids[0] == tok.bos_token_id:
            z[:, 0] = tok.bos_token_id
        lp = torch.log_softmax(logits(m, z).double(), -1)[:, 256:-1]
        ours = math.exp(-lp.gather(2, x[:, 257:, None]).mean())
        check(abs(float(theirs[1]) / ours - 1) <= 5e-4,
              f'perplexity: llama.cpp {theirs[1]}, transformers {ours:.4f}')


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('dir')
    for o in ('ref', 'logits', 'text', 'cases', 'llama'):
        p.add_argument('--' + o)
    p.add_argument('--tol', type=float, default=2e-3)
    a = p.parse_args()
    torch.set_num_threads(2)
    m, tok, info = load(a.dir)
    bad = {k: v for k, v in info.items() if v}
    check(not bad, f'AutoModelForCausalLM: {sum(x.numel() for x in m.parameters())} parameters {bad or ""}')
    check(tok.eos_token_id == m.config.eos_token_id or not tok.eos_token,
          f'AutoTokenizer: {len(tok)} entries, bos {tok.bos_token!r} eos {tok.eos_token!r}')
    c = json.load(open(f'{a.dir}/config.json'))
    r = c.get('rope_parameters') or {}
    check(c.get('rope_theta') is not None and r.get('rope_theta') == c.get('rope_theta'),
          f'config.json: rope_theta {c.get("rope_theta")}, rope_parameters {r}')
    if os.path.exists(f'{a.dir}/generation_config.json'):
        g = GenerationConfig.from_pretrained(a.dir)
        check(g.eos_token_id is not None, f'generation_config.json: eos {g.eos_token_id}')
    else:
        check(False, 'generation_config.json is missing')
    for f in glob.glob(f'{a.dir}/*.safetensors'):
        with safe_open(f, 'pt') as s:
            n = sum(not s.get_tensor(k).isfinite().all() for k in s.keys())
            check(n == 0, f'{os.path.basename(f)}: finite, metadata {s.metadata()}')
    if os.path.exists(f'{a.dir}/README.md'):
        card(f'{a.dir}/README.md')
    if os.path.exists(f'{a.dir}/model.safetensors.index.json'):
        shards(f'{a.dir}/model.safetensors.index.json')
    text = open(a.text, encoding='utf-8', newline='').read() if a.text else None
    if a.logits:
        with safe_open(a.logits, 'pt') as s:
            z = logits(m, s.get_tensor('ids').long())[:, s.get_tensor('positions').long()]
            if 'vocab' in s.keys():
                z = z[:, :, s.get_tensor('vocab').long()]
            d = worst(z, s.get_tensor('logits'))
        check(d <= a.tol, f'golden logits: max abs difference {d:.3g}')
    if a.cases:
        rows = [json.loads(x) for x in open(a.cases, encoding='utf-8', newline='\n')]
        n = sum(tok(x['text'], add_special_tokens=False).input_ids != x['ids'] for x in rows)
        check(n == 0, f'cases: {n} of {len(rows)} differ')
    if a.ref:
        m2, tok2, _ = load(a.ref)
        ids = tok(text, add_special_tokens=False).input_ids if text else list(range(3, 99))
        if text:
            check(ids == tok2(text, add_special_tokens=False).input_ids,
                  f'ids of the text equal the reference: {len(ids)}')
            check(tok(text).input_ids == tok2(text).input_ids, 'with special tokens too')
            check(tok.decode(ids) == tok2.decode(ids), 'decoded alike')
        x = windows(ids)
        d = worst(logits(m, x), logits(m2, x))
        check(d <= a.tol, f'logits against the reference: max abs difference {d:.3g}')
        if tok2.chat_template:
            chat = [dict(role='user', content='Hi'), dict(role='assistant', content='Ho')]
            one, two = (t.apply_chat_template(chat, tokenize=False) if t.chat_template else None
                        for t in (tok, tok2))
            check(one == two, f'chat template: {one!r}')
    if a.llama:
        with_llama(a, m, tok, text)
    sys.exit(failed > 0)


main()
