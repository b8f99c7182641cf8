"""The texts that tok_golden.py encodes: what has broken tokenizers before."""
import random

SPACES = [' ', '\t', '\n', '\v', '\f', '\r', '\x1c', '\x1d', '\x1e', '\x1f',
          '\x85', '\xa0', '\u1680', '\u180e', '\u2000', '\u2003', '\u2007',
          '\u200a', '\u200b', '\u2028', '\u2029', '\u202f', '\u205f', '\u2060',
          '\u3000', '\ufeff']
EDGES = ['\x7f', '\x80', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\ufffd',
         '\ufffe', '\uffff', '\U00010000', '\U0001fffe', '\U000fffff',
         '\U0010ffff']
# letters and digits by the Unicode version that added them
NEW = {'10 letter': '\u0860', '11 letter': '\u10d0\u1c90', '12': '\u0e86',
       '13': '\u08be', '14': '\u2c2f', '14b': '\ua7c0', '15': '\U0001e030',
       '15 digit': '\U0001e4f0', '15.1': '\U0002ebf0', '16': '\u1c89',
       '16b': '\ua7cb', '16 digit': '\U00010d40', '16 digit b': '\U0001e5f1'}
WORDS = {
    'bg': 'щастие ѝ Ъгъл', 'cs': 'příliš žluťoučký kůň', 'da': 'rødgrød å Æble',
    'de': 'Straße GROẞ größer', 'el': 'Ξεσκεπάζω τὴν ψυχοφθόρα ΐ ΰ',
    'en': "rock'n'roll naïve", 'es': '¿pingüino? ¡sí!', 'et': 'jäääär õunapuu',
    'fi': 'hääyöaie tyttö', 'fr': "l'été, c'est où ? œuvre",
    'ga': 'bhFuil tUisce ḃ ċ', 'hr': 'ljubičast ǆ ǉ đ', 'hu': 'árvíztűrő tükörfúrógép',
    'it': "perché l'è così", 'lt': 'įlinkdama fechtuotojo Ė̃', 'lv': 'glāžšķūņa rūķīši',
    'mt': "ġurnata ħaqq il-għana ta' ż", 'nl': "ĳs 's avonds ij",
    'pl': 'zażółć gęślą jaźń', 'pt': 'pão-de-ló à avó', 'ro': 'țară șapte ţ ş',
    'sk': 'kŕdeľ šťastných ďatľov', 'sl': 'žejen čokoladni šal', 'sv': 'flygande bäckasiner'}
OTHER = ['日本語のテキスト', '中文，没有空格。', '한국어 텍스트', 'نص عربي ١٢٣', 'עִבְרִית',
         'हिन्दी में', 'ภาษาไทย', 'தமிழ்', 'Việt Nam đẹp', 'ქართული', 'Հայերեն',
         'ⵜⴰⵎⴰⵣⵉⵖⵜ', '𝔘𝔫𝔦𝔠𝔬𝔡𝔢', '🀄🂡', 'ﬁ ﬂ ﷺ', 'İstanbul ıI', 'ǅ ᾳ ᾼ', '\u1e9e\u017f']
EMOJI = ['😀', '👍🏽', '👨‍👩‍👧‍👦', '🇪🇺🇲🇹', '1️⃣2️⃣', '❤️', '❤', 'a😀b 😀 c', '🏴󠁧󠁢󠁷󠁬󠁳󠁿', '☃\ufe0e']
MARKS = ['e\u0301', 'a\u030a\u0323', 'Z\u0351\u036b\u0343\u036a\u0302', 'cafe\u0301s',
         '\u0301', ' \u0301', 'a \u0301b', 'क्षि', '\u0e01\u0e33', 'i\u0307\u0301', '\u1100\u1161\u11a8']
QUOTES = ["'s", "'S", "it's", "it'S", "IT'S", "'t 're 've 'm 'll 'd", "'T 'RE 'VE 'M 'LL 'D",
          "we'll they'd I'm you've", "x'sx", "''s", " 's", "' s", "'", "''", "don’t", "‘s", "'\u017f",
          "it'\u017f", "'lL", "'l", "'ve've", "1's", "'1", "-'s", "\n's", "'é", "o'clock", "'tis", "s'", "'res"]
DIGITS = ['0', '1234567890', '3.14', '1,000,000', '1 2  3', ' 42', '  42', 'a1b2c3', '1a', '12ab34 ',
          '²³¹', '½¼', 'Ⅷ', '①', '٣٤', '१२', '１２３', '𝟘𝟙', '〇一', '5G', '2024-06-11T12:00:00Z',
          '0x1F', '1e-5', '-1', '+1', '1-2', '1\n2', '1\t2', '\n1', '9' * 20, 'x²+y²', 'H₂O', '100%', '€5', '5 €']
RUNS = [' ' * n for n in (1, 2, 3, 4, 5, 8, 17)] + [' ' * n + 'x' for n in (2, 3, 9)] + \
       ['x' + ' ' * n for n in (1, 2, 3)] + ['x' + ' ' * n + 'y' for n in (2, 3, 4)] + \
       ['\n' * n for n in (1, 2, 3, 5)] + ['a\n' * 3, 'a\n\nb', 'a\n \nb', 'a \n b', 'a  \n  b',
        '\n x', '\n  x', '\t\tx', ' \tx', '\t x', 'x\t', '\r\n', 'a\r\nb', 'a\r\n\r\nb', '\r\r\n',
        ' \r\n ', 'a\rb', '\x0b\x0c', '\u3000\u3000x', ' \xa0 x', '\xa0x', 'x\xa0', '\u2003 1', ' \u2028x']
PUNCT = ['!!!', '...', '…', '?!', ' !', '! ', '(a)', '[b]', '{"k": "v"}', '<p> </p>', 'a--b', 'a — b',
         '„so“ «là» ‚x‘', '#!/bin/sh', 'C:\\dir\\x', '/usr/bin', 'https://a.eu/x?y=z&w=1#f', 'a@b.org', 'snake_case camelCase',
         '__init__', '$x + $y', '\\frac{a}{b}', '`code`', '```c\nint x;\n```', 'if (a<b&&c>d) {\n\treturn;\n}', '; ;;', ' ,', ' .x', 'x. y', '•◦', '\ue000', '№ ™ ©']
SPECIAL = ['<|endoftext|>', 'a<|endoftext|>b', ' <|endoftext|> ', '<|endoftext|><|endoftext|>', '<|endoftext|',
           '|endoftext|>', '<|ENDOFTEXT|>', '<|im_start|>user\nHi<|im_end|>\n', '<<|im_end|>>', '<|im_<|im_end|>',
           '<s>', '<s>a', 'a <s> b', '</s>', 'x</s>y', '  <l>  x', 'x  <l>', '\n\t<l>y', '<l><l>', ' <l> <l>',
           '<r>  x', 'x<r>\n\n y', '<r> <r> ', '<r> <l>', ' <b> ', 'a <b> c', 'a\u3000<b>\u3000c', '<b> <b>',
           '<w>', 'a<w>', '<w>b', 'a <w> b', '1<w>', '_<w>', '-<w>-', 'é<w>', '<w>\u0301', '<w><w>', '<w> <w>', '日<w>本',
           'ab', 'xaby', 'abc', 'xabcy', 'ABab', 'aab', 'abab', '<n>', 'x<n>y', ' <n>', '<n>1', '<|endoftext|>1', '12<s>34', "<s>'s", '<s> x', 'x <l>\x1cy', '\x1c<b>\x85']
LONG = ['a' * 1000, ' ' * 1000, '\n' * 1000, '7' * 1000, 'ab' * 500, 'é' * 500, '😀' * 150, 'aA' * 300,
        "'s" * 200, ' a' * 300, '-' * 777, 'the ' * 250, 'abcdefghij' * 60, '\u0301' * 300, ' \n' * 300]


def random_cases(n, seed):
    r = random.Random(seed)
    pool = (SPACES[:8] * 2 + [' '] * 20 + list("'''-.,!()<|>_1234567890") +
            list('abcdestnrSTABÉéüßščžłğΩωжЯ') + ["'s", "'ll", 'the', ' the', 'ing', '\r\n'] +
            EMOJI[:4] + MARKS[:3] + EDGES[:4] + ['<s>', '<l>', '<w>', '<|im_end|>', 'ab', '日本', 'ุ', '٣', '½'])
    return [''.join(r.choice(pool) for _ in range(r.randint(1, 40))) for _ in range(n)]


def cases(train):
    c = ['', 'a', 'Hello, world!', 'The old mill stood where the river bends.']
    c += [chr(i) for i in range(32)] + [f'a{chr(i)}b' for i in range(32)]
    c += [f'x{s}y' for s in SPACES] + [f' {s}1' for s in SPACES] + [f'{s}{s}.{s}' for s in SPACES]
    c += EDGES + [f'a{e}b {e}' for e in EDGES]
    c += [f'a{x}1 {x}{x}' for x in NEW.values()] + list(NEW.values())
    c += list(WORDS.values()) + [w.upper() for w in WORDS.values()] + OTHER + EMOJI + MARKS
    c += QUOTES + DIGITS + RUNS + PUNCT + SPECIAL + LONG + random_cases(120, 1)
    c += [train[i:i + 97] for i in range(0, len(train), 600)]
    seen = set()
    return [x for x in c if not (x in seen or seen.add(x))]
