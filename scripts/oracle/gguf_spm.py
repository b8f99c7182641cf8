"""Small SentencePiece models as GGUF, and the ids of sentencepiece and llama.cpp.
usage: gguf_spm.py CORPUS LLAMA_TOKENIZE [OUTDIR [NAME ...]]
                                                (corpus; tests/golden/tok/spm)
       gguf_spm.py --convert TOKENIZER.model OUT.gguf
Reads OUTDIR/../family/texts.jsonl; NAME.ids has the form that tok_families.py
describes.  Kind t has sentencepiece's ids, and its decoded text (except with
<unk>, which it shows in its own way).  If a text holds a user-defined token,
which sentencepiece finds after the normalizer and llama.cpp before it, kind t
has the ids of llama-tokenize without special tokens.  Kind s has those of
llama-tokenize with special tokens.  Texts where both should agree and do not
are printed.  For spm-bare the tokenizers library is asked instead of
llama-tokenize, with a tokenizer.json as transformers' GemmaConverter makes it
of the model and as it is published with Gemma.

  spm       as Llama 2: a space before the text, bytes for unknown characters
  spm-bare  as Gemma: no space before it, runs of spaces as user-defined tokens
  spm-runs  as Mistral 7B: spaces and - in runs of one score; no bytes, for
            which llama.cpp has no answer
  spm-ties  scores of spm in steps of 16, so that most tokens share theirs
  spm-flat  all tokens of one score, as llama.cpp's converter writes where a
            model has none"""
import functools
import glob
import json
import os
import subprocess
import sys
import tempfile

import gguf
import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2 as pb

from tok_families import added, bpe, packed, quote, whole, write_ids

SP = '\u2581'


def train(text, **more):
    with tempfile.TemporaryDirectory() as d:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text), model_prefix=d + '/m',
            model_type='bpe', normalization_rule_name='identity',
            remove_extra_whitespaces=False, split_digits=True,
            allow_whitespace_only_pieces=True, minloglevel=2,
            num_threads=1, max_sentence_length=100000, **more)
        m = pb.ModelProto()
        m.ParseFromString(open(d + '/m.model', 'rb').read())
    return m


def convert(m, path):
    """as llama.cpp's converter: spaces in user-defined tokens stay spaces"""
    w = gguf.GGUFWriter(path, 'llama')
    tokens = [p.piece.replace(SP, ' ') if p.type == 4 else p.piece
              for p in m.pieces]
    w.add_tokenizer_model('llama')
    w.add_tokenizer_pre('default')
    w.add_token_list(tokens)
    w.add_token_scores([p.score for p in m.pieces])
    w.add_token_types([p.type for p in m.pieces])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_space_prefix(m.normalizer_spec.add_dummy_prefix)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def llama(program, path, text, special):
    r = subprocess.run(
        [program, '-m', path, '--stdin', '--ids', '--no-bos', '--no-escape',
         '--log-disable'] + ([] if special else ['--no-parse-special']),
        input=text.encode(), capture_output=True)
    if r.returncode:
        raise SystemExit(r.stderr.decode())
    return json.loads(r.stdout.decode().splitlines()[-1])


def published(m):
    """Gemma's form: tokens of the user found before spaces become marks, and
    merges by score, of one score the longest first"""
    vocab = {p.piece: i for i, p in enumerate(m.pieces)}
    score = {p.piece: p.score for p in m.pieces}
    merges = sorted(((x[:i], x[i:]) for x in vocab for i in range(1, len(x))
                     if x[:i] in vocab and x[i:] in vocab),
                    key=lambda p: (score[''.join(p)], len(p[0]), len(p[1])),
                    reverse=True)
    j = whole(
        bpe(vocab, [list(p) for p in merges], unk_token='<unk>',
            fuse_unk=True, byte_fallback=True),
        [added(p.piece, special=p.type != 4)
         for p in m.pieces if p.type in (2, 3, 4)],
        normalizer={'type': 'Replace', 'pattern': {'String': ' '},
                    'content': SP})
    t = tokenizers.Tokenizer.from_str(json.dumps(j))

    def ask(text, special):
        t.encode_special_tokens = not special
        return t.encode(text).ids
    return ask


def models(text):
    base = dict(vocab_size=700, character_coverage=0.9995, byte_fallback=True,
                control_symbols=['[INST]', '[/INST]'])
    yield 'spm', train(text, user_defined_symbols=['<n>', 'éx', '<think>'],
                       add_dummy_prefix=True, **base)
    yield 'spm-bare', train(
        text, add_dummy_prefix=False, user_defined_symbols=[
            '\n\n', '\n\n\n', SP * 2, SP * 3, SP * 4, '<p>', '<unused1>'],
        **base)
    m = train(text, vocab_size=600, character_coverage=0.998,
              add_dummy_prefix=True)
    for c in SP, '-':
        have = {p.piece for p in m.pieces}
        for n in range(2, 9):
            if c * n not in have:
                m.pieces.add(piece=c * n, score=-1e9, type=1)
        for p in m.pieces:
            if len(p.piece) > 1 and set(p.piece) == {c}:
                p.score = -1e9 if c == SP else -1e8
    yield 'spm-runs', m
    for name, score in (('spm-ties', lambda x: -float(int(-x) // 16)),
                        ('spm-flat', lambda x: -1000.0)):
        m = train(text, user_defined_symbols=['<n>', 'éx'],
                  add_dummy_prefix=True, **base)
        for p in m.pieces:
            if p.type == 1:
                p.score = score(p.score)
        yield name, m


def rows(m, path, texts, ask):
    sp = sentencepiece.SentencePieceProcessor(
        model_proto=m.SerializeToString())
    user = [p.piece for p in m.pieces if p.type == 4]
    special = [p.piece for p in m.pieces if p.type in (2, 3)]
    bytes_ = any(p.type == 6 for p in m.pieces)
    same = other = 0
    for i, x in enumerate(texts):
        ids, back = sp.encode(x), sp.decode(sp.encode(x))
        if bytes_:
            plain = ask(x, False)
            if any(s in x for s in special):
                yield f'{i} s {packed(ask(x, True))}\t?'
            if any(u in x.replace(' ', SP) for u in user):
                yield f'{i} t {packed(plain)}'
                continue
            if plain == ids:
                same += 1
            else:
                print(path, 'not equal:', quote(x), ids, plain)
                other += 1
        yield f'{i} t {packed(ids)}\t{"?" if 0 in ids else quote(back)}'
    print(path, same, 'equal', other, 'not')


def main(folder, program, out='tests/golden/tok/spm', *names):
    text = [json.loads(line)['text'] for f in sorted(
        glob.glob(f'{folder}/*.jsonl')) for line in open(f, encoding='utf-8')]
    texts = [json.loads(x) for x in open(f'{out}/../family/texts.jsonl',
                                         encoding='utf-8')]
    os.makedirs(out, exist_ok=True)
    for name, m in models(text):
        if names and name not in names:
            continue
        path = f'{out}/{name}.gguf'
        convert(m, path)
        bare = name == 'spm-bare'
        write_ids(f'{out}/{name}.ids', 'sentencepiece '
                  f'{sentencepiece.__version__}, ' + (
                      f'tokenizers {tokenizers.__version__}' if bare else
                      'llama.cpp as in llama-cpp-python 0.3.36'),
                  rows(m, path, texts, published(m) if bare else
                       functools.partial(llama, program, path)))


if __name__ == '__main__':
    if sys.argv[1] == '--convert':
        m = pb.ModelProto()
        m.ParseFromString(open(sys.argv[2], 'rb').read())
        convert(m, sys.argv[3])
    else:
        main(*sys.argv[1:])
