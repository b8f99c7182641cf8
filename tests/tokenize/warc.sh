#!/bin/sh
# tokenize and clean: texts of WET files, which are WARC; pages.warc.wet.gz and
# pages.txt are warcio's (scripts/oracle/wet.py)
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"
gold=$top/tests/golden/clean

# addressed FILE: the texts of clean's documents in FILE as pages.txt has them,
# without the addresses
addressed() {
    grep '"key"' "$1" | sed 's/.*"text":\(".*"\)}$/\1/'
}
# keys FILE: the keys of clean's documents, sorted
keys() {
    sed -n 's/.*"key":"\([^"]*\)".*/\1/p' "$1" | sort
}

cp "$gold/pages.warc.wet.gz" .
ok 'a WET file is read' clean -q pages.warc.wet.gz
addressed out >texts
sed 's/^\[".*", \(".*"\)\]$/\1/' "$gold/pages.txt" | grep -v '^""$' >want
same 'its documents are the texts that warcio finds' texts want
keys out >keys.gz
gzip -dc pages.warc.wet.gz >other.wet
ok 'a WET file that is not compressed is read' clean -q --lang pages other.wet
addressed out >texts
same 'it has the same texts' texts want
keys out >keys.wet
same 'keys do not depend on the name of the file' keys.gz keys.wet
mkdir crawl
mv other.wet crawl
ok 'a folder with a WET file is read' clean -q --lang pages crawl
keys out >keys.wet
same 'its documents are those of the file' keys.gz keys.wet
gzip -dc pages.warc.wet.gz >copy
ok 'standard input is recognised as WET' clean -q --lang pages - <copy
addressed out >texts
same 'standard input has the same texts' texts want

# page TYPE ADDRESS TEXT: a record
page() {
    printf 'WARC/1.0\r\nwarc-type: %s\r\nWARC-Target-URI:%s\r\n' "$1" "$2"
    printf 'Content-Length: %s\r\n\r\n%s\r\n\r\n' "$(printf %s "$3" | wc -c)" "$3"
}
page conversion page.txt 'one text' >w.wet
printf 'one text' >page.txt
clean -q --lang s w.wet | keys /dev/stdin >a
clean -q --lang s page.txt | keys /dev/stdin >b
same 'the key is that of a file with the address as its name' a b
page conversion '' 'no address' >n.wet
ok 'a text without an address is read' clean -q n.wet
{ page conversion a 'one'; page conversion b 'two'; } |
    sed 's/\r$//' >unix.wet
ok 'ends of lines without CR are read' clean -q unix.wet
equal 'both texts are found' "$(documents out)" 2

# refused WHAT WHY FILE
refused() {
    status 3 "$1 is refused" tokenize -q -t "$tok" -o s "$3"
    like "the message on $1 says why" "$2" err
}
page response http://x '<html>' >a.warc
refused 'WARC of pages' 'a.warc: offset 0: .*not text: take .* WET' a.warc
cp a.warc a.txt
refused 'WARC of pages called text' 'a.txt: offset 0: .*WET' a.txt
{ page conversion a 'one'; page resource http://x/y 'two'; } >both.wet
refused 'a page behind a text' 'both.wet: offset [1-9][0-9]*: is WARC' both.wet
page metadata http://x '{"a": 1}' >wat.wet
refused 'WARC without texts' 'wat.wet: offset 0: .*without texts' wat.wet
head -c 80 w.wet >cut.wet
refused 'a record cut off' 'cut.wet: offset [0-9]*: .*break' cut.wet
head -c 30 w.wet >cut.wet
refused 'headers cut off' 'cut.wet: offset 10: .*break off' cut.wet
{ cat w.wet; echo 'and more'; } >more.wet
refused 'what follows a record' 'more.wet: offset 9[0-9]: no record' more.wet
sed 's/^Content-Length: .*/Content-Length: -3\r/' w.wet >length.wet
refused 'a length that is no number' 'offset 0: .*Content-Length' length.wet
sed 's/^Content-Length: .*/Content-Length: 900000000000000\r/' w.wet >length.wet
refused 'a length beyond --max-doc' 'length.wet: .*--max-doc' length.wet
printf 'WARC/1.0 is a format\nthat crawls use: yes\n' >about.txt
printf 'WARC/1.0\n\na: b\n' >>about.txt
ok 'text about WARC is text' tokenize -q -t "$tok" --ids about.txt
done_testing
