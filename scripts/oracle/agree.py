"""Texts of which it is known which give the same answer, and the rewards that
they get from scripts/agree.

usage: agree.py SEED OUT                  (tests/golden/agree)

Each prompt has some different answers.  Each of its texts is one of them,
written in a manner drawn at random: members in another order, numbers, white
space, letters and characters of strings written in another way.  So nothing is
compared here: the rewards are counts.  Writes same.jsonl and last.jsonl (for
--last-number) with the texts, and same.txt and last.txt with the rewards.

Recorded with Python 3.11:
    agree.py 1 tests/golden/agree
"""
import collections
import json
import os
import random
import sys

seed, out = sys.argv[1:]
rng = random.Random(int(seed))
WORDS = ['lake', 'river', 'Pécs', '東京', 'a "b"', 'back\\slash', 'x/y', '12',
         'no', '😀', 'two words', 'CAPITAL']


def space():
    return rng.choice(['', '', '', ' ', '\n', '  ', '\t'])


def digits(whole, tenths):
    """Ways to write the number whole + tenths / 10, tenths from 0 to 9."""
    sign = '-' if whole < 0 or tenths < 0 else ''
    w, t = abs(whole), abs(tenths)
    ways = [f'{sign}{w}.{t}', f'{sign}{w}.{t}00', f'{sign}{w * 10 + t}e-1',
            f'{sign}{w}{t}0E-2', f'{sign}{w * 10 + t}00e-03']
    if t == 0:
        ways += [f'{sign}{w}', f'{sign}{w}e0', f'{sign}{w}.0e+00']
    if w >= 10:
        s = f'{w}{t}'
        ways.append(f'{sign}{s[0]}.{s[1:]}e{len(s) - 2}')
    return rng.choice(ways)


def string(s):
    """A JSON string, some of its characters as escapes."""
    def one(c):
        if rng.random() < 0.2:
            return json.dumps(c)[1:-1] if ord(c) > 126 or c in '"\\' else \
                f'\\u{ord(c):04x}'
        return json.dumps(c, ensure_ascii=False)[1:-1]
    return '"' + ''.join(one(c) for c in s).replace(
        '/', rng.choice(['/', '\\/'])) + '"'


def draw_value(depth=0):
    kind = rng.randrange(7 if depth < 3 else 5)
    if kind < 2:
        return (rng.randrange(-300, 3000), rng.choice([0, 0, 1, 5]))
    if kind == 2:
        return rng.choice([True, False, None])
    if kind < 5:
        return rng.choice(WORDS)
    some = [draw_value(depth + 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return some
    return dict(zip(rng.sample(WORDS, len(some)), some))


def draw_json():
    while not isinstance(v := draw_value(), (list, dict)):
        if isinstance(v, tuple):
            return v
    return v


def write_json(v):
    if isinstance(v, tuple):
        return digits(*v) if v[0] >= 0 else digits(v[0], -v[1])
    if v is None or isinstance(v, bool):
        return json.dumps(v)
    if isinstance(v, str):
        return string(v)
    if isinstance(v, list):
        return '[' + ','.join(space() + write_json(x) + space() for x in v) + \
            ('' if v else space()) + ']'
    parts = list(v.items())
    rng.shuffle(parts)
    return '{' + ','.join(
        space() + string(k) + space() + ':' + space() + write_json(x) + space()
        for k, x in parts) + '}'


def draw_words():
    return tuple(rng.choice(['Yes', 'no', 'the', 'Árvíz', '3', '{', '-', 'x.'])
                 for _ in range(rng.randrange(1, 4)))


def write_words(v):
    def case(w):
        how = rng.randrange(3)
        return ''.join(c.upper() if how == 1 else c.lower() if how == 2 else c
                       for c in w) if w.isascii() else w
    gap = rng.choice([' ', '  ', '\n', '\t '])
    return space() + gap.join(map(case, v)) + space()


def draw_number():
    return (rng.randrange(-3000, 2000000), rng.choice([0, 0, 1, 5]))


def write_number(v):
    w, t = v if v[0] >= 0 else (v[0], -v[1])
    x = digits(w, t)
    if rng.random() < 0.5:
        x = f'{abs(w):,}' + (f'.{abs(t)}' if t else rng.choice(['', '.0']))
        x = ('-' if w < 0 else '') + x
    before = rng.choice(['', 'It is ', '12 of 3, so ', 'a = ', '(', 'x:',
                         'Step 1: 5-3 = 2\n', 'So $\\boxed{'])
    after = rng.choice(['', '.', ', I think', ' apples', ')', '}$', '\n\nDone.',
                        '%', ' - yes'])
    if w < 0 and rng.random() < 0.3:
        x = '\u2212' + x[1:]
    return before + x + after


def group(key, draw, write, lines):
    """Texts of a prompt; blank ones give no answer."""
    answers = []
    while len(answers) < rng.randrange(1, 5):
        v = draw()
        if repr(v).lower() not in [repr(a).lower() for a in answers]:
            answers.append(v)
    picks = [rng.randrange(-1, len(answers)) if rng.random() < 0.2 else
             rng.randrange(len(answers)) for _ in range(rng.randrange(1, 8))]
    count = collections.Counter(picks)
    for p in picks:
        text = write(answers[p]) if p >= 0 else rng.choice(['', ' \n', '\t'])
        share = count[p] / len(picks) if p >= 0 and count[p] > 1 else 0
        record = dict(key, completion=text)
        if rng.random() < 0.2:
            record = dict([('completion', text)], **key)
        lines.append((json.dumps(record, ensure_ascii=rng.random() < 0.2,
                                 separators=rng.choice([None, (',', ':')])),
                      share))


os.makedirs(out, exist_ok=True)
for name, kinds in [('same', [(draw_json, write_json),
                              (draw_words, write_words)]),
                    ('last', [(draw_number, write_number)])]:
    lines = []
    for i in range(50):
        draw, write = rng.choice(kinds)
        key = {'prompt': rng.choice(WORDS), 'index': i, 'more': [draw_words()]}
        group(key, draw, write, lines)
    if name == 'last':
        rng.shuffle(lines)
    with open(f'{out}/{name}.jsonl', 'w', encoding='utf-8') as f:
        f.writelines(x + '\n' for x, _ in lines)
    with open(f'{out}/{name}.txt', 'w', encoding='utf-8') as f:
        f.writelines(f'{s:.6g}\n' for _, s in lines)
