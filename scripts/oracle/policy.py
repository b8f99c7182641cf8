"""Golden values of advantages, losses and gradients of GRPO and its variants, in
double precision, by the code of TRL's GRPOTrainer and PyTorch's autograd.
usage: policy.py GOLDEN         (tests/golden; reads grad/untied.safetensors,
                                 lora/two, lora/start and lora/start_dora,
                                 writes grad/policy.safetensors and, by PEFT,
                                 lora/policy-start.safetensors and
                                 lora/policy-start_dora.safetensors)
seed 5

ADVANTAGES  CASE.reward [groups,n] (NaN: none), and for the scales group, batch
            and none CASE.SCALE.advantage [groups,n], .figures: reward,
            reward_std, frac_reward_zero_std
LOSSES      texts [B,T] padded: logp, old, ref, length, advantage; for each kind,
            with (old) and without (fresh) log probabilities of an older policy,
            beta 0 and 0.04, KL corrected (c) or not (p):
            KIND.AGE.BETA[c|p].value: loss, kl, clip_ratio/low_mean, low_min,
            high_mean, high_max (cispo and sapo: loss, kl, cispo_clip_ratio);
            .grad [B,T]
STEP        the student of grad/untied, texts step.ids [4,S] of step.length ids
            after prompts of step.start ids, temperature 0.8, advantages
            step.advantage, step.old and step.ref [4,S] of the texts' tokens,
            beta 0.04, corrected: for each kind step.KIND.value as above, and
            step.KIND.TENSOR, the gradient, float32; the files of lora/ have
            those of the adapter's tensors alone, for grpo and dapo"""
import inspect
import os
import sys
import textwrap
import types

import peft
import torch
import trl
from safetensors import safe_open
from trl.trainer import grpo_trainer as M

import grad as G
import llama_ref as R
import lora
import st

torch.set_default_dtype(torch.float64)
B, T, LONGEST = 6, 9, 12
MORE = ('cispo', 'sapo')


class Everything(dict):
    """a metric's list, made when it is first asked for"""

    def __missing__(self, key):
        return self.setdefault(key, [])


def trainer(**more):
    accelerator = types.SimpleNamespace(
        num_processes=1, reduce=lambda x, reduction: x, gather=lambda x: x)
    args = types.SimpleNamespace(delta=None, steps_per_generation=1,
                                 sapo_temperature_pos=1.0,
                                 sapo_temperature_neg=1.05,
                                 use_bias_correction_kl=more.pop('corrected', 0))
    t = types.SimpleNamespace(
        accelerator=accelerator, args=args, aux_loss_enabled=False,
        top_entropy_quantile=1.0, off_policy_mask_threshold=None,
        importance_sampling_level='token', use_vllm=False, beta=0.0,
        epsilon_low=0.2, epsilon_high=0.28, max_completion_length=LONGEST,
        current_gradient_accumulation_steps=1, _entropy_bonus_enabled=False,
        model=types.SimpleNamespace(training=True),
        _metrics={'train': Everything()})
    vars(t).update(more)
    return t


def advantages(out):
    """run the lines of TRL that make advantages of rewards"""
    source = inspect.getsource(M.GRPOTrainer._generate_and_score_completions)
    a = source.index('        unscorable_mask =')
    b = source.index('        elif self.multi_objective_aggregation == "norm')
    c = source.index('        advantages = torch.nan_to_num')
    code = textwrap.dedent(source[a:b] + source[c:source.index('\n', c) + 1])
    nan = float('nan')
    cases = {
        'eight': [[1, 0, 0, 1, 1, 0, 0, 0]],
        'equal': [[1, 1, 1, 1], [0, 1, 0, 0], [0.25, 0.25, 0.25, 0.25]],
        'missing': [[1, nan, 0, 0.5], [nan] * 4, [nan, 2, nan, nan]],
        'random': torch.randn(5, 6).tolist(),
    }
    for name, rows in cases.items():
        r = torch.tensor(rows, dtype=torch.float64)
        out[f'{name}.reward'] = r
        for scale in ('group', 'batch', 'none'):
            self = types.SimpleNamespace(
                multi_objective_aggregation='sum_then_normalize',
                reward_weights=torch.ones(1), scale_rewards=scale)
            names = dict(vars(M), self=self, torch=torch, device='cpu',
                         num_generations=r.shape[1],
                         rewards_per_func=r.reshape(-1, 1).clone())
            exec(code, names)
            rewards = names['rewards']
            out[f'{name}.{scale}.advantage'] = names['advantages'].reshape(r.shape)
            out[f'{name}.{scale}.figures'] = torch.stack([
                torch.nanmean(rewards), M.nanstd(rewards),
                names['is_std_zero'].double().mean()])
            print(name, scale, names['advantages'].tolist())


def compute(kind, x, mask, advantage, old, ref, beta, corrected):
    """TRL's loss of log probabilities x [B,T], and its metrics"""
    t = trainer(loss_type=kind, beta=beta, corrected=corrected)
    if kind == 'cispo':
        t.epsilon_high = 1.28  # TRL bounds the ratio, not what exceeds 1
    t._get_per_token_logps_and_entropies = (
        lambda *a, **k: (x, torch.zeros(x.shape), None))
    B, T = x.shape
    inputs = dict(prompt_ids=torch.zeros(B, 1).long(),
                  prompt_mask=torch.ones(B, 1).long(),
                  completion_ids=torch.zeros(B, T).long(),
                  completion_mask=mask, advantages=advantage,
                  ref_per_token_logps=ref, num_items_in_batch=mask.sum())
    if old is not None:
        inputs['old_per_token_logps'] = old
    loss = M.GRPOTrainer._compute_loss(t, None, inputs)
    m = {k: v[-1] for k, v in t._metrics['train'].items()}
    if kind in MORE:
        return loss, torch.tensor(
            [loss.item(), m.get('kl', 0.0), m.get('cispo_clip_ratio', 0.0)])
    return loss, torch.tensor(
        [loss.item(), m.get('kl', 0.0)] + [m['clip_ratio/' + k] for k in
         ('low_mean', 'low_min', 'high_mean', 'high_max')])


def losses(out):
    length = torch.tensor([9, 1, 4, 7, 2, 5])
    logp = (-3 * torch.rand(B, T)).float().double()
    old = (logp + 0.6 * torch.randn(B, T)).float().double()
    ref = (logp + 0.5 * torch.randn(B, T)).float().double()
    advantage = torch.tensor([1.2, -0.7, -1.5, 0.4, 0.0, 2.0])
    mask = (torch.arange(T) < length[:, None]).long()
    out.update(logp=logp.float(), old=old.float(), ref=ref.float(),
               length=length.double(), advantage=advantage)
    for kind in ('grpo', 'bnpo', 'dr_grpo', 'dapo') + MORE:
        for age in ('old', 'fresh'):
            for beta, corrected in ((0.0, 0), (0.04, 0), (0.04, 1)):
                x = logp.clone().requires_grad_()
                loss, value = compute(kind, x, mask, advantage,
                                      old if age == 'old' else None, ref, beta,
                                      corrected)
                g, = torch.autograd.grad(loss, x)
                name = f'{kind}.{age}.{beta:g}{"pc"[corrected]}'
                out[name + '.value'] = value
                out[name + '.grad'] = g
                print(name, value.tolist())


def step(out, params, vocab, logits, kinds):
    """a step's values, and its gradients of params {name: tensor}; logits: the
    function of ids [T] that gives z [T,vocab]"""
    start, own, S = [3, 5, 1, 4], [6, 1, 8, 3], 10
    ids = torch.randint(0, vocab, (4, S))
    mask = (torch.arange(S) < torch.tensor(own)[:, None]).long()
    x = []
    for i, (a, n) in enumerate(zip(start, own)):
        z = logits(ids[i, :a + n]) / 0.8
        p = torch.log_softmax(z[a - 1:-1], -1)
        x.append(torch.cat([p[torch.arange(n), ids[i, a:a + n]],
                            torch.zeros(S - n)]))
    x = torch.stack(x)
    old = (x.detach() + 0.3 * torch.randn(4, S)).float().double()
    ref = (x.detach() + 0.5 * torch.randn(4, S)).float().double()
    advantage = torch.tensor([1.2, -0.7, -1.5, 1.0])
    out.update({'step.ids': ids.to(torch.uint16), 'step.old': old.float(),
                'step.ref': ref.float(), 'step.advantage': advantage,
                'step.start': torch.tensor(start).double(),
                'step.length': torch.tensor(own).double()})
    for kind in kinds:
        loss, value = compute(kind, x, mask, advantage, old, ref, 0.04, 1)
        out[f'step.{kind}.value'] = value
        grads = torch.autograd.grad(loss, list(params.values()),
                                    retain_graph=True)
        for n, g in zip(params, grads):
            out[f'step.{kind}.{n}'] = g.float()
        print('step', kind, value.tolist())


def step_model(path, out):
    with safe_open(path, 'pt') as f:
        w = {n.removeprefix('student.'):
             f.get_tensor(n).double().requires_grad_() for n in f.keys()
             if n.startswith('student.') and n.endswith('.weight')}
    step(out, w, G.BASE['vocab'],
         lambda ids: torch.stack(list(R.forward(w, G.STUDENT, ids)[0])),
         ('grpo', 'bnpo', 'dr_grpo', 'dapo'))


def step_adapter(folder, name, out):
    """the step of an adapter of PEFT's"""
    with safe_open(f'{folder}/two/model.safetensors', 'pt') as f:
        w = {n: f.get_tensor(n).double() for n in f.keys()}
    m = lora.load(w, lora.TWO, f'{folder}/{name}')
    params = {n.replace('.default', '').replace('vector.weight', 'vector'): p
              for n, p in m.named_parameters() if p.requires_grad}
    step(out, params, lora.TWO['vocab'], lambda ids: m(ids[None]).logits[0],
         ('grpo', 'dapo'))


def save(path, out, *modules):
    st.save(path, out, dict(made_by='scripts/oracle/policy.py GOLDEN', seed=5,
                            versions=st.versions(torch, trl, *modules)))
    print(path, os.path.getsize(path))


def main():
    out, golden = {}, sys.argv[1]
    torch.manual_seed(5)
    advantages(out)
    losses(out)
    step_model(f'{golden}/grad/untied.safetensors', out)
    save(f'{golden}/grad/policy.safetensors', out)
    for name in ('start', 'start_dora'):
        torch.manual_seed(5)
        out = {}
        step_adapter(f'{golden}/lora', name, out)
        save(f'{golden}/lora/policy-{name}.safetensors', out, peft)


main()
