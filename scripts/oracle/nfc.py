"""Tables of NFC as the HF tokenizers library does it (Unicode 9.0).
usage: nfc.py OUT.c        (lib/text/unicode_nfc_table.c)
From Python's unicodedata, without what the library does not know: characters
that Unicode 10 and later gave a combining class or a decomposition.  Each is
found by asking the library, over all code points."""
import sys
import unicodedata as U

import tokenizers

N = tokenizers.normalizers.NFC().normalize_str
ALL = [c for c in range(0x110000) if not 0xd800 <= c < 0xe000]


def known_class(c, k):
    """does the library reorder c, of class k?"""
    s = 'a\u0345' + chr(c) if k == 1 else 'a' + chr(c) + '\u0334'
    return N(s) == U.normalize('NFC', s)


ccc = {c: U.combining(chr(c)) for c in ALL if U.combining(chr(c))}
ccc = {c: k for c, k in ccc.items() if known_class(c, k)}
decomp = {}
for c in ALL:
    d = U.decomposition(chr(c))
    if not d or d.startswith('<'):
        continue
    p = [int(x, 16) for x in d.split()] + [0]
    whole = U.normalize('NFD', chr(c))
    if N(whole) != U.normalize('NFC', whole):
        print(f'left out: U+{c:04X}')
        continue
    decomp[c] = p[:2]
pairs = sorted((c for c, (a, b) in decomp.items()
                if b and U.normalize('NFC', chr(a) + chr(b)) == chr(c)),
               key=lambda c: decomp[c])
second = {decomp[c][1] for c in pairs}
second |= set(range(0x1161, 0x1176)) | set(range(0x11a8, 0x11c3))
flagged = {c for c in ALL if c in ccc or c in second or
           c in decomp and U.normalize('NFC', chr(c)) != chr(c)}
assert min(flagged) == 0x300 and max(flagged) < 0x30000
for c in ALL:                       # the library agrees on every one
    assert (N(chr(c)) == chr(c)) == (c not in decomp or
                                     U.normalize('NFC', chr(c)) == chr(c))

blocks, index = [], []
for b in range(0x30000 // 64):
    w = sum(1 << i for i in range(64) if b * 64 + i in flagged)
    if w not in blocks:
        blocks.append(w)
    index.append(blocks.index(w))
ranges = []
for c in sorted(ccc):
    if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == ccc[c]:
        ranges[-1][1] = c
    else:
        ranges.append([c, c, ccc[c]])
order = sorted(decomp)
at = {c: i for i, c in enumerate(order)}


def rows(items):
    line, out = '   ', []
    for x in items:
        if len(line) + len(x) + 2 > 80:
            out.append(line)
            line = '   '
        line += ' ' + x + ','
    return '\n'.join(out + [line])


assert len(blocks) < 256
with open(sys.argv[1], 'w') as f:
    f.write(f'''/* Made by scripts/oracle/nfc.py with tokenizers {tokenizers.__version__}; see unicode_nfc.h. */
#include "text/unicode_nfc.h"
/* clang-format off */

const uint8_t nfc_index[{len(index)}] = {{
{rows(map(str, index))}
}};
const uint64_t nfc_bits[{len(blocks)}] = {{
{rows(f'0x{w:x}' for w in blocks)}
}};
const struct nfc_class nfc_class[{len(ranges)}] = {{
{rows(f'{{0x{a:x}, 0x{b:x}, {k}}}' for a, b, k in ranges)}
}};
const struct nfc_decomp nfc_decomp[{len(order)}] = {{
{rows(f'{{0x{c:x}, 0x{decomp[c][0]:x}, 0x{decomp[c][1]:x}}}' for c in order)}
}};
const uint16_t nfc_pair[{len(pairs)}] = {{
{rows(str(at[c]) for c in pairs)}
}};
''')
print(len(blocks), len(ranges), len(order), len(pairs))
