"""Golden preference training: TRL's DPOTrainer on a small model in double
precision.
usage: dpo.py GOLDEN      (tests/golden; writes dpo/: a random Llama with the
                           tokenizer tok/digits.json and a chat template,
                           pairs.jsonl, and NAME.tsv for each loss; and adapter/,
                           a LoRA that PEFT begins, with lora.tsv)

NAME.tsv has the metrics of 5 steps on all pairs: the loss and its metrics are
computed by TRL's own DPOTrainer._compute_loss, called with an object that has
the members it reads; the update is PyTorch's AdamW (lr 1e-2, betas 0.9 0.95,
eps 1e-8, no decay) after clip_grad_norm_ to 1.  Texts are tokenised as TRL's
tokenize_fn does, with its common_prefix_length."""
import copy
import json
import os
import sys
from collections import defaultdict
from contextlib import contextmanager
from types import SimpleNamespace

import torch
import transformers
import trl
from trl.trainer import dpo_trainer
from trl.trainer.dpo_trainer import DPOTrainer

import st

SEED, STEPS, PAD = 7, 5, 0
LOSSES = {
    'sigmoid': dict(), 'ipo': dict(loss_types=['ipo']),
    'robust': dict(loss_types=['robust'], label_smoothing=0.1),
    'mixture': dict(loss_types=['sigmoid_norm', 'sft'], loss_weights=[1.0, 0.5]),
    'apo_down': dict(loss_types=['apo_down'], beta=0.5),
}
TEMPLATE = ("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")
USER, SAYS = 'user', 'assistant'
PAIRS = [
    dict(prompt='12 + 30 =', chosen=' 42', rejected=' 1230, I think'),
    dict(prompt='The number after 7 is', chosen=' 8, of course.', rejected=' 9'),
    dict(prompt=[dict(role=USER, content='Count to 3')],
         chosen=[dict(role=SAYS, content='1 2 3')],
         rejected=[dict(role=SAYS, content='3 2 1 0')]),
    dict(prompt='a b', chosen=' c d e f g h', rejected=' x y z'),
    dict(chosen=[dict(role=USER, content='4 + 4'), dict(role=SAYS, content='8')],
         rejected=[dict(role=USER, content='4 + 4'),
                   dict(role=SAYS, content='44')]),
]
COLUMNS = ['loss', 'rewards/chosen', 'rewards/rejected', 'rewards/accuracies',
           'rewards/margins', 'logps/chosen', 'logps/rejected', 'entropy',
           'mean_token_accuracy', 'norm']


def make_model(top):
    torch.manual_seed(SEED)
    out = f'{top}/dpo'
    os.makedirs(out, exist_ok=True)
    tok = transformers.PreTrainedTokenizerFast(
        tokenizer_file=f'{top}/tok/digits.json', eos_token='<|endoftext|>')
    config = transformers.LlamaConfig(
        vocab_size=1024, hidden_size=16, intermediate_size=24,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=6, max_position_embeddings=128, tie_word_embeddings=True,
        initializer_range=0.3, bos_token_id=None, eos_token_id=tok.eos_token_id)
    config.architectures = ['LlamaForCausalLM']
    model = transformers.LlamaForCausalLM(config).float()
    tensors = {n: p for n, p in model.named_parameters()}
    st.save(f'{out}/model.safetensors', tensors, dict(format='pt'))
    with open(f'{out}/config.json', 'w') as f:
        json.dump(config.to_diff_dict() | dict(dtype='float32'), f, indent=1)
        f.write('\n')
    with open(f'{out}/tokenizer_config.json', 'w') as f:
        f.write('{"tokenizer_class": "PreTrainedTokenizerFast", '
                '"eos_token": "<|endoftext|>"}\n')
    with open(f'{out}/chat_template.jinja', 'w') as f:
        f.write(TEMPLATE)
    with open(f'{out}/pairs.jsonl', 'w') as f:
        for p in PAIRS:
            f.write(json.dumps(p) + '\n')
    tok.chat_template = TEMPLATE
    return model.double(), tok


def ids(tok, x, prompt=False):
    if isinstance(x, str):
        return tok(x)['input_ids']
    return tok.apply_chat_template(x, add_generation_prompt=prompt,
                                   tokenize=True, return_dict=True)['input_ids']


def batch(tok):
    rows = [[], []]
    for p in PAIRS:
        p = trl.data_utils.maybe_extract_prompt(dict(p))
        if isinstance(p['prompt'], str):    # TRL's add_eos
            p = {k: v + tok.eos_token if k != 'prompt' else v for k, v in p.items()}
        alone = ids(tok, p['prompt'], True)
        both = [ids(tok, p['prompt'] + p[k]) for k in ('chosen', 'rejected')]
        n = min(dpo_trainer.common_prefix_length(alone, b) for b in both)
        for r, b in zip(rows, both):
            r.append((b, n))
    rows = rows[0] + rows[1]
    most = max(len(b) for b, _ in rows)
    x = torch.full((len(rows), most), PAD)
    attention, completion = torch.zeros_like(x), torch.zeros_like(x)
    for i, (b, n) in enumerate(rows):
        x[i, :len(b)] = torch.tensor(b)
        attention[i, :len(b)] = 1
        completion[i, n:len(b)] = 1
    return dict(input_ids=x, attention_mask=attention, completion_mask=completion)


class Fused(torch.nn.Module):
    """a model with the outputs of TRL's fused head, in double precision"""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, labels, fused_lm_head, input_ids, attention_mask, use_cache):
        z = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        z, target = z[:, :-1], labels[:, 1:]
        on = target != -100
        logp = torch.log_softmax(z, -1)
        own = logp.gather(-1, target.clamp(min=0)[..., None])[..., 0]
        return SimpleNamespace(
            log_probs=own * on, entropy=-(logp.exp() * logp).sum(-1) * on,
            mean_logits=z.mean(-1) * on, is_top1=(z.argmax(-1) == target) & on)


@contextmanager
def nothing(*_):
    yield


def steps(name, model, tok, options, out, adapted=None):
    """adapted: the model with an adapter, trained in place of the model; the
    reference is the model, which is the adapted one with its adapter disabled"""
    policy, ref = Fused(adapted or copy.deepcopy(model)), Fused(model)
    trained = [p for p in policy.parameters() if p.requires_grad]
    same = lambda x: x
    me = SimpleNamespace(
        model=policy, ref_model=ref, beta=0.1, label_smoothing=0.0,
        loss_types=['sigmoid'], loss_weights=[1.0], ld_alpha=None,
        precompute_ref_logps=False, f_divergence_type='reverse_kl',
        use_weighting=False, aux_loss_enabled=False, _tp_size=1,
        _total_train_tokens=0, _metrics=dict(train=defaultdict(list)),
        args=SimpleNamespace(discopop_tau=0.05, gradient_checkpointing=False,
                             gradient_checkpointing_kwargs=None),
        accelerator=SimpleNamespace(device='cpu', gather=same,
                                    gather_for_metrics=same))
    vars(me).update(options)
    opt = torch.optim.AdamW(trained, lr=1e-2, betas=(0.9, 0.95),
                            eps=1e-8, weight_decay=0)
    data, lines = batch(tok), []
    for _ in range(STEPS):
        me._metrics['train'].clear()
        loss = DPOTrainer._compute_loss(me, policy, data, False)
        opt.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
        opt.step()
        m = {k: v[-1] for k, v in me._metrics['train'].items()}
        m |= dict(loss=loss.item(), norm=norm.item())
        lines.append('\t'.join(f'{m[c]:.12g}' for c in COLUMNS))
    with open(f'{out}/{name}.tsv', 'w') as f:
        f.write(f'# scripts/oracle/dpo.py, trl {trl.__version__}, transformers '
                f'{transformers.__version__}, torch {torch.__version__}, seed '
                f'{SEED}, {json.dumps(options)}\n')
        f.write('\t'.join(COLUMNS) + '\n' + '\n'.join(lines) + '\n')
    print(name, lines[0].split('\t')[0], lines[-1].split('\t')[0])


def main():
    torch.set_default_dtype(torch.float32)
    model, tok = make_model(sys.argv[1])
    torch.set_default_dtype(torch.float64)
    dpo_trainer.disable_gradient_checkpointing = nothing
    dpo_trainer.is_peft_model = lambda m: False
    for name, options in LOSSES.items():
        steps(name, model, tok, options, f'{sys.argv[1]}/dpo')
    import peft     # 0.21.0
    torch.manual_seed(SEED)
    torch.set_default_dtype(torch.float32)
    adapted = peft.get_peft_model(copy.deepcopy(model).float(), peft.LoraConfig(
        r=4, lora_alpha=8, target_modules=['q_proj', 'v_proj', 'up_proj', 'down_proj']))
    adapted.save_pretrained(f'{sys.argv[1]}/dpo/adapter')
    torch.set_default_dtype(torch.float64)
    adapted.double()
    with adapted.disable_adapter(), torch.no_grad():
        x = batch(tok)['input_ids']
        assert torch.equal(adapted(x).logits, model(x).logits)
    steps('lora', model, tok, {}, f'{sys.argv[1]}/dpo', adapted)


main()
