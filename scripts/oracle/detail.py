"""Golden values of every scored token of evalppl --protocol docs, and tables of
them, by transformers.
usage: detail.py MODEL BASE TEXT.jsonl CONTEXT OUT
MODEL, BASE: Hugging Face directories with one byte-level tokenizer, in float32;
softmax in float64.  TEXT.jsonl: documents, each in the field "text".

OUT.tokens.tsv: document (from 0), position, id, text as hexadecimal bytes, loss
of base and model, KL(base || model), class.
OUT.tsv: of base and model: table, row, tokens, mean loss, KL, entropy,
confidence (the highest probability), accuracy (its token came), ECE with 15
bins of equal width, (k/15, (k+1)/15] (Guo et al., arXiv:1706.04599); beside the
base KL(model || base), the change of the token's probability, and whether both
have the same most likely token."""
import json
import math
import sys
import unicodedata

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def byte_table():
    """GPT-2's bytes_to_unicode, the other way round."""
    own = (list(range(33, 127)) + list(range(161, 173)) +
           list(range(174, 256)))
    rest = [b for b in range(256) if b not in own]
    return {**{chr(b): b for b in own},
            **{chr(256 + i): b for i, b in enumerate(rest)}}


TABLE = byte_table()
# White_Space of Unicode; str.isspace has four controls more
WHITE = ''.join(c for c in map(chr, range(0x110000))
                if c.isspace() and c not in '\x1c\x1d\x1e\x1f')


def token_bytes(tok, i):
    s = tok.convert_ids_to_tokens(i)
    return s.encode() if i in tok.all_special_ids else bytes(
        TABLE[c] for c in s)


def is_word(c):
    return unicodedata.category(c)[0] in 'LM'


def kind(tok, i, before):
    """Class of token i, which depends on the token before."""
    b = token_bytes(tok, i)
    s = b.decode('utf-8', 'surrogateescape')
    bare = s.lstrip(WHITE)
    if i in tok.all_special_ids or not b:
        return 'other'
    if not bare:
        return 'white space'
    if 0xdc80 <= ord(bare[0]) <= 0xdcff:
        return 'other'
    if is_word(bare[0]):
        last = '' if before in tok.all_special_ids else token_bytes(
            tok, before).decode('utf-8', 'surrogateescape')[-1:]
        inside = bare == s and last and is_word(last)
        return 'word goes on' if inside else 'word begins'
    return 'digits' if unicodedata.category(bare[0])[0] == 'N' else \
        'punctuation'


def predictions(nets, tok, file, c):
    for d, line in enumerate(open(file)):
        ids = tok(json.loads(line)['text'])['input_ids']
        for at in range(0, max(len(ids) - 1, 0), c - 1):
            part = ids[at:at + c]
            with torch.no_grad():
                logp = [torch.log_softmax(
                    n(torch.tensor([part])).logits[0].double(), -1)
                    for n in nets]
            for t in range(1, len(part)):
                yield d, at + t, t, part[t], part[t - 1], [
                    x[t - 1] for x in logp]


def main(model, base, file, c, out):
    tok = AutoTokenizer.from_pretrained(model)
    nets = [AutoModelForCausalLM.from_pretrained(
        m, dtype=torch.float32).eval() for m in (base, model)]
    rows = [{}, {}]

    def add(m, table, row, *v):
        rows[m].setdefault((table, row), []).append(v)

    with open(out + '.tokens.tsv', 'w') as o:
        for d, pos, seen, i, before, logp in predictions(nets, tok, file,
                                                         int(c)):
            kl = float((logp[0].exp() * (logp[0] - logp[1])).sum())
            k = kind(tok, i, before)
            nll = [-float(x[i]) for x in logp]
            o.write(f'{d}\t{pos}\t{i}\t{token_bytes(tok, i).hex()}'
                    f'\t{nll[0]:.8f}\t{nll[1]:.8f}\t{kl:.8f}\t{k}\n')
            for m, x in enumerate(logp):
                top = float(x.max().exp())
                v = (nll[m], kl if m else 0.0, -float((x.exp() * x).sum()),
                     top, float(int(x.argmax()) == i),
                     float((x.exp() * (x - logp[0])).sum()),
                     float(x[i].exp() - logp[0][i].exp()),
                     float(int(x.argmax()) == int(logp[0].argmax())))
                lo = 2 ** int(math.log2(seen))
                add(m, 'all', '-', *v)
                add(m, 'context', f'{lo}..{2 * lo - 1}', *v)
                add(m, 'class', k, *v)
                b = math.ceil(top * 15) - 1
                add(m, 'confidence', f'{b / 15:.4f}..{(b + 1) / 15:.4f}', *v)
    with open(out + '.tsv', 'w') as o:
        for m in (0, 1):
            all_n = len(rows[m]['all', '-'])
            ece = sum(abs(sum(x[3] - x[4] for x in v))
                      for (t, _), v in rows[m].items()
                      if t == 'confidence') / all_n
            for (t, r), v in rows[m].items():
                o.write('\t'.join(
                    [('base', 'model')[m], t, r, str(len(v))] +
                    [f'{sum(x[i] for x in v) / len(v):.8f}'
                     for i in range(5)] +
                    [f'{ece:.8f}' if t == 'all' else '-'] +
                    [f'{sum(x[i] for x in v) / len(v):.8f}'
                     for i in range(5, 8)]) + '\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
