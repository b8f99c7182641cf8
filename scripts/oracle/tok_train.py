"""Compare bpe with the trainer of the HF tokenizers library on the
same documents (what stands between empty lines of TEXT): the vocabulary and
the merges must be equal.  Prints seconds of wall and of CPU time of both.
usage: tok_train.py build/bin/bpe TEXT [VOCAB [MIN_FREQUENCY]]
Threads: 2, or RAYON_NUM_THREADS.  Python 3.11, tokenizers 0.23.2."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

threads = os.environ.setdefault('RAYON_NUM_THREADS', '2')
from tokenizers import Tokenizer, models, pre_tokenizers as P, trainers

args = sys.argv[1:]
program, path = args[:2]
vocab = int(args[2]) if len(args) > 2 else 49152
frequency = int(args[3]) if len(args) > 3 else 2
text = open(path, encoding='utf-8', errors='replace', newline='').read()
docs = [d for d in text.split('\n\n') if d.strip()]


def cpu(who):
    u = resource.getrusage(who)
    return u.ru_utime + u.ru_stime


with tempfile.TemporaryDirectory() as tmp:
    with open(f'{tmp}/text.jsonl', 'w', encoding='utf-8') as f:
        for d in docs:
            f.write(json.dumps({'text': d}, ensure_ascii=False) + '\n')
    was, begin = cpu(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run([program, '-q', '-j', threads, '-o', f'{tmp}/t.json',
                    '--vocab', str(vocab), '--min-frequency', str(frequency),
                    f'{tmp}/text.jsonl'], check=True)
    print('bpe %.2f s, %.2f s of CPU' % (
        time.time() - begin, cpu(resource.RUSAGE_CHILDREN) - was))
    mine = json.load(open(f'{tmp}/t.json', encoding='utf-8'))['model']

t = Tokenizer(models.BPE())
t.pre_tokenizer = P.Sequence([P.Digits(individual_digits=True),
                              P.ByteLevel(add_prefix_space=False)])
was, begin = cpu(resource.RUSAGE_SELF), time.time()
t.train_from_iterator(docs, trainers.BpeTrainer(
    vocab_size=vocab, min_frequency=frequency, show_progress=False,
    special_tokens=['<|endoftext|>'],
    initial_alphabet=P.ByteLevel.alphabet()))
print('tokenizers %.2f s, %.2f s of CPU' % (
    time.time() - begin, cpu(resource.RUSAGE_SELF) - was))
theirs = json.loads(t.to_str())['model']
pair = [[tuple(m.split(' ')) if isinstance(m, str) else tuple(m)
         for m in x['merges']] for x in (mine, theirs)]
for i, (a, b) in enumerate(zip(*pair)):
    if a != b:
        raise SystemExit(f'merge {i} differs: {a}, not {b}')
if len(pair[0]) != len(pair[1]) or mine['vocab'] != theirs['vocab']:
    raise SystemExit('differs: %d and %d merges, %d and %d entries' % (
        len(pair[0]), len(pair[1]), len(mine['vocab']), len(theirs['vocab'])))
print('equal:', len(mine['vocab']), 'entries,', len(pair[0]), 'merges')
