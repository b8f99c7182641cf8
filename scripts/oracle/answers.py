#!/usr/bin/env python3
"""Write questions and answers, and what report answers --format tsv should
print of them, by numpy and Python's own text functions.
usage: answers.py OUT     (writes OUT.jsonl and OUT.tsv)
Golden: answers.py tests/golden/report/answers     (python 3.11, numpy 2)
"""
import collections
import json
import random
import sys
import unicodedata

import numpy

WORDS = ("the list of words and Numbers İstanbul Überprüfe wie viele écrire una "
         "función x1 2nd 漢字 don't re-do \u00a0 -- café").split(" ")
FIRST = ["Write", "write", "**Write**", "How", "¿Qué", "Überprüfe", "überprüfe",
         "(1)", "1)", "e\u0301crire", "--", "漢字 kana"]


def make(r):
    """Lines of all forms that a record may have."""
    lines = []
    for q in range(40):
        ask = " ".join([r.choice(FIRST)] + r.choices(WORDS, k=r.randrange(0, 20)))
        if q % 10 == 9:
            ask = "?!"
        pool = [" ".join(r.choices(WORDS, k=r.randrange(0, 40)))
                for _ in range(1 + q % 3)]
        for choice in range(r.choice([0, 1, 1, 2, 4])):
            text = r.choice(pool)
            if r.random() < 0.3:
                text = " " + text.replace(" ", "\n\t", 1)
            if r.random() < 0.3:
                text = "".join(c.upper() if c.isascii() else c for c in text)
            if r.random() < 0.05:
                text = " \n"
            one = {"text": text, "choice": choice,
                   "finish_reason": r.choice(["eos", "stop", "length"]),
                   "tokens": r.randrange(0, 90)}
            if q % 4 == 0:
                one["prompt"] = ask
            else:
                one["messages"] = [{"role": "user", "content": ask}]
                if q % 4 == 1:
                    one["messages"].insert(0, {"role": "system", "content": "Be."})
                if q % 4 == 2:
                    one["messages"].insert(0, {"role": "assistant", "content": "Hi"})
                    one["messages"].insert(0, {"role": "user", "content": "Hi"})
                one["prompt"] = "rendered " + ask
            lines.append(one)
        if q % 7 == 0:
            lines.append({"messages": [{"role": "user", "content": ask + " now"}]})
    return lines


def first(text):
    word = ""
    for c in text:
        if unicodedata.category(c)[0] in "LMN":
            word += c if c == "İ" else c.lower()
        elif word:
            break
    return (word or "-").replace("İ", "i")


def alike(text):
    out = "".join(c.lower() if c.isascii() else c for c in text)
    return " ".join(out.split(None)) if out.isascii() else " ".join(
        x for x in out.replace("\t", " ").replace("\n", " ").split(" ") if x)


def row(of, unit, v):
    if not v:
        return [of, unit, "0"] + ["-"] * 6
    q = numpy.percentile(v, [0, 25, 50, 75, 100])
    return [of, unit, str(len(v)), "%.6f" % numpy.mean(v)] + ["%.10g" % x for x in q]


def main(out):
    lines = make(random.Random(7))
    asked, answers, texts = {}, [], collections.defaultdict(list)
    for one in lines:
        said = one.get("messages") or [{"role": "user", "content": one["prompt"]}]
        key = json.dumps(said)
        asked[key] = [m["content"] for m in said if m["role"] == "user"][-1]
        if "text" in one:
            answers.append(one)
            texts[key].append(alike(one["text"]))
    several = [t for t in texts.values() if len(t) > 1]
    easy = sum(1 for t in several if t[0] and len(set(t)) == 1)
    hard = sum(1 for t in several
               if len({x for x in t if x}) == len([x for x in t if x]))
    share = lambda name, n, of: [name, str(of), "%.6f" % (n / of)]
    rows = [["of", "unit", "n", "mean", "least", "quarter", "median",
             "three_quarters", "most"],
            row("questions", "words", [len(x.split()) for x in asked.values()]),
            row("answers", "tokens", [x["tokens"] for x in answers]), [],
            ["share", "of", "value"],
            share("short", sum(x["tokens"] < 40 for x in answers), len(answers)),
            share("cut", sum(x["finish_reason"] == "length" for x in answers),
                  len(answers)),
            share("alike", easy, len(several)), share("apart", hard, len(several)),
            [], ["of", "word", "n"]]
    for name, t in (("questions", asked.values()),
                    ("answers", [x["text"] for x in answers])):
        n = collections.Counter(map(first, t))
        for word in sorted(n, key=lambda w: (-n[w], w.encode())):
            rows.append([name, word, str(n[word])])
    with open(out + ".jsonl", "w") as f:
        for one in lines:
            f.write(json.dumps(one, ensure_ascii=False) + "\n")
    with open(out + ".tsv", "w") as f:
        for x in rows:
            f.write("\t".join(x) + "\n")


main(sys.argv[1])
