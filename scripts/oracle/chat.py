"""Golden conversations rendered by transformers' apply_chat_template.

usage: chat.py TRL_TEMPLATES LLAMA_CPP_TEMPLATES SMOLLM2.gguf OUT
TRL_TEMPLATES: trl/chat_templates of the wheel trl 1.16.0 (Apache-2.0).
LLAMA_CPP_TEMPLATES: models/templates of llama.cpp (MIT).
Each OUT/NAME.json holds a template, its special tokens, and cases: the
messages, what else was given, and the text, or that the template refuses
them.  "spans": bytes of the text inside {% generation %}.
"""
import json
import sys
from datetime import datetime
from pathlib import Path

import chat_training
import gguf
import jinja2
import transformers
from transformers.utils import chat_template_utils as utils

NOW = datetime(2026, 11, 27, 15, 4, 5)


class Clock(datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


utils.datetime = Clock
trl, llama, smollm, out = (Path(a) for a in sys.argv[1:5])
PHI4 = "{% for message in messages %}{% if (message['role'] == 'system') %}{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif (message['role'] == 'user') %}{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif (message['role'] == 'assistant') %}{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
PHI4MINI = "{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
LLAMA = ("<|begin_of_text|>", "<|eot_id|>")
CHATML = (None, "<|im_end|>")
PHI = ("<s>", "<|endoftext|>")
GEMMA = ("<bos>", "<eos>")
MISTRAL = ("<s>", "</s>")


def of_gguf(path):
    return gguf.GGUFReader(path).fields["tokenizer.chat_template"].contents()


TEMPLATES = {
    "smollm2": (lambda: of_gguf(smollm), "SmolLM2-135M-Instruct, Apache-2.0",
                ("<|im_start|>", "<|im_end|>")),
    "smollm2-training": (lambda: chat_training.SMOLLM2,
                         "scripts/oracle/chat_training.py, Apache-2.0",
                         ("<|im_start|>", "<|im_end|>")),
    "phi4": (lambda: PHI4, "microsoft/phi-4, MIT", (None, "<|im_end|>")),
    "phi4-mini": (lambda: PHI4MINI, "microsoft/Phi-4-mini-instruct, MIT",
                  ("<|endoftext|>", "<|endoftext|>")),
    "mistral-nemo": (llama / "mistralai-Mistral-Nemo-Instruct-2407.jinja",
                     "llama.cpp, MIT", MISTRAL),
    "mistral-small": (llama / "Mistral-Small-3.2-24B-Instruct-2506.jinja",
                      "llama.cpp, MIT", MISTRAL),
    "smollm3": (llama / "HuggingFaceTB-SmolLM3-3B.jinja", "llama.cpp, MIT",
                CHATML),
}
for name, special in [
        ("llama3", LLAMA), ("llama3_training", LLAMA), ("llama3_1", LLAMA),
        ("llama3_2", LLAMA), ("qwen2_5", CHATML),
        ("qwen2_5_training", CHATML), ("qwen3", CHATML),
        ("qwen3_training", CHATML), ("qwen3_instruct_2507", CHATML),
        ("phi3", PHI), ("phi3_training", PHI), ("phi3_5", PHI),
        ("phi3_5_training", PHI), ("gemma", GEMMA), ("gemma3", GEMMA),
        ("gemma3_training", GEMMA)]:
    TEMPLATES[name.replace("_", "-")] = (
        trl / f"{name}.jinja", "trl 1.16.0, Apache-2.0", special)


def say(role, content, **more):
    return {"role": role, "content": content, **more}


def part(text):
    return {"type": "text", "text": text}


WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather \"now\" in a town, in °C",
    "parameters": {"type": "object", "properties": {
        "town": {"type": "string", "description": "as in <Rome> & 'Köln'"},
        "days": {"type": "integer", "default": 3, "minimum": 0.5}},
        "required": ["town"], "strict": True, "extra": None}}}
CALL = {"type": "function", "id": "abcdef123", "function": {
    "name": "weather", "arguments": {"town": "Köln", "days": 1e16}}}
PLAIN = [say("user", "Hi"), say("assistant", "Hello."), say("user", "Why?")]
CASES = {
    "one question": ([say("user", "What is 2 + 2?")], {}),
    "three turns": (PLAIN, {}),
    "three turns without a prompt": (PLAIN, {"prompt": False}),
    "the assistant has the last word": (PLAIN[:2], {"prompt": False}),
    "a system message": ([say("system", " Be brief.\n"), *PLAIN], {}),
    "empty contents": ([say("user", ""), say("assistant", ""),
                        say("user", "x")], {}),
    "an empty system message": ([say("system", ""), say("user", "x")], {}),
    "spaces and newlines": (
        [say("user", "\n  a\u00a0 \t"), say("assistant", "\u2003b \n\n"),
         say("user", "\u3000c\u200b ")], {}),
    "unicode and quotes": (
        [say("user", "Grüße 😀 \"q\" 'p' \\ {{ x }} {% y %}"),
         say("assistant", "日本語\r\nс <tag> &amp; \u2028")],
        {"prompt": False}),
    "parts of text": ([say("user", [part("One. "), part(" Two.")])], {}),
    "thoughts": (
        [say("user", "a"), say("assistant", "<think>\nhm\n</think>\n\nb"),
         say("user", "c"),
         say("assistant", "d", reasoning_content="ho\n")],
        {"prompt": False}),
    "users twice": ([say("user", "a"), say("user", "b")], {}),
    "a role unknown to most": ([say("critic", "a")], {}),
    "tools": ([say("system", "Use tools."), say("user", "Weather?")],
              {"tools": [WEATHER]}),
    "a call and its result": (
        [say("user", "Weather?"), say("assistant", "", tool_calls=[CALL]),
         say("tool", "[1, \"rain\"]", tool_call_id="abcdef123"),
         say("assistant", "Rain."), say("user", "Sure?")],
        {"tools": [WEATHER]}),
    "thinking switched off": ([say("user", "a")],
                              {"more": {"enable_thinking": False}}),
}


def render(tok, template, messages, how):
    messages = utils._normalize_chat_messages(messages)
    texts, spans = utils.render_jinja_template(
        [messages], how.get("tools"), chat_template=template,
        return_assistant_tokens_mask="generation" in template and
        utils.re.search(r"\{\%-?\s*generation", template) is not None,
        add_generation_prompt=how.get("prompt", True),
        **{**tok, **how.get("more", {})})
    text, spans = texts[0], spans[0] if spans else []
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return text, [[at[a], at[b]] for a, b in spans]


def flat(messages):
    """Do all messages have a text, as every template takes?"""
    return all(isinstance(m["content"], str) for m in messages)


for name, (template, source, special) in TEMPLATES.items():
    template = (template() if callable(template)
                else template.read_text(encoding="utf-8"))
    tok = {k: v for k, v in zip(("bos_token", "eos_token"), special) if v}
    cases = []
    for case, (messages, how) in CASES.items():
        if not flat(messages) and "image" not in template:
            continue        # retort joins the parts: see chat.h
        if case == "thinking switched off" and "thinking" not in template:
            continue
        if case == "thoughts" and "think" not in template:
            continue
        c = {"name": case, "messages": messages,
             "add_generation_prompt": how.get("prompt", True)}
        if "tools" in how:
            if "tools" not in template:
                continue
            c["tools"] = how["tools"]
        if "more" in how:
            c["more"] = how["more"]
        try:
            c["text"], spans = render(tok, template, messages, how)
            if spans:
                c["spans"] = spans
        except (jinja2.exceptions.TemplateError, TypeError) as e:
            c["refused"] = str(e)
        cases.append(c)
    (out / f"{name}.json").write_text(json.dumps({
        "made by": f"scripts/oracle/chat.py, transformers "
        f"{transformers.__version__}, jinja2 {jinja2.__version__}",
        "source": source, "now": NOW.strftime("%Y-%m-%dT%H:%M:%S"),
        "special": tok, "template": template, "cases": cases},
        ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

# Parts of the language.  Each is a template for the messages below.
SNIPPETS = r"""
a{{ 1 }}b
  {% if true %}x{% endif %}  y
{% if true %}

x
{% endif %}
z
a  {%- if true -%}  b  {%- endif +%}
c
  {%+ if true %}d{% endif %}
a {#- gone -#} b {# x #}
c {#+ y +#}
d {#--#} e
{{- ' a ' -}}   b
x
   {{ 'y' }}
{{ "a\n\t\x41\u00e9\'\"\\\q" 'join' "ed" }}
{{ 'é😀'|length }}{{ 'é😀x'[1] }}{{ 'é😀x'[-1] }}{{ 'é😀x'[::-1] }}{{ 'abc'[5] }}
{{ 'abcdef'[1:4] }}{{ 'abcdef'[:-2] }}{{ 'abcdef'[-2:] }}{{ 'abcdef'[4:1] }}{{ 'abcdef'[::2] }}{{ 'abcdef'[4:0:-2] }}
{{ [1,2,3,4][1:]|tojson }}{{ [1,2,3,4][::-1]|tojson }}{{ [1,2][7:]|tojson }}{{ [1,2,3][-9:9:2]|tojson }}{{ (1,2,3)[1:]|tojson }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 7.5 % 2 }} {{ 7.5 // 2 }}
{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 2 - -3 }} {{ 'a' * 3 }} {{ 1 ~ 'b' ~ 2.0 ~ none ~ true }} {{ 1 + 2 ~ 3 }}
{{ 1e }}
{{ 0.1 }} {{ 1.0 }} {{ 100000.0 * 100000000000.0 }} {{ 10.0 ** 16 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.0 / 3 }} {{ 123456.789 }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ 'a' != 'a' }} {{ 2 >= 2 }} {{ 2 <= 1 }}
{{ 1 < 'a' }}
{{ 'a' in 'cab' }} {{ 'x' not in ['x'] }} {{ 'role' in messages[0] }} {{ 2 in [1, 2.0] }} {{ not 1 in [2] }} {{ 'a' in none_such }}
{{ 1 in 'a1' }}
{{ 'yes' if messages else 'no' }}{{ 'x' if false }}{{ 1 if 0 else 2 if 0 else 3 }}
{{ true and 'a' or 'b' }}{{ '' or 'c' }}{{ 0 and x.y }}{{ not '' }}
{{ none_such }}|{{ none_such is defined }}|{{ none_such|default('d') }}|{{ ''|default('d') }}|{{ ''|default('d', true) }}|{{ none|d('x') }}
{{ none_such.a }}
{{ none_such + 'a' }}
{{ none + 'a' }}
{{ messages[0].none_such }}|{{ messages[0]['role'] }}|{{ messages[9] }}|{{ messages[-1].role }}
{{ messages[9].role }}
{{ 1 is number }}{{ 1 is string }}{{ 'a' is string }}{{ [] is iterable }}{{ {} is mapping }}{{ 'a' is sequence }}{{ none is none }}{{ 1 is none }}{{ true is boolean }}{{ 1 is boolean }}{{ true is true }}{{ 1 is true }}{{ false is false }}{{ 1.0 is float }}{{ 1 is integer }}{{ true is integer }}{{ true is number }}{{ 3 is odd }}{{ 3 is even }}
{{ 1 is not none }}{{ x is not defined }}{{ 1 is eq 1 }}{{ 1 is in [1] }}{{ 1 is gt(2) }}{{ 2 is ne 3 and true }}{{ 'a' is equalto 'a' or x }}
{{ [1, 2] is string is string }}
{{ 'b' if 'a' is string else 'c' }}
{% for x in [1,2,3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }},{% endfor %}
{% for x in [1,2,3,4] if x is even %}{{ x }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }};{% else %}none{% endfor %}
{% for x in [] %}a{% else %}empty{% endfor %}{% for x in none_such %}a{% else %}b{% endfor %}
{% for a, b in [[1, 2], [3, 4]] %}{{ a }}-{{ b }} {% endfor %}{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}={{ v }}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for c in 'aé' %}{{ c }}.{% endfor %}{% for k in {'p': 1} %}{{ k }}{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in [1,2,3,4,5] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}
{% set x = 0 %}{% for i in [1,2] %}{{ x }}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}
{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}
{% set ns = namespace(a=1) %}{% for i in [1,2,3] %}{% set ns.a = ns.a + i %}{% set ns.b = i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}
{% set d = {'a': 1} %}{% set d.a = 2 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c|tojson }}{% set e %} x{{ a }} {% endset %}[{{ e }}]
{% macro f(a, b='B', c=a) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f(b=2, a=0) }}{{ f() }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}
{% macro f(x) %}{{ x }}{% endmacro %}{{ f(1, 2) }}
{% set g = 5 %}{% macro f() %}{{ g }}{{ h }}{% set g = 6 %}{% endmacro %}{% for h in [1] %}{{ f() }}{% endfor %}{{ g }}
{% macro f() %}{% for i in [1, 2] %}{{ i }}{% endfor %}{% endmacro %}{{ f()|length }}{{ (f() ~ '!')|upper }}
{{ ' ab '|trim }}|{{ 'xxaxx'|trim('x') }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ 'abcba'.strip('ab') }}|{{ '\u3000a\u2028'|trim }}|{{ '\u200ba'|trim|length }}
{{ 'a,b,,c'.split(',')|tojson }}{{ ' a  b '.split()|tojson }}{{ 'a,b,c'.split(',', 1)|tojson }}{{ 'a,b,c'.rsplit(',', 1)|tojson }}{{ ''.split(',')|tojson }}{{ ''.split()|tojson }}{{ 'abab'.split('ab')|tojson }}{{ 'a b'.split(none)|tojson }}
{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'bc')) }}{{ 'abc'.find('c') }}{{ 'abc'.find('x') }}{{ 'éx'.find('x') }}{{ 'aXbX'.replace('X', '--') }}{{ 'a-b'|replace('-', '') }}
{{ 'aBc'.upper() }}{{ 'aBc'|lower }}{{ 'aBC'|capitalize }}{{ ', '.join(['a', 'b']) }}
{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b') }}{{ {'a': 1}.get('b', 2) }}{{ {'a': 1, 'b': 2}.keys()|list|tojson }}{{ {'a': 1}.values()|list|tojson }}{{ {'a': 1}|items|list|tojson }}
{{ {'a': [1, 2.5, none, true, "x\"\n\u00e9<&>"], 'b': {}, 'c': []}|tojson }}
{{ {'b': [1, {'x': []}], 'a': {}}|tojson(indent=2) }}{{ {'b': 1, 'a': 'é😀'}|tojson(ensure_ascii=true, sort_keys=true) }}
{{ none_such|tojson }}
{{ messages|selectattr('role', 'equalto', 'user')|list|length }}{{ messages|rejectattr('role', 'eq', 'user')|map(attribute='content')|join('+') }}{{ messages|selectattr('none_such')|list|length }}{{ messages|selectattr('content', 'defined')|list|length }}{{ messages|map(attribute='x', default='-')|join }}
{{ [1, 0, 2]|select|list|tojson }}{{ [1, 2, 3]|reject('odd')|list|tojson }}{{ ['a', 'b']|map('upper')|join(',') }}{{ [1, 2]|first }}{{ [1, 2]|last }}{{ []|first }}{{ 'ab'|list|tojson }}{{ [1, 2]|reverse|list|tojson }}{{ [1, none, 'x']|join('-') }}
{{ '12'|int + 1 }}{{ 'x'|int }}{{ 'x'|int(7) }}{{ ' '|int }}{{ 5|string + 'a' }}{{ none|string }}{{ -5|string }}
{{ messages == messages }}{{ messages[0] == messages[1] }}{{ [1, [2]] == [1, [2.0]] }}{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }}{{ (1,) == [1] }}{{ none == false }}
{{ raise_exception('no!') }}
{{ strftime_now('%d %b %Y %H:%M:%S %A %j') }}
{{ 1 / 0 }}
{{ [1, 2] + [3] == [1, 2, 3] }}{{ [] and 1 or 2 }}
{{ 'a' + 1 }}
{{ messages|nonesuch }}
{% nonesuch %}
{{ messages is nonesuch }}
{{ nonesuch() }}
{{ 'a'.nonesuch() }}
{{ 1 + }}
{{ (1 }}
{{ 'abc }}
{% if x %}
{% endif %}
{% for %}{% endfor %}
{{ a b }}
{% include 'a' %}
{{ {'a': {'b': [10, 20]}}.a.b[1] }}{{ {'items': 3}['items'] }}{{ [[1, 2], [3]][0][1] }}
{{ true }}{{ True }}{{ false }}{{ None }}{{ none }}{{ -1 }}{{ +2 }}{{ - 3|string }}
{% if not loop is defined %}no loop{% endif %}{% if messages is defined and messages|length > 1 %}m{% endif %}
{% generation %}a{% set q = 1 %}{% endgeneration %}b{% for i in [1, 2] %}{% generation %}{{ i }}{% endgeneration %}{% endfor %}{{ q }}
{%- for m in messages -%}
  {{ m.content }}
{%- endfor -%}
{{ {'a': 1, 'a': 2}|tojson }}
{{ [1,
 2]|tojson }}{{ {'a': 1,}|tojson }}{{ [1,]|length }}{{ (1,)|length }}{{ ()|length }}
{{ 'a' 'b' ~ 'c' }}{{ 'x' if 1 > 0 and not 0 else 'y' }}{{ '}}' }}{{ "%}" }}
{{ namespace(a=1).a }}{{ dict(a=1, b='x')|tojson }}
""".strip("\n")
VARIABLES = {"messages": [say("user", "Hi"), say("assistant", "Yo", x=1)]}


def snippets():
    """The lines of SNIPPETS; those of several lines are listed here."""
    several = ["{% if true %}\n\nx\n{% endif %}\nz",
               "a  {%- if true -%}  b  {%- endif +%}\nc",
               "a {#- gone -#} b {# x #}\nc {#+ y +#}\nd {#--#} e",
               "x\n   {{ 'y' }}", "{% if x %}\n{% endif %}",
               "{%- for m in messages -%}\n  {{ m.content }}\n{%- endfor -%}",
               "{{ [1,\n 2]|tojson }}{{ {'a': 1,}|tojson }}"
               "{{ [1,]|length }}{{ (1,)|length }}{{ ()|length }}"]
    rest = SNIPPETS
    found = []
    for s in several:
        assert s in rest, s
        rest = rest.replace(s, "", 1)
        found.append(s)
    found += ["a\r\n{% if true %}\r\nb{% endif %}\r\n", "x\n\n", "", "\n",
              "{{ 'a\r\nb' }}", "\ufeffx{{ 1 }}"]
    return [s for s in rest.split("\n") if s] + found


cases = []
for s in snippets():
    c = {"template": s}
    try:
        text, spans = render({}, s, VARIABLES["messages"], {"prompt": False})
        c["text"] = text
        if spans:
            c["spans"] = spans
    except (jinja2.exceptions.TemplateError, TypeError, ValueError,
            ZeroDivisionError, AttributeError) as e:
        c["refused"] = type(e).__name__
    cases.append(c)
(out / "snippets.json").write_text(json.dumps({
    "made by": f"scripts/oracle/chat.py, transformers "
    f"{transformers.__version__}, jinja2 {jinja2.__version__}",
    "messages": VARIABLES["messages"], "cases": cases},
    ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
