"""A GGUF with several chat templates, by the gguf package.
usage: PYTHONHASHSEED=0 gguf_chat.py BASE.gguf OUT.gguf
BASE: tests/golden/gguf/q4_0.gguf; OUT: tests/golden/gguf/chat.gguf.  Beside
OUT, under its name with .json, the list of templates as tokenizer_config.json
has it.  The seed is of the order in tokenizer.chat_templates, a Python set.
usage: gguf_chat.py show FILE.gguf
What GGUFReader reads in FILE under tokenizer.chat_template*."""
import json
import sys

import gguf
import numpy as np

CHATS = [('tool-use', "{{ tools }}{% for m in messages %}{{ m }}{% endfor %}"),
         ('default', "{% for m in messages %}{{ m['content'] }}{% endfor %}"),
         ('rag\u00e92', "{{ documents }} \u00e9")]
SKIP = ('general.architecture', 'tokenizer.chat_template')


def main(base, out):
    chats = [dict(name=n, template=t) for n, t in CHATS]
    r = gguf.GGUFReader(base)
    w = gguf.GGUFWriter(out, 'llama')
    for k, f in r.fields.items():
        if not k.startswith('GGUF.') and k not in SKIP:
            w.add_key_value(k, f.contents(), f.types[0],
                            f.types[1] if len(f.types) > 1 else None)
    w.add_chat_template(chats)
    for t in r.tensors:
        w.add_tensor(t.name, np.array(t.data), raw_dtype=t.tensor_type)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    with open(out.removesuffix('.gguf') + '.json', 'w', encoding='utf-8') as f:
        json.dump(dict(chat_template=chats), f, ensure_ascii=False, indent=1)
        f.write('\n')


def show(file):
    for k, f in gguf.GGUFReader(file).fields.items():
        if k.startswith('tokenizer.chat_template'):
            print(k, json.dumps(f.contents(), ensure_ascii=False))


show(sys.argv[2]) if sys.argv[1] == 'show' else main(*sys.argv[1:])
