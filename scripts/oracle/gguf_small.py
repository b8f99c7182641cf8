"""Tiny llama GGUF files by the gguf package, Hugging Face twins, and logits.
usage: gguf_small.py TOK.json OUTDIR TEXT [LLAMA_BIN]
TOK.json: tests/golden/tok/digits.json; OUTDIR: tests/golden/gguf; TEXT:
tests/golden/smollm2/text.txt.  values.json: perplexity of TEXT in llama.cpp's
protocol with windows of 64 (smollm2.py describes it), the first 16, and KL and
top-1 agreement of two models there, in double precision; with the folder of
llama.cpp's programs also theirs (float32 KV cache), after checking the ids.

d 32, 4 heads and 2 KV heads of 16 (not 32/4), MLP 64, 2 blocks, 300 ids.
Rows of Q and K are permuted as llama.cpp's converter does: in the file the
dimensions i and i + 8 of a head lie side by side.
  f32   tied; pre-tokenizer smollm, rope base 100000
  f16   tied; pre-tokenizer gpt-2, no rope base (so 10000), adds BOS
  bf16  untied head, alignment 64, rest as f32
  q8_0, q4_0, q4_1   tied, as f32; the embedding of q4_1 is Q8_0
Norms are F32 everywhere.  f32-hf and q4_1-hf are the same models for the
Hugging Face loader, as float32 values."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import tokenizers
import torch
import transformers

import llama_ref as R
import st

C = dict(vocab=300, hidden=32, heads=4, kv_heads=2, head_dim=16, blocks=2,
         mlp=[64, 64], eps=1e-5, ctx=128, bos=1, eos=2)
Q = gguf.GGMLQuantizationType
FILES = {'f32': Q.F32, 'f16': Q.F16, 'bf16': Q.BF16, 'q8_0': Q.Q8_0,
         'q4_0': Q.Q4_0, 'q4_1': Q.Q4_1}
FTYPE = {'f32': 0, 'f16': 1, 'bf16': 32, 'q8_0': 7, 'q4_0': 2, 'q4_1': 3}
SEED = 5
CHAT = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + "
        "m['content'] + '<|im_end|>\n' }}{% endfor %}")
NAMES = {'input_layernorm': 'attn_norm', 'post_attention_layernorm': 'ffn_norm',
         'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k',
         'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
         'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up',
         'mlp.down_proj': 'ffn_down'}


def gguf_name(n):
    n = n.removesuffix('.weight')
    if n.startswith('model.layers.'):
        _, _, i, rest = n.split('.', 3)
        return f'blk.{i}.{NAMES[rest]}.weight'
    return {'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm',
            'lm_head': 'output'}[n] + '.weight'


def weights(tied):
    g = np.random.default_rng(SEED)
    d, q, k = C['hidden'], C['heads'] * C['head_dim'], C['kv_heads'] * C['head_dim']
    w = {'model.embed_tokens': (C['vocab'], d)}
    for i, m in enumerate(C['mlp']):
        for n, s in {'input_layernorm': (d,), 'self_attn.q_proj': (q, d),
                     'self_attn.k_proj': (k, d), 'self_attn.v_proj': (k, d),
                     'self_attn.o_proj': (d, q), 'post_attention_layernorm': (d,),
                     'mlp.gate_proj': (m, d), 'mlp.up_proj': (m, d),
                     'mlp.down_proj': (d, m)}.items():
            w[f'model.layers.{i}.{n}'] = s
    w['model.norm'] = (d,)
    if not tied:
        w['lm_head'] = (C['vocab'], d)
    out = {}
    for n, s in w.items():
        x = g.standard_normal(s)
        out[n + '.weight'] = (1 + 0.1 * x if len(s) == 1 else 0.25 * x).astype('f4')
    return out


def permute(w, heads):
    return (w.reshape(heads, 2, w.shape[0] // heads // 2, w.shape[1])
            .swapaxes(1, 2).reshape(w.shape))


def small_tokenizer(path):
    """the first 300 entries of a trained tokenizer"""
    j = json.load(open(path, encoding='utf-8'))
    v = sorted(j['model']['vocab'].items(), key=lambda x: x[1])[:C['vocab']]
    j['model']['vocab'] = dict(v)
    j['model']['merges'] = [m for m in j['model']['merges'] if ''.join(m) in dict(v)]
    assert len(v) == C['vocab'] and len(j['model']['merges']) == C['vocab'] - 259
    return j


def write(path, kind, w, tok):
    """the GGUF; returns the values that a reader finds, unpermuted"""
    o = gguf.GGUFWriter(path, 'llama')
    if kind == 'bf16':
        o.add_custom_alignment(64)
    o.add_name(f'retort test {kind}')
    o.add_license('apache-2.0')
    o.add_vocab_size(C['vocab'])
    o.add_context_length(C['ctx'])
    o.add_embedding_length(C['hidden'])
    o.add_block_count(C['blocks'])
    o.add_feed_forward_length(C['mlp'][0])
    o.add_head_count(C['heads'])
    o.add_head_count_kv(C['kv_heads'])
    o.add_key_length(C['head_dim'])
    o.add_value_length(C['head_dim'])
    o.add_rope_dimension_count(C['head_dim'])
    if kind != 'f16':
        o.add_rope_freq_base(100000.0)
    o.add_layer_norm_rms_eps(C['eps'])
    o.add_file_type(FTYPE[kind])
    o.add_tokenizer_model('gpt2')
    o.add_tokenizer_pre('gpt-2' if kind == 'f16' else 'smollm')
    o.add_token_list(list(tok['model']['vocab']))
    o.add_token_types([3] * 3 + [1] * (C['vocab'] - 3))
    o.add_token_merges([' '.join(m) for m in tok['model']['merges']])
    o.add_bos_token_id(C['bos'])
    o.add_eos_token_id(C['eos'])
    o.add_unk_token_id(0)
    o.add_pad_token_id(2)
    o.add_add_bos_token(kind == 'f16')
    o.add_add_space_prefix(False)
    o.add_chat_template(CHAT)
    seen = {}
    for n, x in w.items():
        t = FILES[kind] if x.ndim == 2 else Q.F32
        if kind == 'q4_1' and n == 'model.embed_tokens.weight':
            t = Q.Q8_0
        raw = gguf.quantize(x, t)
        seen[n] = gguf.dequantize(raw, t).astype('f4').reshape(x.shape)
        h = C['heads'] if 'q_proj' in n else C['kv_heads'] if 'k_proj' in n else 0
        raw = permute(raw, h) if h else raw
        o.add_tensor(gguf_name(n), raw, raw_dtype=t)
    o.write_header_to_file()
    o.write_kv_data_to_file()
    o.write_tensors_to_file()
    o.close()
    return seen


def twin(path, w, tok, c):
    os.makedirs(path, exist_ok=True)
    st.save(f'{path}/model.safetensors', w, dict(format='pt'))
    put = lambda n, j: open(f'{path}/{n}', 'w', encoding='utf-8').write(
        json.dumps(j, ensure_ascii=False, indent=0) + '\n')
    put('config.json', R.hf_config(c, 'lm_head.weight' not in w))
    put('tokenizer.json', tok)
    put('tokenizer_config.json', dict(
        tokenizer_class='PreTrainedTokenizerFast', bos_token='<|im_start|>',
        eos_token='<|im_end|>', unk_token='<|endoftext|>', pad_token='<|im_end|>',
        add_bos_token=False, chat_template=CHAT, model_max_length=C['ctx']))
    put('generation_config.json', dict(bos_token_id=1, eos_token_id=2, pad_token_id=2))


def windows(tok, text, bos):
    """ids of a text, and 16 windows of 64 as a model sees them and as scored"""
    ids = [1] * bos + tok.encode(open(text, encoding='utf-8').read()).ids
    x = torch.tensor(ids[:1024]).reshape(16, 64)
    z = x.clone()
    if bos:
        z[:, 0] = 1
    return ids, z, x


def perplexity(w, c, z, x):
    """in double; also the log-probabilities of the scored positions"""
    w = {k: torch.from_numpy(v).double() for k, v in w.items()}
    lp = torch.stack([torch.log_softmax(R.forward(w, c, r)[0], -1) for r in z])[:, 32:-1]
    nll = -lp.gather(2, x[:, 33:, None])
    return lp, math.exp(nll.mean()), nll.mean().item()


def run(*cmd):
    r = subprocess.run(cmd, capture_output=True, text=True)
    return r.stdout, r.stdout + r.stderr


def llama(bindir, text, path, ids, *more):
    """llama-perplexity's output, after ids that must be equal"""
    opt = ['-m', path, '-f', text, '--no-escape']
    out, _ = run(f'{bindir}/llama-tokenize', *opt, '--ids', '--log-disable', '--no-parse-special')
    assert json.loads(out) == ids
    end = 'Same top p' if '--kl-divergence' in more else 'PPL ='
    for _ in range(9):              # its logger sometimes loses the last lines
        out = run(f'{bindir}/llama-perplexity', *opt, '-c', '64', '-t', '1', '--chunks', '16',
                  '-ctk', 'f32', '-ctv', 'f32', '-fa', 'off', *more)[1]
        if end in out or '--kl-divergence-base' in more and '--kl-divergence' not in more:
            break
    return out


def pair(bindir, text, tmp, tok, ids, w, p, q):
    """KL of q4_1's values to f32 over the scored positions, ours and llama.cpp's
    (whose base file has 16-bit log-probabilities)"""
    kl = (p.exp() * (p - q)).sum(-1).flatten()
    top = (p.argmax(-1) == q.argmax(-1)).double().mean().item()
    v = dict(kl_mean=kl.mean().item(), kl_max=kl.max().item(), same_top=top, n=kl.numel())
    if bindir:
        write(f'{tmp}/q.gguf', 'f32', w['q4_1'], tok)
        write(f'{tmp}/p.gguf', 'f32', w['f32'], tok)
        llama(bindir, text, f'{tmp}/p.gguf', ids, '--kl-divergence-base', f'{tmp}/base')
        out = llama(bindir, text, f'{tmp}/q.gguf', ids, '--kl-divergence-base', f'{tmp}/base',
                    '--kl-divergence')
        get = lambda k: float(re.search(k + r'\s*:\s*(-?[0-9.]+)', out)[1])
        v['llama.cpp'] = dict(kl_mean=get('Mean    KLD'), kl_max=get('Maximum KLD'),
                              same_top=get('Same top p') / 100)
    return v


def main(tokfile, out, text, bindir=None):
    tok = small_tokenizer(tokfile)
    plain = dict(tok, pre_tokenizer=tok['pre_tokenizer']['pretokenizers'][1])
    ids = torch.tensor(np.random.default_rng(6).integers(0, C['vocab'], 48))
    pos = [0, 1, 2, 5, 15, 31, 46, 47]
    gold = dict(ids=ids.to(torch.uint16), positions=torch.tensor(pos).int())
    meta = dict(made_by='scripts/oracle/gguf_small.py TOK.json OUTDIR TEXT LLAMA_BIN', seed=SEED,
                versions=st.versions(torch, transformers, np, tokenizers) + ' gguf 0.19.0')
    val, w, lp = dict(meta, window=64, windows=16, scored=16 * 31, ppl={}), {}, {}
    for kind in FILES:
        c = dict(C, theta=10000.0 if kind == 'f16' else 100000.0)
        path, bos = f'{out}/{kind}.gguf', kind == 'f16'
        w[kind] = write(path, kind, weights(kind != 'bf16'), tok)
        if kind in ('f32', 'q4_1'):
            twin(f'{out}/{kind}-hf', w[kind], tok, c)
        m = R.hf_model({k: torch.from_numpy(v) for k, v in w[kind].items()}, c, False)
        with torch.no_grad():
            z = m(ids[None]).logits[0]
        ref = R.forward({k: torch.from_numpy(v).double() for k, v in w[kind].items()}, c, ids)[0]
        gold[f'{kind}.logits'] = z[pos]
        gold[f'{kind}.lse'] = torch.logsumexp(z.double(), -1).float()
        t = tokenizers.Tokenizer.from_str(json.dumps(plain if bos else tok))
        all_ids, see, score = windows(t, text, bos)
        lp[kind], ppl, nll = perplexity(w[kind], c, see, score)
        val['ppl'][kind] = dict(double=ppl, mean_nll=nll)
        if bindir:
            val['ppl'][kind]['llama.cpp'] = float(re.search(
                r'PPL = ([0-9.]+)', llama(bindir, text, path, all_ids))[1])
        print(path, os.path.getsize(path), f'{(ref - z).abs().max():.1e}', val['ppl'][kind])
    ids = windows(tokenizers.Tokenizer.from_str(json.dumps(tok)), text, 0)[0]
    with tempfile.TemporaryDirectory() as tmp:
        val['f32_to_q4_1'] = pair(bindir, text, tmp, tok, ids, w, lp['f32'], lp['q4_1'])
    print(val['f32_to_q4_1'])
    st.save(f'{out}/logits.safetensors', gold, meta)
    with open(f'{out}/values.json', 'w') as f:
        json.dump(val, f, indent=1)
        f.write('\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
