"""Compare the ids that tokenize writes with those of the reference, on any text.
usage: tok_compare.py [-j N] [-n BYTES] [-b BYTES] [--tokenize PROGRAM]
                      TOKENIZER FILE ...
TOKENIZER: a tokenizer.json (oracle: the tokenizers library), or a tekken.json
(mistral-common); FILE:ORACLE names one for each of the two, the second may be
a tokenizer.model (sentencepiece): model.gguf:tokenizer.model.
FILE: plain text, "-" is standard input; documents are cut at empty lines, and,
where one is longer than -b bytes (100000), at an end of line behind that.
Streams: tokenize --ids runs beside the oracle, a batch of documents is held.
-n BYTES stops after this many; -j N uses N processes of the oracle (2).
Prints the bytes and ids compared, the speed of the oracle, and of the first
difference the document's offset, the text around it and both ids; exit 1."""
import argparse
import json
import multiprocessing
import multiprocessing.pool
import os
import re
import subprocess
import sys
import threading
import time

os.environ['TOKENIZERS_PARALLELISM'] = 'false'
oracle = None


def start(path):
    global oracle
    if path.endswith('tekken.json'):
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
        t = Tekkenizer.from_file(path)
        oracle = lambda texts: [t.encode(x, bos=False, eos=False)
                                for x in texts]
        return
    if path.endswith('.model'):
        from sentencepiece import SentencePieceProcessor
        t = SentencePieceProcessor(model_file=path)
        oracle = t.encode
        return
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(path)
    t.encode_special_tokens = True

    def encode(texts):
        return [e.ids for e in t.encode_batch_fast(
            texts, add_special_tokens=False)]
    oracle = encode


def work(texts):
    return oracle(texts)


def read(files, most, longest):
    """documents without empty lines, as tokenize --split blank cuts them"""
    seen = 0
    doc, size = [], 0
    for name in files:
        f = sys.stdin.buffer if name == '-' else open(name, 'rb')
        for line in f:
            seen += len(line)
            s = line.decode('utf-8', 'replace')
            if s.strip('\r\n') == '' or size > longest:
                if doc:
                    yield ''.join(doc)
                doc, size = [], 0
                if most and seen > most:
                    return
            if s.strip('\r\n') != '':
                doc.append(s.rstrip('\n') + '\n')
                size += len(line)
        if doc:
            yield ''.join(doc)
        doc, size = [], 0


def batches(docs, size=400000):
    batch, n = [], 0
    for d in docs:
        batch.append(d)
        n += len(d)
        if n >= size:
            yield batch
            batch, n = [], 0
    if batch:
        yield batch


def differ(at, doc, ours, theirs):
    k = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b),
             min(len(ours), len(theirs)))
    print(f'DIFFERENT in the document at byte {at}, at its id {k} of '
          f'{len(ours)} (tokenize) and {len(theirs)} (oracle)')
    print('  tokenize:', ours[max(0, k - 5):k + 10])
    print('  oracle:  ', theirs[max(0, k - 5):k + 10])
    print('  document:', repr(doc[:3000]))


def main():
    a = argparse.ArgumentParser()
    a.add_argument('-j', type=int, default=2)
    a.add_argument('-n', type=int, default=0)
    a.add_argument('-b', type=int, default=100000)
    a.add_argument('--tokenize', default='build/bin/tokenize')
    a.add_argument('tokenizer')
    a.add_argument('file', nargs='+')
    a = a.parse_args()
    ours_path, _, theirs_path = a.tokenizer.partition(':')
    theirs_path = theirs_path or ours_path

    # Before the pipe, whose end the workers would hold open.
    pool = multiprocessing.Pool(a.j, start, (theirs_path,))
    # Records of JSON: no text can be mistaken for a border of documents.
    run = subprocess.Popen(
        [a.tokenize, '-q', '-t', ours_path, '-j', '1', '--lang', 'x', '--ids',
         '--no-bos', '--no-eos', '--jsonl', '-'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    queue = multiprocessing.pool.ThreadPool(1)
    room = threading.Semaphore(2 * a.j + 4)
    stop = threading.Event()

    def feed(batch):
        for d in batch:
            run.stdin.write(json.dumps({'text': d}).encode() + b'\n')
        run.stdin.flush()

    def source():
        for b in batches(read(a.file, a.n, a.b)):
            room.acquire()
            if stop.is_set():
                return
            queue.apply_async(feed, (b,))
            kept.append(b)
            yield b
        queue.apply_async(run.stdin.close)

    kept = []
    done = ids = docs = 0
    begin = time.time()
    bad = 0
    for theirs in pool.imap(work, source()):
        batch = kept.pop(0)
        room.release()
        for d, want in zip(batch, theirs):
            line = want and run.stdout.readline()
            if want and not line:
                raise SystemExit(f'tokenize ended early, at byte {done}')
            got = [int(x) for x in line.split()] if want else []
            if got != want:
                differ(done, d, got, want)
                bad = 1
                break
            done += len(d.encode())
            ids += len(want)
            docs += 1
        if bad:
            stop.set()
            room.release()
            break
        if docs and time.time() - begin > 60 * (main.minutes + 1):
            main.minutes += 1
            print(f'... {done} bytes', flush=True)
    sec = time.time() - begin
    print(f'{theirs_path}: {"equal: " if not bad else "equal before that: "}'
          f'{done} bytes, {docs} documents, {ids} ids; '
          f'{done / sec / 1e6:.2f} MB/s', flush=True)
    if not bad:
        if run.stdout.readline() or run.wait() != 0:
            raise SystemExit('tokenize wrote more, or failed')
    os._exit(bad)


main.minutes = 0
if __name__ == '__main__':
    main()
