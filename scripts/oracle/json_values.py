"""Golden values of JSON as jinja2 prints them, by which lm-eval fills templates.
usage: json_values.py > tests/golden/tasks/values.tsv"""
import json
import platform

import jinja2

ITEMS = ['1', '-7', '1.0', '-0.0', '0.1', '100', '1e2', '1e15', '1e16',
         '123456789012345680.0', '0.0001', '0.00001', '1.5e-7', '1e22', '1e308',
         '5e-324', '0.30000000000000004', '2.675', '9007199254740993', 'true',
         'false', 'null', '3.141592653589793']

env = jinja2.Environment(undefined=jinja2.StrictUndefined)
print('# json_values.py; python', platform.python_version(), 'jinja2',
      jinja2.__version__)
for i in ITEMS:
    print('{"a": %s}' % i, env.from_string('{{a}}').render(a=json.loads(i)),
          sep='\t')
