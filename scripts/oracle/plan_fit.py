#!/usr/bin/env python3
"""Fit the constants of plan/machines to published runs, and leave a group out.

usage: scripts/oracle/plan_fit.py CASES build/bin/plan [out]

CASES is a folder with cases.tsv (case, group, kind, model, machine, layout,
figure, scale, published, class ...), models and machines.  Prints the mean
error of each group in %: with the shipped constants and, with the third
argument, of constants that are fitted to the other groups.  Constants that are
fitted: matrix_eff of a100 and h100, attention_eff of a100.  Cases whose machine
is a file of CASES keep its own.  A layout that does not fit counts as refused.
"""
import csv
import os
import subprocess
import sys

FREE = (("a100", "matrix_eff", 0.97), ("h100", "matrix_eff", 0.66),
        ("a100", "attention_eff", 0.32))


def error(case, constants):
    """Relative error of time or memory; above 0: too much.  None: refused."""
    def path(name):
        return os.path.join(CASES, name) if "/" in name else name
    own = ["%s=%g" % (key, v) for (machine, key), v in constants.items()
           if machine == case["machine"]]
    run = subprocess.run([PLAN, "cluster", "-q", "-m", path(case["model"]),
                          "--machine", path(case["machine"]), "--format", "tsv"]
                         + case["layout"].split() + own,
                         capture_output=True, text=True)
    if not run.stdout:
        return None
    f = dict(line.split("\t")[:2] for line in run.stdout.splitlines())
    f["states"] = sum(float(f["memory." + k])
                      for k in ("weights", "gradients", "states"))
    v, p = float(f[case["figure"]]) * float(case["scale"]), float(case["published"])
    return p / v - 1 if case["figure"].startswith("speed") else v / p - 1


def groups(cases, constants):
    got = {}
    for c in cases:
        got.setdefault(c["group"], []).append(error(c, constants))
    return {g: 100 * sum(abs(x) for x in e if x is not None) / max(1, len(
        [x for x in e if x is not None])) for g, e in got.items()}


def fit(cases):
    """Constants with the least mean error over groups, by steps along each."""
    best = {(m, k): v for m, k, v in FREE}
    cost = lambda c: sum(groups(cases, c).values())
    least, step = cost(best), 0.08
    while step > 0.009:
        moved = False
        for m, k, _ in FREE:
            for way in (1 + step, 1 - step):
                new = dict(best)
                new[m, k] = min(1.0, new[m, k] * way)
                if (c := cost(new)) < least:
                    best, least, moved = new, c, True
        step = step if moved else step / 2
    return best


CASES, PLAN = sys.argv[1:3]
with open(os.path.join(CASES, "cases.tsv")) as f:
    everything = [c for c in csv.DictReader(f, delimiter="\t",
                                            quoting=csv.QUOTE_NONE)
                  if c["kind"] != "oom"]
print("kind\tgroup\tclass\tcases\terror\twithout it\tconstants")
for kind in ("time", "memory"):
    some = [c for c in everything if c["kind"] == kind]
    for group in sorted({c["group"] for c in some}):
        rest = [c for c in some if c["group"] != group]
        constants = fit(rest) if len(sys.argv) > 3 and kind == "time" else None
        for name in ("core", "approx"):
            mine = [c for c in some
                    if c["group"] == group and c["class"] == name]
            if not mine:
                continue
            out = groups(mine, constants)[group] if constants else None
            print("%s\t%s\t%s\t%d\t%.1f\t%s\t%s" % (
                kind, group, name, len(mine), groups(mine, {})[group],
                "%.1f" % out if out is not None else "-",
                " ".join("%s.%s=%.3g" % (m, k, v)
                         for (m, k), v in (constants or {}).items())))
