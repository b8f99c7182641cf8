"""lib/gen/training: TRL's training variants of chat templates.

usage: chat_training.py TRL_TEMPLATES SMOLLM2.gguf lib/gen/training
TRL_TEMPLATES: trl/chat_templates of the wheel trl 1.16.0 (Apache-2.0).  A
template is recognised by the XXH3-64 of its text, without one newline at the
end, which is in the file's name.
"""
import sys
from pathlib import Path

import gguf
import xxhash

NAMES = ["qwen2_5", "qwen3", "phi3", "phi3_5", "llama3", "gemma3"]
SMOLLM2 = """\
{%- for message in messages %}
    {%- if loop.first and messages[0]['role'] != 'system' %}
        {{- '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\\n' }}
    {%- endif %}
    {%- if message['role'] == 'assistant' %}
        {{- '<|im_start|>assistant' }}
        {%- generation %}
        {{- '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
        {%- endgeneration %}
    {%- else %}
        {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def hashed(text):
    return xxhash.xxh3_64_intdigest(text.removesuffix("\n").encode())


def bare(text):
    """The template without its first comment."""
    if text.startswith("{#-"):
        text = text[text.index("-#}") + 3:].lstrip()
    return text


def main():
    trl, smollm, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    rows = [(hashed((trl / f"{n}.jinja").read_text()), n,
             bare((trl / f"{n}_training.jinja").read_text())) for n in NAMES]
    rows.append((hashed(gguf.GGUFReader(smollm).fields[
        "tokenizer.chat_template"].contents()), "smollm2", SMOLLM2))
    for h, name, text in rows:
        text = text.removesuffix("\n") + "\n"
        (out / f"{name}-{h:016x}.jinja").write_text(text)


if __name__ == "__main__":
    main()
