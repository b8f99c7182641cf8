"""Character classes as the HF tokenizers library sees them.
usage: unicode.py lib/text/unicode_runs.inc lib/text/unicode_punct.inc
Every code point is put to the library itself, because it mixes Unicode
versions: Split and ByteLevel patterns, Digits and single_word each use tables
of their own.  The classes are those of lib/text/unicode.h."""
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers as P

N = 0x110000


def text(c):
    return chr(c) if not 0xd800 <= c < 0xe000 else ''


def matching(regex):
    """code points that match a pattern: those that Split removes"""
    every = ''.join(map(text, range(N)))
    kept = set()
    for piece, _ in P.Split(Regex(regex), 'removed').pre_tokenize_str(every):
        kept.update(map(ord, piece))
    return {ord(c) for c in every} - kept


def digits():
    d = P.Digits(individual_digits=True)
    return {c for c in range(N)
            if text(c) and len(d.pre_tokenize_str(f'a{chr(c)}a')) == 3}


def word():
    """what keeps a single_word token from being found beside it"""
    t = Tokenizer(models.BPE({'x': 0}, []))
    t.add_special_tokens([AddedToken('<w>', single_word=True)])
    w = t.token_to_id('<w>')
    return {c for c in range(N) if text(c) and w not in t.encode(chr(c) + '<w>').ids}


cls = bytearray(N)
lt = matching(r'\p{Lt}')
for bit, found in ((1, matching(r'\p{L}')), (2, matching(r'\p{M}')),
                   (4, matching(r'\p{N}')), (8, matching(r'\s')),
                   (16, digits()), (32, word()), (64, matching(r'\p{Lu}') | lt),
                   (128, matching(r'\p{Ll}'))):
    for c in found:
        cls[c] |= bit
    print(bit, len(found))

# Runs of one class; where upper and lower case letters take turns, one run
# whose class has both bits.
PAIRS = 225
runs, i = [], 0
while i < N:
    n = 1
    if i + 1 < N and (cls[i], cls[i + 1]) == (PAIRS & ~128, PAIRS & ~64):
        while i + n < N and cls[i + n] == cls[i + n % 2]:
            n += 1
        if n > 3:
            n -= n % 2
            runs.append((n, PAIRS))
            i += n
            continue
        n = 1
    while i + n < N and cls[i + n] == cls[i]:
        n += 1
    runs.append((n, cls[i]))
    i += n
assert PAIRS not in cls


def write_items(f, items):
    """Write the items in lines of at most 79 columns."""
    line = ''
    for item in items:
        if len(line) + len(item) > 79:
            f.write(line + '\n')
            line = ''
        line += ' ' * bool(line) + item
    f.write(line + '\n')


with open(sys.argv[1], 'w') as f:
    f.write(f'/* Character classes, see unicode.h.  Made by '
            f'scripts/oracle/unicode.py from\n * tokenizers '
            f'{tokenizers.__version__} (patterns: Unicode 16). */\n')
    write_items(f, [f'{n},{c},' for n, c in runs])
print(len(runs))

# First and last of each run of punctuation and symbols, one after another
punct = sorted(matching(r'[\p{P}\p{S}]'))
ends = [c for i, c in enumerate(punct) for near in (c - 1, c + 1)
        if not (near in punct[i - 1:i] or near in punct[i + 1:i + 2])]
with open(sys.argv[2], 'w') as f:
    f.write(f'/* Punctuation and symbols, see unicode.h.  Made by '
            f'scripts/oracle/unicode.py\n * from tokenizers '
            f'{tokenizers.__version__} (Unicode 16). */\n')
    write_items(f, [f'{c},' for c in ends])
print(len(ends))
