"""Golden dates as chat templates print them by strftime_now.

usage: LC_ALL=C dates.py >tests/golden/chat/dates.json
Each format is rendered by the jinja2 environment of transformers, whose clock
stands at 00:00 of each day.
"""
import json
import platform
from datetime import datetime

import jinja2
import transformers
from transformers.utils import chat_template_utils as utils

DAYS = ["2026-01-31", "2024-02-29", "2025-12-31", "2027-01-01", "2026-11-09",
        "1999-12-31", "2100-03-01", "1000-01-01", "9999-12-31"]
# the first lines: formats of published templates
FORMATS = ["%d %b %Y", "%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%d-%m-%Y", "%A",
           "%a %-d %B", "%H:%M:%S %p", "%I %l %k|%M %S %P", "%y %C %G %g %V",
           "%j %U %W %w %u", "%e %h %D %F", "%x %X %c %r %R %T", "%%%n%t",
           "%f|%z|%Z|", "%-m/%-d %_d %^a %^B %#p", "%5Y %010d %E %Q",
           "100 % today", "%", "", "日 %d 月"]


class Clock(datetime):
    at = None

    @classmethod
    def now(cls, tz=None):
        return cls.at


utils.datetime = Clock
template = utils._compile_jinja_template("{{ strftime_now(format) }}")
days = {}
for day in DAYS:
    Clock.at = datetime.strptime(day, "%Y-%m-%d")
    days[day] = [template.render(format=f) for f in FORMATS]
print(json.dumps({
    "made by": f"scripts/oracle/dates.py, transformers "
    f"{transformers.__version__}, jinja2 {jinja2.__version__}, Python "
    f"{platform.python_version()}",
    "formats": FORMATS, "days": days}, ensure_ascii=False, indent=1))
