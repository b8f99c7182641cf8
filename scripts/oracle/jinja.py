"""Random templates rendered by jinja2, as transformers sets it up, and by
retort's interpreter; differences are printed.

usage: jinja.py RENDER SEED COUNT [GOLDEN | TEMPLATE.jinja ...]
RENDER: the program made from scripts/oracle/jinja_render.c.
GOLDEN: a file to write, with SNIPPETS, the random templates and jinja2's
answers, but without the templates that retort alone refuses.
TEMPLATE.jinja: a published template, rendered with COUNT random conversations
in place of random templates.
A template is a fault if the two texts differ or if retort alone renders it.
Templates that retort alone refuses are counted by retort's message;
lib/gen/jinja.h lists them.
"""
import collections
import json
import random
import re
import subprocess
import sys
import warnings
from datetime import datetime
from pathlib import Path

import jinja2
import transformers
from transformers.utils import chat_template_utils as utils

warnings.simplefilter("ignore")


class Clock(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 11, 27)


utils.datetime = Clock
render, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
R = random.Random(seed)
# jinja2's errors about ranges, generators and views, which retort makes lists
LAZY = re.compile("'(reversed|generator|dict_(keys|values|items)|range)'"
                  "|type (generator|range|dict_|list_reverse)")
VARIABLES = {
    "messages": [
        {"role": "system", "content": " Be brief.\n"},
        {"role": "user", "content": "a <b> & 'c' \"d\"\nX-y (z"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"name": "f", "arguments": {"b": [1, 2.5, None], "A": "x"}}]},
        {"role": "tool", "content": [{"type": "text", "text": "é日"}]}],
    "tools": [{"name": "f", "items": 3, "type": "function"}],
    "n": 7, "x": -2.5, "yes": True, "nil": None, "s": "Hello, wide World",
    "words": ["b", "A", "c", "a", "B"], "numbers": [3, -1, 2.5, 3, 0],
    "d": {"b": 2, "A": 1, "c": {"k": "v"}}, "empty": [], "nothing": {}}
TEXTS = ["''", "'a'", "'A b'", "'<&>'", "', '", "'x\\ny\\n\\nz'", "' 12 '",
         "'-7.9'", "'1e3'", "'1_0'", "'é'", "'日本'", "'aaa'", "'{}-{}'",
         "'{0} {x}'", "'don\\'t-STOP (now'", "'{{'", "'user'", "'\\t '"]
NAMES = ["role", "content", "name", "items", "type", "A", "b", "k", "foo",
         "get", "upper", "pop"]


INDENT = ["", "2", "first=true", "1, true, true", "'<>'", "blank=true"]
DICTSORT = ["", "true", "false, 'value'", "reverse=true"]
SELECT = ["", "'string'", "'==', 2", "'odd'", "'in', words"]
ATTRIBUTE = ["", ", 'defined'", ", 'equalto', 'user'", ", 'none'"]
MAP = ["'upper'", "attribute='role'", "attribute='0'", "'string'",
       "attribute='foo', default=1"]


def pick(*options):
    return R.choice(options)


def some(make, depth, most=3):
    return ", ".join(make(depth) for _ in range(R.randint(0, most)))


def text(depth):
    if depth <= 0 or R.random() < .3:
        return pick(*TEXTS, "s", "messages[0].content", "messages[1].content",
                    "messages[1]['role']", "v", "w")
    t = text(depth - 1)
    return pick(
        lambda: f"{t} ~ {any_(depth - 1)}", lambda: f"{t} + {text(depth - 1)}",
        lambda: f"({t} * {pick(0, 1, 2, 3, -1)})",
        lambda: f"({pick(0, 2, 3)} * {t})",
        lambda: f"({t})[{number(0)}]", lambda: f"({t})[{slice_()}]",
        lambda: f"({t})|{pick('upper', 'lower', 'capitalize', 'title')}",
        lambda: f"({t})|{pick('trim', 'string', 'safe', 'reverse', 'd')}",
        lambda: f"({t}).{pick('upper', 'lower', 'title', 'strip')}()",
        lambda: f"({t}).{pick('strip', 'lstrip', 'rstrip')}({text(0)})",
        lambda: f"({t}).replace({text(0)}, {text(0)}{pick('', ', 1')})",
        lambda: f"({t})|replace({text(0)}, {text(0)}{pick('', ', 1')})",
        lambda: f"({t})|indent({pick(*INDENT)})",
        lambda: f"({t}).format({some(any_, depth - 1)}"
                f"{pick('', ', x=1')})".replace("(, ", "("),
        lambda: f"({t}).join({list_(depth - 1)})",
        lambda: f"{list_(depth - 1)}|join({pick('', text(0))})",
        lambda: f"{any_(depth - 1)}|tojson{pick('', '(indent=2)')}",
        lambda: f"({t})|trim({text(0)})",
        lambda: f"({t} if {any_(depth - 1)} else {text(depth - 1)})",
        lambda: f"({any_(depth - 1)}|string)",
        lambda: f"({t}|safe)", lambda: f"f({some(any_, depth - 1)})")()


def number(depth):
    if depth <= 0 or R.random() < .4:
        return pick("0", "1", "2", "-3", "7", "0.5", "-2.5", "3.0", "100.0",
                    "n", "x", "loop.index", "true", "numbers[1]")
    a, b = number(depth - 1), number(depth - 1)
    return pick(
        lambda: f"({a} {pick('+', '-', '*', '/', '//', '%')} {b})",
        lambda: f"({a} ** {pick('2', '3', '-1', '0.5')})",
        lambda: f"-({a})", lambda: f"({a})|abs", lambda: f"({a})|int",
        lambda: f"({any_(depth - 1)})|int{pick('', '(5)', '(default=none)')}",
        lambda: f"{any_(depth - 1)}|length",
        lambda: f"({text(depth - 1)}).find({text(0)})",
        lambda: f"{list_(depth - 1)}|{pick('min', 'max', 'first', 'last')}")()


def slice_():
    def end():
        return pick("", "", "0", "1", "-1", "2", "-2", "9")
    return f"{end()}:{end()}{pick('', ':' + pick('', '2', '-1', '1'))}"


def attributes():
    return pick("", "", "attribute='role'", "attribute='content'",
                "case_sensitive=true", "attribute='0'", "attribute=0",
                "attribute='c.k'")


def list_(depth):
    if depth <= 0 or R.random() < .3:
        return pick("messages", "tools", "words", "numbers", "empty", "[1, 2]",
                    "['b', 'a', 'C']", "[[2, 'x'], [1, 'y']]", "(1, 2)",
                    "[d, nothing]", "(3,)", "range(3)|list")
    a = list_(depth - 1)
    return pick(
        lambda: f"[{some(any_, depth - 1)}]",
        lambda: f"({a} + {list_(depth - 1)})", lambda: f"({a} * 2)",
        lambda: f"{a}[{slice_()}]",
        lambda: f"({text(depth - 1)}).{pick('split', 'rsplit')}"
                f"({pick('', text(0), text(0) + ', 1')})",
        lambda: f"({a}|sort({attributes()}{pick('', ', reverse=true')}))"
                .replace("(, ", "("),
        lambda: f"({a}|unique({attributes()})|list)",
        lambda: f"({a}|reverse|list)", lambda: f"({any_(depth - 1)}|list)",
        lambda: f"({dict_(depth - 1)}|dictsort({pick(*DICTSORT)}))",
        lambda: f"({dict_(depth - 1)}.{pick('items', 'keys', 'values')}()"
                "|list)",
        lambda: f"({dict_(depth - 1)}|items|list)",
        lambda: f"({a}|{pick('select', 'reject')}({pick(*SELECT)})|list)",
        lambda: f"({a}|{pick('selectattr', 'rejectattr')}"
                f"('{pick(*NAMES)}'{pick(*ATTRIBUTE)})|list)",
        lambda: f"({a}|map({pick(*MAP)})|list)")()


def dict_(depth):
    if depth <= 0 or R.random() < .5:
        return pick("d", "nothing", "messages[0]", "messages[2]", "tools[0]",
                    "{'b': 1, 'a': 2}")
    return pick(
        lambda: f"{{'b': {any_(depth - 1)}, {text(0)}: {any_(depth - 1)}}}",
        lambda: f"dict(k={any_(depth - 1)})",
        lambda: f"({list_(depth - 1)})[{pick(0, 1, -1)}]")()


def test(depth):
    return pick(
        lambda: pick(*"defined undefined none string number integer float "
                      "boolean true false mapping iterable sequence odd "
                      "even".split()),
        lambda: f"{pick('eq', 'ne', 'in', 'lt', 'ge')}({any_(depth)})")()


def truth(depth):
    a, b = any_(depth - 1), any_(depth - 1)
    return pick(
        lambda: f"({a} {pick('==', '!=', 'in', 'not in')} {b})",
        lambda: f"({number(depth - 1)} {pick('<', '>', '<=', '>=')} "
                f"{number(depth - 1)})",
        lambda: f"({list_(depth - 1)} < {list_(depth - 1)})",
        lambda: f"({a} is {pick('', 'not ')}{test(depth - 1)})",
        lambda: f"({a} and {b})", lambda: f"({a} or {b})",
        lambda: f"(not {a})",
        lambda: f"({text(depth - 1)}).{pick('startswith', 'endswith')}"
                f"({text(0)})")()


def any_(depth):
    if depth <= 0:
        return pick(text, number, list_, dict_,
                    lambda _: pick("none", "nil", "missing", "true"))(0)
    member = R.random() < .2
    base = pick(text, text, number, list_, dict_, truth, dict_)(depth)
    if member:
        name = pick(*NAMES)
        base = pick(f"({base}).{name}", f"({base})['{name}']",
                    f"({base}).get('{name}', 'no')",
                    f"({base})[{number(0)}]")
    return pick(base, base, base, f"({base})|default({any_(0)})",
                f"({base})|d('', true)")


def tag(body):
    return pick("{%", "{%", "{%-", "{%+") + f" {body} " + pick(
        "%}", "%}", "-%}")


def data():
    return pick("", " ", "\n", "a\n  ", "  b ", "\n\n", "\t", "-", "{# c #}",
                "{#- c -#}\n", tag("raw") + pick("", " \n {{ x }}{% if %} ")
                + tag("endraw"))


def name():
    return pick("v", "w", "v", "ns.a", "v, w")


def statement(depth, loop):
    def body(more=loop):
        return block(depth - 1, more)
    kind = R.random()
    if depth <= 0 or kind < .3:
        return (pick("{{ ", "{{- ", "{{ ")
                + pick(any_, shown, shown, shown)(2) + pick(" }}", " -}}"))
    return data() + pick(
        lambda: tag(f"if {any_(1)}") + body() + pick(
            "", tag(f"elif {any_(1)}") + body(), tag("else") + body())
        + tag("endif"),
        lambda: tag(f"for {pick('v', 'i', 'v, w')} in {list_(1)}"
                    f"{pick('', '', ' if ' + any_(1))}") + body(True)
        + pick("", tag("else") + body()) + tag("endfor"),
        lambda: tag(f"for i in {list_(1)}") + body(True)
        + "{{ loop." + pick("index", "last", "length", "revindex0",
                            "previtem is defined", "nextitem") + " }}"
        + tag("endfor"),
        lambda: tag(f"set {name()} = {any_(2)}"),
        lambda: tag(f"set {pick('v', 'w', 'ns.a')}"
                    f"{pick('', ' | upper', '|trim|title')}") + body()
        + tag("endset"),
        lambda: tag(f"with {pick('', 'v = ' + any_(1), 'v = 1, w = v')}")
        + body() + tag("endwith"),
        lambda: tag(f"filter {pick('upper', 'trim|lower', 'indent(2)')}")
        + body() + tag("endfilter"),
        lambda: tag(f"call{pick('', '(v)', '(v, w=3)')} "
                    f"g({some(any_, 0, 1)})") + body(False) + tag("endcall"),
        lambda: tag(f"if {any_(1)}")
        + (tag(pick("break", "continue")) if loop else "") + tag("endif"),
        lambda: "{{ " + shown(3) + " }}")()


def shown(depth):
    """An expression whose value retort can print."""
    return pick(text, number, truth, lambda k: list_(k) + "|tojson",
                lambda k: f"({any_(k)})|tojson",
                lambda k: f"({any_(k)}) is {test(0)}")(depth)


def block(depth, loop=False):
    return "".join(statement(depth, loop) + data()
                   for _ in range(R.randint(0, 3)))


def template():
    head = pick("", "{% set v = 1 %}", "{% set w = 'W' %}")
    return ("{% set ns = namespace(a=1) %}" + head
            + "{% macro f(p, q='Q') %}[{{ p }}{{ q }}"
            + pick("", block(1)) + "]{% endmacro %}"
            + "{% macro g(p) %}<{{ caller(" + pick("", "p", "1, w=2")
            + ") }}>{% endmacro %}"
            + pick(block(2), block(3), "{{ " + shown(4) + " }}"))


# Templates, one a line, for each part of the language in which an interpreter
# may differ from jinja2; ¶ is a line end.
SNIPPETS = r"""
{{ 'a'|safe + '<b>' }}{{ '<' + ('&'|safe) }}{{ 'a'|safe ~ '<' }}{{ 5|safe + '<' }}
{% set t = '<i>'|safe %}{{ t + "'\"&" }}{{ t * 2 + '<' }}{{ t[0] + '<' }}{{ t[1:] + '<' }}{{ t.upper() + '<' }}{{ t|trim + '<' }}
{% set t = 'a-b'|safe %}{{ t.replace('-', '<') }}{{ t|replace('-', '<') }}{{ t.split('-')[0] + '<' }}{{ t.join(['<', 1, t]) }}{{ ['<', t]|join(t) + '<' }}
{% set t = '{}'|safe %}{{ t.format('<') + '<' }}{{ t|string + '<' }}{{ t|title + '<' }}{{ t|first + '<' }}{{ t|reverse + '<' }}{{ t|indent + '<' }}
{{ d|tojson|safe + '<' }}{% macro m() %}a{% endmacro %}{{ m() + '<' }}{% set q %}x{% endset %}{{ q + '<' }}
{{ words|sort|tojson }}{{ words|sort(reverse=true)|tojson }}{{ words|sort(case_sensitive=true)|tojson }}{{ numbers|sort|tojson }}{{ messages|sort(attribute='role')|map(attribute='role')|join(',') }}
{{ [none, none]|sort|tojson }}{{ [[2, 'b'], [1, 'c'], [1, 'a']]|sort|tojson }}{{ [{'a': {'b': 2}}, {'a': {'b': 1}}]|sort(attribute='a.b')|tojson }}{{ [[2], [1]]|sort(attribute=0)|tojson }}
{{ [1, 'a']|sort }}
{{ [none, 1]|sort }}
{{ d|dictsort|tojson }}{{ d|dictsort(true)|tojson }}{{ d|dictsort(reverse=true)|tojson }}{{ {'x': 2, 'y': 1}|dictsort(by='value')|tojson }}{{ {}|dictsort|tojson }}
{{ d|dictsort(by='x') }}
{{ words|dictsort }}
{{ 'a\n\nb\r\nc\u2028d'|indent }}|{{ 'a\n\nb'|indent(2, true, true) }}|{{ 'a\nb'|indent('> ') }}|{{ ''|indent(first=true) }}|{{ 'a\n'|indent(1) }}|{{ 'a\r'|indent(1) }}|{{ 'a\nb'|indent(-1) }}
{{ words|unique|list|tojson }}{{ words|unique(true)|list|tojson }}{{ [1, 1.0, true, '1']|unique|list|tojson }}{{ messages|unique(attribute='foo')|list|length }}
{{ [[1]]|unique|list }}
{{ numbers|min }}{{ numbers|max }}{{ words|min }}{{ words|max }}{{ words|max(case_sensitive=true) }}{{ []|min }}{{ messages|max(attribute='role')|tojson }}{{ 'hello'|max }}
{{ [1, none]|max }}
{{ -3|abs }}{{ (-3)|abs }}{{ (-2.5)|abs }}{{ true|abs }}
{{ 'a'|abs }}
{{ "don't-STOP (now {aND [THEN <x"|title }}{{ 'a1b c_d éx'|title }}
{{ "don't-STOP (now a1b".title() }}{{ 'ab'.title }}
{% raw %}{{ x }}{% if %}{# #}{% endraw %}
a {%- raw -%}  b  {%- endraw -%}  c
a {% raw %}¶ b¶  {% endraw %}¶c
a{%+ raw %} x{%+ endraw +%}
b{%raw%}{%endraw%}{% raw %}{% endraw
{% raw %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}{% with %}{% set c = 1 %}{{ c }}{% endwith %}{{ c }}
{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}{% for i in [1, 2] %}{% with j = i %}{% if j == 1 %}{% continue %}{% endif %}{{ j }}{% endwith %}{% endfor %}
{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}{% call m(1) %}x{{ n }}{% endcall %}{% for v in [1, 2] %}{% call m(v) %}{{ v }}{{ a }}{% endcall %}{% endfor %}
{% macro m() %}{{ caller(1, b=2) }}{{ caller(3) }}{% endmacro %}{% call(a, b='B') m() %}[{{ a }}{{ b }}]{% endcall %}{% call(a) m() %}{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}
{% macro m() %}a{% endmacro %}{% call m() %}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% call range(3) %}{% endcall %}
{% macro m(x) %}{% set k = x %}{{ caller() }}{{ k }}{% endmacro %}{% set k = 'K' %}{% call m(1) %}{{ k }}{% call m(2) %}{{ k }}{% endcall %}{% endcall %}
{% filter upper %}a{{ s }}{% endfilter %}{% filter trim|replace('a', 'b') %} a {% endfilter %}{% filter indent(1) %}x¶y{% endfilter %}
{% set a | upper %}x{% endset %}{{ a }}{% set b|trim|title %} don't x {% endset %}[{{ b }}]
{% for i in [1, 2, 3] %}{{ i }}{% filter upper %}a{% if i == 2 %}{% break %}{% endif %}b{% endfilter %}{% endfor %}{% for i in [1, 2] %}{% set q %}z{% continue %}{% endset %}{% endfor %}{{ q }}
{{ '{} {}'.format(1, 'b') }}{{ '{1}{0}'.format('a', 2.5) }}{{ '{a}{{}}{b}'.format(a=none, b=true) }}{{ '{}{x}'.format(1, x=2) }}{{ '{}'.format(missing) }}
{{ '{} {}'.format(1) }}
{{ '{'.format(1) }}
{{ '}'.format(1) }}
{{ '{0}{}'.format(1, 2) }}
{{ '{}{0}'.format(1, 2) }}
{{ none.a }}{{ none['a'] }}{{ nil.a }}{{ none.a is defined }}{{ 5 .a }}{{ true.a }}{{ messages[2].content.x }}{{ messages[2].content[0] }}
{{ none.a.b }}
{{ none.a() }}
{{ ' 12 '|int }}{{ '-7.9'|int }}{{ '1e3'|int }}{{ '1_0'|int }}{{ '_1'|int }}{{ '1__0'|int }}{{ '+5'|int }}{{ 'inf'|int }}{{ 'nan'|int(3) }}{{ '0x1f'|int }}{{ '.5'|int }}{{ '5.'|int }}{{ '- 5'|int }}{{ ''|int }}{{ '\u00a012'|int }}{{ '1 2'|int }}
{{ 3.9|int }}{{ (-3.9)|int }}{{ none|int }}{{ none|int(4) }}{{ [1]|int }}{{ true|int }}{{ 'x'|int(default=none) }}{{ 1e|int }}
{{ missing|int }}
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 // -2 }} {{ 0.3 // 0.1 }} {{ -0.0 // 1 }} {{ 1 // 0.1 }} {{ 5 // 2.0 }} {{ -1 // 10.0 }} {{ 0.0 // -3 }}
{{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 0.3 % 0.1 }} {{ -0.0 % 1 }} {{ 1 % 0.1 }} {{ -1 % 10.0 }} {{ 6.0 % -3 }} {{ 5 % -3 }} {{ true % 2 }}
{{ 1.5 % 0 }}
{{ 1.5 // 0.0 }}
{{ 0 ** -1 }}
{{ 10.0 ** 400 }}
{% for i in [1, 2] %}{% break %}{% else %}else{% endfor %}{% for i in [1, 2] %}{% continue %}{% else %}else{% endfor %}{% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}{% else %}none{% endfor %}
{% for i in [] %}{% else %}{% set y = 1 %}{{ y }}{% endfor %}{{ y }}{% for i in [1] %}{% else %}x{% endfor %}
{% for i in [1, 2] %}{% for j in [1, 2] %}{% if j == i %}{% break %}{% endif %}{{ i }}{{ j }}{% else %}e{% endfor %}{% endfor %}
{{ tools[0].items is defined }}{{ tools[0]['items'] }}{{ d['items'] is defined }}{{ d.keys is none }}{{ d['nope'] is defined }}{{ d.update is defined }}{{ 'a'.isdigit is defined }}{{ [].append is defined }}{{ 'yes' if d.items else 'no' }}
{{ d.items }}
{{ 'abc'.isdigit() }}
{{ [1].append(2) }}
{{ ','.join([1, 2]) }}
{{ [1, 2]|join(3) }}{{ 'abc'|join('-') }}{{ [none, missing, 1.0]|join(',') }}
{{ 3 * 'ab' }}{{ ([1] * 2)|tojson }}{{ (2 * (1, 'a'))|tojson }}{{ 'a' * -1 }}{{ 'a' * true }}{{ ((1,) + (2,))|tojson }}
{{ [1] + (2,) }}
{{ 'ab'|reverse }}{{ [1, 2] < [1, 3] }}{{ (1, 'a') < (1, 'b') }}{{ [] < [0] }}{{ [none] < [none, 1] }}
{{ [1] < (2,) }}
{{ 'aXbX'.replace('X', '', 1) }}{{ 'ab'.replace('', '-') }}{{ 'aé'|replace('', '-', 2) }}{{ 'a1a'|replace(1, 2) }}{{ 'aa'|replace('a', 'b', none) }}
{{ 3.0 is odd }}{{ -3 is odd }}{{ 2.5 is even }}{{ 4.0 is even }}
{{ words|select('==', 'a')|list|tojson }}{{ numbers|select('>', 1)|list|tojson }}{{ numbers|reject('<=', 0)|list|tojson }}{{ numbers|select('!=', 3)|list|tojson }}
{{ messages|map(attribute='tool_calls.0.name')|join(',') }}{{ messages|selectattr('content.0.type', 'defined')|list|length }}
{{ messages|map(attribute='tool_calls.0.name.x.y')|join(',') }}
{{ '日本'|upper }}{{ '日本'.capitalize() }}{{ '½é'|lower }}
{% set ns = namespace() %}{% set ns._a = 1 %}
{{ namespace(_a=1) }}
{{ 'a' in namespace(a=1) }}
{{ range(100001)|length }}
{{ +'a' }}
{{ +true }}{{ +-2 }}{{ -true }}
{{ (2 ** 0.5)|tojson }}{{ (0.0 * -1)|tojson }}{{ 1e400 }}
{% for i in [1, 2] %}{% set ns = loop %}{{ ns.index }}{{ loop['index'] }}{{ loop.length }}{% endfor %}
{{ 'a b'.rsplit(' ', 1)|tojson }}{{ 'aaa'.rsplit('a')|tojson }}{{ 'aaa'.split('aa')|tojson }}{{ 'aaa'.rsplit('aa')|tojson }}{{ 'a,b,c'.rsplit(',', 1)|tojson }}{{ 'a,b'.split(',', 0)|tojson }}
{{ 'aabaabaaab'.find('aaab') }}{{ 'aab' in 'aaab' }}{{ '' in '' }}{{ ''.find('') }}{{ 'ab'.find('') }}{{ 'ééx'.find('x') }}
{{ 2.0 ** -44 }} {{ 2.0 ** 122 }} {{ 2.0 ** -1074 }} {{ 2.0 ** -1022 }} {{ 1.0 / 3 }} {{ 0.1 + 0.2 }} {{ 123456789.0 * 1000000000.0 }}
{% macro f(a, a) %}{% endmacro %}
{% macro f(a, b=1, c) %}{% endmacro %}
{% for i in [1] %}{% set loop = 2 %}{% endfor %}
{% for loop in [1] %}{% endfor %}
{% set loop = 3 %}{{ loop }}{% for i in [1] %}{{ loop.index }}{% endfor %}
{{ none|select|list|length }}{{ 0|map('upper')|list|length }}{{ none|selectattr('a')|list|length }}
{{ 1|select|list }}
{% if false %}{{ 1|nope }}{{ 1 is nope }}{% endif %}{{ (1|nope) if false else 2 }}{{ 1 if true else 2 is nope }}
{% if true %}{{ 1|nope }}{% endif %}
{% if false %}{% for i in [1] %}{{ i|nope }}{% endfor %}{% endif %}
{% if false %}{% set x %}{{ 1|nope }}{% endset %}{% endif %}
{% for i in [] %}{{ 1|nope }}{% endfor %}
{% if false %}{% for i in [1]|nope %}{% endfor %}{% endif %}
{% if false %}{% elif 1|nope %}{% endif %}
{% if false %}a{% else %}{{ 1 is nope }}{% endif %}
{% if false %}{% filter nope %}{% endfilter %}{% endif %}
{{ (1 if true else 2)|nope }}
{{ (1|nope if true else 2) }}
{{ 1|nope or 2 }}
{% if messages|selectattr('role', 'equalto', 'x') %}T{% endif %}{{ 1 if empty|map('upper') else 2 }}{{ 1 if nothing|items else 2 }}{{ 1 if empty|reverse else 2 }}{{ 1 if missing|unique else 2 }}
{% set g = empty|select %}{{ not g }}{{ g and 1 }}{{ g|default('d', true)|list|tojson }}{{ 1 if g|list else 2 }}{{ 1 if nothing.items() else 2 }}{{ 1 if range(0) else 2 }}{{ 1 if ''|reverse else 2 }}
{{ 'xyxay'.strip('yx') }}{{ 'éaé'.strip('é') }}{{ 'aa'.strip('a') }}{{ 'ab'.strip('') }}
"""


def say():
    """The text of a message."""
    return pick("Hi", "", " a\n", "\n<think>\nhm\n</think>\n\nb",
                "x </think> y",
                "é <b> & \"q\" 'p' \\ {{ x }}", "日本語\r\n😀", "[TOOL_CALLS]",
                "<tool_call>{}</tool_call>", "/no_think", "a\u00a0\u3000")


def value(depth=2):
    v = [1, -2.5, 1e16, True, None, "s \"x\"", "Köln", "", {}, []]
    if depth > 0:
        v += [[value(depth - 1), value(depth - 1)], {"a": value(depth - 1)},
              {"b": value(depth - 1), "items": value(depth - 1)}]
    return R.choice(v)


def message():
    role = pick("user", "user", "user", "assistant", "assistant", "tool",
                "system", "developer", "critic")
    m = {"role": role, "content": say()}
    if R.random() < .1:
        m["content"] = pick(None, [{"type": "text", "text": say()}
                                   for _ in range(R.randint(0, 2))])
    if role == "assistant" and R.random() < .4:
        m["tool_calls"] = [pick(
            {"type": "function", "id": "abcdef123", "function": f}, f)
            for f in [{"name": "f", "arguments": pick(
                {"town": value(), "n": value()}, {}, "{\"a\": 1}")}]]
    if role == "assistant" and R.random() < .3:
        m[pick("reasoning_content", "thinking", "reasoning")] = say()
    if role == "tool" and R.random() < .5:
        m.update(pick({"name": "f"}, {"tool_call_id": "abcdef123"}))
    return m


def tool():
    return {"type": "function", "function": {
        "name": "f", "description": say(), "parameters": {
            "type": "object", "required": pick([], ["town"]),
            "properties": {
                "town": {"type": pick("string", ["string", "null"]),
                         "description": say(), "enum": ["a", "b"]},
                "list": {"type": "array", **pick({}, {"items": {
                    "type": pick("string", "object", "number")}})},
                "n": {"type": "integer", "default": value(),
                      "anyOf": [{"type": "string"}, {"type": "null"}]}}}},
        **pick({}, {"strict": True})}


def conversation():
    turns = pick(["user"], ["user", "assistant", "user"],
                 ["system", "user", "assistant", "user", "assistant"],
                 ["user", "assistant", "tool", "assistant", "user"], [])
    m = [{**message(), "role": role} for role in turns]
    if R.random() < .3:
        m = [message() for _ in range(R.randint(0, 5))]
    return {"messages": m, "tools": pick(None, None, [tool()], [tool()] * 2),
            "documents": None, "add_generation_prompt": pick(True, False),
            "bos_token": "<s>", "eos_token": "</s>",
            **pick({}, {}, {"enable_thinking": pick(True, False)},
                   {"reasoning_effort": "high"}, {"date_string": "1 May"},
                   {"builtin_tools": ["python"]})}


def of_jinja2(t, variables):
    try:
        return {"text": utils._compile_jinja_template(t).render(**variables)}
    except Exception as e:
        return {"refused": f"{type(e).__name__}: {e}"}


def ask(cases):
    """Pairs of jinja2's and retort's answers."""
    lines = "".join(json.dumps({"template": t, "variables": v}) + "\n"
                    for t, v in cases)
    answers = subprocess.run([render], input=lines.encode(), check=True,
                             stdout=subprocess.PIPE).stdout.decode()
    return [(t, v, of_jinja2(t, v), json.loads(a)) for (t, v), a
            in zip(cases, answers.split("\n"), strict=False)]


snippets = [s.replace("¶", "\n") for s in SNIPPETS.strip("\n").split("\n")]
published = [Path(a).read_text(encoding="utf-8") for a in sys.argv[4:]
             if a.endswith(".jinja")]
if published:
    cases = [(t, conversation()) for t in published for _ in range(count)]
else:
    cases = [(t, VARIABLES) for t in
             snippets + [template() for _ in range(count)]]
answers = ask(cases)
refused, kinds, faults = collections.Counter(), collections.Counter(), 0
example, golden = {}, []
for t, v, theirs, ours in answers:
    if "text" in ours and LAZY.search(theirs.get("refused", "")):
        kinds["a list for retort alone"] += 1
        continue
    if "text" in ours and ours != theirs:
        faults += 1
        kinds["differs"] += 1
        if faults <= 20:
            print(f"template {t!r}\n jinja2 {theirs}\n retort {ours}"
                  + (f"\n of {v}" if published else ""))
    elif "text" in ours:
        kinds["same text"] += 1
    elif "refused" in theirs:
        kinds["both refuse"] += 1
    else:
        kinds["retort alone refuses"] += 1
        why = re.sub(r"^line \d+: |\"[^\"]*\"", "", ours["refused"])
        refused[why] += 1
        if why not in example or len(t) < len(example[why]):
            example[why] = t
        continue
    golden.append({"template": t, **{k: v.split(":")[0] if k == "refused"
                                     else v for k, v in theirs.items()}})
for why, n in refused.most_common():
    print(f"{n:6} {why}\n       {example[why]!r}")
print(dict(kinds))
if len(sys.argv) > 4 and not published:
    with open(sys.argv[4], "w", encoding="utf-8") as f:
        json.dump({"made by": f"scripts/oracle/jinja.py, seed {seed}, "
                   f"transformers {transformers.__version__}, "
                   f"jinja2 {jinja2.__version__}", "variables": VARIABLES,
                   "cases": golden}, f, ensure_ascii=False, indent=0)
        f.write("\n")
sys.exit(faults > 0)
