#!/usr/bin/env python3
"""Read the output of `shard export` by the libraries that it is written for, and
read their output by `shard import`.

usage: import_export.py SHARD DIRECTORY

SHARD is the program, DIRECTORY a shard directory of documents.  Needs numpy,
mosaicml-streaming, datatrove, megatron-core (its IndexedDataset, with torch);
llm.c is no library: its rules are written out below.
Last run with numpy 2.1.3, mosaicml-streaming 0.13.0, datatrove 0.9.0 and
megatron-core 0.16.1.  Prints one line a format, exits 1 on a
difference.
"""
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version

import numpy as np

shard, data = map(os.path.abspath, sys.argv[1:])
failed = 0


def run(*args):
    return subprocess.run([shard, "-q", *args], check=True,
                          capture_output=True, text=True).stdout


def documents(path):
    """Documents of a stream by way of shard dump, and its vocabulary."""
    docs, ids, vocab = [], None, 0
    for line in run("--dump", "--values", "1000000000", path).splitlines():
        if m := re.match(r"  vocab: (\d+)$", line):
            vocab = int(m[1])
        elif m := re.match(r"  ids \S+ \[\d+\](.*)", line):
            ids = np.array(m[1].split(), np.int64)
            at = 0
        elif m := re.match(r"  document \d+: .*, (\d+) tokens, key ", line):
            docs.append(ids[at:at + int(m[1])])
            at += int(m[1])
    return docs, vocab


def compare(what, got):
    global failed
    good = len(got) == len(want) and all(
        np.array_equal(a, b) for a, b in zip(got, want))
    failed |= not good
    print(f"{'ok' if good else 'BAD'} {what}: {len(got)} documents, "
          f"{sum(map(len, got))} ids")


want, vocab = documents(data)
flat = np.concatenate(want)
tmp = tempfile.mkdtemp()
os.chdir(tmp)
for f in "megatron", "llmc", "datatrove", "npy", "mds":
    run("--export", f, "-o", "x." + f, data)

# NumPy
a = np.load("x.npy")
compare(f"numpy {np.__version__} reads {a.dtype}",
        np.split(a, np.cumsum([len(d) for d in want])[:-1]))
np.save("y.npy", flat.astype(np.uint32))
np.save("z.npy", np.stack([np.arange(8), np.arange(8) + 9]).astype(np.int64))
run("--import", "npy", "--vocab", str(vocab), "-o", "d.npy", "y.npy")
got = documents("d.npy")[0]
compare("numpy writes, one document", np.split(
    got[0], np.cumsum([len(d) for d in want])[:-1]))
run("--import", "npy", "--vocab", str(vocab), "-o", "d2.npy", "z.npy")
print("ok" if [list(d) for d in documents("d2.npy")[0]] ==
      [list(range(8)), list(range(9, 17))] else "BAD", "numpy writes rows")

# MosaicML Streaming
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

clean_stale_shared_memory()
ds = StreamingDataset(local="x.mds", shuffle=False, batch_size=1,
                      validate_hash="xxh3_64")
compare(f"mosaicml-streaming {version('mosaicml-streaming')} reads",
        [ds[i]["tokens"] for i in range(len(ds))])
for name, columns in (
        ("static", {"tokens": "ndarray:uint32", "n": "int"}),
        ("free", {"a": "str", "tokens": "ndarray"}),
        ("bytes", {"tokens": "bytes"})):
    with MDSWriter(out="y." + name, columns=columns, size_limit=1 << 16,
                   hashes=["sha1", "xxh64"]) as w:
        for d in want:
            w.write({"tokens": d.tobytes() if name == "bytes" else
                     d.astype(np.uint32), "a": "text", "n": 7})
    run("--import", "mds", "--vocab", str(vocab), "-o", "d." + name,
        "y." + name)
    compare(f"mosaicml-streaming writes {columns}",
            documents("d." + name)[0])

# Megatron-LM
from megatron.core.datasets.indexed_dataset import (
    IndexedDataset, IndexedDatasetBuilder)
import torch

ix = IndexedDataset("x.megatron")
compare(f"megatron-core {version('megatron-core')} reads {ix.index.dtype}",
        [ix[i] for i in range(len(ix))])
for dtype in np.int32, np.uint16:
    if dtype == np.uint16 and vocab > 65536:
        continue
    name = "y." + dtype.__name__
    b = IndexedDatasetBuilder(name + ".bin", dtype=dtype)
    for d in want:
        half = len(d) // 2
        b.add_document(torch.from_numpy(d), [half, len(d) - half]
                       if half else [len(d)])
    b.finalize(name + ".idx")
    run("--import", "megatron", "--vocab", str(vocab), "-o", "d." + name, name)
    compare(f"megatron-core writes {dtype.__name__}, two sequences a document",
            documents("d." + name)[0])

# datatrove
from datatrove.pipeline.tokens.tokenizer import TokenizedFile
from datatrove.utils.dataset import DatatroveFileDataset

size = 4 if vocab > 65536 else 2
T = 31
ds = DatatroveFileDataset(os.path.abspath("x.datatrove"), T, size,
                          return_positions=True)
n = len(flat) // (T + 1)
rows = np.stack([ds[i]["input_ids"].numpy() for i in range(n)])
place = np.concatenate([np.arange(len(d)) for d in want])[:n * (T + 1)]
at = np.concatenate([ds[i]["positions"].numpy() for i in range(n)])
good = np.array_equal(rows.ravel(), flat[:n * (T + 1)])
# Its positions restart at every end and at the start of a row.
since = np.arange(T + 1)[None, :] + 0 * rows
place = np.minimum(place.reshape(n, T + 1), since)
good &= np.array_equal(at.reshape(n, T + 1), place)
ends = np.fromfile("x.datatrove.index", np.uint64)
good &= np.array_equal(ends, np.cumsum([len(d) for d in want]))
failed |= not good
print("ok" if good else "BAD", f"datatrove {version('datatrove')} reads {n} "
      f"rows, .index has {len(ends)} ends; metadata",
      open("x.datatrove.metadata").read().split("\n"))
w = TokenizedFile(os.path.abspath("."), "y.ds", token_size=size,
                  save_final_metadata=True)
for d in want:
    w.write(d.tolist(), None)
w.close()
run("--import", "datatrove", "--vocab", str(vocab), "-o", "d.ds", "y.ds")
compare("datatrove writes", documents("d.ds")[0])
print("   its files are ours:", all(
    open("y.ds" + s, "rb").read() == open("x.datatrove" + s, "rb").read()
    for s in ("", ".index")))

# llm.c is no library: these rules are those of its data scripts (write_datafile)
# and of its loaders.  A head of 256 int32 (magic, version, count),
# then uint16 (20240520, 1) or uint32 (20240801, 7), and nothing else.  The
# loader walks B T + 1 ids, B T at a time, and turns the page at the end.
KINDS = {20240520: (1, np.uint16), 20240801: (7, np.uint32)}


def llmc_read(path):
    raw = open(path, "rb").read()
    head = np.frombuffer(raw, "<i4", 256)
    version, dtype = KINDS[head[0]]
    assert head[1] == version and not head[3:].any()
    assert len(raw) == 1024 + head[2] * np.dtype(dtype).itemsize
    return np.frombuffer(raw, dtype, offset=1024)


def llmc_batches(tokens, B, T):
    at = 0
    while at + B * T + 1 <= len(tokens):
        buf = tokens[at:at + B * T + 1].astype(np.int64)
        yield buf[:-1].reshape(B, T), buf[1:].reshape(B, T)
        at += B * T


def llmc_write(path, tokens, magic):
    version, dtype = KINDS[magic]
    head = np.zeros(256, np.int32)
    head[:3] = magic, version, len(tokens)
    with open(path, "wb") as f:
        f.write(head.tobytes() + np.asarray(tokens, dtype).tobytes())


ids = llmc_read("x.llmc")
pairs = list(llmc_batches(ids, 2, 16))
n = 32 * len(pairs)
good = ids.dtype == (np.uint16 if vocab <= 65536 else np.uint32) and \
    np.array_equal(ids, flat) and n > 0 and \
    np.array_equal(np.concatenate([x.ravel() for x, _ in pairs]), flat[:n]) \
    and np.array_equal(np.concatenate([y.ravel() for _, y in pairs]),
                       flat[1:n + 1])
failed |= not good
print("ok" if good else "BAD", f"llm.c's rules read {ids.dtype}: {len(ids)} "
      f"ids, {len(pairs)} batches of 2 x 16")
# It writes an end-of-text token before each document; 3 stands for it here.
begun = [np.concatenate([[3], d[d != 3]]) for d in want]
for magic in KINDS:
    if magic == 20240520 and vocab > 65536:
        continue
    llmc_write("y.llmc", np.concatenate(begun), magic)
    run("-f", "--import", "llmc", "--vocab", str(vocab), "--bos-id", "3", "-o",
        "d.llmc", "y.llmc")
    want, saved = begun, want
    compare(f"llm.c's rules write magic {magic}", documents("d.llmc")[0])
    want = saved
sys.exit(failed)
