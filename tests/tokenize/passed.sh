#!/bin/sh
# tokenize: which files are read, and what is said of those that are not
. "${0%/*}/../lib/lib.sh"
tok=$top/tests/golden/tok/digits.json

# read_as WHAT DOCUMENTS ARG...: this many documents are read
read_as() {
    ra_what=$1 ra_docs=$2
    shift 2
    ok "$ra_what are read" tokenize -t "$tok" --ids "$@"
    equal "$ra_what give all documents" "$(grep -c . out)" "$ra_docs"
}
# no_text WHAT WORDS ARG...: refused with status 3, in these words
no_text() {
    nt_what=$1 nt_like=$2
    shift 2
    rm -f s
    status 3 "$nt_what: input is refused" tokenize -q -t "$tok" -o s "$@"
    like "$nt_what: the message says why" "$nt_like" err
    [ ! -e s ] || fail "$nt_what: a stream was left behind"
}

# Folders
mkdir -p c/deep c/.git
echo 'a text' >c/a.txt
echo '# A heading' >c/b.md
printf '{"text":"one"}\n{"text":"two"}\n' >c/c.jsonl
printf '{"text":"one"}\n{"text":"two"}\n{"text":"three"}\n' >c/deep/d.json
printf '<mediawiki><page><title>T</title><ns>0</ns>%s</page></mediawiki>\n' \
    '<revision><text>wiki</text></revision>' >c/deep/e.xml
gzip -k c/deep/e.xml c/deep/d.json
echo 'A TEXT' >c/F.TXT
(cd c && tar -cf ../g.tar b.md deep/d.json deep/e.xml && mv ../g.tar .)
all=18      # a b F, c 2, d 3, d.gz 3, e, e.gz, g 1 + 3 + 1
read_as 'text, Markdown, JSONL, JSON lines, dumps and archives in a folder' \
    $all c
unlike 'nothing is passed over then' 'passed over' err
echo '<p>page</p>' >c/x.html
cp c/x.html c/deep/y.HTML
echo 'a,b' >c/z.csv
printf 'PAR1' >c/p.parquet
printf '{\n "vocab_size": 5\n}\n' >c/deep/config.json
printf '[{"text":"one"}]\n' >c/deep/list.json
printf '<?xml version="1.0"?>\n<rss>no</rss>\n' >c/deep/feed.xml
echo 'all:' >c/Makefile
echo 'x' >c/.git/hidden.bin
read_as 'other files beside them' $all c
like 'passed-over files are counted by kind' \
    '8 files passed over: 2 \.html, 2 \.json, 1 \.csv, 1 \.parquet' err
like 'files without an ending are counted too' '1 without an ending' err
equal 'one note counts passed-over files' "$(grep -c 'passed over' err)" 1
ok '-v reads the folder' tokenize -v -t "$tok" --ids c
like '-v names a file that another program reads' 'c/x\.html.*passed over' err
like '-v names a file by its content' 'c/deep/feed\.xml.*passed over' err
equal '-v names all passed-over files' "$(grep -c '^tokenize: c/.*passed over' err)" 8
mkdir many
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo x >"many/$i.e$i"; done
echo x >many/x.txt
read_as 'files beside 12 other kinds' 1 many
like '12 kinds are listed up to a number' '12 files passed over: .*, and 4 of other' err

# Archives
tar -cf c.tar c/x.html c/z.csv c/deep/config.json c/deep/list.json \
    c/deep/feed.xml c/a.txt
read_as 'an archive of such files' 1 c.tar
like 'its members are counted the same' \
    '5 files passed over: 2 \.json, 1 \.csv, 1 \.html, 1 \.xml' err
mkdir two
cp c.tar c/x.html c/deep/config.json two
read_as 'an archive in a folder' 1 two
like 'members and files are one sum' \
    '7 files passed over: 3 \.json, 2 \.html' err
iconv -f UTF-8 -t UTF-16 c/deep/feed.xml >feed.xml
tar -cf u.tar feed.xml c/a.txt
read_as 'a member in UTF-16 that is no dump' 1 u.tar

# By name: the one command that makes text of it
no_text 'a page of HTML' 'c/x\.html.*HTML.*lynx -dump' c/x.html
cp c/x.html x.XHTML
no_text 'HTML with a name in capitals' 'x\.XHTML.*HTML.*lynx -dump' x.XHTML
no_text 'a file of CSV' 'z\.csv.*CSV.*mlr --icsv --ojsonl' c/z.csv
gzip -c c/z.csv >z.tsv.gz
no_text 'TSV, compressed' 'z\.tsv\.gz.*mlr --itsv --ojsonl' z.tsv.gz
for f in w.docx w.odt w.epub; do
    printf 'PK\003\004' >$f
    no_text "a document: $f" "$f.*pandoc -t plain" $f
done
no_text 'an array of JSON' "list\\.json.*array.*jq -c '\\.\\[\\]'" c/deep/list.json
no_text 'an object over several lines' 'config\.json.*jq -c \.' \
    c/deep/config.json
read_as 'JSON lines by name' 3 c/deep/d.json
read_as 'a dump by name' 1 c/deep/e.xml
read_as 'CSV on standard input is text' 1 - <c/z.csv
read_as '--jsonl: whatever the name' 2 --jsonl c/c.jsonl
cp c/c.jsonl c.csv
read_as '--jsonl: a name of CSV' 2 --jsonl c.csv

# By content
printf '\n<!doctype HTML>\n<title>x</title>\n' >page.txt
no_text 'HTML in a text file' 'page\.txt: .*HTML.*lynx' page.txt
printf '\357\273\277<html lang="en"><p>x\n' >page
no_text 'HTML on standard input' '<stdin>: .*HTML.*lynx' - <page
printf '<?xml version="1.0"?>\n<!-- a\n> -->\n<html xmlns="x">\n' >page.txt
no_text 'XHTML behind an XML declaration' 'page\.txt: .*HTML.*lynx' page.txt
printf '<?xml version="1.0"?><?xml-stylesheet href="a"?><!DOCTYPE html\n>' \
    >page.txt
no_text 'XHTML behind a style sheet' 'page\.txt: .*HTML.*lynx' page.txt
printf '<?xml version="1.0"?>\n<!-- a --><p>one</p>\n' >note.txt
read_as 'XML that is no page' 1 note.txt
printf '<!-- <html> never ends\n' >note.txt
read_as 'a comment without its end' 1 note.txt
printf ' [\n {"text":"one"}]\n' >array
no_text 'an array on standard input' '<stdin>: .*array.*jq -c' - <array
mv array array.jsonl
no_text 'an array called JSONL' 'array\.jsonl.*jq -c' array.jsonl
printf '[1] A note {"x"}\n<p>one\n' >note.txt
read_as 'text with brackets' 1 note.txt

# Nothing at all
mkdir -p none/deep
no_text 'an empty folder' 'none: holds no text.*\.md, \.wet, \.jsonl' none
cp c/x.html none/deep
cp c/z.csv none
no_text 'a folder without text' 'none: .*2 files passed over: 1 \.csv, 1 \.html' \
    none
tar -cf none.tar c/x.html
no_text 'an archive without text' 'none\.tar.*no document.*1 file.* 1 \.html' \
    none.tar
: >empty.txt
no_text 'an empty file' 'empty\.txt: .*no document' empty.txt
no_text 'two of them' '2 inputs.*no document.*empty\.txt' empty.txt empty.txt
no_text 'nothing on standard input' '<stdin>: .*no document' - </dev/null
printf '\n\n' >blank.txt
ok 'empty documents alone are read' tokenize -t "$tok" --ids --split line blank.txt
like 'the note says that all are empty' 'all documents are empty' err
status 3 'a table of nothing is refused' tokenize -t "$tok" --stats empty.txt
equal 'no table of nothing is printed' "$(cat out)" ''

# JSON lines on standard input
cp c/deep/d.json lines
read_as 'JSON lines on standard input' 3 - <lines
ok 'JSON lines are read without an operand' sh -c 'cat lines | tokenize -t "$1" --ids' sh "$tok"
equal 'JSON lines without an operand give all documents' "$(grep -c . out)" 3
awk 'BEGIN { printf "{\"text\":\""
    for (i = 0; i < 40000; i++) printf "words of text "
    printf "\"}\n{\"text\":\"b\"}\n" }' </dev/null >long
read_as 'a first line longer than what is read at once' 2 - <long
cp long long.json
read_as 'a long first line of a file' 2 long.json
printf '{a set} of words\n' >"set"
read_as 'text that begins with a brace' 1 - <"set"
read_as 'lines with --jsonl' 3 --jsonl - <lines
tar -cf lines.tar lines
mv lines l.txt
tar -cf l.tar l.txt
ok 'a member from standard input is read' \
    sh -c 'cat l.tar | tokenize -t "$1" --ids' sh "$tok"
equal 'a member is what its name says' "$(grep -c . out)" 1
done_testing
