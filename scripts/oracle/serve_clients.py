#!/usr/bin/env python3
"""Clients of others against a running serve(1), called by scripts/check-serve.

usage: serve_clients.py openai URL MODEL
       serve_clients.py vllm WHEEL URL MODEL N CONCURRENCY
       serve_clients.py lmeval SAMPLES ITEMS SCORES
       serve_clients.py prompts SAMPLES > PROMPTS
       serve_clients.py texts SAMPLES TEXTS
       serve_clients.py euroeval RECORDED FOLDER
       serve_clients.py record URL FILE
       serve_clients.py keep RECORDED SAMPLES OUTDIR

openai: OpenAI's own client (made with openai 3.57.0).
vllm: the client of `vllm bench serve`, taken out of vllm's wheel (made with
  0.33.0), the modules that it imports and does not use here being stubbed.
lmeval: compare the samples that lm-eval logged (made with 0.4.13) with what
  evaltask --items wrote, each log probability within 1e-5, relative; and the
  best and the median of prompts (tasks NAME_p0, ...) with evaltask's.
prompts: the conversations of samples that lm-eval's local-chat-completions
  logged, as lines for generate run --prompts.
texts: compare these samples with what generate run wrote: the same texts, and
  the scores of GSM8K's two filters computed anew from them.
euroeval: compute the scores that EuroEval (made with 16.11) wrote in FOLDER
  anew from what `record` recorded; the same to the last digits.
record: pass requests on to URL, and append each, as a line with path, body and
  answer, to FILE; prints the address to send them to (tests/golden/serve).
keep: write the requests for scores that `record` recorded to OUTDIR/prompts.jsonl,
  and what lm-eval's SAMPLES took from each answer to OUTDIR/prompts.tsv
  (tests/golden/serve).
Prints a line for each check; exit status 1: one failed.
"""
import sys

failed = 0


def check(good, what):
    global failed
    failed += not good
    print("ok" if good else "NOT OK", what)


def refused(call, kind, **want):
    import openai
    try:
        call()
    except openai.APIStatusError as e:
        got = {k: getattr(e, k) for k in want}
        return type(e).__name__ == kind and got == want
    return False


def parse_documents(c, model):
    """Classes of pydantic, whose schemas OpenAI's client makes."""
    import enum
    import typing
    import pydantic

    class Kind(str, enum.Enum):
        big = "big"
        small = "small"

    class Cat(pydantic.BaseModel):
        animal: typing.Literal["cat"]
        lives: int

    class Dog(pydantic.BaseModel):
        animal: typing.Literal["dog"]
        tricks: list[str]

    class Part(pydantic.BaseModel):
        """A part with parts"""
        weight: float
        parts: list["Part"]

    class Thing(pydantic.BaseModel):
        name: str = pydantic.Field(description="a short name")
        kind: typing.Optional[Kind] = None
        pet: typing.Union[Cat, Dog]
        part: Part
        fine: bool

    parsed = cut = 0
    for seed in range(8):
        try:
            r = c.chat.completions.parse(
                model=model, response_format=Thing, seed=seed, temperature=.7,
                max_completion_tokens=300, messages=[
                    {"role": "user", "content": "Invent a thing, as JSON."}])
            parsed += isinstance(r.choices[0].message.parsed, Thing)
        except Exception as e:
            cut += type(e).__name__ == "LengthFinishReasonError"
    check(parsed > 0 and parsed + cut == 8,
          f"openai parses {parsed} of 8 objects of a class, {cut} were cut off")


def run_openai(url, model):
    import openai
    c = openai.OpenAI(base_url=url + "/v1", api_key="none")
    check([m.id for m in c.models.list()] == [model], "openai lists the model")
    ask = dict(model=model, prompt="The river", max_tokens=8, temperature=0)
    whole = c.completions.create(**ask, logprobs=2, echo=True)
    text = whole.choices[0].text[len("The river"):]
    check(whole.usage.completion_tokens == 8 and
          len(whole.choices[0].logprobs.tokens) ==
          whole.usage.prompt_tokens + 8, "openai reads a completion")
    pieces, usage = "", None
    for e in c.completions.create(**ask, stream=True,
                                  stream_options={"include_usage": True}):
        pieces += e.choices[0].text if e.choices else ""
        usage = e.usage or usage
    check(pieces == text and usage.completion_tokens == 8,
          "openai reads a stream of a completion")
    ask = dict(model=model, messages=[{"role": "user", "content": "Say hi."}],
               max_completion_tokens=12, temperature=0)
    chat = c.chat.completions.create(**ask, logprobs=True, top_logprobs=2, n=2)
    check(len(chat.choices) == 2 and
          len(chat.choices[0].logprobs.content[0].top_logprobs) == 2,
          "openai reads a chat")
    pieces = "".join(e.choices[0].delta.content or ""
                     for e in c.chat.completions.create(**ask, stream=True))
    check(pieces == chat.choices[0].message.content,
          "openai reads a stream of a chat")
    create = c.completions.create
    check(refused(lambda: create(model="none", prompt="a"), "NotFoundError",
                  status_code=404, code="model_not_found"),
          "openai raises NotFoundError for another model")
    check(refused(lambda: create(model=model, prompt="a", temperature=-1),
                  "BadRequestError", status_code=400, param="temperature"),
          "openai raises BadRequestError for a wrong temperature")
    check(refused(lambda: create(model=model, prompt="a", max_tokens=10**7),
                  "BadRequestError", code="context_length_exceeded"),
          "openai raises BadRequestError for too many tokens")
    parse_documents(c, model)


def stub(name, **members):
    import types
    m = types.ModuleType(name)
    m.__dict__.update(members)
    sys.modules[name] = m


def run_vllm(wheel, url, model, n, concurrency):
    import asyncio
    import contextlib
    import dataclasses
    import logging
    import tempfile
    import zipfile
    from typing import Any

    @dataclasses.dataclass
    class SampleRequest:
        prompt: Any
        prompt_len: int
        expected_output_len: int = 0
        multi_modal_data: Any = None
        lora_request: Any = None
        request_id: Any = None
        timestamp: Any = None
        chat_messages: Any = None
        request_overrides: Any = None

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as z:
            for f in z.namelist():
                if f.startswith("vllm/benchmarks/") and f.count("/") < 4:
                    z.extract(f, folder)
        stub("vllm", __path__=[folder + "/vllm"])
        stub("vllm.benchmarks.datasets", SampleRequest=SampleRequest,
             add_dataset_parser=None, get_samples=None)
        stub("vllm.tokenizers", TokenizerLike=object, get_tokenizer=None)
        stub("vllm.logger", init_logger=logging.getLogger)
        stub("vllm.utils", __path__=[])
        stub("vllm.utils.argparse_utils", FlexibleArgumentParser=object)
        stub("vllm.utils.gc_utils", freeze_gc_heap=lambda: None)
        stub("vllm.utils.network_utils", join_host_port=None)
        from vllm.benchmarks import serve
        asked = [SampleRequest(f"Story {i}: the river", 8, 16,
                               request_id=f"r{i}") for i in range(n)]
        for kind, path in (("openai", "/v1/completions"),
                           ("openai-chat", "/v1/chat/completions")):
            with contextlib.redirect_stdout(sys.stderr):
                r = asyncio.run(serve.benchmark(
                    serve.TaskType.GENERATION, kind, url + path, url, model,
                    model, object(), asked, None, float("inf"), 1.0, True, 0,
                    False, ["ttft", "tpot", "itl", "e2el"], [99.0], True, {},
                    concurrency, None, None, {"seed": 1},
                    ready_check_timeout_sec=10))
            check(r["completed"] == n and r["failed"] == 0 and
                  r["total_output_tokens"] == 16 * n,
                  f"vllm bench serve finishes {n} requests of {kind}")
            check(0 < r["mean_ttft_ms"] < r["mean_e2el_ms"] and
                  r["mean_tpot_ms"] > 0,
                  f"vllm bench serve measures {kind}: TTFT "
                  f"{r['mean_ttft_ms']:.1f} ms, TPOT {r['mean_tpot_ms']:.1f} "
                  f"ms, {r['output_throughput']:.1f} tokens/s")


def run_lmeval(samples, items, scores):
    import glob
    import json
    import statistics
    want, right, n, worst = {}, {}, 0, 0.0
    for line in open(items).read().splitlines()[1:]:
        f = line.split("\t")
        want[f[0].replace("_", "-"), int(f[2]), int(f[5])] = float(f[8])
    for path in glob.glob(samples + "/**/samples_*.jsonl", recursive=True):
        task = path.split("/samples_")[1].split("_2")[0].replace("_", "-")
        for s in map(json.loads, open(path)):
            right.setdefault(task, []).append(s["acc"])
            for k, r in enumerate(s["resps"]):
                x = want[task, s["doc_id"], k]
                worst = max(worst, abs(float(r[0][0]) - x) / abs(x))
                n += 1
    check(n == len(want) and n > 0 and worst <= 1e-5,
          f"lm-eval reads {n} of {len(want)} log probabilities, at most "
          f"{worst:.1e} from evaltask's")
    lines = [line.split("\t") for line in open(scores)]
    got = {(f[0], f[1]): float(f[6]) for f in lines
           if len(f) > 6 and f[1] in ("(best)", "(median)")}
    for stem in sorted({k[0] for k in got}):
        acc = [statistics.mean(v) for k, v in right.items()
               if k.startswith(stem.replace("_", "-") + "-p")]
        best, middle = max(acc), statistics.median(acc)
        check(len(acc) > 1 and abs(best - got[stem, "(best)"]) < 1e-6 and
              abs(middle - got[stem, "(median)"]) < 1e-6,
              f"{len(acc)} prompts of {stem}: best {best:.3f}, median "
              f"{middle:.3f} by lm-eval and by evaltask")
    check(len(got) == 2, "lm-eval has one task of several prompts")


def chat_samples(samples):
    """Logged samples of one filter, by number: conversation and text."""
    import glob
    import json
    rows = []
    for path in glob.glob(samples + "/**/samples_*.jsonl", recursive=True):
        rows += [json.loads(line) for line in open(path)]
    rows.sort(key=lambda s: s["doc_id"])
    return rows


def run_prompts(samples):
    import json
    for s in chat_samples(samples):
        if s["filter"] == "strict-match":
            said = json.loads(s["arguments"]["gen_args_0"]["arg_0"][0])
            print(json.dumps({"messages": said}))


def gsm8k_score(text, target, kind):
    """1 if the filter finds the target's number in the text, else 0."""
    import re
    if kind == "strict-match":
        found = re.findall(r"#### (-?[0-9.,]+)", text)[:1]
    else:
        found = [a or b for a, b in
                 re.findall(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", text)][-1:]
    if not found:
        return 0
    plain = [re.sub(r"\.$", "", re.sub(r"[,$]|(?s:.*)#### ", "", x))
             for x in (found[0], target)]
    return int(plain[0].lower() == plain[1].lower())


def run_texts(samples, texts):
    import json
    written = [json.loads(line) for line in open(texts)]
    rows = chat_samples(samples)
    alike = wrong = right = 0
    for s in rows:
        text = written[s["doc_id"]]["text"]
        alike += text == s["resps"][0][0]
        score = gsm8k_score(text, s["target"], s["filter"])
        wrong += score != s["exact_match"]
        right += score
    check(len(rows) > 0 and alike == len(rows),
          f"lm-eval reads {alike} of {len(rows)} texts as generate run "
          "writes them")
    check(wrong == 0, f"lm-eval's scores are those of the texts: {right} of "
          f"{len(rows)} right")


def distance(text, label):
    """EuroEval's: a letter more in the text costs 1, another change 1000."""
    row = [1000 * j for j in range(len(label) + 1)]
    for a in text:
        last, row[0] = row[0], row[0] + 1
        for j, b in enumerate(label, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1000,
                                       last + 1000 * (a != b))
    return row[-1]


def euroeval_label(choice, labels, by_logp):
    """The label of an answer: by its most probable tokens (None: they do not
    say), or by its text, which may be cut off."""
    import json
    import re
    text = choice["message"]["content"].strip()
    try:
        text, whole = json.loads(text)["label"], True
    except ValueError:
        whole = False
    if not by_logp:
        return min(labels, key=lambda label: distance(text.lower(), label))
    for place in choice["logprobs"]["content"]:
        top = [t["token"] for t in place["top_logprobs"]]
        if whole and "label".startswith(top[0].strip(' {}\n\r":')):
            continue
        for token in top:
            token = token.lower().strip()
            fits = [label for label in labels if label.startswith(token)]
            if fits and re.search("[a-zæøåüöä0-9]", token):
                return fits[0] if len(fits) == 1 else None
    return None


def euroeval_labels(choices, labels):
    """Labels of a batch: by tokens if these say all labels, else by texts."""
    said = [euroeval_label(c, labels, True) for c in choices]
    return said if None not in said else [
        euroeval_label(c, labels, False) for c in choices]


def mcc_and_f1(said, true, labels):
    """Matthews' correlation and the mean F1 of several labels."""
    import math
    hits = [sum(s == t == x for s, t in zip(said, true)) for x in labels]
    p, t = ([v.count(x) for x in labels] for v in (said, true))
    n = len(true)
    spread = math.sqrt((n * n - sum(x * x for x in p)) *
                       (n * n - sum(x * x for x in t)))
    mcc = (n * sum(hits) - sum(a * b for a, b in zip(p, t))) / (spread or 1)
    f1 = [2 * h / (a + b) for h, a, b in zip(hits, p, t) if a + b]
    return mcc, sum(f1) / len(f1)


def run_euroeval(recorded, folder):
    """For each score EuroEval draws examples and texts, and asks for the
    label of each text once.  Texts that were drawn again are another batch."""
    import csv
    import json
    import numpy
    labels = ["positive", "neutral", "negative"]
    with open(folder + "/euroeval_benchmark_results.jsonl") as f:
        want = json.load(f)["results"]["raw"]
    rng = numpy.random.default_rng(4242)
    for split in ("train", "val", "test"):
        rows = list(csv.DictReader(open(f"{folder}/{split}.csv")))
        drawn = rng.integers(0, len(rows), (len(want), len(rows))).tolist()
    lines = [json.loads(line) for line in open(recorded)]
    check(all("choices" in r["answer"] for r in lines),
          f"serve answers EuroEval's {len(lines)} requests")
    asked = {}
    for r in lines:
        *examples, last = r["body"]["messages"]
        if examples:
            text = last["content"].split("\n")[0].removeprefix("Document: ")
            asked.setdefault(json.dumps(examples), {})[text] = \
                r["answer"]["choices"][0]
    worst = right = 0
    for score, ids, answers in zip(want, drawn, asked.values()):
        again = list(ids)
        for i in set(ids):
            again.remove(i)
        said, true = [], []
        for batch in (set(ids), again):
            said += euroeval_labels(
                [answers[rows[i]["text"]] for i in batch], labels)
            true += [rows[i]["label"] for i in batch]
        mcc, f1 = mcc_and_f1(said, true, labels)
        worst = max(worst, abs(mcc - score["mcc"]),
                    abs(f1 - score["macro_f1"]))
        right += sum(s == t for s, t in zip(said, true))
    mean = [100 * sum(x[k] for x in want) / len(want)
            for k in ("mcc", "macro_f1")]
    check(len(asked) == len(want) > 0 and worst < 1e-12,
          f"EuroEval's MCC {mean[0]:.2f} and F1 {mean[1]:.2f} follow from "
          f"the answers, {right} of {len(want) * len(rows)} labels right")


def run_record(url, file):
    import http.server
    import json
    import threading
    import urllib.error
    import urllib.request
    lock = threading.Lock()

    class Proxy(http.server.BaseHTTPRequestHandler):
        def pass_on(self, body):
            asked = urllib.request.Request(
                url + self.path, body, {"Content-Type": "application/json"})
            try:
                r = urllib.request.urlopen(asked)
            except urllib.error.HTTPError as refused:
                r = refused
            with r:
                answer = r.read()
            if body:
                line = {"path": self.path, "body": json.loads(body),
                        "answer": json.loads(answer)}
                with lock, open(file, "a") as out:
                    print(json.dumps(line), file=out)
            self.send_response(r.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self):
            self.pass_on(None)

        def do_POST(self):
            self.pass_on(
                self.rfile.read(int(self.headers["Content-Length"])))

        def log_request(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def run_keep(recorded, samples, out):
    import glob
    import json
    ids, asked = {}, []
    for line in map(json.loads, open(recorded)):
        body = line["body"]
        if line["path"] == "/tokenize":
            ids[body["prompt"]] = line["answer"]["tokens"]
        else:
            asked.append(body)
    where = {tuple(p): (i, k) for i, body in enumerate(asked)
             for k, p in enumerate(body["prompt"])}
    rows = []
    for path in sorted(glob.glob(samples + "/**/samples_*.jsonl", recursive=True)):
        task = path.split("/samples_")[1].split("_2")[0]
        for s in map(json.loads, open(path)):
            for k, r in enumerate(s["resps"]):
                a = s["arguments"][f"gen_args_{k}"]
                at = where[tuple(ids[a["arg_0"] + a["arg_1"]])]
                rows.append([task, s["doc_id"], k, int(str(s["target"]) == str(k)), *at,
                             len(ids[a["arg_0"]]), r[0][0], int(s["acc"])])
    with open(out + "/prompts.jsonl", "w") as f:
        for body in asked:
            print(json.dumps(dict(path="/v1/completions", body=body)), file=f)
    with open(out + "/prompts.tsv", "w") as f:
        print("# task item choice right request prompt context logp acc", file=f)
        for row in sorted(rows, key=lambda r: r[:3]):
            print(*row, sep="\t", file=f)


if __name__ == "__main__":
    runs = {"openai": run_openai, "lmeval": run_lmeval,
            "prompts": run_prompts, "texts": run_texts,
            "euroeval": run_euroeval, "record": run_record, "keep": run_keep}
    a = sys.argv[2:]
    if sys.argv[1] == "vllm":
        run_vllm(*a[:3], int(a[3]), int(a[4]))
    else:
        runs[sys.argv[1]](*a)
    sys.exit(failed > 0)
