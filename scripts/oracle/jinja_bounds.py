"""Measure the time and memory of random templates of at most 1 KiB that are
made to take long: texts and lists that grow, inside loops, under every filter.

usage: jinja_bounds.py RENDER SEED COUNT
RENDER: the program made from scripts/oracle/jinja_render.c.
Print each template that takes more processor time or memory than all before.
"""
import json
import os
import random
import subprocess
import sys

render, R = sys.argv[1], random.Random(int(sys.argv[2]))
# GROW: expressions for a larger text, list or object, of the texts {t} and
# {u}, the lists {l} and {m} and the object {d}.  USE: those that take long.
GROW = {
    "t": ["{t} ~ {u}", "{t} + {t}", "{t} * 99", "{l}|tojson", "{d}|tojson",
          "'a' * 3000000", "{t}|reverse", "{t}.replace('', {u})", "{t}[::-1]",
          "{t}|join({u})", "{t}|indent(999)", "{t}|title", "'é' * 999999",
          "('a' * 2000000) ~ 'b'", "'{{}}{{}}'.format({t}, {u})",
          "('{{}}' * 999).format({t})", "'<' * 999999", "({t}|safe)",
          "('<' * 999)|safe + {t}", "{t}.replace('a', {u})", "{l}|join({t})",
          "f({t})", "g({l})", "' ' * 3000000 ~ '1'"],
    "l": ["[{l}, {l}]", "[{t}] * 9999", "{t}|list", "range(99999)|list",
          "[1.5] * 99999", "{l} + {m}", "{l} * 3", "[{t}, {u}]",
          "{l}|reverse|list",
          "{t}.split('a')", "{t}.rsplit('a')", "[{d}, {d}]", "{d}|dictsort",
          "{l}|map('string')|list", "{d}.items()|list", "{l}|unique|list",
          "[{l}]", "[{t} ~ 1] * 999", "['Ab', 'aB'] * 9999", "{l}|sort"],
    "d": ["{{'a': {d}, 'b': {l}}}", "dict(a={d}, b={t})", "{{{t}: 1, {u}: 2}}",
          "{{'a': {l}}}", "{{'b': 1.5, 'a': {d}}}"]}
USE = ["{l} == {m}", "{t} in {u}", "{l} < {m}", "{t}|length", "{t} == {u}",
       "{l}|tojson(indent=16)|length", "{t}.find({u})", "{t} in {l}",
       "{t}.replace({u}, {t})|length", "{t}.strip({u})|length", "{l} in {m}",
       "{t}.split({u})|length", "{t}.rsplit({u})|length", "{l}|sort|length",
       "{l}|unique|list|length", "{l}|min|length", "{l}|max|string|length",
       "{t}|indent(9999, true, true)|length", "{t}|indent({u})|length", "{t}",
       "{t}|upper|lower|title|capitalize|length", "{t}[-1]",
       "{l}[1:-1:2]|length",
       "{l}|map('upper')|list|length", "{l}|select('in', {m})|list|length",
       "{l}|map(attribute='a.b.a.b')|list|length", "{t}.startswith({u})",
       "{t}|int", "{t}.format({u})", "{t}|trim({u})", "f({t})", "g({l})",
       "{d}|tojson(sort_keys=true)|length", "{t}.title()|length", "{d} == {d}",
       "{d}|dictsort|length", "{d}.items()|list|length", "{d}.get({t})",
       "{t}.rstrip('x' ~ {u})|length", "{t}|first", "{l}|first|length",
       "{l}|reject('==', {m})|list|length", "{l}|sort(attribute=0)|length",
       "[]|sort(attribute={t})|length",
       "{l}|selectattr('a', '==', {l})|list|length", "{t} < {u}", "{t} in {d}",
       "{l}|join({t})|length", "{d}|dictsort(by='value')|length",
       "{l}|unique(attribute='a')|list|length", "'9' * 99999|int", "{d}[{t}]",
       "{l}|sort(reverse=true, case_sensitive=true)|length", "2.5 ** 3.5"]


def use(form):
    return form.format(t="n.t", u=R.choice(["n.t", "n.u"]), l="n.l",
                       m=R.choice(["n.l", "n.m"]), d="n.d")


def statement(depth):
    k = R.random()
    if depth <= 0 or k < .45:
        to = R.choice("ttulmld")
        kind = {"u": "t", "m": "l"}.get(to, to)
        return "{% set n." + to + " = " + use(R.choice(GROW[kind])) + " %}"
    if k < .7:
        return "{{ " + use(R.choice(USE)) + " }}"
    if k < .9:
        return ("{% for i in " + R.choice(
            ["range(9)", "range(99999)", "range(40)", "n.l", "n.t"]) + " %}"
            + block(depth - 1) + "{% endfor %}")
    if k < .95:
        return "{% set n.u %}" + block(depth - 1) + "{% endset %}"
    return "{% filter indent(99) %}" + block(depth - 1) + "{% endfilter %}"


def block(depth):
    return "".join(statement(depth) for _ in range(R.randint(1, 5)))


def template():
    while True:
        t = ("{% set n = namespace(t='a', u='ab', l=['b'], m=['a'], "
             "d={'a': 1}) %}"
             "{% macro f(x) %}{{ x }}" + R.choice(["", "{{ f(x) }}"])
             + "{% endmacro %}{% macro g(x) %}{% for i in x %}{{ f(x) }}"
             "{% endfor %}{% endmacro %}" + block(3))
        if len(t) <= 1024:
            return t


slowest = largest = 0
for _ in range(int(sys.argv[3])):
    t = template()
    p = subprocess.Popen([render], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    line = json.dumps({"template": t, "variables": {}}).encode() + b"\n"
    p.stdin.write(line)
    p.stdin.close()
    answer = p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = status
    seconds, mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    if status or seconds > slowest or mib > largest:
        print(f"{seconds:.2f} s, {mib:.0f} MiB, status {status}: "
              f"{answer[:70]!r}\n  {t!r}", flush=True)
    slowest, largest = max(slowest, seconds), max(largest, mib)
print(f"at most {slowest:.2f} s and {largest:.0f} MiB")
