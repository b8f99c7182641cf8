"""Do llama.cpp and transformers compute with what convert writes?
usage: convert_check.py PROGRAMS LLAMA_BIN CORPUS MODEL...
       convert_check.py --tokenizers PROGRAMS LLAMA_BIN CORPUS TOKDIR...
       convert_check.py --random PROGRAMS LLAMA_BIN CORPUS TOKDIR
PROGRAMS: build/bin; LLAMA_BIN: with llama-tokenize and llama-perplexity;
CORPUS: corpus/held-out; MODEL: a .gguf or Hugging Face directory; TOKDIR: a
folder with a published tokenizer.json and tokenizer_config.json.
First form, for each MODEL: as a directory and as GGUF in each type.
  ids of a text: AutoTokenizer of the directory, llama-tokenize of each GGUF
  nats: evalppl of MODEL, directory and F32 file, digit by digit; transformers
    of the directory and of the F32 GGUF (gguf_file), within 1e-5 in float32
  tensors of F16, BF16, Q8_0: the bytes that gguf-py makes of the F32 file's
  perplexity: llama-perplexity (float32 KV cache) beside evalppl on the same
    file: within 1e-4 for F32; where llama.cpp rounds activations to the type
    of the weights too, within 1e-3, for the 8 bits of Q8_0 1e-2
Second form: the tokenizer in a GGUF of a tiny model, ids by llama-tokenize of
each document beside those of the tokenizers library.
Third form: small random models of each family with that tokenizer, as F32 GGUF:
perplexity by llama-perplexity beside evalppl on the directory, within 1e-4; among
them a llama with Llama 3's scaling and a Gemma whose windows are not five of six.
Last run with transformers 5.23.0, torch 2.13.0, llama.cpp of llama-cpp-python
0.3.36.  Prints a line a check; status 1 if one failed."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

failed = 0


def check(good, what):
    global failed
    failed += not good
    print('ok' if good else 'FAILED', '-', what, flush=True)


def run(*cmd):
    r = subprocess.run(list(map(str, cmd)), capture_output=True, text=True)
    if r.returncode:
        print('#', *cmd, '\n#', r.stderr.strip()[-400:])
    return r.stdout, r.stdout + r.stderr


def texts(names):
    for n in names:
        for line in open(f'{corpus}/{n}.jsonl', encoding='utf-8'):
            yield json.loads(line)['text']


def llama_ids(model, file):
    out = run(f'{llama}/llama-tokenize', '-m', model, '-f', file, '--ids',
              '--log-disable', '--no-escape', '--no-bos', '--no-parse-special')[0]
    return json.loads(out or '[]')


def llama_ppl(model, file, window):
    for _ in range(9):              # its logger sometimes loses the last lines
        out = run(f'{llama}/llama-perplexity', '-m', model, '-f', file, '--no-escape', '-c', window,
                  '-t', 1, '-ctk', 'f32', '-ctv', 'f32', '-fa', 'off')[1]
        if m := re.search(r'PPL = ([0-9.]+)', out):
            return float(m[1])
    return float('nan')


def same_bytes(f32, other):
    import gguf
    a = {x.name: x for x in gguf.GGUFReader(f32).tensors}
    b = gguf.GGUFReader(other).tensors
    n = sum(gguf.quantize(a[x.name].data, x.tensor_type).tobytes() == x.data.tobytes() for x in b)
    return n, len(a)


def column(tsv, name):
    for line in tsv.splitlines():
        f = line.split('\t')
        if f[0] == 'model':
            at = f.index(name)
        elif len(f) > 1 and f[1] == '(all)':
            return f[at]


def nats(model, tok, docs):
    import torch
    n = 0
    for text in docs:
        ids = torch.tensor([tok(text).input_ids])
        with torch.no_grad():
            lp = torch.log_softmax(model(ids).logits[0].double(), -1)
        n -= lp[:-1].gather(1, ids[0, 1:, None]).sum().item()
    return n


def models(paths):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    torch.set_num_threads(2)
    docs = [next(texts([n])) for n in ('en', 'bg', 'code', 'fi', 'math')]
    for path in paths:
        name = os.path.basename(path.rstrip('/'))
        with tempfile.TemporaryDirectory() as tmp:
            run(f'{bin}/convert', path, f'{tmp}/hf')
            joined = f'{tmp}/text'
            open(joined, 'w', encoding='utf-8').write('\n'.join(docs))
            tok = AutoTokenizer.from_pretrained(f'{tmp}/hf')
            want = tok('\n'.join(docs), add_special_tokens=False).input_ids
            got = run(f'{bin}/tokenize', '-q', '-t', f'{tmp}/hf', '--no-bos', '--no-eos', '--ids',
                      joined)[0].split()
            check(list(map(int, got)) == want, f'{name}: AutoTokenizer: {len(want)} ids')
            run(f'{bin}/tokenize', '-q', '-t', f'{tmp}/hf', '--no-eos', '-o', f'{tmp}/one', joined)
            with open(f'{tmp}/d.jsonl', 'w', encoding='utf-8') as f:
                f.writelines(json.dumps(dict(text=x)) + '\n' for x in docs)
            run(f'{bin}/tokenize', '-q', '-t', f'{tmp}/hf', '--no-eos', '-o', f'{tmp}/ids', f'{tmp}/d.jsonl')
            score = lambda m: run(f'{bin}/evalppl', '-q', '-m', m, '-c', 4096, '--format', 'tsv',
                                  f'{tmp}/ids')[0]
            mine = score(path)
            n = float(column(mine, 'nll')) * int(column(mine, 'tokens'))
            same = column(score(f'{tmp}/hf'), 'nll') == column(mine, 'nll')
            check(same, f'{name}: nats of the directory: {n:.4f}, all digits')
            for t in 'f32', 'f16', 'bf16', 'q8_0':
                g = f'{tmp}/{t}.gguf'
                run(f'{bin}/convert', '--dtype', t, f'{tmp}/hf', g)
                if t == 'f32':
                    check(column(score(g), 'nll') == column(mine, 'nll'), f'{name}: f32: all digits')
                    m = AutoModelForCausalLM.from_pretrained(tmp, gguf_file='f32.gguf',
                                                             dtype=torch.float32).eval()
                    k = nats(m, tok, docs)
                    check(abs(k / n - 1) <= 1e-5, f'{name}: transformers, gguf_file: {k:.4f}')
                    del m
                else:
                    good, k = same_bytes(f'{tmp}/f32.gguf', g)
                    check(good == k, f'{name}: {t}: {good} of {k} tensors are those of gguf-py')
                check(llama_ids(g, joined) == want, f'{name}: {t}: llama-tokenize')
                ppl = float(column(run(f'{bin}/evalppl', '-q', '-m', g, '--protocol', 'llama.cpp', '-c',
                                       256, '--format', 'tsv', f'{tmp}/one')[0], 'ppl'))
                theirs = llama_ppl(g, joined, 256)
                check(abs(theirs / ppl - 1) <= dict(f32=1e-4, q8_0=1e-2).get(t, 1e-3),
                      f'{name}: {t}: perplexity {ppl:.4f}, llama.cpp {theirs}')
                if t != 'f32':
                    os.remove(g)
            m = AutoModelForCausalLM.from_pretrained(f'{tmp}/hf', dtype=torch.float32).eval()
            k = nats(m, tok, docs)
            check(abs(k / n - 1) <= 1e-5, f'{name}: transformers, directory: {k:.4f}')


def tokenizers(dirs):
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer
    files = sorted(glob.glob(f'{corpus}/*.jsonl'))
    docs = [x for f in files for x in texts([os.path.basename(f)[:-6]])]
    docs += ['  two  spaces\n\n\n\n\t\t\tx', ' ' * 41 + 'if' + ' ' * 7 + 'x' + ' ' * 3, '🚀 1234567 ßẞ\r\n']
    for path in dirs:
        name, t = os.path.basename(path.rstrip('/')), Tokenizer.from_file(f'{path}/tokenizer.json')
        V, d = t.get_vocab_size(True), 32
        shape = dict(embed_tokens=(V, d), norm=(d,))
        for n, s in dict(input_layernorm=(d,), post_attention_layernorm=(d,)).items():
            shape['layers.0.' + n] = s
        for n in ('self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'self_attn.o_proj',
                  'mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'):
            shape['layers.0.' + n] = (d, d)
        with tempfile.TemporaryDirectory() as tmp:
            save_file({f'model.{n}.weight': np.ones(s, 'f4') for n, s in shape.items()},
                      f'{tmp}/model.safetensors')
            json.dump(dict(model_type='llama', vocab_size=V, hidden_size=d, intermediate_size=d,
                           num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                           tie_word_embeddings=True), open(f'{tmp}/config.json', 'w'))
            for f in glob.glob(f'{path}/*.json'):
                os.symlink(os.path.abspath(f), f'{tmp}/{os.path.basename(f)}')
            g, wrong, n = f'{tmp}/x.gguf', 0, 0
            print('#', run(f'{bin}/convert', tmp, g)[1].strip())
            for x in docs:
                open(f'{tmp}/text', 'w', encoding='utf-8', newline='').write(x)
                want = t.encode(x, add_special_tokens=False).ids
                wrong += llama_ids(g, f'{tmp}/text') != want
                n += len(want)
            check(wrong == 0, f'{name}: llama-tokenize: {wrong} of {len(docs)} texts differ ({n} ids)')


def random(dirs):
    import shutil
    import torch
    import transformers as T
    from tokenizers import Tokenizer
    V = Tokenizer.from_file(f'{dirs[0]}/tokenizer.json').get_vocab_size(True)
    size = dict(vocab_size=V, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=2, head_dim=32, rms_norm_eps=1e-6,
                max_position_embeddings=4096, bos_token_id=1, eos_token_id=2)
    full, local = 'full_attention', 'sliding_attention'
    llama3 = dict(rope_type='llama3', rope_theta=1e5, factor=8.0, low_freq_factor=1.0,
                  high_freq_factor=4.0, original_max_position_embeddings=8192)
    gemma = dict(tie_word_embeddings=True, query_pre_attn_scalar=32, sliding_window=16)
    families = [
        ('llama, tied', T.LlamaConfig, dict(tie_word_embeddings=True)),
        ('llama, scaling of Llama 3', T.LlamaConfig, dict(rope_parameters=llama3)),
        ('llama, linear scaling', T.LlamaConfig, dict(
            rope_parameters=dict(rope_type='linear', rope_theta=1e4, factor=4.0))),
        ('mistral', T.MistralConfig, dict(sliding_window=None)),
        ('qwen2', T.Qwen2Config, dict(head_dim=16)), ('qwen3', T.Qwen3Config, dict(tie_word_embeddings=True)),
        ('gemma3', T.Gemma3TextConfig, dict(gemma, num_hidden_layers=6)),
        ('gemma3, other windows', T.Gemma3TextConfig, dict(
            gemma, layer_types=[local, full, local])),
        ('gemma3, no window', T.Gemma3TextConfig, dict(gemma, layer_types=[full] * 3))]
    for name, cls, more in families:
        torch.manual_seed(7)
        m = T.AutoModelForCausalLM.from_config(cls(**{**size, **more}), dtype=torch.float32)
        with torch.no_grad():
            for n, p in m.named_parameters():
                p.copy_(torch.randn(p.shape) * (0.3 if p.ndim == 2 or 'bias' in n else 0.1) +
                        (p.ndim == 1 and 'bias' not in n and 'gemma' not in name))
        with tempfile.TemporaryDirectory() as tmp:
            m.save_pretrained(tmp)
            for f in glob.glob(f'{dirs[0]}/tokenizer*.json'):
                shutil.copy(f, tmp)
            with open(f'{tmp}/text', 'w', encoding='utf-8') as f:
                f.write(next(texts(['en'])))
            run(f'{bin}/convert', tmp, f'{tmp}/x.gguf')
            run(f'{bin}/tokenize', '-q', '-t', tmp, '--no-eos', '-o', f'{tmp}/one', f'{tmp}/text')
            ppl = [float(column(run(f'{bin}/evalppl', '-q', '-m', x, '--protocol', 'llama.cpp', '-c',
                                    128, '--format', 'tsv', f'{tmp}/one')[0], 'ppl'))
                   for x in (tmp, f'{tmp}/x.gguf')]
            theirs = llama_ppl(f'{tmp}/x.gguf', f'{tmp}/text', 128)
            check(ppl[0] == ppl[1] and abs(theirs / ppl[0] - 1) <= 1e-4,
                  f'{name}: perplexity {ppl[0]:.4f}, {ppl[1]:.4f}, llama.cpp {theirs}')


forms = {'--tokenizers': tokenizers, '--random': random}
form = forms.get(sys.argv[1], models)
bin, llama, corpus, *rest = sys.argv[1 if form == models else 2:]
form(rest)
sys.exit(failed > 0)
