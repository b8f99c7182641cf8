"""Make a golden file of the results of processors' bfloat16 instructions.
usage: bf16.py DIR OUT        (tests/golden/kern/bf16.safetensors)
DIR has avx512.txt, amx.txt and bfmmla.txt, written by bf16_record.c on such a
processor.
avx512.*: lanes of 256 of its 1024 cases, of every kind, with c and without;
amx.*: all of its 40 cases; bfmmla.*: all of its 1024."""
import sys

import numpy as np

import st

where, out = sys.argv[1:]


def words(text):
    return np.array([int(x, 16) for x in text], np.uint32)


t = {}
lanes = np.array([[int(x, 16) for x in line.split()]
                  for line in open(f'{where}/avx512.txt')], np.uint32)
lanes = lanes[128 * 16:384 * 16]
t['avx512.a'] = lanes[:, 0:2].astype(np.uint16)
t['avx512.b'] = lanes[:, 2:4].astype(np.uint16)
t['avx512.c'], t['avx512.out'] = lanes[:, 4], lanes[:, 5]
lines = [words(line.split()) for line in open(f'{where}/amx.txt')]
t['amx.a'] = np.stack(lines[0::4]).reshape(-1, 16, 32).astype(np.uint16)
t['amx.b'] = np.stack(lines[1::4]).reshape(-1, 16, 16, 2).astype(np.uint16)
t['amx.c'] = np.stack(lines[2::4]).reshape(-1, 16, 16)
t['amx.out'] = np.stack(lines[3::4]).reshape(-1, 16, 16)
lines = np.array([words(line.split()) for line in open(f'{where}/bfmmla.txt')])
t['bfmmla.a'] = lines[:, 0:4].astype(np.uint16)
t['bfmmla.b'] = lines[:, 4:8].astype(np.uint16)
t['bfmmla.c'], t['bfmmla.out'] = lines[:, 8], lines[:, 9]
st.save(out, t, dict(made_by='scripts/oracle/bf16.py DIR OUT',
                     seen_on='Xeon with AMX; avx512.txt also on a Xeon, family '
                     '6 model 207; bfmmla.txt: qemu 7.2, -cpu max'))
