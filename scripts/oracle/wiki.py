#!/usr/bin/env python3
"""Golden text of wikitext, by mwparserfromhell.

usage: python scripts/oracle/wiki.py tests/golden/clean
Made with mwparserfromhell 0.7.2 (PyPI), strip_code().  Writes wiki.xml, a dump
with one page a case, and wiki.txt, its text.  Only cases where mwparserfromhell
and MediaWiki's own rules agree: the former takes any name for a tag if the tag
is closed, and knows no languages.  Notes (<ref>) are taken out before.
"""
import sys
from xml.sax.saxutils import escape

import mwparserfromhell as mw

CASES = r"""
If x<y and y>z then p<q or r>s holds.
If x<s and y>z then p<b or r>u holds.
Write #include <stdio.h> first, mail <someone@example.org>.
A <T> of <name> and List<String>, an <i>italic</i> word.
Press <kbd>Enter</kbd>, a <b>bold</b> word, a <q cite="x">quotation</q>.
H<sub>2</sub>O, <span style="color:red">red</span> <s>struck</s>, <1 dB, a < b.
He says in [[s:Hamlet|Hamlet]], and [[q:Yogi|Yogi said]] so.
See [[w:Rome|Rome]], [[d:Q1|the universe]], [[c:File|a file]], [[m:Help|help]].
See [[b:Cookbook|a book]], [[n:News|news]], [[v:School|a school]], [[s:Poem]].
See [[mw:Help|the help]], [[wikt:word|word]], [[doi:10.1000/1|the paper]].
Write <nowiki>{{stub}}</nowiki> at the end, not <nowiki>[[x|y]]</nowiki>.
Write <nowiki>''two'' &amp;lt; <b></nowiki> here, and <nowiki />nothing.
As <pre>{{x}} and [[y]] &lt;b></pre> stands there.
One.<ref name="a">a note</ref> Two.<ref name="a" /> Three.
One.<ref>a [[note]] <b>b</b></ref><!-- c --> Two.<references /> End.
A <poem>line</poem> and <small>small</small> <big>big</big> <code>code</code>.
"""


def main(folder):
    xml = open(f"{folder}/wiki.xml", "w", encoding="utf-8")
    txt = open(f"{folder}/wiki.txt", "w", encoding="utf-8")
    xml.write('<mediawiki xml:lang="en">\n')
    for i, case in enumerate(CASES.strip().split("\n")):
        code = mw.parse(case)
        for ref in code.filter_tags(matches=lambda t: t.tag == "ref"):
            code.remove(ref)
        text = code.strip_code()
        xml.write(f"<page><title>{i}</title><ns>0</ns><revision><text>"
                  f"{escape(case)}</text></revision></page>\n")
        txt.write(f"{i}\n\n{text}\n\n")
    xml.write("</mediawiki>\n")


main(sys.argv[1])
