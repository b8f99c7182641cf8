"""Read and write retort's streams and shard directories with NumPy.

    for m in messages("data/"):         # a directory, a file, or a binary stream
        if m.kind == "batch":
            ids = m.tensors["ids"]      # [B,T]; torch.from_numpy takes it
            h = m.f32("teacher.final")  # BF16 and F16 as float32

    with Writer(open("out", "wb"), content="batch", tokenizer=hash, vocab=49152,
                sources=["mine"], T=512, algorithm="mine-1") as w:
        w.write("batch", ids, piece_row=[0, 1], piece_len=[512, 512])

The formats are in retort-stream(5) and retort-shard(5).  A stream that broke
off or was altered raises ValueError.  Needed: NumPy, xxhash, and for directories
the programs zstd or lz4.  Programs read what a Writer wrote.
"""
import json
import os
import subprocess

import numpy as np
import xxhash

DTYPES = {"U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "F32": "<f4",
          "F16": "<f2", "BF16": "<u2"}
TYPES = {"doc_len": "<u4", "doc_source": "<u2", "doc_key": "<u8", "piece_row": "<u4",
         "piece_len": "<u4", "piece_source": "<u2", "piece_key": "<u8", "piece_off": "<u4"}
NAMES = {np.dtype(d): name for name, d in DTYPES.items() if name != "BF16"}


class Message:
    """kind: stream, teacher, docs or batch; meta: dict of strings; tensors: dict
    of arrays, those of BF16 as bits in uint16; raw: all bytes."""

    def __init__(self, raw):
        self.raw = raw
        n = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:8 + n])
        self.meta, self.tensors = header.pop("__metadata__"), {}
        self.kind = self.meta["kind"]
        self.dtypes = {name: t["dtype"] for name, t in header.items()}
        for name, t in header.items():
            begin, end = t["data_offsets"]
            data = np.frombuffer(raw, np.uint8, end - begin, 8 + n + begin)
            self.tensors[name] = data.view(DTYPES[t["dtype"]]).reshape(t["shape"])

    def f32(self, name):
        x, bits = self.tensors[name], self.dtypes[name] == "BF16"
        return (x.astype("u4") << 16).view("f4") if bits else x.astype("f4")


def take(f, n):
    if len(got := f.read(n)) < n:
        raise ValueError("the stream breaks off in a message")
    return got


def read_raw(f):
    """The bytes of the next message of a binary file; b"" at its end."""
    if not (first := f.read(1)):
        return b""
    size = first + take(f, 7)
    header = take(f, int.from_bytes(size, "little"))
    ends = [t["data_offsets"][1] for t in json.loads(header).values() if "dtype" in t]
    return size + header + take(f, max(ends, default=0))


def files_of(source):
    """Yield the binary files whose contents make up the stream."""
    if hasattr(source, "read"):
        yield source
    elif not os.path.isdir(source):
        with open(source, "rb") as f:
            yield f
    else:
        with open(os.path.join(source, "manifest.json"), "rb") as f:
            shards = [os.path.join(source, s["name"]) for s in json.load(f)["shards"]]
        for path in shards:
            program = "lz4" if path.endswith(".lz4") else "zstd"
            with subprocess.Popen([program, "-dcq", path],
                                  stdout=subprocess.PIPE) as p:
                yield p.stdout


def messages(source):
    """Yield the messages of a stream, without its end."""
    h, seq = b"", 0
    for f in files_of(source):
        while raw := read_raw(f):
            m = Message(raw)
            if m.kind == "abort":
                raise ValueError("its writer gave up: " + m.meta["why"])
            if (m.kind == "stream") != (seq == 0) or "next_seq" in m.meta or \
                    int(m.meta["seq"]) != seq or \
                    m.meta.get("chain", h.hex()) != h.hex():
                raise ValueError(f"message {seq} does not continue the stream")
            if m.kind == "end":
                return
            yield m
            h, seq = xxhash.xxh3_128(h + raw).digest(), seq + 1
    raise ValueError("the stream breaks off: no end message")


class Writer:
    """Writes a stream to a binary file; leaving `with` without an error ends and
    closes it.  tokenizer: as in the first message of streams of the tokenizer."""

    def __init__(self, f, content, tokenizer, vocab, sources, bos="none",
                 eos="none", **meta):
        self.f, self.h, self.seq, self.tokens = f, b"", 0, 0
        self.id_type = np.uint16 if vocab <= 65536 else np.uint32
        self.message("stream", {}, version=1, content=content, tokenizer=tokenizer,
                     vocab=vocab, bos=bos, eos=eos, sources="\n".join(sources), **meta)

    def message(self, kind, tensors, **meta):
        if kind in ("batch", "end"):
            meta = {"chain": self.h.hex(), **meta}
        meta = {"kind": kind, "seq": self.seq, **meta}
        header = {"__metadata__": {name: str(x) for name, x in meta.items()}}
        data = b""
        for name, x in sorted(tensors.items(), key=lambda t: -t[1].itemsize):
            header[name] = {"dtype": NAMES[x.dtype], "shape": x.shape,
                            "data_offsets": [len(data), len(data) + x.nbytes]}
            data += x.tobytes()
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        raw = len(text).to_bytes(8, "little") + text + data
        self.f.write(raw)
        self.h, self.seq = xxhash.xxh3_128(self.h + raw).digest(), self.seq + 1

    def write(self, kind, ids, cursor="", **arrays):
        """Write a message of kind docs (ids [N], doc_len, doc_source, doc_key
        [D]) or batch (ids [B,T], piece_row, piece_len, piece_source, piece_key,
        piece_off [P], and others [B,T,...] with their own dtypes).  Arrays of
        sources, keys and offsets that are left out are zeros."""
        of = "doc" if kind == "docs" else "piece"
        length = arrays[of + "_len"]
        for name in filter(lambda name: name.startswith(of), TYPES):
            arrays[name] = np.asarray(arrays.get(name, [0] * len(length)), TYPES[name])
        arrays["ids"] = np.asarray(ids, self.id_type)
        self.tokens += int(np.sum(length))
        self.message(kind, arrays, cursor=cursor)

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error is None:
            self.message("end", {}, messages=self.seq + 1, tokens=self.tokens)
            self.f.close()
