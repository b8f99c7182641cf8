"""lib/gen/chat_training.c: TRL's training variants of chat templates.

usage: chat_training.py TRL_TEMPLATES SMOLLM2.gguf >lib/gen/chat_training.c
TRL_TEMPLATES: trl/chat_templates of the wheel trl 1.16.0 (Apache-2.0).  A
template is recognised by the XXH3-64 of its text, without one newline at the
end.
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

HEAD = """/* Variants of chat templates for training, see chat_training.h.  Made by
 * scripts/oracle/chat_training.py of those of TRL 1.16.0, which are copyright
 * 2020-2026 The HuggingFace Team, under the Apache License 2.0. */
#include "gen/chat_training.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

static const struct {
    uint64_t hash; /* XXH3 of the published template */
    const char *text;
} variant[] = {"""
TAIL = """};

const char *
chat_training_variant(const char *text)
{
    size_t n = strlen(text);
    uint64_t hash;

    n -= n > 0 && text[n - 1] == '\\n';
    hash = XXH3_64bits(text, n);
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++)
        if (variant[i].hash == hash)
            return variant[i].text;
    return NULL;
}"""


def hashed(text):
    return xxhash.xxh3_64_intdigest(text.removesuffix("\n").encode())


def literal(text, width=58):
    """Lines of a C string of at most width characters."""
    out = []
    for line in text.splitlines(keepends=True):
        while line:
            piece, line = line[:width], line[width:]
            piece = (piece.replace("\\", "\\\\").replace('"', '\\"')
                     .replace("\n", "\\n").replace("??", '?" "?'))
            out.append(f'      "{piece}"')
    return "\n".join(out)


def bare(text):
    """The template without its first comment."""
    if text.startswith("{#-"):
        text = text[text.index("-#}") + 3:].lstrip()
    return text


def main():
    trl, smollm = Path(sys.argv[1]), sys.argv[2]
    rows = [(hashed((trl / f"{n}.jinja").read_text()), n,
             bare((trl / f"{n}_training.jinja").read_text())) for n in NAMES]
    rows.append((hashed(gguf.GGUFReader(smollm).fields[
        "tokenizer.chat_template"].contents()), "SmolLM2, as qwen2_5", SMOLLM2))
    print(HEAD)
    for h, name, text in rows:
        print(f"    /* {name} */\n    {{ UINT64_C(0x{h:016x}),\n{literal(text)} }},")
    print(TAIL)


if __name__ == "__main__":
    main()
