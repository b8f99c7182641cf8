#!/usr/bin/env python3
"""Peers of stream: M tokens/s of rows of 2048 ids, shuffled, from local disk.

usage: stream_peers.py mosaic|webdataset DIR

Writes 20,000 rows of ids by Zipf's law (numpy, seed 0) into DIR once, then
reads them: mosaic as zstd -3 MDS shards (warm: already decompressed by a first
pass, which is not measured), webdataset as a tar with a shuffle buffer of
1000.  Prints "cpu N" and "wall N".
Tried with mosaicml-streaming 0.13.0 and webdataset 1.0.2.
"""
import os
import shutil
import sys
import time

import numpy as np

N, T = 20000, 2048


def rows():
    rng = np.random.default_rng(0)
    return (rng.zipf(1.3, size=(N, T)) % 49152).astype(np.uint16)


def mosaic(root):
    from streaming import MDSWriter, StreamingDataset

    if not os.path.exists(root + "/mds/index.json"):
        shutil.rmtree(root + "/mds", ignore_errors=True)
        with MDSWriter(out=root + "/mds", columns={"ids": "ndarray:uint16"},
                       compression="zstd:3", hashes=["xxh64"]) as w:
            for r in rows():
                w.write({"ids": r})
    data = StreamingDataset(local=root + "/mds.local", remote=root + "/mds",
                            shuffle=True, batch_size=8)
    sum(x["ids"].size for x in data)
    return lambda: sum(x["ids"].size for x in data)


def webdataset(root):
    import webdataset as wds

    path = root + "/rows.tar"
    if not os.path.exists(path):
        with wds.TarWriter(path + ".tmp") as w:
            for i, r in enumerate(rows()):
                w.write({"__key__": f"{i:08d}", "bin": r.tobytes()})
        os.rename(path + ".tmp", path)
    data = wds.WebDataset(path, shardshuffle=False).shuffle(1000)
    return lambda: sum(len(x["bin"]) // 2 for x in data)


os.makedirs(sys.argv[2], exist_ok=True)
read = {"mosaic": mosaic, "webdataset": webdataset}[sys.argv[1]](sys.argv[2])
cpu, wall = time.process_time(), time.time()
n = read()
print("cpu %.2f" % (n / (time.process_time() - cpu) / 1e6))
print("wall %.2f" % (n / (time.time() - wall) / 1e6))
