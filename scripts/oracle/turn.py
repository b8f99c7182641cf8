"""Where a user's words stand in chat templates, by transformers.

usage: turn.py GOLDEN_CHAT OUT
GOLDEN_CHAT: tests/golden/chat, whose files chat.py makes; their templates are
rendered by apply_chat_template's render_jinja_template with a mark in place of
the words.  OUT, tests/golden/turn.json, has for each template, without a
system message and with one, the text before and after the words, or that the
template refuses the messages.
"""
import json
import sys
from datetime import datetime
from pathlib import Path

import jinja2
import transformers
from transformers.utils import chat_template_utils as utils

NOW = datetime(2026, 11, 27, 15, 4, 5)
MARK = "\u2603MARK\u2603"


class Clock(datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


utils.datetime = Clock
SYSTEM = "You write Python."
found = {}
for path in sorted(Path(sys.argv[1]).glob("*.json")):
    golden = json.loads(path.read_text(encoding="utf-8"))
    if "template" not in golden:
        continue
    cases = {}
    for name, system in (("alone", None), ("system", SYSTEM)):
        messages = [{"role": "user", "content": MARK}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        try:
            texts, _ = utils.render_jinja_template(
                [messages], chat_template=golden["template"],
                add_generation_prompt=True, **golden["special"])
            before, after = texts[0].split(MARK)
            cases[name] = {"before": before, "after": after}
        except (jinja2.TemplateError, ValueError) as e:
            cases[name] = {"refused": str(e)}
    found[path.stem] = cases
made = (f"scripts/oracle/turn.py, transformers {transformers.__version__}, "
        f"jinja2 {jinja2.__version__}")
Path(sys.argv[2]).write_text(json.dumps(
    {"made by": made, "command": "scripts/oracle/turn.py tests/golden/chat "
     "tests/golden/turn.json", "now": NOW.isoformat(), "system": SYSTEM,
     "templates": found}, indent=1, ensure_ascii=False) + "\n",
    encoding="utf-8")
