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


# ---- for the families of tok_families.py ----

SP = '\u2581'
# SentencePiece-style: the mark itself, gaps at the ends, texts that look like
# entries of the vocabulary, characters that only bytes can spell
MARKED = [SP, SP * 2, SP + 'a', 'a' + SP, 'a' + SP + 'b', ' ' + SP, SP + ' ', ' ' + SP + ' a', SP + ' the',
          'the' + SP + 'the the', ' the', '  the', '   the', 'the ', 'the  ', 'the   the', '\tthe', '\n the', ' \nthe',
          '<0x41>', 'a<0x0A>b', '<0xC3><0xA9>', '<unk>', '<unk>x', '<pad>', '[INST] x [/INST]', '[INST]x[/INST]y',
          '<p> </p>', '<p> </p> <b>', '\t\t\t', '\n\n\n\n', 'a\n\n\n\nb', 'x\t\ty', '\u4dff', 'a\u4dffb', '\u4dff\u4dff \u4dff',
          '\U0001f9ff', 'a\U0001f9ff\U0001f9feb', '\U0001f9ff the', 'the\U0001f9ff', '\x00', '\x00the', '\ufffd\ufffd', 'é' + SP + 'é',
          'qqqq', 'zzxqj', '  ' * 9 + 'x', 'x' + '  ' * 9 + 'y' + ' ' * 5, '\xa0the', '\u3000the', '\r\nthe', ' . ', ' .. ... ']
# sequences that NFC changes, or seems to
NFC = ['e\u0301', 'E\u0301e\u0301', 'a\u0301\u0323', 'a\u0323\u0301', '\u1e9b\u0323', '\u1e9b\u0307', 's\u0323\u0307', 's\u0307\u0323',
       '\u212b', '\u2126', '\u212a', '\u0340\u0341', '\u0344', '\u0374', '\u037e', '\u0387', '\u0958', '\u0915\u093c', '\u09cb\u09c7\u09be',
       '\u0b94', '\u0b92\u0bd7', '\u1100\u1161', '\u1100\u1161\u11a8', '\uac00\u11a8', '\uac01\u11a8', '\u1100\uac00', '\u11a8\u1161', '\uac00\u11a7',
       '\uac00\u11c2\u11c3', '\uf900', '\ufa0e\ufa10', '\U0002f800', '\ufb1d', '\ufb2a', '\u05e9\u05c1\u05bc', '\u1f71', '\u1fef', '\u1ffd',
       '\u2000\u2001', '\u2329\u232a', '\u304b\u3099', '\u30cf\u309a', '\u0fb2\u0f81', '\u0f71\u0f72\u0f74', '\u0f73', '\U0001d15e', '\U0001d1bb\U0001d16f',
       '\U00011099\U000110ba', '\U00011131\U00011127', '\U00011347\U0001133e', '\U000114b9\U000114ba', '\U000115b8\U000115af',
       '\U00011935\U00011930', '\U00016d67\U00016d67', '\U00011382\U000113c9', '\u0622\u0654', '\u0627\u0653', '\u0649\u0654', '\u08d3\u0651', '\u0651\u08d3',
       'a\u08d3\u0650b', 'x\u0315\u0300\u05ae\u0062', 'a\u05ae\u0300\u0315b', '\u0308\u0301', '\u0308\u0301a', 'u\u0308\u0301', 'u\u0301\u0308', 'ǖ\u0304',
       'o\u0302\u0323\u0301', 'n\u0303o', 'İ', 'I\u0307', 'i\u0307', '\u1e0b\u0323', 'q\u0307\u0323', 'a' + '\u0300' * 40, 'a' + '\u0323\u0301' * 35, '\u0301' * 40 + 'a',
       'e\u0301' * 30, '<s>\u0301', 'e<s>\u0301', "e\u0301's", 'A\u030a', 'A\u030aA', '\u0041\u030a\u0301', 'd\u0323\u0307', '1\u0301', ' \u0308', 'e\u0301 e\u0301', 'Z\u030c2',
       '\u1dfa\u0301', 'a\u1dfa\u0345', '\U0001e8d0\u0301', '\u0ebac\u0301', '\U0001e4ec\u0301', '\U00010efd\u0301', '\u0cc6\u0cc2\u0cd5', '\u0dd9\u0dcf\u0dca', '\u1b05\u1b35',
       'ﬀ', '①', '\u1e9e', '\u03c2\u0301', 'υ\u0308\u0301', 'α\u0345\u0301', 'ᾳ\u0301', '\u1fc1', 'ω\u0313\u0301\u0345', 'ē\u0300', 'š\u0307']
# what cl100k and Tekken cut and GPT-2 does not, and the other way round
CUTS = ['HelloWorld', 'HELLOWorld', 'helloWORLD', 'XMLHttpRequest', 'iPhone', 'aB', 'Ab', 'AB', 'ABc', 'aBC', 'ǅa', 'aǅ', 'Aǅa', 'ªA', 'ʰA', 'A日b', '日A本b',
        "IT'S", "don't", "DON'T", "l'Été", "'tis'S", "'ſ", "a'ſb", "'ReX", "x'LLy", '/usr/bin/', 'a//\n/b', '//\r\n//', '...\n...', '!?/', ' /a', '#\n', '# \n', '-\r\n\n', '.\n/', '/\n.',
        '123456', '1234567', 'a123456b', '12 3456', '１２３４５', '½⅓²³¹', '٣٤٥٦', '1\u03012', '1.2345', '\u0301a', ' \u0301a', '-\u0301a', 'a\u0301B', 'A\u0301b', '\u0301\u0301', '_a', '__a', '$a', '€5a', '\ta', '\n\ta',
        ' \ta', '\u00a0a', '\u3000A', ' \u3000 A', '\u200da', 'a\u200db', '\ufeffa', 'a\u00adb', '  \n', '  \n  ', '\n  \n', ' \r\n\r\n a', '\u2028a', 'a \u2028 b', '\x85 b', ' \x85', '\x1c \x1fa', 'x  y', 'x \n y', '   ', 'a   ', 'a   b',
        '😀a', '😀A', ' 😀', '😀😀 😀', '👨\u200d👩', '+-*/=', '<<>>', '("x")', "''''", '\'"', '`a`', '@a', 'a@', 'ა\u1c90', 'Აა', '\u1c89\u1c8a', '\ua7cb', '\U0001e030\U0001d7d8', 'Ⅷⅷ', 'ⒶⓐA']
TOKENS = ['<|begin_of_text|>', 'a<|begin_of_text|>b', '<|eot_id|>\n\n', ' <|eot_id|> ', '<|eot_id|', '<think>\n\n</think>', ' <think> x', '<thi<think>nk>', '<tool_call>{"a": 1}</tool_call>',
          '[INST]', ' [INST] ', 'a[INST]b', '[/INST]\n', '</s><s>', '<s><s>a', '<s> a', 'a <s>', '<s>\na', 'a</s>', '<s>' + SP + 'a', SP + '<s>a', SP + '<s> a', 'a' + SP + '<s>', '<s>the<s> the<s>  the',
          '<unk><s>', '<bos>a', 'a<eos>', '<start_of_turn>user\nHi<end_of_turn>\n', '<unused1>', ' <unused1> ', '<unused1><unused2>', '[multimodal]', '<mask>',
          'eé', 'éx', 'e\u0301x', 'e\u0301xe\u0301x', 'Å<n>\u212b', '\u212b<n>', 'éxé', 'xéxx', 'see x', 'a b', 'xa by', 'xa  b', 'a' + SP + 'b', '<l>a<r>', '  <l>  <r>  ', '<w> a<w> <w>a',
          '  <b>  <b>  ', 'x<l>', 'x\n<l>', SP + '<l>', 'x ' + SP + '<l>', '<r>' + SP + 'x', 'ab<w>', '.<w>.', SP + '<w>' + SP, '<w>' + SP, '\u2040<w>', '<w>\u200d', 'Ⅷ<w>', '\u0301<w>', '٣<w>', 'ⓐ<w>', '<w>ⓐ']
# invalid UTF-8 as it stands after repair
BROKEN = [b.decode('utf-8', 'replace') for b in (
    b'\x80', b'a\xffb', b'\xc3', b'\xc3(', b'\xe2\x82', b'\xe2\x82a', b'\xf0\x9f\x98', b'\xf0\x9f\x98 x', b'\xed\xa0\x80', b'\xed\xa0\xbd\xed\xb8\x80', b'\xc0\x80', b'\xf5\x80\x80\x80',
    b'\xfe\xff', b'\xe2\x82\xe2\x82\xac', b'x\xf4\x90\x80\x80y', b'\xe1\x80\xc3\xa9', b'the\xf0 the', b'\xe2\x96', b'\xe2\x96the', b'e\xcc', b'1\xcc2', b"'\xc5", b'<s\xff>')]


def family_cases(train):
    """cases for the families: short, those above first"""
    c = MARKED + NFC + CUTS + TOKENS + BROKEN
    c += [x for x in cases(train) if len(x) <= 120]
    c += ['a' * 257, ' ' * 130, '\n' * 130, '7' * 131, SP * 131, 'é' * 131, '😀' * 67, ' a' * 90, '\u0301' * 131, 'A' * 130 + 'a', '-' * 131, '\t' * 131, '<' * 131]
    seen = set()
    return [x for x in c if not (x in seen or seen.add(x))]
