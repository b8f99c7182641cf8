"""Golden scores of tasks by lm-evaluation-harness, item by item.
usage: [THREADS=n] [BATCH=n] lmeval.py MODEL[+bos] OUT.tsv NAME=FILE.jsonl ...
MODEL: a Hugging Face directory, in float32; +bos: a copy of it whose tokenizer
puts BOS before every text.  NAME: a task that lm-eval ships (blimp, xcopa_et,
arc_easy, hellaswag, piqa, winogrande, belebele_est_Latn, lambada_openai, ...),
whose own YAML is used, with another place of the data; or a task of OURS.

OUT: a line for each request: task, item (from 0), choice, log probability,
greedy; then of each task "#", its name, items, acc and its standard error,
acc_norm, acc_bytes, perplexity; "-" if it has no such figure.

lmeval.py --mean NAME=OUT.tsv ...
Prints a line for each task in these: NAME, the figures, and the mean log
probability of all its requests (tests/golden/tasks/real.tsv)."""
import json
import os
import shutil
import sys
import tempfile

import lm_eval
import torch
from lm_eval.tasks import TaskManager

ROOT = os.path.join(os.path.dirname(lm_eval.__file__), 'tasks')
OURS = {
    # scripts/make-cloze writes such items
    'cloze': dict(output_type='multiple_choice', doc_to_text='{{context}}',
                  doc_to_choice='{{choices}}', doc_to_target='{{answer}}',
                  target_delimiter=''),
    # BLiMP without the space that lm-eval puts before each sentence
    'pair': dict(output_type='multiple_choice', doc_to_text='',
                 doc_to_choice='{{[sentence_good, sentence_bad]}}',
                 doc_to_target=0, target_delimiter=''),
    'greedy': dict(output_type='loglikelihood', doc_to_text='{{context}}',
                   doc_to_target='{{target}}'),
    # pieces of evaltask's templates that no task above has
    'described': dict(output_type='multiple_choice',
                      description='Of {{topic}}.\n\n',
                      doc_to_text='{{question}} ', doc_to_choice='{{options}}',
                      doc_to_target='{{right}}', target_delimiter=''),
}
FILES = {'blimp': 'blimp/_template_yaml', 'arc_easy': 'arc/arc_easy.yaml',
         'arc_challenge': 'arc/arc_easy.yaml',
         'hellaswag': 'hellaswag/hellaswag.yaml', 'piqa': 'piqa/piqa.yaml',
         'winogrande': 'winogrande/default.yaml',
         'lambada_openai': 'lambada/lambada_openai.yaml'}


def published(name):
    from lm_eval.tasks._yaml_loader import load_yaml
    if name.startswith('xcopa_'):
        path = f'xcopa/default_{name[6:]}.yaml'
    elif name.startswith('belebele_'):
        path = f'belebele/{name}.yaml'
    else:
        path = FILES[name]
    return load_yaml(os.path.join(ROOT, path), resolve_func=True)


def config(name, file):
    c = dict(OURS[name]) if name in OURS else published(name)
    for k in ('dataset_name', 'training_split', 'validation_split',
              'fewshot_split', 'fewshot_config', 'tag', 'metadata',
              'should_decontaminate', 'doc_to_decontamination_query'):
        c.pop(k, None)
    metrics = ['perplexity', 'acc'] if c['output_type'] == 'loglikelihood' \
        else ['acc', 'acc_norm', 'acc_bytes']
    c.update(task=name, dataset_path='json', test_split='test', num_fewshot=0,
             dataset_kwargs=dict(data_files=dict(test=os.path.abspath(file))),
             metric_list=[dict(metric=m) for m in metrics])
    return c


def with_bos(model):
    new = os.path.join(tempfile.mkdtemp(), 'model')
    shutil.copytree(model, new)
    bos = json.load(open(f'{new}/tokenizer_config.json'))['bos_token']
    t = json.load(open(f'{new}/tokenizer.json'))
    i = [a['id'] for a in t['added_tokens'] if a['content'] == bos]
    one = [{'SpecialToken': {'id': bos, 'type_id': 0}},
           {'Sequence': {'id': 'A', 'type_id': 0}}]
    t['post_processor'] = {
        'type': 'TemplateProcessing', 'single': one,
        'pair': one + [{'Sequence': {'id': 'B', 'type_id': 1}}],
        'special_tokens': {bos: {'id': bos, 'ids': i, 'tokens': [bos]}}}
    json.dump(t, open(f'{new}/tokenizer.json', 'w'))
    c = json.load(open(f'{new}/tokenizer_config.json'))
    c.pop('add_bos_token', None)
    json.dump(c, open(f'{new}/tokenizer_config.json', 'w'))
    return new


def main(model, out, *tasks):
    if model.endswith('+bos'):
        model = with_bos(model[:-4])
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("THREADS", "2")))
    tasks = dict(t.split('=', 1) for t in tasks)
    r = lm_eval.simple_evaluate(
        model='hf', model_args=f'pretrained={model},dtype=float32',
        tasks=[config(n, f) for n, f in tasks.items()], batch_size=int(os.environ.get("BATCH", "1")),
        device='cpu', log_samples=True, bootstrap_iters=2,
        task_manager=TaskManager(include_defaults=False))
    with open(out, 'w') as o:
        for name in tasks:
            samples = sorted(r['samples'][name], key=lambda s: s['doc_id'])
            for s in samples:
                for i, (ll, greedy) in enumerate(s['filtered_resps']):
                    o.write(f"{name}\t{s['doc_id']}\t{i}\t{float(ll):.6f}"
                            f"\t{int(greedy in (True, 'True'))}\n")
            g = r['results'][name]
            n = len(samples)
            o.write(f"# {name}\t{n}\t{g['acc,none']:.6f}"
                    f"\t{g['acc_stderr,none']:.6f}")
            for m in ('acc_norm', 'acc_bytes', 'perplexity'):
                v = g.get(m + ',none')
                o.write('\t-' if v is None else f'\t{v:.6f}')
            o.write('\n')


def means(*outs):
    for name, out in (o.split('=', 1) for o in outs):
        logp = {}
        for line in open(out):
            f = line.rstrip('\n').split('\t')
            if line[0] == '#':
                x = logp[f[0][2:]]
                print(name, f[0][2:], *f[1:], f'{sum(x) / len(x):.6f}', sep='\t')
            else:
                logp.setdefault(f[0], []).append(float(f[3]))


if __name__ == '__main__':
    if sys.argv[1] == '--mean':
        means(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
