"""Golden ids of Split patterns, with the vocabulary of gpt2.json.
usage: tok_patterns.py OUTDIR    (tests/golden/tok; reads OUTDIR/gpt2.json)
A line of patterns.jsonl: the members of the JSON that replace those of
gpt2.json ("pre_tokenizer", "ignore_merges"), then lines {"text","ids"}."""
import json
import sys

from tokenizers import Tokenizer

import tok_cases

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
OUT = sys.argv[1]


def split(regex):
    return {'type': 'Sequence', 'pretokenizers': [
        {'type': 'Split', 'pattern': {'Regex': regex}, 'behavior': 'Isolated',
         'invert': False},
        {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True,
         'use_regex': False}]}


base = json.load(open(f'{OUT}/gpt2.json'))
texts = [x for x in tok_cases.cases('') if len(x) < 80]
with open(f'{OUT}/patterns.jsonl', 'w', encoding='utf-8') as f:
    for pre, ignore in ((split(LLAMA3), True),
                        (split(LLAMA3.replace('{1,3}', '')), False)):
        base['pre_tokenizer'] = pre
        base['model']['ignore_merges'] = ignore
        t = Tokenizer.from_str(json.dumps(base))
        rows = [dict(pre_tokenizer=pre, ignore_merges=ignore)]
        rows += [dict(text=x, ids=t.encode(x, add_special_tokens=False).ids)
                 for x in texts]
        for r in rows:
            f.write(json.dumps(r, separators=(',', ':')) + '\n')
