"""tokenizer.json of tiktoken's encodings, as transformers' converter writes them.
usage: tok_ranks.py JS_TIKTOKEN TOKDIR TEXTS.jsonl
JS_TIKTOKEN is the unpacked npm package js-tiktoken (1.0.21), whose dist/ranks has the
ranks.  Writes TOKDIR/cl100k (GPT-4; DBRX, with other special tokens) and TOKDIR/gpt_oss
(o200k_base with the special tokens of gpt-oss) and compares their ids of TEXTS with
those of tiktoken itself, special tokens taken as text."""
import base64
import json
import os
import re
import sys

import tiktoken
import tokenizers
import transformers
from transformers.convert_slow_tokenizer import TikTokenConverter

from tok_families import CL100K, TEKKEN

SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = re.sub(r'(\[\\p{Ll}[^]]*\][+*])\|', lambda m: m[1] + SHORT + '|', TEKKEN).replace(
    r'\p{N}|', r'\p{N}{1,3}|')

HARMONY = {'<|startoftext|>': 199998, '<|endoftext|>': 199999, '<|return|>': 200002,
           '<|constrain|>': 200003, '<|channel|>': 200005, '<|start|>': 200006,
           '<|end|>': 200007, '<|message|>': 200008, '<|call|>': 200012,
           '<|endofprompt|>': 200018}
ENCODINGS = {'cl100k': ('cl100k_base', CL100K, None), 'gpt_oss': ('o200k_base', O200K, HARMONY)}


def ranks(path):
    text = open(path, encoding='utf-8').read()
    j = json.JSONDecoder().raw_decode(text[text.index('{'):])[0]
    out = {}
    for line in j['bpe_ranks'].split('\n'):
        _, first, *tokens = line.split(' ')
        for i, t in enumerate(tokens):
            out[base64.b64decode(t)] = int(first) + i
    return out, j['special_tokens']


def special_tokens(special, most):
    """all ids above the ranks: those without a name are reserved"""
    names = {v: k for k, v in special.items()}
    return [names.get(i, f'<|reserved_{i}|>') for i in range(most, max(names) + 1)]


def make(js, name, out):
    file, pattern, special = ENCODINGS[name]
    have, own = ranks(f'{js}/dist/ranks/{file}.js')
    special = special or own
    c = TikTokenConverter(vocab_file='', pattern=pattern,
                          extra_special_tokens=special_tokens(special, len(have)))
    c.load_tiktoken_bpe = lambda _: have
    t = c.converted()
    for token, i in special.items():
        assert t.token_to_id(token) == i, (token, i)
    os.makedirs(f'{out}/{name}', exist_ok=True)
    t.save(f'{out}/{name}/tokenizer.json', pretty=False)
    return t, tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=have,
                                special_tokens=special)


if __name__ == '__main__':
    js, out, texts = sys.argv[1:]
    texts = [json.loads(x) for x in open(texts, encoding='utf-8')]
    print('tiktoken', tiktoken.__version__, 'tokenizers', tokenizers.__version__,
          'transformers', transformers.__version__)
    for name in ENCODINGS:
        t, theirs = make(js, name, out)
        t.encode_special_tokens = True
        wrong = [x for x in texts if t.encode(x).ids != theirs.encode(
            x, disallowed_special=())]
        print(name, len(texts), 'texts,', len(wrong), 'differ', *map(ascii, wrong[:3]))
        assert not wrong
