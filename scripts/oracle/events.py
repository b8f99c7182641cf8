#!/usr/bin/env python3
"""Write the event file that report export should write, by TensorBoard's own
protocol buffers and record writer; or print what TensorBoard reads in one.
usage: events.py METRICS HELD-OUT TIME OUT     (times of the last rows)
       events.py DIR
Golden: events.py tests/golden/report/metrics.tsv tests/golden/report/held-out.tsv
1790000000 tests/golden/report/events    (tensorboard 2.21)
"""
import io
import math
import sys

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def rows(path, group, last):
    with open(path) as f:
        names = f.readline().rstrip("\n").split("\t")
        table = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in f]
    when = last
    for r in table[1:]:
        when -= max(0.0, float(r["seconds"]))
    for i, r in enumerate(table):
        if i > 0:
            when += max(0.0, float(r["seconds"]))
        for name, x in r.items():
            if name != "step" and x != "-" and math.isfinite(float(x)):
                v = summary_pb2.Summary.Value(tag=f"{group}/{name}",
                                              simple_value=float(x))
                yield event_pb2.Event(wall_time=when, step=int(r["step"]),
                                      summary=summary_pb2.Summary(value=[v]))


def main():
    if len(sys.argv) == 2:
        from tensorboard.backend.event_processing.event_accumulator import \
            EventAccumulator
        a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
        a.Reload()
        for tag in a.Tags()["scalars"]:
            for e in a.Scalars(tag):
                print(tag, e.step, f"{e.value:.6g}", f"{e.wall_time:.3f}", sep="\t")
        return
    metrics, held, time, out = sys.argv[1:]
    with open(out, "wb") as f:
        w = RecordWriter(f)
        w.write(event_pb2.Event(wall_time=0.0, file_version="brain.Event:2")
                .SerializeToString())
        for path, group in ((metrics, "train"), (held, "held-out")):
            for e in rows(path, group, float(time)):
                w.write(e.SerializeToString())
        w.flush()


main()
