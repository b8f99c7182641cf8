"""The table of tokenize --stats by the HF tokenizers library: words of tokens
by their offsets in the text, not by the tokens' own text.
usage: tok_stats.py TOKENIZER.json FILE.jsonl ... > tests/golden/tok/stats.tsv
The tokenizer is of byte level; documents are the records' "text".  tokenizers
0.23.3."""
import json
import os
import re
import sys

from tokenizers import Tokenizer

PLAIN = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE = {chr(b): b for b in PLAIN}
BYTE |= {chr(256 + i): b
         for i, b in enumerate(b for b in range(256) if b not in PLAIN)}


def broken(token):
    try:
        bytes(BYTE[c] for c in token).decode()
    except UnicodeDecodeError:
        return 1
    return 0


def of(tok, texts):
    r = dict.fromkeys('documents bytes characters words tokens split '
                      'fallback'.split(), 0)
    seen = set()
    for text in texts:
        e = tok.encode(text, add_special_tokens=False)
        words = [m.span() for m in re.finditer(r'\S+', text)]
        parts = [0] * len(words)
        owner = {c: w for w, (a, b) in enumerate(words) for c in range(a, b)}
        for a, b in e.offsets:
            for w in {owner[c] for c in range(a, b) if c in owner}:
                parts[w] += 1
        r['documents'] += 1
        r['bytes'] += len(text.encode())
        r['characters'] += len(text)
        r['words'] += len(words)
        r['tokens'] += len(e.ids)
        r['split'] += sum(p > 1 for p in parts)
        r['fallback'] += sum(map(broken, e.tokens))
        seen.update(e.ids)
    return r, seen


def row(name, r, seen, english):
    parity = f"{r['tokens'] / english['tokens']:.3f}" \
        if english and english['documents'] == r['documents'] else '-'
    print(name, r['documents'], r['bytes'], r['characters'], r['words'],
          r['tokens'], f"{r['tokens'] / r['words']:.3f}",
          f"{r['characters'] / r['tokens']:.3f}",
          f"{r['split'] / r['words']:.4f}",
          f"{r['fallback'] / r['tokens']:.6f}", len(seen), parity, sep='\t')


tok = Tokenizer.from_file(sys.argv[1])
rows = {}
for path in sys.argv[2:]:
    with open(path, encoding='utf-8') as f:
        texts = [json.loads(line)['text'] for line in f]
    rows[os.path.basename(path).split('.')[0]] = of(tok, texts)
print(*'source documents bytes characters words tokens tokens/word '
      'characters/token split fallback distinct parity'.split(),
      sep='\t')
for name, (r, seen) in rows.items():
    row(name, r, seen, rows['en'][0] if 'en' in rows else None)
total = {k: sum(r[k] for r, _ in rows.values()) for k in r}
row('all', total, set().union(*(s for _, s in rows.values())), None)
