"""Compare tokenize with the vectors of llama.cpp's models/ggml-vocab-*.gguf.
usage: gguf_vectors.py LLAMA_CPP/models [TOKENIZE]
Each NAME.gguf is a vocabulary of a real model, NAME.gguf.inp texts and .out
llama.cpp's ids.  Prints how many differ, or why a file is refused; exit 1 if
any differs.  Left out are texts that are not in NFC, which Qwen makes of them
and llama.cpp does not."""
import glob
import json
import os
import subprocess
import sys
import unicodedata

program = (sys.argv + ['build/bin/tokenize'])[2]
bad = 0
for path in sorted(glob.glob(sys.argv[1] + '/ggml-vocab-*.gguf')):
    name = os.path.basename(path)
    if not os.path.exists(path + '.inp'):
        continue
    texts = open(path + '.inp', encoding='utf-8',
                 newline='').read().split('\n__ggml_vocab_test__\n')
    want = [x.split() for x in open(path + '.out').read().split('\n')]
    r = subprocess.run(
        [program, '-q', '-t', path, '--lang', 'x', '--ids', '--no-bos',
         '--no-eos', '--jsonl', '-'], capture_output=True,
        input=''.join(json.dumps({'text': x}) + '\n' for x in texts).encode())
    if r.returncode:
        print(name, 'refused:', r.stderr.decode().split(': ', 2)[2].strip())
        continue
    got = iter(r.stdout.decode().split('\n'))
    pairs = [(x, w, next(got).split() if w else [])     # no ids, no line
             for x, w in zip(texts, want)]
    pairs = [p for p in pairs if unicodedata.is_normalized('NFC', p[0])]
    wrong = [p for p in pairs if p[1] != p[2]]
    for x, w, g in wrong[:3]:
        print('  ', repr(x)[:100], 'want', w[:20], 'got', g[:20])
    print(name, len(pairs), 'texts,', len(wrong), 'differ')
    bad += len(wrong)
sys.exit(bad > 0)
