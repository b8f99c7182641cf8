"""Verdicts of IFEval's and M-IFEval's own checks, compared with those of
scripts/ifeval, and some of them as a golden file.

usage: ifeval.py M_IFEVAL SEED OUT        (tests/golden/ifeval.jsonl)

M_IFEVAL is a checkout of github.com/shisa-ai/M-IFEval, whose instructions/ has
the checks of both, in English those of google-research's
instruction_following_eval, and whose evaluations/ has answers of 17 models with
their verdicts.  Needs nltk with punkt_tab, langdetect, immutabledict, and spacy
with es_core_news_sm.

First all recorded verdicts are compared, then those of the checks on a tenth of
the answers, changed at random by what instructions are about: capitals, marks
of lists and paragraphs, phrases of the instruction.  Where the check asks for a
language too, it is told that the language is right.  The golden file has
instructions and answers of this script's own.

Recorded with M-IFEval 06f08ff3, Python 3.11, nltk 3.10.4, spacy 3.8.18,
es_core_news_sm 3.1.0, langdetect 1.0.9:
    ifeval.py M-IFEval 1 tests/golden/ifeval.jsonl
"""
import collections
import glob
import importlib.machinery
import importlib.util
import json
import random
import sys
import types
import unittest.mock

source, seed, out = sys.argv[1:]
sys.path.insert(0, source)
import nltk  # noqa: E402
import spacy  # noqa: E402

# nltk no longer loads the pickle, whose content is that of punkt_tab.
nltk.data.load = lambda name: nltk.tokenize.PunktTokenizer('english')
nltk.download = lambda *a, **k: True
load = spacy.load
spacy.load = lambda name: load('es_core_news_sm')
for name in ('ja', 'fr'):
    sys.modules[f'instructions.{name}_instructions'] = unittest.mock.MagicMock()
import instructions_registry  # noqa: E402
from instructions import en_instructions, es_instructions  # noqa: E402

THEIRS = instructions_registry.INSTRUCTION_DICT
loader = importlib.machinery.SourceFileLoader(
    'ifeval', __file__.rsplit('/', 2)[0] + '/ifeval')
ours = importlib.util.module_from_spec(
    importlib.util.spec_from_loader('ifeval', loader))
loader.exec_module(ours)


def verdict(text, name, arguments):
    """The verdict of their check."""
    check = THEIRS[name](name)
    check.build_description(**arguments)
    return bool(text.strip()) and bool(check.check_following(text))


def table(title, counts):
    """Print how many verdicts were compared and how many differ."""
    print('#', title)
    for name in sorted(counts):
        n, differ = counts[name]
        print(f'{name}\t{n}\t{differ}')
    print('all', sum(n for n, _ in counts.values()),
          sum(d for _, d in counts.values()), sep='\t')


asked = {}
for language in ('en', 'es'):
    with open(f'{source}/data/{language}_input_data.jsonl') as f:
        for line in f:
            t = json.loads(line)
            asked[t['prompt']] = t
answers = []
counts = collections.defaultdict(lambda: [0, 0])
for language in ('en', 'es'):
    for file in sorted(glob.glob(
            f'{source}/evaluations/{language}_*/eval_results_strict.jsonl')):
        with open(file) as f:
            for line in f:
                t = json.loads(line)
                t.update(asked[t['prompt']])
                if not isinstance(t['response'], str):
                    continue
                answers.append(t)
                for name, a, want in zip(t['instruction_id_list'], t['kwargs'],
                                         t['follow_instruction_list']):
                    got = ours.follows(t['response'], name, a)
                    if got is not None:
                        counts[name][0] += 1
                        counts[name][1] += got != want
table('recorded verdicts: instruction, compared, different', counts)

for module, language in ((en_instructions, 'en'), (es_instructions, 'es')):
    module.langdetect = types.SimpleNamespace(
        detect=lambda text, language=language: language,
        LangDetectException=ValueError, lang_detect_exception=types.
        SimpleNamespace(LangDetectException=ValueError))
draw = random.Random(int(seed))
MARKS = ['* a\n', '- b\n', '\n***\n', '******', '<<x>>', '<< >>', '*x*', '**',
         ',', '"', '\n\n', '[y]', 'P.S. z', 'p. p.s', 'P.D. w', 'Section 1',
         ' SECTION 2', '¿q?', '¡', '!', '?', '...', ' e.g. ', ' Mr. ',
         ' U.S. ', ' 3.5 ', ' 2. ', "DON'T", 'ÑU', ' pingüino ', ' árbol ',
         '```json\n', '```', '{"a": 1}', 'My answer is no.', 'Sí.', ' A. ',
         ' NASA ', '\n1. ']


def changed(text, arguments):
    """The text after one to four changes."""
    said = [str(y) for x in arguments.values()
            for y in (x if isinstance(x, list) else [x])]
    for _ in range(draw.randint(1, 4)):
        i, j = sorted(draw.randint(0, len(text)) for _ in '12')
        text = draw.choice((
            lambda: text[:i] + draw.choice(MARKS + said) + text[i:],
            lambda: text[:i] + draw.choice(MARKS + said) + text[j:],
            lambda: text[:min(i, 300)], lambda: text[:i] + text[i:j].upper() +
            text[j:], lambda: text.lower(), lambda: text.upper(),
            lambda: draw.choice(MARKS + said) + text +
            draw.choice(MARKS + said),
            lambda: '"' + text + '"'))()
    return text


counts = collections.defaultdict(lambda: [0, 0])
for t in draw.sample(answers, len(answers) // 10):
    for name, a in zip(t['instruction_id_list'], t['kwargs']):
        for _ in range(3):
            text = changed(t['response'], a)
            got = ours.follows(text, name, a)
            letter = a.get('letter') or 'a'
            # Theirs draws a letter if it is none from a to z.
            if got is not None and (letter.isalpha() or name[:2] == 'es'):
                counts[name][0] += 1
                counts[name][1] += got != verdict(text, name, a)
table(f'changed answers, seed {seed}', counts)

SMALL = {
    'keywords:existence': {'keywords': ['river', 'Árbol']},
    'keywords:frequency': {'keyword': 'river', 'frequency': 2, 'relation': '>'},
    'keywords:forbidden_words': {'forbidden_words': ['cat', 'río']},
    'keywords:letter_frequency':
        {'letter': 'r', 'let_frequency': 4, 'let_relation': '>'},
    'length_constraints:number_sentences':
        {'num_sentences': 3, 'relation': '>'},
    'length_constraints:number_words': {'num_words': 9, 'relation': '>'},
    'length_constraints:number_paragraphs': {'num_paragraphs': 2},
    'length_constraints:nth_paragraph_first_word':
        {'num_paragraphs': 2, 'nth_paragraph': 2, 'first_word': 'Then'},
    'detectable_content:number_placeholders':
        {'num_placeholders': 2},
    'detectable_content:postscript': {'postscript_marker': 'P.S.'},
    'detectable_format:number_bullet_lists': {'num_bullets': 2},
    'detectable_format:constrained_response': {},
    'detectable_format:number_highlighted_sections':
        {'num_highlights': 2},
    'detectable_format:multiple_sections':
        {'section_spliter': 'Part', 'num_sections': 2},
    'detectable_format:json_format': {},
    'detectable_format:title': {},
    'combination:two_responses': {},
    'combination:repeat_prompt': {'prompt_to_repeat': 'Say it.'},
    'startend:end_checker': {'end_phrase': 'The end'},
    'startend:quotation': {},
    'change_case:capital_word_frequency':
        {'capital_frequency': 2, 'capital_relation': '>'},
    'change_case:english_capital': {},
    'change_case:english_lowercase': {},
    'change_case:spanish_capital': {},
    'change_case:spanish_lowercase': {},
    'punctuation:no_comma': {},
    'punctuation:question_marks': {},
    'punctuation:exclamation_marks': {},
    'special_character:enie': {'let_frequency': 2},
    'special_character:dieresis': {'let_frequency': 1},
    'special_character:tildes': {'num_words': 2, 'relation': '>'},
}
TEXTS = [
    'The river is wide, and Mr. Green swims. It is cold! Is it?',
    'A cat sleeps here.\n\nThen it runs. The end.',
    '* one\n* two\n- three\n\n***\n\n* *bold* and **strong** [name] [town]',
    'Part 1 river\nPart 2 River rivers\n\nP.S. more',
    '<<A title>>\nMy answer is no.',
    '```json\n{"a": [1, 2]}\n```', '"Say it. THE END"',
    'Say it. Yes ****** Say it. No',
    'DON\'T SHOUT AT NASA.', 'all is low, and so on... the end', '   ',
    'El árbol y el río están allí. ¿Ves el pingüino? ¡Sí.',
    'AÑO NUEVO, MAÑANA. ¡VAMOS! THE END.', '¿? ¡! pequeña niña P. D. fin',
    'one ****** ****** two', '***\nfirst\n***\n\nThen second\n***',
    'then\n\n"Then," he said. It was 3. The dog, e.g. a big one, ran.',
]
seen = collections.Counter()
with open(out, 'w') as f:
    for language, at_least, less in (('en', 'at least', 'less than'),
                                     ('es', 'al menos', 'como máximo')):
        for k, text in enumerate(TEXTS):
            names, kwargs, verdicts = [], [], []
            for name, a in SMALL.items():
                for relation in (at_least, less) if '>' in a.values() else (0,):
                    full = f'{language}:{name}'
                    if full not in THEIRS:
                        continue
                    given = {x: relation if y == '>' else y
                             for x, y in a.items()}
                    v = verdict(text, full, given)
                    seen[full, relation, v] += 1
                    if seen[full, relation, v] <= 2: # two of each will do
                        names.append(full)
                        kwargs.append(given)
                        verdicts.append(v)
            if names:
                f.write(json.dumps({
                    'key': f'{language}{k}', 'instruction_id_list': names,
                    'kwargs': kwargs, 'text': text,
                    'fails': [n for n, v in zip(names, verdicts) if not v]},
                    ensure_ascii=False) + '\n')
