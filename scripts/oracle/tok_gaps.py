"""Ids that the HF tokenizers library gives added tokens, whose "id" it does not
read, if the vocabulary has gaps or the list another order.
usage: tok_gaps.py TOKENIZER.json > tests/golden/tok/gaps.jsonl
A line has what takes the place of the tokenizer's added tokens ([id, text]),
further entries of its vocabulary, and the ids of a text.  tokenizers 0.23.3."""
import json
import sys

from tokenizers import Tokenizer

N = 867                                     # entries of digits.json
TEXT = 'a<s>b</s>1<n>'
CASES = [
    ({}, [[N, '<s>'], [N + 1, '</s>'], [N + 2, '<n>']]),
    ({}, [[N + 8, '<s>'], [N + 9, '</s>'], [N + 10, '<n>']]),
    ({'xyz': N + 8}, [[N + 9, '<s>'], [N + 10, '</s>'], [N + 11, '<n>']]),
    ({'<s>': N + 8}, [[N + 8, '<s>'], [N + 9, '</s>'], [N + 10, '<n>']]),
    ({}, [[N + 1, '</s>'], [N, '<s>'], [N + 2, '<n>']]),
    ({}, [[N, '<s>'], [N, '<s>'], [N + 1, '</s>'], [N + 2, '<s>'], [N + 3, '<n>']]),
]

for vocab, added in CASES:
    j = json.load(open(sys.argv[1]))
    j['model']['vocab'] |= vocab
    assert len(j['model']['vocab']) == N + len(vocab)
    j['added_tokens'] = [dict(id=i, content=s, single_word=False, lstrip=False, rstrip=False,
                              normalized=False, special=True) for i, s in added]
    ids = Tokenizer.from_str(json.dumps(j)).encode(TEXT, add_special_tokens=False).ids
    print(json.dumps(dict(vocab=vocab, added=added, text=TEXT, ids=ids)))
