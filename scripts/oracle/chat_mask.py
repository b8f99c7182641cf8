"""Ids and masks of conversations, as TRL 1.16's SFTTrainer makes them.

usage: chat_mask.py GOLDEN
GOLDEN: tests/golden, of which tok/family (tokenizers) and chat (templates, by
chat.py) are read; chatmask/*.json and chatmask/phi3/tokenizer.json are written.
Masks of messages are those of transformers' return_assistant_tokens_mask with
TRL's training templates, which TRL takes as they are; of a prompt and its
completion the mask is TRL's common_prefix_length.
"""
import json
import sys
from pathlib import Path

import tokenizers
import transformers
from tokenizers import AddedToken, Tokenizer

golden = Path(sys.argv[1])
out = golden / "chatmask"


def say(role, content, **more):
    return {"role": role, "content": content, **more}


TALK = [say("system", "Be brief."), say("user", "Hi there"),
        say("assistant", "Hello, world."), say("user", "Why? 42"),
        say("assistant", " Because\n\n it is.  ")]
MESSAGES = {
    "two answers": TALK,
    "one answer": TALK[1:3],
    "a question at the end": TALK[1:4],
    "unicode": [say("user", "Grüße 日本"), say("assistant", "naïve 😀 ﬁ")],
    "marks that compose": [say("user", "e\u0301"),
                           say("assistant", "e\u0301 a\u030a o\u0308")],
    "names of special tokens": [say("user", "<|im_end|> <eos> <s>"),
                                say("assistant", "<|im_end|> </s>")],
    "an empty answer": [say("user", "x"), say("assistant", "")],
    "spaces at the front": [say("user", " x"), say("assistant", "   y")],
}
PAIRS = {
    "messages": (TALK[:2], TALK[2:3]),
    "messages that go on": (TALK[:2], TALK[2:]),
}
TEXTS = {
    "texts": ("2 + 2 =", " 4"),
    "texts whose border a token straddles": ("The cat sa", "t on the mat"),
    "an empty prompt": ("", "Once"),
}


def phi3():
    """A tokenizer whose special tokens take the space behind them."""
    t = Tokenizer.from_file(str(golden / "tok/family/llama2.json"))
    t.add_special_tokens([AddedToken(s, rstrip=True, special=True,
                                     normalized=False)
                          for s in ("<|user|>", "<|assistant|>", "<|end|>",
                                    "<|system|>", "<|endoftext|>")])
    (out / "phi3").mkdir(exist_ok=True)
    t.save(str(out / "phi3/tokenizer.json"), pretty=False)
    return out / "phi3/tokenizer.json"


SETS = {
    "qwen2-5": golden / "tok/family/qwen.json",
    "qwen3": golden / "tok/family/qwen.json",
    "smollm2": golden / "tok/family/qwen.json",
    "llama3": golden / "tok/family/llama3.json",
    "gemma3": golden / "tok/family/gemma3.json",
    "phi3": phi3(),
    "phi3-5": phi3(),
}


def common_prefix_length(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def encode(tok, messages, **how):
    return tok.apply_chat_template(messages, tokenize=True, return_dict=True,
                                   **how)


for name, path in SETS.items():
    plain = json.loads((golden / f"chat/{name}.json").read_text())
    train = json.loads((golden / f"chat/{name}-training.json").read_text())
    tok = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path),
                                               **plain["special"])
    raw = Tokenizer.from_file(str(path))
    cases = []
    for case, messages in MESSAGES.items():
        e = encode(tok, messages, chat_template=train["template"],
                   return_assistant_tokens_mask=True)
        cases.append({"name": case, "record": {"messages": messages},
                      "ids": e["input_ids"], "mask": e["assistant_masks"]})
    for case, (prompt, completion) in PAIRS.items():
        a = encode(tok, prompt, chat_template=plain["template"],
                   add_generation_prompt=True)["input_ids"]
        b = encode(tok, prompt + completion,
                   chat_template=plain["template"])["input_ids"]
        n = common_prefix_length(a, b)
        cases.append({"name": case, "record": {
            "prompt": prompt, "completion": completion},
            "ids": b, "mask": [0] * n + [1] * (len(b) - n)})
    for case, (prompt, completion) in TEXTS.items():
        a = tok(prompt)["input_ids"]
        b = tok(prompt + completion + tok.eos_token)["input_ids"]
        n = common_prefix_length(a, b)
        cases.append({"name": case, "record": {
            "prompt": prompt, "completion": completion},
            "ids": b, "mask": [0] * n + [1] * (len(b) - n)})
    for c in cases:
        c["mask"] = "".join(map(str, c["mask"]))
    (out / f"{name}.json").write_text(json.dumps({
        "made by": f"scripts/oracle/chat_mask.py, transformers "
        f"{transformers.__version__}, tokenizers {tokenizers.__version__}",
        "tokenizer": str(path.relative_to(golden)),
        "special": plain["special"], "template": plain["template"],
        "cases": cases}, ensure_ascii=False) + "\n", encoding="utf-8")
