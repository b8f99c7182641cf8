"""Types that llama-quantize gives to the tensors of a file.
usage: mixtures.py LLAMA_BIN OUT MODEL.gguf ...     (tests/golden/gguf/mixtures.tsv)
LLAMA_BIN: with llama-quantize; MODEL.gguf: in F32, such as SmolLM2-135M and
Gemma 3 270M.  A random llama of 32 blocks and one of 5 are made besides.
Columns: model, blocks, whether the head is tied, the mixture, whether there was
an importance matrix (of ones), the kind of matrix, its columns, and its type in
each block: 3*Q6_K is three blocks in a row with Q6_K.
Last run with llama.cpp of llama-cpp-python 0.3.36, gguf 0.19.0."""
import itertools
import os
import subprocess
import sys
import tempfile

import gguf
import numpy as np

MIXTURES = 'Q8_0 Q6_K Q5_K_M Q5_K_S Q5_1 Q5_0 Q4_K_M Q4_K_S Q4_1 Q4_0'.split()
llama, out, *paths = sys.argv[1:]


def random_llama(path, L, d, mlp):
    r, w = np.random.default_rng(L), gguf.GGUFWriter(path, 'llama')
    w.add_context_length(64), w.add_embedding_length(d), w.add_block_count(L)
    w.add_feed_forward_length(mlp), w.add_head_count(4), w.add_head_count_kv(2)
    w.add_layer_norm_rms_eps(1e-5), w.add_vocab_size(32), w.add_file_type(0)
    w.add_tokenizer_model('no_vocab')
    shapes = dict(attn_q=(d, d), attn_k=(d // 2, d), attn_v=(d // 2, d), attn_output=(d, d),
                  ffn_gate=(mlp, d), ffn_up=(mlp, d), ffn_down=(d, mlp), attn_norm=(d,), ffn_norm=(d,))
    ends = dict(token_embd=(32, d), output=(32, d), output_norm=(d,))
    for name, shape in [*ends.items(), *((f'blk.{i}.{k}', s) for i in range(L) for k, s in shapes.items())]:
        w.add_tensor(name + '.weight', r.standard_normal(shape).astype('f4'))
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file()
    w.close()


def ones(path, model):
    w = gguf.GGUFWriter(path, 'llama')
    w.add_string('general.type', 'imatrix'), w.add_array('imatrix.datasets', ['ones'])
    w.add_uint32('imatrix.chunk_count', 1), w.add_uint32('imatrix.chunk_size', 1)
    for t in gguf.GGUFReader(model).tensors:
        if len(t.shape) == 2:
            w.add_tensor(t.name + '.in_sum2', np.ones((1, t.shape[0]), 'f4'))
            w.add_tensor(t.name + '.counts', np.ones((1, 1), 'f4'))
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file()
    w.close()


with tempfile.TemporaryDirectory() as tmp, open(out, 'w') as f:
    f.write('# scripts/oracle/mixtures.py: llama.cpp of llama-cpp-python 0.3.36, gguf 0.19.0\n')
    random_llama(f'{tmp}/llama-32.gguf', 32, 256, 512)
    random_llama(f'{tmp}/llama-5.gguf', 5, 80, 288)
    for path in [*paths, f'{tmp}/llama-32.gguf', f'{tmp}/llama-5.gguf']:
        ones(f'{tmp}/ones.gguf', path)
        for important in 0, 1:
            for name in MIXTURES:
                if important and name[1] not in '45':
                    continue
                subprocess.run([f'{llama}/llama-quantize', *(['--imatrix', f'{tmp}/ones.gguf'] * important),
                                path, f'{tmp}/q.gguf', name, '2'], check=True, capture_output=True)
                types = {}
                for t in gguf.GGUFReader(f'{tmp}/q.gguf').tensors:
                    if len(t.shape) == 2:
                        kind = t.name.split('.')[-2]
                        types.setdefault((kind, t.shape[0]), []).append(t.tensor_type.name)
                L = max(map(len, types.values()))
                for (kind, cols), v in types.items():
                    runs = ' '.join(f'{len(list(g))}*{k}' for k, g in itertools.groupby(v))
                    f.write('\t'.join(map(str, [os.path.basename(path), L, int('output' not in
                            {k for k, _ in types}), name.lower(), important, kind, cols, runs])) + '\n')
