"""Speed of Python libraries that do what tokenize does, for scripts/bench.
usage: tok_peers.py hf|tokie|fast|giga TOKENIZER.json TEXT    first pass, MB/s, CPU time
       tok_peers.py train - TEXT                         HF trainer, seconds
Documents are what stands between empty lines, as in tokenize --split blank."""
import os
import sys
import time

os.environ.setdefault('RAYON_NUM_THREADS', '1')
name, path, text = sys.argv[1:4]
if name != 'train':
    os.environ['TOKENIZERS_PARALLELISM'] = 'false'
text = open(text, encoding='utf-8', errors='replace').read()
docs = [d for d in text.split('\n\n') if d.strip()]
size = sum(len(d.encode()) for d in docs)
if name == 'train':
    from tokenizers import Tokenizer, models, pre_tokenizers as P, trainers
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = P.Sequence([P.Digits(individual_digits=True),
                                  P.ByteLevel(add_prefix_space=False)])
    begin = time.time()
    t.train_from_iterator(docs, trainers.BpeTrainer(
        vocab_size=49152, min_frequency=2, show_progress=False,
        special_tokens=['<|endoftext|>'],
        initial_alphabet=P.ByteLevel.alphabet()))
    print('first', round(time.time() - begin, 3))
    sys.exit()
if name == 'hf':
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(path)

    def encode(d):
        return len(t.encode(d, add_special_tokens=False).ids)
elif name == 'tokie':
    import tokie
    t = tokie.Tokenizer.from_json(path)

    def encode(d):
        return len(t.encode(d).ids)
elif name == 'fast':
    import fastokens
    t = fastokens.Tokenizer.from_file(path)

    def encode(d):
        return len(t.encode(d))
elif name == 'giga':
    import gigatoken
    t = gigatoken.Tokenizer(path)
else:
    raise SystemExit(__doc__)
begin = time.process_time()
if name == 'giga':  # its quickest way to lists
    ids = sum(map(len, t.encode_batch_list(docs, parallel=False)))
else:
    ids = sum(encode(d) for d in docs)
print('first', round(size / 1e6 / (time.process_time() - begin), 3))
print('ids', ids)
