"""Golden statistics of generate bench, by vLLM's own calculate_metrics (of
`vllm bench serve`) with numpy, on times that are drawn at random.
usage: bench.py WHEEL TIMES WANT   (tests/golden/generate/bench.times.tsv, .want.tsv)
WHEEL: vllm's, of pip download --no-deps vllm.
TIMES: of two runs of the same requests.  `wall`, run, turn, seconds; and
  `request`, run, number, turn, tokens of the prompt, new tokens (0: it failed),
  time of sending, times at which tokens came (often several at once).
WANT: run, name, value; run `pair`: means of the requests that both answered."""
import ast
import sys
import types
import warnings
import zipfile
from dataclasses import dataclass

import numpy as np

SEED, N, TURN = 5, 40, 8


def metrics_of(wheel):
    """calculate_metrics and its class, out of the module's other imports"""
    with zipfile.ZipFile(wheel) as z:
        tree = ast.parse(z.read("vllm/benchmarks/serve.py"))
    tree.body = [n for n in tree.body if getattr(n, "name", "") in
                 ("BenchmarkMetrics", "calculate_metrics")]
    room = {"np": np, "warnings": warnings, "dataclass": dataclass,
            "TERM_PLOTLIB_AVAILABLE": False, "print": lambda *a: None,
            "MILLISECONDS_TO_SECONDS_CONVERSION": 1000}
    code = compile("from __future__ import annotations", "x", "exec").co_flags
    exec(compile(tree, "serve.py", "exec", flags=code &
                 __import__("__future__").annotations.compiler_flag), room)
    return room["calculate_metrics"]


def draw_run(rng, slower):
    """requests and the seconds of the turns"""
    out, wall, now = [], [], 100.0
    for first in range(0, N, TURN):
        begin = now
        for i in range(first, first + TURN):
            start = begin + rng.exponential(0.01)
            tokens = int(rng.integers(2, 30))
            if i == 0:
                tokens = 1          # no time of a later token
            at, left = [], tokens
            t = start + slower * rng.gamma(4, 0.02)
            while left > 0:
                at.append(float(f"{t:.6f}"))
                left -= int(rng.integers(1, 4))
                t += slower * rng.gamma(3, 0.004)
            if rng.random() < 0.1:
                tokens, at = 0, []
            out.append(dict(turn=first // TURN, prompt=4 + 37 * i % 95,
                            tokens=tokens, start=float(f"{start:.6f}"), at=at))
            now = max([now] + at)
        wall.append(float(f"{now - begin:.6f}"))
        now += 1.0
    return out, wall


def outputs(requests):
    return [types.SimpleNamespace(
        success=r["tokens"] > 0, output_tokens=r["tokens"],
        prompt_len=r["prompt"], start_time=r["start"],
        latency=r["at"][-1] - r["start"] if r["at"] else 0.0,
        ttft=r["at"][0] - r["start"] if r["at"] else 0.0,
        itl=list(np.diff(r["at"])), input_audio_duration=0.0, error="")
        for r in requests]


def main(wheel, times, want):
    rng = np.random.default_rng(SEED)
    calculate = metrics_of(wheel)
    runs = [draw_run(rng, s) for s in (1.0, 0.6)]
    head = (f"# scripts/oracle/bench.py: {wheel.split('/')[-1]}, numpy "
            f"{np.__version__}, seed {SEED}\n")
    with open(times, "w") as f:
        f.write(head)
        for k, (requests, wall) in enumerate(runs):
            for t, w in enumerate(wall):
                f.write(f"wall\t{k}\t{t}\t{w:.6f}\n")
            for i, r in enumerate(requests):
                at = " ".join(f"{t:.6f}" for t in r["at"])
                f.write(f"request\t{k}\t{i}\t{r['turn']}\t{r['prompt']}\t"
                        f"{r['tokens']}\t{r['start']:.6f}\t{at}\n")
    with open(want, "w") as f:
        f.write(head)

        def put(run, name, value):
            f.write(f"{run}\t{name}\t{value:.12g}\n")
        for k, (requests, wall) in enumerate(runs):
            m, _ = calculate(None, outputs(requests), sum(wall), None, [99.0],
                             {})
            put(k, "completed", m.completed)
            put(k, "failed", m.failed)
            put(k, "total_input_tokens", m.total_input)
            put(k, "total_output_tokens", m.total_output)
            put(k, "duration", sum(wall))
            for n in ("request_throughput", "output_throughput",
                      "total_token_throughput"):
                put(k, n, getattr(m, n))
            for n in ("ttft", "tpot", "itl", "e2el"):
                for s in ("mean", "median", "std"):
                    put(k, f"{s}_{n}_ms", getattr(m, f"{s}_{n}_ms"))
                put(k, f"p99_{n}_ms", dict(getattr(m, f"percentiles_{n}_ms"))[99.0])
        # means over the requests for which both have the measure
        both = [i for i in range(N) if all(r[0][i]["tokens"] for r in runs)]
        later = [i for i in both if all(r[0][i]["tokens"] > 1 for r in runs)]
        gaps = [i for i in both if all(len(r[0][i]["at"]) > 1 for r in runs)]
        put("pair", "requests", len(both))
        for n in ("ttft", "tpot", "itl", "e2el"):
            which = {"tpot": later, "itl": gaps}.get(n, both)
            m = [getattr(calculate(None, outputs([r[0][i] for i in which]),
                                   1.0, None, [], {})[0], f"mean_{n}_ms")
                 for r in runs]
            put("pair", f"{n}_ms difference", m[1] - m[0])
            put("pair", f"{n}_ms ratio", m[0] / m[1])
        for n, of in (("request_throughput", lambda r: r["tokens"] > 0),
                      ("output_throughput", lambda r: r["tokens"])):
            m = [sum(map(of, r)) / sum(w) for r, w in runs]
            put("pair", f"{n} difference", m[1] - m[0])
            put("pair", f"{n} ratio", m[1] / m[0])


main(*sys.argv[1:])
