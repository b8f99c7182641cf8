"""A GGUF in three parts, by the gguf package.
usage: gguf_split.py WHOLE.gguf OUTDIR
WHOLE: tests/golden/gguf/bf16.gguf; OUTDIR: tests/golden/gguf/split.  As
llama.cpp's gguf-split: split.no (from 0), split.count and
split.tensors.count in every part, all other metadata in the first.  The first
part has the embedding, the last output.weight alone, as if the head were tied
in the others."""
import sys

import gguf
import numpy as np

SKIP = ('general.architecture',)        # which the writer adds itself


def part_of(name):
    return 0 if name == 'token_embd.weight' else 2 if name == 'output.weight' \
        else 1


def main(whole, out):
    r = gguf.GGUFReader(whole)
    for no in range(3):
        w = gguf.GGUFWriter(f'{out}/bf16-{no + 1:05}-of-00003.gguf', 'llama')
        if no > 0:
            w.kv_data[0].clear()        # the architecture is in the first part
        for k, f in r.fields.items():
            if no == 0 and not k.startswith('GGUF.') and k not in SKIP:
                w.add_key_value(k, f.contents(), f.types[0],
                                f.types[1] if len(f.types) > 1 else None)
        if no == 0:
            w.data_alignment = 64       # general.alignment of the whole
        w.add_uint16('split.no', no)
        w.add_uint16('split.count', 3)
        w.add_int32('split.tensors.count', len(r.tensors))
        for t in r.tensors:
            if part_of(t.name) == no:
                w.add_tensor(t.name, np.array(t.data),
                             raw_dtype=t.tensor_type)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()


main(*sys.argv[1:])
