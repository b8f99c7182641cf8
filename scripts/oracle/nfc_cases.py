"""Golden NFC from the HF tokenizers library (Unicode 9.0).
usage: nfc_cases.py OUT       (tests/golden/tok/nfc.txt)
A line: the text, a tab, its NFC, both in hex code points; nothing behind the
tab where the text stays.  Every character that has a canonical decomposition,
sixteen a line, as it is and decomposed, between letters; then random texts of
starters and marks, seed 1.  Lines on whose text Python's newer unicodedata has
another answer begin with !."""
import random
import sys
import unicodedata as U

import tokenizers

N = tokenizers.normalizers.NFC().normalize_str
ALL = [chr(c) for c in range(0x110000) if not 0xd800 <= c < 0xe000]
whole = [c for c in ALL if U.decomposition(c) and U.decomposition(c)[0] != '<']
marks = [c for c in ALL if U.combining(c)]
kinds = {}
for c in marks:
    kinds.setdefault(U.combining(c), []).append(c)
first = sorted({U.normalize('NFD', c)[0] for c in whole})
second = sorted({x for c in whole for x in U.normalize('NFD', c)[1:]})
jamo = ['\u1100', '\u1112', '\u1113', '\u1161', '\u1175', '\u1176', '\u11a7',
        '\u11a8', '\u11c2', '\u11c3', '\uac00', '\uac01', '\ud7a3', '\ud788']


def cases():
    for i in range(0, len(whole), 16):
        yield 'x'.join(whole[i:i + 16])
        yield U.normalize('NFD', 'x'.join(whole[i:i + 16]))
    r = random.Random(1)
    for i in range(1500):
        pool = [r.sample(first, 3), r.sample(second, 3), r.sample(marks, 2),
                [r.choice(kinds[k]) for k in r.sample(sorted(kinds), 3)],
                r.sample(whole, 2), jamo, ['a', ' ', '\u0301', '\u0323']]
        yield ''.join(r.choice(r.choice(pool))
                      for _ in range(r.choice([2, 3, 4, 6, 8])))
    yield 'a' + '\u0301\u0323' * 200
    yield '\u0300' * 300
    yield '\uac00' * 100 + '\u11a8' * 3


def points(s):
    return ' '.join(f'{ord(c):x}' for c in s)


with open(sys.argv[1], 'w') as f:
    f.write(f'# tokenizers {tokenizers.__version__}\n')
    n = new = 0
    for x in cases():
        y = N(x)
        assert N(y) == y
        odd = y != U.normalize('NFC', x)
        f.write(f'{"!" if odd else ""}{points(x)}\t{points(y) if x != y else ""}\n')
        n += 1
        new += odd
print(n, 'texts,', new, 'with an answer of their own')
