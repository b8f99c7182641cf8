#!/usr/bin/env python3
"""Count the parameters of published models from their config.json.

Run by hand: scripts/oracle/published.py DIR >tests/golden/plan/published.tsv
DIR holds files *.json as they were published, which are not copied.  For each, in
order: the file's name, the model_type of the part about text as transformers reads
it, and the parameters of that part (plan_params.py), on the device "meta"; - where
transformers builds none.
"""
import glob
import json
import os
import sys
import tempfile

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

from plan_params import parameters


def build(config):
    """the part about text, and its model's tensors by name"""
    text = config.get_text_config()
    for auto, of in (AutoModelForCausalLM, text), (AutoModelForImageTextToText, config):
        if type(of) in auto._model_mapping.keys():
            with torch.device('meta'):
                model = auto.from_config(of)
            model.tie_weights()
            return text, parameters(model, r'visual|vision|multi_modal_projector')
    raise ValueError('no language model')


def row(path):
    with tempfile.TemporaryDirectory() as folder:
        # transformers asks for an integration to count quantised weights
        published = json.load(open(path))
        for part in published, published.get('text_config') or {}:
            part.pop('quantization_config', None)
        json.dump(published, open(folder + '/config.json', 'w'))
        text, count = build(AutoConfig.from_pretrained(folder, trust_remote_code=False))
    return text.model_type, count


def main():
    print('# scripts/oracle/published.py DIR; transformers %s, torch %s' %
          (transformers.__version__, torch.__version__))
    for path in sorted(glob.glob(sys.argv[1] + '/*.json')):
        try:
            told = '%s\t%d' % row(path)
        except Exception as why:                    # of many kinds
            print(path, why, file=sys.stderr)
            told = '-\t-'
        print(os.path.basename(path), told, sep='\t', flush=True)


if __name__ == '__main__':
    main()
