#!/bin/sh
# contrib/retort.py: what it reads is what programs wrote, and programs read what
# it writes
. "${0%/*}/../lib/lib.sh"

if ! python3 -c 'import numpy, xxhash' 2>/dev/null; then
    skip 'Python reads and writes streams' 'no NumPy and xxhash for python3'
    done_testing
fi
m=$top/tests/golden/gguf/f32-hf
py() { PYTHONPATH=$top/contrib PYTHONDONTWRITEBYTECODE=1 python3 -c "$@"; }

for i in 1 2 3 4 5 6 7; do
    printf 'The river %s runs, and so does the lake.\n\n' "$i"
done >text
tokenize -q -t "$m" --split blank text -o docs
shard write -q -o data --shard-size 1K --frame 1K docs
shard write -q -o data4 --codec lz4 docs
stream -q -T 16 -B 2 --batches 3 data >batches
teacher -q -m "$m" --final --hidden 1 batches >taught

ok 'a file and directories have the same messages' py '
from retort import *
file = [m.raw for m in messages("docs")]
assert len(file) == 2
assert file == [m.raw for m in messages("data")] == [m.raw for m in messages("data4")]
assert file == [m.raw for m in messages(open("docs", "rb"))]'
py '
from retort import *
for m in messages("docs"):
    if m.kind == "docs":
        print(*m.tensors["ids"])' >ids
ok 'shard dumps the tokens' shard dump --values 100000 docs
tr -cd '0-9 \n' <out | grep -qF "$(cut -d ' ' -f 1-20 ids)" &&
    pass 'tokens are those that shard dumps' ||
    fail 'tokens are those that shard dumps'
ok 'states of a teacher have their shapes' py '
import numpy as np
from retort import *
b = [m for m in messages("taught") if m.kind == "batch"]
assert len(b) == 3
h = b[0].f32("teacher.final")
assert h.shape[:2] == b[0].tensors["ids"].shape and h.dtype == np.float32
assert np.isfinite(h).all() and 0.01 < np.abs(h).mean() < 100'

# --- what Python writes ---
ok 'Python copies a stream' py '
from retort import *
m = list(messages("batches"))
s = m[0].meta
with Writer(open("copy", "wb"), **{k: s[k] for k in s if k not in
            ("kind", "seq", "version", "vocab", "sources")}, vocab=int(s["vocab"]),
            sources=s["sources"].split("\n")) as w:
    for b in m[1:]:
        t = dict(b.tensors)
        w.write("batch", cursor=b.meta["cursor"], **t)'
ok 'shard shows the copy' shard dump copy
student -q -m "$m" -o one batches >/dev/null
ok 'student trains on the copy' student -q -m "$m" -o two copy
same 'the copy trains the same model' one/model.safetensors two/model.safetensors
ok 'Python writes documents' py '
import numpy as np
from retort import *
hash = next(iter(messages("docs"))).meta["tokenizer"]
with Writer(open("mine", "wb"), "docs", hash, 300, ["mine"], eos=2) as w:
    for i in range(4):
        w.write("docs", np.arange(3, 45) + i, doc_len=[37, 5], doc_key=[2 * i, 2 * i + 1])'
ok 'shard stores the documents' shard write -q -o mined mine
ok 'the directory is whole' shard check mined
ok 'stream packs the documents' stream -q -T 16 -B 2 --batches 2 -o packed mined

# --- what is wrong is refused ---
refuses() {
    status 1 "$1" py 'import sys
from retort import *
for m in messages(sys.argv[1]): pass' "$2"
    like "$1, by name" "ValueError: .*$3" err
}
for n in 3 8 100 3000; do # in the length, after it, in the header, in data
    head -c $n taught >cut
    refuses "a stream that breaks off after $n bytes is refused" cut 'breaks off'
done
py '
raw = bytearray(open("batches", "rb").read())
raw[-700] ^= 1
open("altered", "wb").write(raw)'
refuses 'an altered message is refused' altered 'does not continue'
done_testing
