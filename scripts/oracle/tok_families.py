"""Golden tokenizers and ids of the families, from the HF tokenizers library
and mistral-common.
usage: tok_families.py CORPUS OUTDIR       (corpus; tests/golden/tok/family)
       tok_families.py --real TOKDIR UDHR_DIR OUTDIR [FAMILY ...]
                                           (tests/golden/tok/real)

OUTDIR/texts.jsonl holds the texts, one JSON string a line (tok_cases.py; in
the second form also a sentence of the Universal Declaration in 24 languages).
NAME.ids has a line for each answer:
    NUMBER KIND IDS [TAB DECODED]
NUMBER counts lines of texts.jsonl from 0.  KIND is s: special tokens in the
text are taken as such; t: they are text (encode_special_tokens); w: as s, with
the post-processor; b: as t, with it.  IDS are decimal with commas, N*K is N repeated K times.
DECODED is a JSON string, left out where it equals the text; ? where it should
not be compared; only after s.

The first form trains small tokenizers on CORPUS (a folder of JSONL) that have
the pipeline, flags and peculiarities of a family, vocabularies about 1000.  The
second takes TOKDIR/FAMILY/tokenizer.json or, with mistral-common as the oracle,
TOKDIR/FAMILY/tekken.json, and writes the file's sha256 into the first line; with -
for UDHR_DIR the texts are those of OUTDIR."""
import base64
import copy
import glob
import hashlib
import html
import json
import os
import random
import re
import sys

import tokenizers
from tokenizers import (Tokenizer, models, normalizers as N,
                        pre_tokenizers as P, trainers)

import tok_cases

SP = '\u2581'
CODES = ('bul ces dan deu_1996 ell_monotonic eng spa est fin fra gle hrv hun '
         'ita lit lav mlt nld pol por_PT ron_2006 slk slv swe').split()
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = CL100K.replace('{1,3}', '')
TEKKEN = (r'[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*'
          r'[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?'
          r'[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|'
          r' ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+')
BYTE_POST = {'type': 'ByteLevel', 'add_prefix_space': True,
             'trim_offsets': False, 'use_regex': True}


def corpus(folder):
    text = []
    for f in sorted(glob.glob(f'{folder}/*.jsonl')):
        for line in open(f, encoding='utf-8'):
            text.append(json.loads(line)['text'])
    return text


def special(*names, **flags):
    return [added(x, special=True, **flags) for x in names]


def added(content, **flags):
    base = dict(single_word=False, lstrip=False, rstrip=False,
                normalized=False, special=False)
    assert not set(flags) - set(base)
    return dict(id=0, content=content, **{**base, **flags})


def template(bos=None, eos=None, ids=None):
    one = [x for x in (bos and {'SpecialToken': {'id': bos, 'type_id': 0}},
                       {'Sequence': {'id': 'A', 'type_id': 0}},
                       eos and {'SpecialToken': {'id': eos, 'type_id': 0}}) if x]
    two = one + [{'Sequence': {'id': 'B', 'type_id': 1}}]
    return {'type': 'TemplateProcessing', 'single': one, 'pair': two,
            'special_tokens': {x: {'id': x, 'ids': [ids[x]], 'tokens': [x]}
                               for x in (bos, eos) if x}}


def bpe(vocab, merges, **more):
    return {'type': 'BPE', 'dropout': None, 'unk_token': None,
            'continuing_subword_prefix': None, 'end_of_word_suffix': None,
            'fuse_unk': False, 'byte_fallback': False, 'ignore_merges': False,
            **more, 'vocab': vocab, 'merges': merges}


def whole(model, tokens, **parts):
    """A tokenizer.json; ids of tokens that are not in the vocabulary follow."""
    n = 1 + max(model['vocab'].values())
    tokens = copy.deepcopy(tokens)
    for t in tokens:
        t['id'] = model['vocab'].get(t['content'], n)
        n += t['id'] == n
    ids = {t['content']: t['id'] for t in tokens}
    if callable(parts.get('post_processor')):
        parts['post_processor'] = parts['post_processor'](ids)
    return {'version': '1.0', 'truncation': None, 'padding': None,
            'added_tokens': tokens, 'normalizer': parts.get('normalizer'),
            'pre_tokenizer': parts.get('pre_tokenizer'),
            'post_processor': parts.get('post_processor'),
            'decoder': parts.get('decoder'), 'model': model}


def split(regex, trim=True):
    return {'type': 'Sequence', 'pretokenizers': [
        {'type': 'Split', 'pattern': {'Regex': regex}, 'behavior': 'Isolated',
         'invert': False},
        {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': trim,
         'use_regex': False}]}


# ---- byte-level ----

def byte_level(text, pre, size, first=()):
    """vocabulary and merges; first: entries with the lowest ids"""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(first), show_progress=False,
        initial_alphabet=P.ByteLevel.alphabet()))
    m = json.loads(t.to_str())['model']
    return m['vocab'], [list(x) for x in m['merges']]


def byte_words(text, pre, vocab, n):
    """n frequent whole pieces that the vocabulary lacks"""
    t = Tokenizer(models.BPE())
    count = {}
    for x in text:
        for w, _ in pre.pre_tokenize_str(x):
            count[w] = count.get(w, 0) + 1
    words = sorted((w for w in count if w not in vocab and len(w) > 3),
                   key=lambda w: (-count[w], w))
    return words[:n]


def byte_families(text):
    def regex(r):
        return P.Sequence([P.Split(tokenizers.Regex(r), 'isolated'),
                           P.ByteLevel(add_prefix_space=False, use_regex=False)])

    decoder = {'type': 'ByteLevel', 'add_prefix_space': True,
               'trim_offsets': True, 'use_regex': True}
    chat = ['<|begin_of_text|>', '<|end_of_text|>', '<|eot_id|>']

    # Llama 3: entries that no merge makes are found whole only
    vocab, merges = byte_level(text, regex(CL100K), 900)
    for w in byte_words(text, regex(CL100K), vocab, 60):
        vocab[w] = len(vocab)
    strings = [' '.join(m) for m in merges]
    yield 'llama3', whole(
        bpe(vocab, strings, ignore_merges=True), special(*chat),
        pre_tokenizer=split(CL100K), decoder=decoder,
        post_processor=lambda ids: {'type': 'Sequence', 'processors': [
            BYTE_POST, template(chat[0], None, ids)]})
    # the same where merges decide
    yield 'llama3merges', whole(
        bpe(vocab, merges, ignore_merges=False), special(*chat),
        pre_tokenizer=split(CL100K), decoder=decoder, post_processor=BYTE_POST)

    # Qwen: NFC, merges as pairs, tokens that are not special
    vocab, merges = byte_level(text, regex(QWEN), 950)
    qwen = dict(pre_tokenizer=split(QWEN, False), normalizer={'type': 'NFC'},
                decoder={**decoder, 'add_prefix_space': False})
    tokens = special('<|endoftext|>', '<|im_start|>', '<|im_end|>') + [
        added('<think>'), added('</think>'), added('<tool_call>'),
        added('</tool_call>')]
    yield 'qwen', whole(
        bpe(vocab, merges, continuing_subword_prefix='', end_of_word_suffix=''),
        tokens, post_processor={'type': 'ByteLevel', 'add_prefix_space': False,
                                'trim_offsets': False, 'use_regex': False},
        **qwen)
    # every flag, and contents that NFC changes
    flags = special('<s>', '</s>') + [
        added('<l>', lstrip=True), added('<r>', rstrip=True, special=True),
        added('<b>', lstrip=True, rstrip=True, normalized=True),
        added('<w>', single_word=True), added('<n>'),
        added('éx', normalized=True), added('e\u0301', normalized=False),
        added('\u212b', normalized=True), added('ab', normalized=True),
        added('abc'), added('a b', normalized=True, special=True)]
    yield 'qwenflags', whole(
        bpe(vocab, merges), flags, post_processor=lambda ids: template(
            '<s>', '</s>', ids), **qwen)

    # Tekken as Mistral-Nemo's tokenizer.json: special tokens first
    first = ['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '<SPECIAL_5>']
    vocab, merges = byte_level(text, regex(TEKKEN), 950, first)
    for w in byte_words(text, regex(TEKKEN), vocab, 40):
        vocab[w] = len(vocab)
    yield 'nemo', whole(
        bpe(vocab, [' '.join(m) for m in merges], ignore_merges=True),
        special(*first), pre_tokenizer=split(TEKKEN), decoder=decoder,
        post_processor=lambda ids: template('<s>', None, ids))

    # GPT-2's own file: the model has no type, and few of its fields
    vocab, merges = byte_level(
        text, P.ByteLevel(add_prefix_space=False), 700, ['<|endoftext|>'])
    t = whole(bpe(vocab, []), special('<|endoftext|>', normalized=True),
              pre_tokenizer={'type': 'ByteLevel', 'add_prefix_space': False,
                             'trim_offsets': True}, decoder=decoder,
              post_processor=BYTE_POST)
    t['model'] = {'dropout': None, 'unk_token': None,
                  'continuing_subword_prefix': '', 'end_of_word_suffix': '',
                  'fuse_unk': False, 'vocab': vocab,
                  'merges': [' '.join(m) for m in merges]}
    yield 'gpt2legacy', t


# ---- SentencePiece-style ----

def sentence_piece(text, size, across):
    """entries in order of score: trained, with "▁" for a space; across: tokens
    may hold a "▁" inside"""
    t = Tokenizer(models.BPE())
    t.normalizer = N.Replace(' ', SP)
    if not across:
        t.pre_tokenizer = P.Metaspace(prepend_scheme='first')
    # Of equal counts the trainer takes any; so the alphabet is chosen here.
    count = {}
    for c in ''.join(text):
        count[c] = count.get(c, 0) + 1
    some = set(sorted(count, key=lambda c: (-count[c], c))[:180])
    lines = [''.join(c for c in y if c in some)
             for x in text for y in x.split('\n')]
    t.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, show_progress=False, max_token_length=12))
    vocab = sorted(json.loads(t.to_str())['model']['vocab'].items(),
                   key=lambda x: x[1])
    one = [x for x, _ in vocab if len(x) == 1]
    more = [x for x, _ in vocab if len(x) > 1]
    runs = [SP * n for n in (2, 4, 8, 3)] + (
        ['\n' * n for n in (2, 3, 4)] + ['\t', '\t\t', '>' + SP + '</', SP + '\n']
        if across else [])
    return [x for x in dict.fromkeys(runs + more) if x not in one], one


def all_merges(entries, have):
    """Every pair of entries that makes an entry, the best entry first, as
    converters of SentencePiece models make them: several a result."""
    merges = []
    for k, x in enumerate(entries):
        local = [(x[:i], x[i:]) for i in range(1, len(x))
                 if x[:i] in have and x[i:] in have]
        merges += sorted(local, key=lambda p: (have[p[0]], have[p[1]]))
    return [list(m) for m in merges]


def sp_model(text, size, across=False, first=('<unk>', '<s>', '</s>'),
             shuffle=False, lack=(), strings=False, **more):
    entries, one = sentence_piece(text, size, across)
    vocab = list(first)
    if more.get('byte_fallback'):
        vocab += [f'<0x{b:02X}>' for b in range(256) if b not in lack]
    head = len(vocab)
    tail = entries + [x for x in one if x not in lack]
    if shuffle:
        random.Random(7).shuffle(tail)
    vocab = {x: i for i, x in enumerate(dict.fromkeys(vocab + tail))}
    assert head < len(vocab)
    entries = [x for x in entries if x in vocab]
    merges = [m for m in all_merges(entries, vocab)]
    return bpe(vocab, [' '.join(m) for m in merges] if strings else merges,
               **more)


def sp_families(text):
    replace = {'type': 'Replace', 'pattern': {'String': ' '}, 'content': SP}
    prepend = {'type': 'Sequence', 'normalizers': [
        {'type': 'Prepend', 'prepend': SP}, replace]}
    back = {'type': 'Replace', 'pattern': {'String': SP}, 'content': ' '}
    tail = [back, {'type': 'ByteFallback'}, {'type': 'Fuse'}]
    strip = {'type': 'Strip', 'content': ' ', 'start': 1, 'stop': 0}
    llama = dict(normalizer=prepend,
                 decoder={'type': 'Sequence', 'decoders': tail + [strip]})
    full = dict(unk_token='<unk>', fuse_unk=True, byte_fallback=True)
    usual = special('<unk>', '<s>', '</s>')

    def bos(ids):
        return template('<s>', None, ids)

    yield 'llama2', whole(sp_model(text, 700, strings=True, **full), usual,
                          post_processor=bos, **llama)
    yield 'llama2norm', whole(
        sp_model(text, 500, **full),
        special('<unk>', '<s>', '</s>', normalized=True) + [
            added('[INST]', normalized=True), added('the', normalized=True)],
        post_processor=bos, **llama)
    yield 'llama2flags', whole(
        sp_model(text, 500, **full), usual + [
            added('<l>', lstrip=True), added('<r>', rstrip=True, special=True),
            added('<b>', lstrip=True, rstrip=True, normalized=True),
            added('<w>', single_word=True), added('<n>'),
            added('a b', normalized=True), added('abc'),
            added('ab', normalized=True, single_word=True)],
        post_processor=bos, **llama)
    yield 'mistral3', whole(
        sp_model(text, 700, first=('<unk>', '<s>', '</s>', '[INST]', '[/INST]'),
                 **full),
        special('<unk>', '<s>', '</s>', '[INST]', '[/INST]'),
        pre_tokenizer={'type': 'Metaspace', 'replacement': SP,
                       'prepend_scheme': 'first', 'split': False},
        post_processor=bos, decoder=llama['decoder'])

    first = ('<pad>', '<eos>', '<bos>', '<unk>', '<mask>', '[multimodal]',
             '<unused0>', '<unused1>', '<unused2>', '<start_of_turn>',
             '<end_of_turn>')
    never = {'type': 'Split', 'pattern': {'String': ' '},
             'behavior': 'MergedWithPrevious', 'invert': False}

    def gemma(pre, model, extra=()):
        return whole(
            model, special('<pad>', '<eos>', '<bos>', '<unk>',
                           '<start_of_turn>', '<end_of_turn>') +
            [added(x) for x in first[4:9]] + [added(x) for x in extra],
            normalizer=replace, pre_tokenizer=pre,
            decoder={'type': 'Sequence', 'decoders': tail},
            post_processor=lambda ids: template('<bos>', None, ids))

    yield 'gemma', gemma(None, sp_model(
        text, 900, True, first, lack=(9,), strings=True, **full))
    yield 'gemma3', gemma(never, sp_model(
        text, 900, True, first, True, **full),
        ['\n' * 2, '\n' * 3, SP * 2, SP * 3, '\t\t', '<p>', '</p>'])

    # bytes that have no entry: all of a character or nothing of it
    lack = (0x09, 0xe4, 0xf0, 0x80, ord('q'), 'z', 'é')
    yield 'spbytes', whole(sp_model(text, 500, lack=lack, **full), usual,
                           post_processor=bos, **llama)
    for name, more in (
            ('spunk', dict(unk_token='<unk>', fuse_unk=False)),
            ('spfuse', dict(unk_token='<unk>', fuse_unk=True)),
            ('spdrop', dict())):
        yield name, whole(sp_model(text, 500, lack=('z', 'é', 'q'), **more),
                          usual, post_processor=bos, **llama)


# ---- tekken.json ----

def tekken_json(text):
    """the form of mistral-common: ranks of byte strings; entries above those
    asked for are cut off"""
    pre = P.Sequence([P.Split(tokenizers.Regex(TEKKEN), 'isolated'),
                      P.ByteLevel(add_prefix_space=False, use_regex=False)])
    vocab, merges = byte_level(text, pre, 256 + 700)
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    byte = {**{chr(b): b for b in printable},
            **{chr(256 + i): b for i, b in enumerate(rest)}}
    words = [bytes([b]) for b in range(256)]
    words += [bytes(byte[c] for c in a + b) for a, b in merges]
    words = list(dict.fromkeys(words))
    rows = []
    for i, w in enumerate(words):
        try:
            s = w.decode()
        except UnicodeDecodeError:
            s = None
        rows.append(dict(rank=i, token_bytes=base64.b64encode(w).decode(),
                         token_str=s))
    names = ['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '[TOOL_CALLS]']
    return dict(
        config=dict(pattern=TEKKEN, num_vocab_tokens=len(rows),
                    default_vocab_size=20 + len(rows) - 100,
                    default_num_special_tokens=20, version='v7'),
        vocab=rows, special_tokens=[
            dict(rank=i, token_str=s, is_control=True)
            for i, s in enumerate(names)])


class Tekken:
    """mistral-common behind the face of tokenizers; special tokens in a text
    are text to it, so only that is compared"""

    def __init__(self, path):
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
        self.t = Tekkenizer.from_file(path)

    def encode(self, x):
        return self.t.encode(x, bos=False, eos=False)

    def with_bos(self, x):
        return self.t.encode(x, bos=True, eos=False)

    def decode(self, ids):
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
        return self.t.decode(ids, special_token_policy=SpecialTokenPolicy.KEEP)


# ---- answers ----

def packed(ids):
    out = []
    k = 0
    while k < len(ids):
        n = k
        while n < len(ids) and ids[n] == ids[k]:
            n += 1
        if n - k > 3:
            out.append(f'{ids[k]}*{n - k}')
        else:
            out += [str(ids[k])] * (n - k)
        k = n
    return ','.join(out) or '-'


def quote(s):
    return (json.dumps(s, ensure_ascii=False).replace('\x7f', '\\u007f')
            .replace('\x85', '\\u0085').replace('\u2028', '\\u2028')
            .replace('\u2029', '\\u2029'))


def answers(t, texts, tokens):
    n = 0
    for i, x in enumerate(texts):
        has = any(a['content'] in x for a in tokens)
        if isinstance(t, Tekken):
            ids = t.encode(x)
            back = t.decode(ids)
            yield (f'{i} t {packed(ids)}' +
                   ('' if back == x else '\t' + quote(back)))
            if i % 40 == 0:
                yield f'{i} b {packed(t.with_bos(x))}'
            continue
        t.encode_special_tokens = False
        ids = t.encode(x, add_special_tokens=False).ids
        back = t.decode(ids, skip_special_tokens=False)
        # HF gives the normalized form of an added token to the byte-level
        # decoder, which takes it for bytes: not compared where that shows.
        odd = any(a['normalized'] and not a['content'].isascii()
                  for a in tokens) and back.count('\ufffd') > x.count('\ufffd')
        yield (f'{i} s {packed(ids)}' +
               ('\t?' if odd else '' if back == x else '\t' + quote(back)))
        if i % 40 == 0:
            yield f'{i} w {packed(t.encode(x, add_special_tokens=True).ids)}'
        if has:
            t.encode_special_tokens = True
            yield f'{i} t {packed(t.encode(x, add_special_tokens=False).ids)}'
        n += 1


def write_ids(path, head, rows):
    rows = list(rows)
    with open(path, 'w', encoding='utf-8', newline='\n') as f:
        f.write('# ' + head + '\n' + '\n'.join(rows) + '\n')
    print(path, len(rows), os.path.getsize(path))


def write_texts(path, texts):
    with open(path, 'w', encoding='utf-8', newline='\n') as f:
        f.writelines(quote(x) + '\n' for x in texts)


def main(folder, out):
    os.makedirs(out, exist_ok=True)
    text = corpus(folder)
    texts = tok_cases.family_cases('\n'.join(text)[::1][:9000])
    write_texts(f'{out}/texts.jsonl', texts)
    version = f'tokenizers {tokenizers.__version__}'
    for make in byte_families, sp_families:
        for name, j in make(text):
            path = f'{out}/{name}.json'
            with open(path, 'w', encoding='utf-8', newline='\n') as f:
                json.dump(j, f, ensure_ascii=False, indent=0,
                          separators=(',', ':'))
                f.write('\n')
            write_ids(f'{out}/{name}.ids', version, answers(
                Tokenizer.from_file(path), texts, j['added_tokens']))
            print(path, os.path.getsize(path), len(j['model']['vocab']),
                  len(j['model']['merges']))
    j = tekken_json(text)
    path = f'{out}/tekken-v7/tekken.json'
    os.makedirs(f'{out}/tekken-v7', exist_ok=True)
    with open(path, 'w', encoding='utf-8', newline='\n') as f:
        json.dump(j, f, ensure_ascii=False, indent=0, separators=(',', ':'))
        f.write('\n')
    import mistral_common
    write_ids(f'{out}/tekken-v7.ids',
              f'mistral-common {mistral_common.__version__}',
              answers(Tekken(path), texts, []))


def sentences(udhr):
    for code in CODES:
        page = open(f'{udhr}/{code}.html', encoding='utf-8').read()
        text = html.unescape(re.sub(r'<[^>]*>', ' ', re.sub(
            r'(?s)<(head|style|script).*?</\1>', '', page)))
        paras = [re.sub(r'\s+', ' ', p).strip() for p in text.split('\n')]
        yield [p for p in paras if len(p) > 90][3][:240]


def real(tokdir, udhr, out, names):
    os.makedirs(out, exist_ok=True)
    texts = tok_cases.family_cases('')
    keep = len(tok_cases.MARKED + tok_cases.NFC + tok_cases.CUTS +
               tok_cases.TOKENS + tok_cases.BROKEN)
    if udhr == '-':
        texts = [json.loads(x) for x in open(f'{out}/texts.jsonl', encoding='utf-8')]
    else:
        texts = (list(sentences(udhr)) + [x for x in texts[:keep]] +
                 [x for x in texts[keep:] if len(x) < 60][::4] + texts[-13:])
        write_texts(f'{out}/texts.jsonl', texts)
    for name in names:
        path = f'{tokdir}/{name}/tokenizer.json'
        file = 'tokenizer.json'
        if name.endswith('.tekken'):
            file = 'tekken.json'
            path = f'{tokdir}/{name[:-7]}/{file}'
        digest = hashlib.sha256(open(path, 'rb').read()).hexdigest()
        if file == 'tekken.json':
            import mistral_common
            t, tokens = Tekken(path), []
            version = f'mistral-common {mistral_common.__version__}'
        else:
            t = Tokenizer.from_file(path)
            tokens = json.load(open(path, encoding='utf-8'))['added_tokens']
            version = f'tokenizers {tokenizers.__version__}'
        write_ids(f'{out}/{name}.ids', f'{name.split(".")[0]}/{file} '
                  f'sha256 {digest} {version}', answers(t, texts, tokens))


if __name__ == '__main__':
    if sys.argv[1] == '--real':
        real(*sys.argv[2:5], sys.argv[5:])
    else:
        main(*sys.argv[1:])
