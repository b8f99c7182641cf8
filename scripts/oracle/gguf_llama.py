"""GGUF of tiny random models of each family, through llama.cpp both ways.
usage: gguf_llama.py TOKENIZER_DIR build/bin/convert LLAMA_CHECKOUT TEXT [FAMILY...]
LLAMA_CHECKOUT/b/bin has llama-perplexity.  Two lines a family:
  out   the perplexity by llama.cpp of convert's GGUF is that of transformers (5e-4)
  back  the model that convert reads from the GGUF of llama.cpp's converter has
        transformers' logits (1e-4 of the largest)"""
import glob
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers

import delta

TOK, CONVERT, LLAMA, TEXT = (os.path.abspath(x) for x in sys.argv[1:5])
SIZE = dict(vocab_size=49152, hidden_size=96, intermediate_size=64, num_hidden_layers=4,
            num_attention_heads=6, num_key_value_heads=2, head_dim=16,
            max_position_embeddings=512, bos_token_id=1, eos_token_id=2, pad_token_id=None)
YARN = dict(rope_type='yarn', rope_theta=1e4, factor=4.0, original_max_position_embeddings=64)
FAMILIES = {
    'llama-yarn': ('Llama', dict(rope_parameters=YARN)),
    'llama-llama3': ('Llama', dict(rope_parameters=dict(
        rope_type='llama3', rope_theta=1e4, factor=5.0, low_freq_factor=2.0,
        high_freq_factor=9.0, original_max_position_embeddings=100))),
    'gemma2': ('Gemma2', dict(sliding_window=32, query_pre_attn_scalar=16,
                              attn_logit_softcapping=5.0, final_logit_softcapping=6.0)),
    'gemma': ('Gemma', {}),
    'cohere': ('Cohere', dict(logit_scale=0.5)),
    'cohere-yarn': ('Cohere', dict(rope_parameters=YARN)),
    'cohere2': ('Cohere2', dict(sliding_window=32, logit_scale=0.5, rotary_pct=1.0)),
    'olmo2': ('Olmo2', {}),
    'olmo3': ('Olmo3', dict(sliding_window=32, rope_parameters=dict(
        full_attention=YARN,
        sliding_attention=dict(rope_type='default', rope_theta=1e4)))),
    'olmo3-full': ('Olmo3', dict(layer_types=['full_attention'] * 4)),
    'gemma3-full': ('Gemma3Text', dict(
        layer_types=['full_attention'] * 4, query_pre_attn_scalar=16)),
    'smollm3': ('SmolLM3', {}),
    'granite': ('Granite', dict(embedding_multiplier=3.0, attention_multiplier=0.2,
                                residual_multiplier=0.7, logits_scaling=2.0)),
    # below and above original_max_position_embeddings
    'phi3-short': ('Phi3', dict(original_max_position_embeddings=256, rope_parameters=dict(
        rope_type='longrope', rope_theta=1e4, partial_rotary_factor=0.75,
        short_factor=[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], long_factor=[1.5, 2, 3, 4, 6, 8.]))),
    'phi3-long': ('Phi3', dict(original_max_position_embeddings=64, rope_parameters=dict(
        rope_type='longrope', rope_theta=1e4, partial_rotary_factor=0.75,
        short_factor=[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], long_factor=[1.5, 2, 3, 4, 6, 8.]))),
    # as many value heads as key heads, and twice as many
    'qwen3_5': ('Qwen3_5Text', dict(
        delta.BLOCKS, num_hidden_layers=3, linear_num_value_heads=2,
        linear_key_head_dim=32, linear_value_head_dim=32)),
    'qwen3_5-tiled': ('Qwen3_5Text', dict(
        delta.BLOCKS, linear_key_head_dim=32, linear_value_head_dim=32)),
    'qwen3_next': ('Qwen3Next', dict(
        delta.BLOCKS, linear_key_head_dim=32, linear_value_head_dim=32, num_experts=5,
        num_experts_per_tok=2, moe_intermediate_size=64, shared_expert_intermediate_size=32)),
    'qwen3_5_moe': ('Qwen3_5MoeText', dict(
        delta.BLOCKS, linear_key_head_dim=32, linear_value_head_dim=32, num_experts=5,
        num_experts_per_tok=2, moe_intermediate_size=64, shared_expert_intermediate_size=32)),
    'seed_oss': ('SeedOss', {}),
    'lfm2': ('Lfm2', dict(layer_types=['conv', 'full_attention'] * 2)),
    'apertus': ('Apertus', dict(rope_parameters=dict(
        rope_type='llama3', rope_theta=1e4, factor=5.0, low_freq_factor=2.0,
        high_freq_factor=9.0, original_max_position_embeddings=100))),
    # whose converted GGUF lacks the head that llama.cpp asks for
    'apertus-tied': ('Apertus', dict(tie_word_embeddings=True)),
    # which llama.cpp computes with the tanh form of GELU
    'gpt_neox': ('GPTNeoX', dict(rope_parameters=dict(
        rope_type='default', rope_theta=1e4, partial_rotary_factor=0.5))),
    'starcoder2': ('Starcoder2', {}),
    # llama.cpp reads a window only in 64 blocks
    'exaone4': ('Exaone4', dict(sliding_window=None, layer_types=['full_attention'] * 4)),
    'glm4': ('Glm4', {}),
    'glm4-bare': ('Glm4', dict(attention_bias=False)),
    # whose converter takes 4 times the hidden size for the MLP's
    'phi': ('Phi', dict(num_key_value_heads=6, intermediate_size=384)),
    'ministral3': ('Ministral3', dict(rope_parameters=dict(
        YARN, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.3))),
    # llama.cpp rounds the corners of yarn, which gpt-oss does not: here they are 0 and 4
    'gpt_oss': ('GptOss', dict(
        sliding_window=32, num_local_experts=5, num_experts_per_tok=2, rope_parameters=dict(
            YARN, truncate=False, rope_theta=math.exp(8 * math.log(32 / math.pi) / 3.99999)))),
}


def save(name, path):
    cls, more = FAMILIES[name]
    torch.manual_seed(7)
    cfg = getattr(transformers, cls + 'Config')(**{**SIZE, **more}, attn_implementation='eager')
    m = getattr(transformers, cls.removesuffix('Text') + 'ForCausalLM')(cfg).float().eval()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if cls.startswith(('Qwen3_5', 'Qwen3Next')) and p.ndim != 2 and '.experts.' not in n:
                p.copy_(delta.initial(n, torch.randn(p.shape)))
                continue
            p.copy_(torch.randn(p.shape) * (0.15 if p.ndim == 2 else 0.1)
                    + ('norm' in n and 'Gemma' not in cls))
    m.save_pretrained(path)
    for f in glob.glob(f'{TOK}/*token*'):
        shutil.copy(f, path)
    return m


def perplexity(m, ids):
    """as llama-perplexity -c 256: the second half of each window"""
    x = torch.tensor(ids[:3 * 256]).reshape(3, 256)
    with torch.no_grad():
        z = torch.cat([m(r[None]).logits for r in x]).double()
    lp = torch.log_softmax(z, -1)[:, 128:-1]
    return math.exp(-lp.gather(2, x[:, 129:, None]).mean())


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


torch.set_num_threads(2)
tok = transformers.AutoTokenizer.from_pretrained(TOK)
ids = tok(open(TEXT).read()[:20000], add_special_tokens=False).input_ids
print('transformers', transformers.__version__, 'torch', torch.__version__)
for name in sys.argv[5:] or FAMILIES:
    with tempfile.TemporaryDirectory() as tmp:
        m = save(name, f'{tmp}/hf')
        code, text = run(CONVERT, f'{tmp}/hf', f'{tmp}/ours.gguf', '--dtype', 'f32')
        if code:
            print('FAILED', name, 'convert:', text.strip()[-200:])
            continue
        code, text = run(f'{LLAMA}/b/bin/llama-perplexity', '-m', f'{tmp}/ours.gguf', '-f', TEXT,
                         '-c', '256', '-t', '2', '--no-escape', '--chunks', '3', '-ctk', 'f32',
                         '-ctv', 'f32', '-fa', 'off', '-b', '256')
        theirs = re.search(r'PPL = ([0-9.]+)', text)
        want = perplexity(m, ids)
        good = theirs and abs(float(theirs[1]) / want - 1) <= 5e-4
        print('ok    ' if good else 'FAILED', name, 'out:', theirs[1] if theirs else
              text.strip()[-300:], 'transformers %.4f' % want, flush=True)
        code, text = run(sys.executable, f'{LLAMA}/convert_hf_to_gguf.py', f'{tmp}/hf', '--outfile',
                         f'{tmp}/theirs.gguf', '--outtype', 'f32', *(['--no-mtp'] if 'qwen3_' in name else []))
        if code:
            print('      ', name, 'back: its converter does not run:', text.strip().splitlines()[-1])
            continue
        code, text = run(CONVERT, f'{tmp}/theirs.gguf', f'{tmp}/back', '--dtype', 'f32')
        if code:
            print('FAILED', name, 'back:', text.strip()[-300:])
            continue
        again = transformers.AutoModelForCausalLM.from_pretrained(
            f'{tmp}/back', attn_implementation='eager', dtype=torch.float32)
        x = torch.tensor(ids[:200])[None]
        with torch.no_grad():
            a, b = m(x).logits, again(x).logits
        off = ((a - b).abs().max() / a.abs().max()).item()
        print('ok    ' if off <= 1e-4 else 'FAILED', name, 'back: %.1e' % off,
              type(again).__name__, flush=True)
