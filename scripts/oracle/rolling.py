"""Perplexity of documents by lm-evaluation-harness and by transformers'
strided example, to check evalppl --protocol lm-eval and hf.
usage: [THREADS=n] rolling.py MODEL[+bos] TEXT.jsonl CONTEXT STRIDE OUT.tsv
MODEL: a Hugging Face directory, in float32; +bos: see lmeval.py.
TEXT.jsonl: documents, each in the field "text".

OUT: lm-eval's figures over all documents, then its log-likelihood, words and
bytes of each; then the strided example (transformers, "Perplexity of
fixed-length models") on each document by itself, nll_sum and n_tokens as it
adds them up, and over all of them."""
import json
import math
import os
import re
import sys

import lm_eval
import torch
from lm_eval.tasks import TaskManager
from transformers import AutoModelForCausalLM, AutoTokenizer

from lmeval import with_bos


def rolling(model, file, c):
    task = dict(task='rolling', dataset_path='json', test_split='test',
                dataset_kwargs=dict(data_files=dict(
                    test=os.path.abspath(file))),
                output_type='loglikelihood_rolling', num_fewshot=0,
                doc_to_text='', doc_to_target='{{text}}',
                metric_list=[dict(metric=m) for m in (
                    'word_perplexity', 'byte_perplexity', 'bits_per_byte')])
    r = lm_eval.simple_evaluate(
        model='hf', model_args=f'pretrained={model},dtype=float32,'
        f'max_length={c}', tasks=[task], batch_size=1, device='cpu',
        log_samples=True, bootstrap_iters=0,
        task_manager=TaskManager(include_defaults=False))
    g = r['results']['rolling']
    yield ('lm-eval', '(all)', g['word_perplexity,none'],
           g['byte_perplexity,none'], g['bits_per_byte,none'])
    for s in sorted(r['samples']['rolling'], key=lambda s: s['doc_id']):
        text = s['doc']['text']
        assert s['word_perplexity'][1] == len(re.split(r'\s+', text))
        yield ('lm-eval', s['doc_id'], s['word_perplexity'][0],
               s['word_perplexity'][1], s['byte_perplexity'][1])


def strided(model, encodings, max_length, stride):
    """The loop of the documentation, unchanged."""
    seq_len = encodings.input_ids.size(1)
    nll_sum = 0.0
    n_tokens = 0
    prev_end_loc = 0
    for begin_loc in range(0, seq_len, stride):
        end_loc = min(begin_loc + max_length, seq_len)
        trg_len = end_loc - prev_end_loc
        input_ids = encodings.input_ids[:, begin_loc:end_loc]
        target_ids = input_ids.clone()
        target_ids[:, :-trg_len] = -100
        with torch.no_grad():
            outputs = model(input_ids, labels=target_ids)
            neg_log_likelihood = outputs.loss
        num_valid_tokens = (target_ids != -100).sum().item()
        batch_size = target_ids.size(0)
        num_loss_tokens = num_valid_tokens - batch_size
        nll_sum += neg_log_likelihood * num_loss_tokens
        n_tokens += num_loss_tokens
        prev_end_loc = end_loc
        if end_loc == seq_len:
            break
    return float(nll_sum), n_tokens


def main(model, file, c, stride, out):
    if model.endswith('+bos'):
        model = with_bos(model[:-4])
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get('THREADS', '2')))
    rows = list(rolling(model, file, int(c)))
    tok = AutoTokenizer.from_pretrained(model)
    net = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    total, n = 0.0, 0
    for i, line in enumerate(open(file)):
        ids = tok(json.loads(line)['text'], return_tensors='pt')
        if ids.input_ids.size(1) < 2:
            continue
        s, k = strided(net.eval(), ids, int(c), int(stride))
        rows.append(('hf', i, s, k))
        total, n = total + s, n + k
    rows.append(('hf', '(all)', math.exp(total / n), n))
    with open(out, 'w') as o:
        for r in rows:
            o.write('\t'.join(f'{x:.8f}' if isinstance(x, float) else str(x)
                              for x in r) + '\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
