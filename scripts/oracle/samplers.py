"""Golden output of transformers' logits processors, chained in the order of its
generate (see lib/gen/sample.h), on random logits with random settings.
usage: samplers.py OUT.safetensors       (tests/golden/generate/samplers.safetensors)
  logits, p F32 [N,V]: p of the kept tokens, 0 of the others
  set F64 [N,8]: temperature, top_k, top_p, min_p, typical_p, repetition_penalty,
    presence_penalty, frequency_penalty; a step that is left out has the value
    that does so
  bias F32 [N,V]; prompt, text U32 [N,L]
Presence and frequency penalties are no processors of transformers: they are
computed here, after the repetition penalty, as the OpenAI API defines them.
All in float64.  A case is drawn again if a change of 1e-5 in the logits changes
which tokens are kept."""
import sys

import torch
import transformers
from transformers.generation import logits_process as lp

import st

SEED, N, V, L = 23, 200, 60, 9


def chain(z, s, bias, prompt, text):
    tau, top_k, top_p, min_p, typical, repetition, presence, frequency = s
    ids = torch.cat([prompt, text])[None]
    z = z[None].double()
    some = {(i,): float(b) for i, b in enumerate(bias) if b != 0}
    if some:
        z = lp.SequenceBiasLogitsProcessor(some)(ids, z)
    if repetition != 1:
        z = lp.RepetitionPenaltyLogitsProcessor(float(repetition))(ids, z)
    count = torch.bincount(text, minlength=V).double()
    z = z - presence * (count > 0) - frequency * count
    z = lp.TemperatureLogitsWarper(float(tau))(ids, z)
    if top_k:
        z = lp.TopKLogitsWarper(int(top_k))(ids, z)
    if top_p < 1:
        z = lp.TopPLogitsWarper(float(top_p))(ids, z)
    if min_p:
        z = lp.MinPLogitsWarper(float(min_p))(ids, z)
    if typical < 1:
        z = lp.TypicalLogitsWarper(float(typical))(ids, z)
    return torch.softmax(z[0], -1)


def case(gen, i):
    def some(share, off, make):
        return make() if torch.rand((), generator=gen) < share else off

    def unit():
        return torch.rand((), generator=gen).item()

    z = torch.randn(V, generator=gen) * (0.5 + 4 * unit())
    s = [0.3 + 2 * unit(), some(.4, 0, lambda: 1 + int(20 * unit())),
         some(.4, 1., lambda: 0.05 + 0.94 * unit()), some(.4, 0., lambda: 0.3 * unit()),
         some(.4, 1., lambda: 0.1 + 0.85 * unit()), some(.4, 1., lambda: 0.7 + unit()),
         some(.4, 0., lambda: 2 * unit() - 0.5), some(.4, 0., lambda: unit() - 0.2)]
    if i < 5:      # each of the later steps alone
        s = [1.0, 0, 1., 0., 1., 1., 0., 0.]
        s[i] = [1.3, 7, 0.8, 0.1, 0.6][i]
    bias = torch.randn(V, generator=gen) * 3
    bias[torch.rand(V, generator=gen) > some(.4, 0., lambda: 0.2)] = 0
    prompt, text = torch.randint(V, (2, L), generator=gen)
    p = chain(z, s, bias, prompt, text)
    for _ in range(4):
        near = chain(z + 1e-5 * torch.randn(V, generator=gen), s, bias, prompt, text)
        if not torch.equal(near > 0, p > 0):
            return None
    return z, p.float(), torch.tensor(s).double(), bias, prompt, text


def main(out):
    gen = torch.Generator().manual_seed(SEED)
    cases = []
    while len(cases) < N:
        c = case(gen, len(cases))
        if c:
            cases.append(c)
    z, p, s, bias, prompt, text = (torch.stack(x) for x in zip(*cases))
    st.save(out, dict(logits=z, p=p, set=s, bias=bias,
                      prompt=prompt.numpy().astype('u4'), text=text.numpy().astype('u4')),
            dict(made_by='scripts/oracle/samplers.py OUT.safetensors', seed=SEED,
                 versions=st.versions(torch, transformers)))


main(*sys.argv[1:])
