"""Golden pieces of pre-tokenizers, the places where each cuts the texts.
usage: tok_patterns.py OUTDIR    (tests/golden/tok; reads OUTDIR/gpt2.json)
First line of patterns.jsonl: names and the JSON of each pre-tokenizer.  Then
{"text", NAME: lengths of its pieces in bytes, ...}.  Lengths and not ids,
since a small vocabulary has no merges across most wrong cuts."""
import json
import random
import sys

from tokenizers import Tokenizer

import tok_cases

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
UP, LOW = r'[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]', r'[\p{Ll}\p{Lm}\p{Lo}\p{M}]'
TEKKEN = (rf'[^\r\n\p{{L}}\p{{N}}]?{UP}*{LOW}+|[^\r\n\p{{L}}\p{{N}}]?{UP}+{LOW}*|'
          r'\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+')
SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
O200K = TEKKEN.replace(f'{LOW}+|', f'{LOW}+{SHORT}?|').replace(
    f'{LOW}*|\\p{{N}}|', f'{LOW}*{SHORT}?|\\p{{N}}{{1,3}}|')
QWEN35 = LLAMA3.replace('{1,3}', '').replace(r'\p{L}+|', r'[\p{L}\p{M}]+|').replace(
    r'[^\s\p{L}\p{N}]', r'[^\s\p{L}\p{M}\p{N}]')
DEEPSEEK = [r'\p{N}{1,3}', '[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+',
            '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|'
            '[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|'
            '\\s*[\r\n]+|\\s+(?!\\S)|\\s+']
OUT = sys.argv[1]


def split(*regex):
    return {'type': 'Sequence', 'pretokenizers': [
        *({'type': 'Split', 'pattern': {'Regex': r}, 'behavior': 'Isolated',
           'invert': False} for r in regex),
        {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True,
         'use_regex': False}]}


base = json.load(open(f'{OUT}/gpt2.json'))
byte_level = base['pre_tokenizer']
KINDS = {'gpt2': byte_level,
         'digits': {'type': 'Sequence', 'pretokenizers': [
             {'type': 'Digits', 'individual_digits': True}, byte_level]},
         'llama3': split(LLAMA3),
         'qwen2': split(LLAMA3.replace('{1,3}', '')),
         'tekken': split(TEKKEN), 'o200k': split(O200K),
         'qwen35': split(QWEN35), 'deepseek': split(*DEEPSEEK)}


def lengths(kind, text):
    base['pre_tokenizer'] = KINDS[kind]
    if kind not in cache:
        cache[kind] = Tokenizer.from_str(json.dumps(base)).pre_tokenizer
    return [len(p) for p, _ in cache[kind].pre_tokenize_str(text)]


cache = {}
texts = [x for x in tok_cases.cases('') if len(x) < 80]
texts += ["'\u017fx", "'Sx", "'lLx", "'rEx", "a'VEb", "'tx", '!x', '!!x', '\r\nx']
# words by case: L(u) l(l) t(Lt) m(Lm) o(Lo) and a mark, digits, / and spaces
LETTERS = ['A', '\u0416', 'b', '\u03bb', '\u01c5', '\u02b0', '\u00aa', '\u65e5',
           '\u0301', ' ', '  ', '\n', '/', '.', '1', "'s"]
rng = random.Random(4)
texts += [''.join(rng.choices(LETTERS, k=rng.randint(1, 9))) for _ in range(400)]
# contractions behind words of all kinds
texts += [a + b + c for a in ("don", " DON", "\u00e9", "\u0301", "x\u0301",
                              "\u65e5", "1", "!", " ", "it's")
          for b in ("'t", "'VE", "'ll", "'\u017f", "'x", "'") for c in ("", "a", "'s")]
# the classes that DeepSeek's patterns tell apart: Chinese and Japanese, marks, controls,
# unassigned characters, punctuation of ASCII and others, symbols, numbers
LETTERS = ['a', 'b\u00e9', '\u4e2d', '\u9fa6', '\u3042', '\u3099', '\u30fb', '\u30ff',
           '\u0301', '\x01', '\u200b', '\u0378', '\ue000', '!', '_', '\u2014', '\u20ac',
           '+', ' ', '  ', '\n', '\r', '\t', '\u00a0', '\u3000', '12', '\u0663']
texts += [''.join(rng.choices(LETTERS, k=rng.randint(1, 9))) for _ in range(600)]
with open(f'{OUT}/patterns.jsonl', 'w', encoding='utf-8') as f:
    for r in [KINDS] + [dict(text=x, **{k: lengths(k, x) for k in KINDS})
                        for x in texts]:
        f.write(json.dumps(r, separators=(',', ':')) + '\n')
