"""Compare tokenize with llama.cpp under every tokenizer.ggml.pre it reads.
usage: gguf_pre.py VOCAB.gguf LLAMA_TOKENIZE CORPUS [TOKENIZE]
VOCAB is a byte-level vocabulary that has all bytes (llama.cpp's
models/ggml-vocab-gpt-2.gguf); it is copied under each name.  The text is that
of CORPUS/*.jsonl in NFC, which llama.cpp does not make, and the shorter nasty
ones of tests/golden/tok/family.  Prints the names whose ids differ, and where;
exit 1 if any does that is not by Tekken's or GPT-4o's pattern, whose classes
by case llama.cpp knows for ASCII only."""
import glob
import json
import re
import subprocess
import sys
import tempfile
import unicodedata

vocab, llama, corpus = sys.argv[1:4]
program = (sys.argv + ['build/bin/tokenize'])[4]
data = open(vocab, 'rb').read()


def named(name):
    """VOCAB as a file of that pre-tokenizer"""
    key = b'tokenizer.ggml.pre' + (8).to_bytes(4, 'little')
    at = data.index(key) + len(key)
    n = int.from_bytes(data[at:at + 8], 'little')
    return (data[:at] + len(name).to_bytes(8, 'little') + name.encode() +
            data[at + 8 + n:])


def run(*argv, text):
    r = subprocess.run(argv, input=text.encode(), capture_output=True)
    if r.returncode:
        raise SystemExit(r.stderr.decode())
    return r.stdout.decode().splitlines()[-1]


# what the file knows: from the message that refuses a name
with tempfile.NamedTemporaryFile(suffix='.gguf') as f:
    f.write(named('none'))
    f.flush()
    r = subprocess.run([program, '-q', '-t', f.name, '-'], input=b'',
                       capture_output=True)
names = re.search(r'is not supported \((.*)\)', r.stderr.decode())[1].split()

text = [json.loads(x)['text'][:3000] for p in sorted(glob.glob(
    corpus + '/*.jsonl')) for x in list(open(p, encoding='utf-8'))[:2]]
text += [x for x in map(json.loads, open(
    'tests/golden/tok/family/texts.jsonl', encoding='utf-8'))
    if len(x) < 40 and '\0' not in x]
# DeepSeek's pattern tells letters from unassigned characters: U+1C89 is a letter since
# Unicode 16, which llama.cpp does not know
text = unicodedata.normalize('NFC', '\n'.join(text)).replace('\u1c89', 'x')
bad = 0
for name in names:
    with tempfile.NamedTemporaryFile(suffix='.gguf') as f:
        f.write(named(name))
        f.flush()
        want = json.loads(run(llama, '-m', f.name, '--stdin', '--ids',
                              '--no-bos', '--no-escape', '--no-parse-special',
                              '--log-disable', text=text))
        got = [int(x) for x in run(
            program, '-q', '-t', f.name, '--lang', 'x', '--ids', '--no-bos',
            '--no-eos', '--jsonl', '-', text=json.dumps({'text': text})
            + '\n').split()]
    if got == want:
        print(name, len(got), 'ids, equal')
        continue
    i = next(i for i, (a, b) in enumerate(zip(got, want)) if a != b)
    print(name, len(got), len(want), 'ids, not equal from', i, got[i:i + 9],
          want[i:i + 9])
    bad += name not in ('tekken', 'gpt-4o', 'llama4', 'kanana2', 'talkie',
                        'minimax-m2')
sys.exit(bad > 0)
