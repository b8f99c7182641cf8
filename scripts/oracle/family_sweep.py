"""Many tiny random models of all families, compared by tests/model/family.
usage: family_sweep.py OUTDIR build/tests/model/family [PART]
Each family with tied and untied heads, one and three query heads a group, F32 and
BF16, one file and shards, keys of transformers 4 and 5; kinds of RoPE with all
families that have them.  PART: only names that contain it.  Says of each whether
logits (largest error by the largest logit: 1e-5), generation with a cache,
gradients (1e-4 of each tensor's norm), packed rows and GGUF agree."""
import copy
import json
import os
import random
import re
import subprocess
import sys

import torch

import delta
import family
import st

OUT, TEST, PART = sys.argv[1], sys.argv[2], ''.join(sys.argv[3:4])
WIDE = dict(family.ODD, vocab_size=259, hidden_size=48, intermediate_size=40,
            head_dim=24, num_hidden_layers=2)
L0 = 8                                             # pieces are longer
YARN = dict(rope_type='yarn', rope_theta=1e4, factor=4.0, original_max_position_embeddings=L0)
ROPE = {
    'linear': dict(rope_type='linear', rope_theta=1e4, factor=3.0),
    'dynamic': dict(rope_type='dynamic', rope_theta=1e4, factor=2.5),
    'llama3': dict(rope_type='llama3', rope_theta=1e4, factor=4.0, low_freq_factor=1.0,
                   high_freq_factor=4.0, original_max_position_embeddings=L0),
    'yarn': YARN,
    'yarn-split': dict(YARN, truncate=False, beta_fast=3.0, beta_slow=0.7),
    'yarn-mscale': dict(YARN, mscale=1.0, mscale_all_dim=0.7),
    'yarn-factor': dict(YARN, attention_factor=0.9),
    'yarn-null': dict(YARN, factor=None),
    'yarn-one': dict(YARN, beta_fast=1.0, beta_slow=1.0),
}
LISTS = dict(short_factor=[1 + 0.1 * i for i in range(12)],
             long_factor=[1.5 + 0.9 * i for i in range(12)])
BASE = {
    'llama': ('llama', 'Llama', {}),
    'mistral': ('mistral', 'Mistral', dict(sliding_window=5)),
    'qwen2': ('qwen2', 'Qwen2', {}),
    'qwen3': ('qwen3', 'Qwen3', {}),
    'gemma3': ('gemma3', 'Gemma3Text', dict(
        num_hidden_layers=7, sliding_window=5, query_pre_attn_scalar=24)),
    'gemma2': ('gemma2', 'Gemma2', dict(
        num_hidden_layers=3, sliding_window=5, query_pre_attn_scalar=24)),
    'gemma': ('gemma', 'Gemma', {}),
    'cohere': ('cohere', 'Cohere', dict(logit_scale=0.5)),
    'cohere2': ('cohere2', 'Cohere2', dict(num_hidden_layers=5, sliding_window=5, logit_scale=0.7)),
    'olmo2': ('olmo2', 'Olmo2', {}),
    'olmo3': ('olmo3', 'Olmo3', dict(num_hidden_layers=4, sliding_window=5)),
    'smollm3': ('smollm3', 'SmolLM3', dict(num_hidden_layers=4)),
    'granite': ('granite', 'Granite', dict(
        embedding_multiplier=2.0, attention_multiplier=0.1, residual_multiplier=0.4,
        logits_scaling=3.0)),
    'phi3': ('phi3', 'Phi3', dict(
        hidden_size=144, original_max_position_embeddings=L0, rope_parameters=dict(
            rope_type='longrope', rope_theta=1e4, **LISTS))),
    'ministral3': ('ministral3', 'Ministral3', dict(rope_parameters=dict(
        YARN, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1))),
}
BASE['seed_oss'] = ('seed_oss', 'SeedOss', {})
BASE['apertus'] = ('apertus', 'Apertus', {})
BASE['ministral'] = ('ministral', 'Ministral', dict(num_hidden_layers=3, sliding_window=5))
BASE['qwen3_5'] = ('qwen3_5', 'Qwen3_5Text', dict(
    delta.BLOCKS, linear_key_head_dim=20))
BASE['lfm2'] = ('lfm2', 'Lfm2', dict(
    hidden_size=144, num_hidden_layers=3, block_multiple_of=8, layer_types=[
        'conv', 'full_attention', 'conv']))
SAVE = {}                                          # name: how it is stored


def add(name, module, cls, more, **save):
    family.FAMILIES[name] = (module, cls, {**WIDE, **copy.deepcopy(more)})
    SAVE[name] = save


for name, (module, cls, more) in BASE.items():
    tied = name.startswith(('gemma', 'cohere')) or name in ('smollm3', 'lfm2')
    eps = ('layer_norm_eps' if name.startswith('cohere') else
           'norm_eps' if name == 'lfm2' else 'rms_norm_eps')
    add(name, module, cls, more)
    add(f'{name}-f32', module, cls, dict(more, initializer_range=0.05), f32=True)
    add(f'{name}-shards', module, cls, dict(more, intermediate_size=28), shards=True)
    add(f'{name}-heads', module, cls, dict(more, num_key_value_heads=6, tie_word_embeddings=not tied))
    add(f'{name}-old', module, cls, {**more, 'num_key_value_heads': 1, eps: 1e-4}, old=True)
for name in 'llama', 'qwen2', 'qwen3', 'smollm3', 'granite', 'olmo2', 'mistral', 'seed_oss', 'ministral', 'cohere', 'cohere2', 'apertus':
    module, cls, more = BASE[name]
    for kind, rope in ROPE.items():
        if name in ('llama', 'olmo2', 'apertus') or ('cohere' in name and kind != 'yarn-null') or kind in ('dynamic', 'llama3', 'yarn'):
            add(f'{name}-{kind}', module, cls, dict(
                more, rope_parameters=rope, max_position_embeddings=11 if kind == 'dynamic' else 64))
for kind in 'yarn', 'linear', 'llama3', 'dynamic', 'yarn-mscale':
    module, cls, more = BASE['olmo3']
    add(f'olmo3-{kind}', module, cls, dict(more, rope_parameters=dict(
        full_attention=ROPE[kind],
        sliding_attention=dict(rope_type='default', rope_theta=3e4)),
        max_position_embeddings=11 if kind == 'dynamic' else 64))
module, cls, more = BASE['phi3']
add('phi3-default', module, cls, dict(more, rope_parameters=dict(
    rope_type='default', rope_theta=1e5)))
add('phi3-partial', module, cls, dict(more, rope_parameters=dict(
    rope_type='longrope', rope_theta=1e4, partial_rotary_factor=0.5,
    short_factor=LISTS['short_factor'][:6], long_factor=LISTS['long_factor'][:6])))
add('phi3-window', module, cls, dict(more, sliding_window=4))
add('phi3-factor', module, cls, dict(more, rope_parameters=dict(
    rope_type='longrope', rope_theta=1e4, attention_factor=1.3, **LISTS)))
module, cls, more = BASE['gemma2']
add('gemma2-uncapped', module, cls, dict(
    more, attn_logit_softcapping=None, final_logit_softcapping=None))
add('gemma2-types', module, cls, dict(more, layer_types=[
    'full_attention', 'sliding_attention', 'sliding_attention']))
module, cls, more = BASE['smollm3']
add('smollm3-list', module, cls, dict(more, no_rope_layers=[0, 1, 1, 0]))
add('smollm3-interval', module, cls, dict(more, no_rope_layer_interval=2))
module, cls, more = BASE['ministral']
add('ministral-types', module, cls, dict(more, layer_types=[
    'full_attention', 'sliding_attention', 'full_attention']))
for i, more in enumerate((
        dict(logit_scale=0.0625), dict(head_dim=8), dict(head_dim=16, num_attention_heads=2),
        dict(num_hidden_layers=1), dict(num_hidden_layers=6, intermediate_size=64),
        dict(layer_norm_eps=1e-2), dict(num_key_value_heads=1, logit_scale=2.0),
        dict(hidden_size=40, head_dim=12), dict(vocab_size=70), dict(num_key_value_heads=3),
        dict(hidden_size=64, head_dim=32, num_attention_heads=2, num_key_value_heads=2),
        dict(intermediate_size=100, num_key_value_heads=2),
        dict(rope_parameters=dict(rope_type='default', rope_theta=5e4)))):
    add(f'cohere-{i}', *BASE['cohere'][:2], {**BASE['cohere'][2], **more})
    add(f'cohere2-{i}', *BASE['cohere2'][:2], {**BASE['cohere2'][2], **more})
module, cls, more = BASE['cohere2']
add('cohere2-types', module, cls, dict(more, layer_types=[
    'full_attention', 'sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention']))
module, cls, more = BASE['granite']
add('granite-plain', module, cls, dict(attention_multiplier=0.2))
module, cls, more = BASE['apertus']
for i in range(11):
    rng = random.Random(i)
    kv = rng.choice([1, 2, 3])
    add(f'apertus-{i}', module, cls, dict(
        hidden_size=rng.randrange(8, 60, 4), intermediate_size=rng.randrange(3, 70),
        num_key_value_heads=kv, num_attention_heads=kv * rng.choice([1, 2, 3]),
        num_hidden_layers=rng.randrange(1, 5), head_dim=rng.choice([4, 6, 16, 30]),
        vocab_size=rng.randrange(20, 300), tie_word_embeddings=i % 2 == 0,
        rope_parameters=dict(ROPE['llama3'], factor=rng.uniform(2, 32),
                             rope_theta=10 ** rng.uniform(3, 7))))

module, cls, more = BASE['qwen3_5']
add('qwen3_5-equal', module, cls, dict(
    more, linear_num_key_heads=3, linear_num_value_heads=3, linear_value_head_dim=33))
add('qwen3_5-one', module, cls, dict(
    more, linear_num_key_heads=1, linear_num_value_heads=5, linear_conv_kernel_dim=2))
add('qwen3_5-every', module, cls, dict(
    more, num_hidden_layers=4, layer_types=None, linear_key_head_dim=24))
add('qwen3_5-yarn', module, cls, dict(more, rope_parameters=dict(
    YARN, partial_rotary_factor=0.5)))
add('qwen3_5-linear', module, cls, dict(more, rope_parameters=dict(
    ROPE['linear'], partial_rotary_factor=1.0)))

module, cls, more = BASE['lfm2']
for taps in 1, 2, 4, 5, 16:
    add(f'lfm2-taps{taps}', module, cls, dict(more, conv_L_cache=taps))
add('lfm2-two', module, cls, dict(more, num_hidden_layers=5, layer_types=[
    'conv', 'conv', 'full_attention', 'conv', 'full_attention']))
add('lfm2-full', module, cls, dict(more, layer_types=['full_attention'] * 3))
add('lfm2-idxs', module, cls, dict(more, layer_types=None, full_attn_idxs=[0, 2]))
add('lfm2-all', module, cls, dict(more, layer_types=None))
add('lfm2-whole', module, cls, dict(more, block_auto_adjust_ff_dim=False))
add('lfm2-times', module, cls, dict(more, block_ffn_dim_multiplier=1.37))
add('lfm2-round', module, cls, dict(more, block_multiple_of=256))
add('lfm2-four', module, cls, dict(
    more, hidden_size=96, num_attention_heads=4, num_key_value_heads=1))
add('lfm2-deep', module, cls, dict(more, num_hidden_layers=7, layer_types=[
    'conv', 'conv', 'full_attention', 'conv', 'full_attention', 'conv', 'conv']))
add('lfm2-heads24', module, cls, dict(more, hidden_size=48))
for kind in 'dynamic', 'llama3', 'yarn', 'linear', 'yarn-one':
    add(f'lfm2-{kind}', module, cls, dict(
        more, rope_parameters=ROPE[kind], max_position_embeddings=11 if kind == 'dynamic' else 64))

for i in range(25):
    rng = random.Random(i)
    heads = rng.choice([1, 2, 3, 6])
    head = rng.choice([4, 6, 16, 30])
    kind = ['default', *ROPE][max(0, i - 14)] if i < 14 + len(ROPE) else 'default'
    if kind == 'yarn-null':
        kind = 'default'
    add(f'gpt_neox-{i}-{kind}', 'gpt_neox', 'GPTNeoX', dict(
        hidden_size=heads * head, num_attention_heads=heads,
        intermediate_size=rng.randrange(3, 90), num_hidden_layers=rng.randrange(1, 5),
        vocab_size=rng.randrange(20, 300), tie_word_embeddings=i % 2 == 0,
        use_parallel_residual=i % 3 != 0, attention_bias=i % 4 != 1,
        hidden_act=['gelu', 'gelu', 'gelu_new', 'gelu_pytorch_tanh', 'gelu_fast'][i % 5],
        layer_norm_eps=10 ** rng.uniform(-6, -3),
        max_position_embeddings=11 if kind == 'dynamic' else 64,
        rope_parameters=dict(
            ROPE.get(kind, dict(rope_type='default')), rope_theta=10 ** rng.uniform(3, 6),
            partial_rotary_factor=rng.choice([2, 4]) / head if head > 4 else 1.0)),
        f32=i % 6 == 1, shards=i % 6 == 2, old=i % 6 == 3)

for i in range(25):
    rng = random.Random(100 + i)
    heads = rng.choice([1, 2, 3, 6])
    add(f'gpt2-{i}', 'gpt2', 'GPT2', dict(
        hidden_size=heads * rng.choice([4, 6, 16, 30]), num_attention_heads=heads,
        n_inner=rng.choice([None, rng.randrange(3, 90)]),
        num_hidden_layers=rng.randrange(1, 5), vocab_size=rng.randrange(20, 300),
        max_position_embeddings=rng.randrange(20, 70), tie_word_embeddings=i % 3 != 0,
        activation_function=['gelu_new', 'gelu_new', 'gelu', 'gelu_pytorch_tanh'][i % 4],
        layer_norm_epsilon=10 ** rng.uniform(-6, -3)), f32=i % 6 == 1, shards=i % 6 == 2)

for i in range(25):
    rng = random.Random(200 + i)
    kv = rng.choice([1, 2, 3])
    kind = ['default', *ROPE][max(0, i - 14)] if i < 14 + len(ROPE) else 'default'
    add(f'starcoder2-{i}-{kind}', 'starcoder2', 'Starcoder2', dict(
        hidden_size=rng.randrange(8, 60, 4), intermediate_size=rng.randrange(3, 90),
        num_key_value_heads=kv, num_attention_heads=kv * rng.choice([1, 2, 3]),
        num_hidden_layers=rng.randrange(1, 5), head_dim=rng.choice([4, 6, 16, 30]),
        vocab_size=rng.randrange(20, 300), tie_word_embeddings=i % 2 == 0,
        use_bias=i % 4 != 1, sliding_window=5 if i % 3 == 0 else None,
        hidden_act=['gelu_pytorch_tanh', 'gelu_pytorch_tanh', 'gelu_new', 'gelu'][i % 4],
        norm_epsilon=10 ** rng.uniform(-6, -3),
        max_position_embeddings=11 if kind == 'dynamic' else 64,
        rope_parameters=dict(
            ROPE.get(kind, dict(rope_type='default')), rope_theta=10 ** rng.uniform(3, 6))),
        f32=i % 6 == 1, shards=i % 6 == 2, old=i % 6 == 3)

for i in range(25):
    rng = random.Random(300 + i)
    kv = rng.choice([1, 2, 3])
    head = rng.choice([4, 8, 16, 30])
    kind = ['default', *ROPE][max(0, i - 14)] if i < 14 + len(ROPE) else 'default'
    add(f'phi-{i}-{kind}', 'phi', 'Phi', dict(
        hidden_size=rng.randrange(8, 60, 4), intermediate_size=rng.randrange(3, 90),
        num_key_value_heads=kv, num_attention_heads=kv * rng.choice([1, 2, 3]),
        num_hidden_layers=rng.randrange(1, 5), head_dim=head,
        vocab_size=rng.randrange(20, 700), tie_word_embeddings=i % 5 == 4,
        hidden_act=['gelu_new', 'gelu_new', 'gelu_pytorch_tanh', 'gelu'][i % 4],
        layer_norm_eps=10 ** rng.uniform(-6, -3),
        max_position_embeddings=11 if kind == 'dynamic' else 64,
        rope_parameters=dict(
            ROPE.get(kind, dict(rope_type='default')), rope_theta=10 ** rng.uniform(3, 6),
            partial_rotary_factor=4 / head if kind == 'dynamic' else rng.choice([2, 4]) / head)),
        f32=i % 6 == 1, shards=i % 6 == 2, old=i % 6 == 3)

for i in range(25):
    rng = random.Random(400 + i)
    kv = rng.choice([1, 2, 3])
    head = rng.choice([8, 12, 16, 32])
    kind = ['default', *ROPE][max(0, i - 14)] if i < 14 + len(ROPE) else 'default'
    name, cls = ('glm', 'Glm') if i % 4 == 3 else ('glm4', 'Glm4')
    add(f'{name}-{i}-{kind}', name, cls, dict(
        hidden_size=rng.randrange(8, 60, 4), intermediate_size=rng.randrange(3, 90),
        num_key_value_heads=kv, num_attention_heads=kv * rng.choice([1, 2, 3]),
        num_hidden_layers=rng.randrange(1, 5), head_dim=head,
        vocab_size=rng.randrange(20, 300), tie_word_embeddings=i % 2 == 0,
        attention_bias=i % 3 != 1, rms_norm_eps=10 ** rng.uniform(-7, -3),
        max_position_embeddings=11 if kind == 'dynamic' else 64,
        rope_parameters=dict(
            ROPE.get(kind, dict(rope_type='default')), rope_theta=10 ** rng.uniform(3, 6),
            partial_rotary_factor=rng.choice([4, head // 2, head]) / head)),
        f32=i % 6 == 1, shards=i % 6 == 2, old=i % 6 == 4)

for i in range(25):
    rng = random.Random(500 + i)
    kv = rng.choice([1, 2, 3])
    kind = ['default', *ROPE][max(0, i - 14)] if i < 14 + len(ROPE) else 'default'
    blocks, window = rng.randrange(1, 6), 5 if i % 3 else None
    types = ['full_attention'] * blocks if window is None else [
        rng.choice(['full_attention', 'sliding_attention']) for _ in range(blocks)]
    add(f'exaone4-{i}-{kind}', 'exaone4', 'Exaone4', dict(
        hidden_size=rng.randrange(8, 60, 4), intermediate_size=rng.randrange(3, 90),
        num_key_value_heads=kv, num_attention_heads=kv * rng.choice([1, 2, 3]),
        num_hidden_layers=blocks, head_dim=rng.choice([4, 6, 16, 30]), sliding_window=window,
        layer_types=None if i % 6 in (4, 5) and window else types, sliding_window_pattern=3,
        vocab_size=rng.randrange(20, 300), tie_word_embeddings=i % 2 == 0,
        rms_norm_eps=10 ** rng.uniform(-7, -3),
        max_position_embeddings=11 if kind == 'dynamic' else 64,
        rope_parameters=dict(
            ROPE.get(kind, dict(rope_type='default')), rope_theta=10 ** rng.uniform(3, 6))),
        f32=i % 6 == 1, shards=i % 6 == 2, old=i % 6 == 4)


def store(name):
    """the weights and config.json again, as SAVE says"""
    how, path = SAVE[name], f'{OUT}/{name}'
    from safetensors.torch import load_file
    weights = load_file(f'{path}/model.safetensors')
    meta = dict(format='pt')
    if how.get('f32'):
        weights = {k: v.float() for k, v in weights.items()}
        st.save(f'{path}/model.safetensors', weights, meta)
    if how.get('shards'):
        names, files = sorted(weights), {}
        for i in range(3):
            file = f'model-0000{i + 1}-of-00003.safetensors'
            part = {k: weights[k] for k in names[i::3]}
            st.save(f'{path}/{file}', part, meta)
            files |= {k: file for k in part}
        json.dump(dict(metadata={}, weight_map=files),
                  open(f'{path}/model.safetensors.index.json', 'w'))
        os.remove(f'{path}/model.safetensors')
    if how.get('old'):
        c = json.load(open(f'{path}/config.json'))
        rope = c.pop('rope_parameters')
        local = rope.get('sliding_attention')
        rope = dict(rope.get('full_attention', rope))
        neox = 'neox' in name
        c['rotary_emb_base' if neox else 'rope_theta'] = rope.pop('rope_theta')
        if local and 'gemma' in name:
            c['rope_local_base_freq'] = local['rope_theta']
        if 'partial_rotary_factor' in rope:
            c['rotary_pct' if neox else 'partial_rotary_factor'] = rope.pop('partial_rotary_factor')
        rope['type'] = rope.pop('rope_type')
        c['rope_scaling'] = None if rope['type'] == 'default' else rope
        c['torch_dtype'] = c.pop('dtype')
        for key in 'layer_types', 'no_rope_layers':
            if 'qwen3_5' not in name and 'lfm2' not in name:
                c.pop(key, None)
        json.dump(c, open(f'{path}/config.json', 'w'))


names = [n for n in SAVE if PART in n]
made = []
os.makedirs(OUT, exist_ok=True)
for name in names:
    try:
        family.golden(OUT, name)
        store(name)
        if re.search('dynamic|list|interval|types|yarn-mscale|-factor', name) and \
                os.path.exists(f'{OUT}/{name}.gguf'):
            os.remove(f'{OUT}/{name}.gguf')        # the writer does not say these
        made.append(name)
    except Exception as e:
        print(name, 'NOT MADE:', str(e).strip().splitlines()[-1])
fail = 0
for name in made:
    r = subprocess.run([os.path.abspath(TEST), os.path.abspath(OUT), name],
                       capture_output=True, text=True, cwd=OUT)
    bad = [l for l in (r.stdout + r.stderr).splitlines()
           if not l.startswith('ok ') and not re.match(r'1\.\.|# failed', l)]
    want = [l for l in r.stdout.splitlines() if l.startswith('ok ')]
    fail += bool(bad or r.returncode)
    print(name, 'ok' if not bad and r.returncode == 0 else 'FAIL', len(want),
          *(re.search(r'logits.*', l)[0] for l in want if 'logits (' in l))
    for l in bad:
        print('   ', l)
print(len(made), 'configurations,', fail, 'failed')
