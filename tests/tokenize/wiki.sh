#!/bin/sh
# tokenize: what of wikitext is text and what is markup
# wiki.xml and wiki.txt are mwparserfromhell's (scripts/oracle/wiki.py); the
# cases below follow MediaWiki where that differs: Sanitizer.php and
# Preprocessor_Hash.php for tags, the list of Wikipedias for languages.
. "${0%/*}/../lib/lib.sh"
tok=$top/tests/golden/tok/digits.json
gold=$top/tests/golden/clean

tokenize -q -t "$tok" -o s "$gold/wiki.xml" 2>err
ok 'pages of a dump are decoded' tokenize -q -t "$tok" --split line --decode s
same 'pages have the text that mwparserfromhell finds' out "$gold/wiki.txt"

# shows WHAT WIKITEXT TEXT: a page of that wikitext has that text
shows() {
    { printf '<mediawiki><page><title>T</title><ns>0</ns><revision><text>'
        printf '%s' "$2" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
        printf '</text></revision></page></mediawiki>\n'; } >w.xml
    tokenize -q -t "$tok" -o s w.xml 2>err &&
        tokenize -q -t "$tok" --split line --decode s >out 2>err
    equal "$1" "$(sed 1,2d out)" "$3"
}

shows 'a link to another language leaves the text' \
    'Text.[[de:Haus]][[zh-min-nan:A]][[simple:A|b]] End.' 'Text. End.'
shows 'a link with a prefix in capitals leaves the text' 'Text.[[De:Haus]] End.' 'Text. End.'
shows 'a link shown by its colon stays' 'In [[:de:Haus]].' 'In de:Haus.'
shows 'a link of a prefix that is no language stays' \
    'In [[xyz:Haus|a house]].' 'In a house.'
shows 'text behind a <ref> without its end stays' \
    'One.<ref name=a>Two. Three four. <references></references>End.' \
    'One.Two. Three four. End.'
shows 'a <ref> ends at the tag of exactly its name' \
    'One.<ref>Two.</reflist> Three.</ref >End.' 'One.End.'
shows 'tags need not be in small letters' \
    'One<BR/>two <B>bold</B><Ref>no</REF>.<NoWiki>[[a]]</nowiki>' \
    "$(printf 'One\ntwo bold.[[a]]')"
shows 'tags of lists, tables and extensions go' \
    '<div class="a"><section begin=x />a<references responsive /></div></br>b' \
    "$(printf 'a\nb')"
shows 'a tag without its end bracket stays' 'a <b and c' 'a <b and c'
shows 'a tag with another in it stays' 'a <b c<d>=e</d> f' 'a <b c<d>=e</d> f'
shows '<nowiki> without its end' 'a <nowiki>[[b]] c' 'a b c'
shows 'a template ends at no brace in <nowiki>' \
    'a {{x|<nowiki>}}</nowiki>|b}} c' 'a  c'
shows 'formulas and code go' \
    'a<math>x<y</math><syntaxhighlight lang=c>#include <a></syntaxhighlight>.' \
    'a.'
done_testing
