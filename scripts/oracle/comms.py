"""Lines and table of a log of collectives, by DeepSpeed's own code and by the
rule of nccl-tests (doc/PERFORMANCE.md).

usage: comms.py DEEPSPEED OUT
DEEPSPEED: the unpacked source of deepspeed 0.16.1 (pip download --no-deps
--no-binary :all: deepspeed==0.16.1); only deepspeed/utils/comms_logging.py and
timer.py are run, with stand-ins for what they import.
Writes OUT/comms.tsv (messages: op, kind, ranks, whole and shard in bytes,
milliseconds), OUT/comms-deepspeed.log and OUT/comms.log.
"""
import contextlib
import io
import random
import statistics
import sys
import types
import unittest.mock

WORLD = 4
source, out = sys.argv[1:]


def stand(name, **parts):
    module = types.ModuleType(name)
    module.__path__ = [source + "/" + name.replace(".", "/")]
    for k, v in parts.items():
        setattr(module, k, v)
    sys.modules[name] = module
    return module


def load(name, path):
    module = types.ModuleType(name)
    with open(source + "/" + path) as f:
        exec(compile(f.read(), path, "exec"), module.__dict__)
    sys.modules[name] = module
    return module


stand("deepspeed")
stand("torch")
stand("numpy", mean=statistics.fmean)
stand("deepspeed.utils", log_dist=lambda text, ranks: print(text))
stand("deepspeed.utils.logging", log_dist=lambda text, ranks: print(text))
stand("deepspeed.accelerator", get_accelerator=unittest.mock.MagicMock())
comm = stand("deepspeed.comm", get_world_size=lambda: WORLD, get_rank=lambda: 0,
             reduce_op=None)
sys.modules["deepspeed"].comm = comm
stand("deepspeed.comm.reduce_op", ReduceOp=None)
stand("deepspeed.comm.constants", COMMS_LOGGER_VERBOSE_DEFAULT=True,
      COMMS_LOGGER_DEBUG_DEFAULT=False, COMMS_LOGGER_PROF_OPS_DEFAULT=[],
      COMMS_LOGGER_PROF_ALL_DEFAULT=True, COMMS_LOGGER_ENABLED_DEFAULT=True)
trim_mean = load("deepspeed.utils.timer", "deepspeed/utils/timer.py").trim_mean
logger = load("deepspeed.utils.comms_logging",
              "deepspeed/utils/comms_logging.py").CommsLogger()

# op, kind as in enum comm_kind, whole bytes
OPS = [("all_gather_into_tensor", 0, 8192 * 4), ("all_gather_into_tensor", 0, 0),
       ("reduce_scatter_tensor", 1, 5120 * 25600 * 2),
       ("all_gather_into_tensor", 0, 5120 * 25600 * 2),
       ("all_reduce", 2, 20), ("all_reduce", 2, 1 << 30),
       ("all_to_all_single", 3, 1536 * 1024), ("broadcast", 4, 1000),
       ("barrier", 4, 0)]
rng = random.Random(19)
events = []
for _ in range(150):
    op, kind, whole = rng.choice(OPS)
    ms = round(10 ** rng.uniform(-2, 2), 6)
    events.append((op, kind, WORLD, whole, whole // WORLD, ms))
with open(out + "/comms.tsv", "w") as f:
    for e in events:
        print(*e, sep="\t", file=f)

with contextlib.redirect_stdout(open(out + "/comms-deepspeed.log", "w")):
    for op, kind, n, whole, shard, ms in events:
        logger.append(op, op, ms, shard if kind == 0 else whole)
    logger.log_all()

# The same text with bandwidths of the whole array, from the formulas alone.
FACTOR = {0: (WORLD - 1) / WORLD, 1: (WORLD - 1) / WORLD,
          2: 2 * (WORLD - 1) / WORLD, 3: (WORLD - 1) / WORLD, 4: 1.0}
show = sys.modules["deepspeed.utils.comms_logging"].convert_size
with open(out + "/comms.log", "w") as f:
    rows = {}
    for op, kind, n, whole, shard, ms in events:
        gbps = whole * 8 / (ms * 1e-3) / 1e9
        bus = gbps * FACTOR[kind]
        print(f"comm op: {op} | time (ms): {ms:.2f} | msg size: {show(whole)} | "
              f"algbw (Gbps): {gbps:.2f} | busbw (Gbps): {bus:.2f}", file=f)
        rows.setdefault(op, {}).setdefault(whole, []).append((ms, gbps, bus))
    print("".join(f"{t: <20}" for t in (
        "Comm. Op", "Message Size", "Count", "Total Latency(ms)",
        "Avg Latency(ms)", "tput_avg (Gbps)", "busbw_avg (Gbps)")), file=f)
    for op, sizes in rows.items():
        print(op, file=f)
        for whole, got in sorted(sizes.items()):
            cols = [trim_mean([g[i] for g in got], 0.1) for i in range(3)]
            text = [" ", show(whole), str(len(got)),
                    f"{sum(g[0] for g in got):.2f}"] + [f"{c:.2f}" for c in cols]
            print("".join(f"{t: <20}" for t in text), file=f)
