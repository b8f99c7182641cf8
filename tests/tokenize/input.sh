#!/bin/sh
# tokenize: folders, archives, Wikipedia dumps
#
# Rules for archives, and the test of each here:
#   tar and zip only (flaws of RAR, ISO, WARC,   rar, 7z, WARC, cpio, mtree, ar
#     7z readers)                                  or ISO 9660 is no archive
#   read as a stream, nothing is unpacked        names that climb, links and
#                                                  pipes, from a pipe
#   no size that is declared is believed         a member of a gigabyte of hole,
#                                                  a tar of N bytes
#   entries                                      too many members
#   ratio and total                              a bomb, a bomb in a bomb
#   checksums, encryption                        a wrong checksum, an encrypted
#                                                  member, a damaged header
. "${0%/*}/../lib/lib.sh"
gold=$top/tests/golden/tok
tok=$gold/digits.json

# sources ARG ...: "source:documents ..." of the table
sources() {
    tokenize -t "$tok" --stats "$@" >out 2>err
    tap_status=$?
    [ $tap_status = 0 ] || echo "status $tap_status"
    cut -f 1,2 out | tail -n +2 | tr '\t\n' ': '
}

# Folders
mkdir -p c/de c/en/deep c/.hidden
printf 'Der Fluss\n' >c/de/part-1.txt
printf '{"text":"a river"}\n{"text":"two"}\n' >c/en/x.jsonl
gzip -c c/en/x.jsonl >c/en/deep/y.jsonl.gz
printf 'el rio\n' >c/es.txt
printf 'no text' >c/en/x.bin
printf 'hidden\n' >c/.hidden/x.txt
ln -s ../c c/loop
equal 'a folder is walked' "$(sources c)" 'de:1 en:4 es:1 all:6 '
equal 'a folder with a slash is walked' "$(sources c/)" 'de:1 en:4 es:1 all:6 '
equal 'a file names itself' "$(sources c/de/part-1.txt)" 'part-1:1 '
equal '--lang-path takes sources from paths' "$(sources --lang de,en,es --lang-path c)" \
    'de:1 en:4 es:1 all:6 '
equal '--lang-path takes the nearest name' \
    "$(sources --lang x,deep,es,de --lang-path c)" \
    'x:2 deep:2 es:1 de:1 all:6 '
status 3 '--lang-path refuses a path without a name' tokenize -q -t "$tok" --ids \
    --lang de --lang-path c
like 'the message names that path' '^tokenize: c/en/deep/y.jsonl.gz: no folder or file of it' err
status 2 '--lang-path is refused without --lang' tokenize -q -t "$tok" --ids --lang-path c
rm c/loop
mkfifo c/pipe.txt
ln -s pipe.txt c/pipe2.txt
ok 'a folder with a fifo is read' timeout 20 tokenize -q -t "$tok" --ids c
equal 'a fifo in a folder is passed over' "$(grep -c . out)" 6
like 'the message names the fifo' '^tokenize: c/pipe.txt: is no regular file: passed over' err
like 'the message names a link to a fifo' '^tokenize: c/pipe2.txt: is no regular file' err
cp c/es.txt c/en/es.txt
cat c/es.txt >c/pipe.txt &
ok 'a fifo is an operand' timeout 20 tokenize -q -t "$tok" --ids c/pipe.txt
equal 'a fifo as operand is read' "$(grep -c . out)" 1
rm c/pipe.txt c/pipe2.txt c/en/es.txt

# Many files
mkdir many many/f
many() {    # many FIRST LAST: files of that name and number
    many_i=$1
    while [ "$many_i" -le "$2" ]; do
        echo "page $many_i" >"many/f/page-$many_i.txt"
        many_i=$((many_i + 1))
    done
}
many 1 60
cp many/f/page-1.txt many/f/a.txt
cp many/f/page-1.txt many/f/de.txt
equal '60 numbered files are one source, others are their own' \
    "$(sources many/f)" 'a:1 de:1 f:60 all:62 '
like 'the note names the one source' "many/f: 60 files .* are one source, \"f\" .*--lang" err
rm many/f/a.txt many/f/de.txt many/f/page-[1-9]*[0-9].txt
equal 'files without a number too, and those by a number of their own' \
    "$(cd many/f && cp page-1.txt wiki.txt && mv page-1.txt c4.txt &&
        sources c4.txt page-2.txt wiki.txt | tr '\n' ' ')" \
    'c4:1 page-2:1 wiki:1 all:3 '
rm many/f/*
many 1 65
equal '65 files are one source' "$(sources many/f)" 'f:65 '
like 'the note names the source of 65 files' "many/f: its 65 files are one source, \"f\" \\(names such as de.txt" err
equal '65 operands are one source' "$(sources many/f/*)" 'f:65 '
equal '65 files in a folder in a folder are one source' "$(sources many)" 'f:65 '
equal '65 files in a folder with slashes are one source' "$(sources many/f//)" 'f:65 '
equal '65 files beside another folder are one source' "$(sources many/f c)" 'f:65 de:1 en:4 es:1 all:71 '
equal '65 files in the working folder are one source' "$(cd many/f && sources ./*)" 'text:65 '
rm -f many/f/out many/f/err
equal '--lang names the source of 65 files' "$(sources --lang x many/f)" 'x:65 '
mkdir many/l
for a in a b c d e f g h i j; do
    for b in a b c d e f g h; do
        echo "$a$b" >"many/l/$a$b.txt"
    done
done
mv many/l/ab.txt many/l/en-GB.txt
mv many/l/ac.txt many/l/zh_Hant.txt
echo x >many/l/readme.txt
equal '80 codes of languages are sources' "$(sources many/l |
    tr ' ' '\n' | grep -c '^..[-_a-zA-Z]*:1$')" 81
# 24000 sources: when each was looked up in a list, this took over a minute
awk 'BEGIN { for (i = 0; i < 24000; i++) {
    s = sprintf("%x", i)
    printf "%s%s", i ? "," : "", s >"langs"
    for (k = 0; k < 10; k++)
        printf "{\"l\":\"%s\",\"text\":\"a\"}\n", s >"langs.jsonl" } }' </dev/null
ok '24000 sources are read in time' timeout 20 tokenize -q -t "$tok" -o s --lang-field l \
    --lang "$(cat langs)" langs.jsonl

# Archives
tokenize -q -t "$tok" --ids c/de/part-1.txt c/en/x.jsonl >want
tar -cf a.tar c/de c/en/x.jsonl c/en/x.bin
for pack in gzip:gz xz:xz zstd:zst bzip2:bz2 lz4:lz4; do
    if command -v "${pack%:*}" >/dev/null; then
        "${pack%:*}" -c a.tar >"a.tar.${pack#*:}"
    fi
done
for f in a.tar*; do
    ok "$f is read" tokenize -q -t "$tok" --ids "$f"
    same "$f has the same text" out want
    ok "$f is read from a pipe" sh -c 'cat "$2" | tokenize -q -t "$1" --ids' sh \
        "$tok" "$f"
    same "$f has the same text from a pipe" out want
done
equal 'an archive is its own source' "$(sources a.tar)" 'a:3 '
like 'what is no text is counted' '1 file passed over: 1 \.bin' err
equal 'members of an archive are sources with --lang-path' "$(sources --lang en,de --lang-path a.tar)" \
    'en:2 de:1 all:3 '
ok 'an archive is read with -v' tokenize -v -t "$tok" --ids a.tar
like '-v names what is no text' 'a.tar/c/en/x.bin: is no text by its name: passed over' err
printf 'evil\n' >evil.txt
tar -cPf evil.tar --transform 's,^,../../,' evil.txt
tar -rPf evil.tar "$PWD/evil.txt"
ok 'an archive with names that climb is read' tokenize -q -t "$tok" --ids evil.tar
equal 'names that climb are only names' "$(wc -l <out)" 2
tokenize -q -t "$tok" -o s a.tar
mkdir n
tar -xf a.tar -C n
mv n/c 'n/a.tar'
mkdir -p 'k/a.tar'
mv n/a.tar k/a.tar/c
(cd k && tokenize -q -t "$tok" --lang a -o ../s3 a.tar/c/de/part-1.txt \
    a.tar/c/en/x.jsonl)
shard dump -q s | grep doc_key >d1
shard dump -q s3 | grep doc_key >d3
same 'a member has the key of a file of its name' d1 d3

# A zip of two members, stored: made by hand, for want of zip(1)
le() {      # le BYTES VALUE: little-endian
    le_n=$1 le_v=$2
    while [ "$le_n" -gt 0 ]; do
        # shellcheck disable=SC2059 # octal
        printf "\\$(printf %03o $((le_v & 255)))"
        le_v=$((le_v >> 8)) le_n=$((le_n - 1))
    done
}
# head FLAGS NAME SIZE CRC: what local and central headers share
head_of() {
    le 2 20; le 2 "$1"; le 2 0; le 2 0; le 2 33
    le 4 "$4"; le 4 "$3"; le 4 "$3"; le 2 ${#2}; le 2 0
}
zip_of() {  # zip_of FLAGS CRC: one member x.txt, "alpha\n"
    { le 4 67324752; head_of "$1" x.txt 6 "$2"; printf 'x.txtalpha\n'
    le 4 33639248; le 2 20; head_of "$1" x.txt 6 "$2"
    le 2 0; le 2 0; le 2 0; le 4 2175008768; le 4 0; printf x.txt
    le 4 101010256; le 2 0; le 2 0; le 2 1; le 2 1; le 4 51; le 4 41
    le 2 0; } >x.zip
}
crc=$(printf 'alpha\n' | gzip -c | tail -c 8 | od -An -tu4 -N4 | tr -d ' ')
printf 'alpha\n' >alpha.txt
tokenize -q -t "$tok" --ids alpha.txt >want2
zip_of 0 "$crc"
ok 'a zip is read' tokenize -q -t "$tok" --ids x.zip
same 'a zip has the same text' out want2
ok 'a zip is read from a pipe' sh -c 'cat x.zip | tokenize -q -t "$1" --ids' sh "$tok"
same 'a zip from a pipe has the same text' out want2
cat x.zip x.zip >xx.zip
status 3 'two zips in one are refused' tokenize -q -t "$tok" --ids xx.zip
like 'the message names the first zip' '^tokenize: xx.zip: offset 0: more stands before what' err
status 3 'two zips in a pipe are refused' sh -c 'cat xx.zip | tokenize -q -t "$1" --ids' sh "$tok"
like 'the message says where the first zip ends' '^tokenize: <stdin>: offset 41: the archive ends here, but more' err
size=$(wc -c <x.zip)
for n in 10 20 35 38; do
    head -c $n x.zip >cut.zip
    status 3 "$n of $size bytes of a zip are refused" tokenize -q -t "$tok" --ids cut.zip
done
zip_of 0 1
status 3 'a wrong checksum is refused' tokenize -q -t "$tok" --ids x.zip
like 'the message names the checksum' '^tokenize: x.zip/x.txt: offset [0-9]+ of its content: .*CRC' err
zip_of 1 "$crc"
status 3 'an encrypted member is refused' tokenize -q -t "$tok" --ids x.zip
like 'the message says that it is encrypted' '^tokenize: x.zip/x.txt: offset 0: is encrypted' err

# Damage and bombs
for n in 600 1100 2000; do
    head -c $n a.tar >cut.tar
    status 3 "a tar of $n bytes is refused" tokenize -q -t "$tok" -o s4 cut.tar
    like "the message on $n bytes says where" '^tokenize: cut.tar.*: offset [0-9]+' err
    [ ! -e s4 ] || fail 'a partial stream was left behind'
done
{ head -c 1536 a.tar; printf 'x%.0s' 1 2 3 4 5 6; tail -c +1543 a.tar; } >bad.tar
status 3 'a damaged header is refused' tokenize -q -t "$tok" --ids bad.tar
printf 'plain\n' >false.tar
status 3 'a text called .tar is refused' tokenize -q -t "$tok" --ids false.tar
like 'the message says that it is no archive' 'false.tar: offset 0: is no archive, though its name says so' err
status 3 'too many members are refused' tokenize -q -t "$tok" --ids --max-members 2 a.tar
like 'the message says how many members' 'a.tar: offset [0-9]+: holds more than 2 members' err
head -c 100000000 /dev/zero | tr '\0' '\n' | gzip -c >bomb.txt.gz
status 3 'a bomb is refused' tokenize -q -t "$tok" --split line --max-ratio 100 \
    -o s4 bomb.txt.gz
like 'the message says what a bomb unpacks to' 'bomb.txt.gz: offset [0-9]+ of its content: unpacks to more' err
ok '--max-ratio 0 allows a bomb' tokenize -t "$tok" --split line -o s4 --max-ratio 0 bomb.txt.gz
below() {
    if [ "$2" -le "$3" ]; then pass "$1"; else fail "$1: $2"; fi
}
case $BUILD in *address* | *thread*) most=100000 ;; *) most=64 ;; esac
below 'a bomb is read within 64 MB' "$(sed -n 's/.*peak \([0-9]*\)[.][0-9] MB/\1/p' err)" \
    "$most"

gzip -c bomb.txt.gz >bomb2.txt.gz
status 3 'a bomb in a bomb is refused' tokenize -q -t "$tok" --split line \
    --max-ratio 100 -o s4 bomb2.txt.gz
truncate -s 1G hole.txt
printf 'x\n' >>hole.txt
tar -S -cf hole.tar hole.txt
status 3 'a member of a gigabyte of hole is refused' tokenize -q -t "$tok" --lossy --split-long \
    --split line -o s4 hole.tar
like 'the message names the member with a hole' 'hole.tar/hole.txt: offset [0-9]+ of its content: unpacks' err
rm hole.txt
other() {   # other KIND: other.tar is the beginning of one
    status 3 "$1 is no archive" tokenize -q -t "$tok" --ids other.tar
    like "the message says that $1 is none" 'other.tar: offset 0: is no archive' err
}
printf 'Rar!\032\007\001\000%0100d' 0 >other.tar
other RAR
printf '7z\274\257\047\034\000\004%0100d' 0 >other.tar
other 7z
printf 'WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\n' >other.tar
other WARC
printf '070707%070d' 0 >other.tar
other cpio
printf '#mtree\n./x type=file\n' >other.tar
other mtree
printf '!<arch>\nx/%0100d' 0 >other.tar
other ar
{ printf 'x'; head -c 32767 /dev/zero; printf '\001CD001\001'
    head -c 2041 /dev/zero; } >other.tar
other 'ISO 9660'
printf 'one\n' >h.txt
ln h.txt h2.txt
ln -s "$tok" l.txt
mkfifo f.txt
tar -cf links.tar l.txt f.txt h.txt h2.txt
ok 'an archive of links and pipes is read' timeout 20 tokenize -q -t "$tok" --ids links.tar
equal 'links and pipes are no documents' "$(grep -c . out)" 1
ok 'links and pipes are read from a pipe' sh -c 'cat links.tar | tokenize -q -t "$1" --ids' sh "$tok"
equal 'links and pipes from a pipe are no documents' "$(grep -c . out)" 1

# Memory: 10 bytes for a byte at most, whatever it is
# megabytes MOST WHAT ARG...: of 8 MB of input
megabytes() {
    mb_most=$1 mb_what=$2
    shift 2
    [ "$most" = 64 ] || mb_most=100000      # with a sanitizer
    tokenize -t "$tok" -j 1 -o s "$@" >out 2>err
    below "8 MB of $mb_what take few bytes" \
        "$(sed -n 's/.*peak \([0-9]*\)[.][0-9] MB$/\1/p' err)" "$mb_most"
}
# lists BEGIN EACH END: a line of 8 MB that holds a text too
lists() {
    awk -v b="$1" -v e="$2" -v z="$3" 'BEGIN {
        printf "{\"x\":%s", b
        for (n = int(8000000 / length(e)); n > 0; n--) printf "%s", e
        printf "0%s,\"t\\u0065xt\":\"a\"}\n", z }' </dev/null >lists.jsonl
}
deep='[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[['
lists "$deep" '[],' "$(echo "$deep" | tr '[' ']')"
megabytes 80 'lists in lists' lists.jsonl
like 'lists in lists are read' ' 1 documents' err
lists "$deep" '[],' ']'
megabytes 80 'lists without an end' lists.jsonl
like 'lists without an end are refused' 'lists.jsonl: line 1, offset 8[0-9]*: neither a comma nor' err
lists '' '[[' ']'
megabytes 80 'lists that are too deep' lists.jsonl
like 'lists that are too deep are refused' 'lists.jsonl: line 1, offset 2053: too many objects or arrays' err
head -c 8000000 /dev/zero | LC_ALL=C tr '\0' '\377' >ff.txt
megabytes 80 'bytes that are no UTF-8' ff.txt
like 'bytes that are no UTF-8 are refused before they are repaired' 'ff.txt: offset 0: is not UTF-8, nor are 100' err

# A Wikipedia dump
cat >w.xml <<'E'
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
  <siteinfo><namespaces><namespace key="0" case="x" /></namespaces></siteinfo>
  <page>
    <title>River &amp; sea</title>
    <ns>0</ns>
    <id>1</id>
    <revision><id>3</id><text xml:space="preserve">old</text></revision>
    <revision><id>4</id>
      <text bytes="100" xml:space="preserve">{{Infobox|a={{b|c}}
|d=e
|}}'''River''' is ''water''&lt;ref name=&quot;x&quot;&gt;gone [[no]]&lt;/ref&gt; that [[flow (physics)|flows]].&lt;!-- hidden --&gt;
[[File:a.jpg|thumb|A [[picture]] of it]][[Datei:b.png]]
== Course ==
* from [[source]]s&lt;ref name=x /&gt;
* to the [http://sea.org sea] [1] &amp;nbsp;&amp;mdash; 5&amp;thinsp;km [http://x.org]
{| class=&quot;wikitable&quot;
! a
|-
| b {{x}}
|}

__NOTOC__

End x = y &lt;b&gt;bold&lt;/b&gt; &amp;lt;tag&amp;gt; a_b. {{unclosed
[[:Category:Kept]] [[Category:Rivers]]
[[de:Fluss]]</text></revision>
  </page>
  <page><title>Stream</title><ns>0</ns><redirect title="River" /><revision><text>#REDIRECT [[River]]</text></revision></page>
  <page><title>Talk:River</title><ns>1</ns><revision><text>chat</text></revision></page>
  <page><title>Empty</title><ns>0</ns><revision><text bytes="0" /></revision></page>
  <page><title>Лес</title><ns>0</ns><revision><text bytes="3" xml:space="preserve">Лес [[дерево|деревьев]]. [[Категория:Лес]]</text></revision></page>
</mediawiki>
E
printf 'River & sea\n\nRiver is water that flows.\n\nCourse\nfrom sources
to the sea [1] \302\240\342\200\224 5\342\200\211km\n
End x = y bold <tag> a_b. unclosed\nCategory:Kept\n
Лес\n\nЛес деревьев.\n\n' >wanted
gzip -k w.xml
for f in w.xml w.xml.gz; do
    ok "$f is read" tokenize -q -t "$tok" -o s "$f"
    ok "$f is decoded" tokenize -q -t "$tok" --split line --decode s
    same "$f gives text without markup" out wanted
done
head -c 900 w.xml >half.xml
status 3 'a dump cut short is refused' tokenize -q -t "$tok" -o s5 half.xml
like 'the message says where the dump ends' 'half.xml: offset 900 of its content: the dump ends' err
# nested NAME OPEN N: many of them, never closed, on one page
nested() {
    { printf '<mediawiki><page><title>n</title><ns>0</ns><text>'
    awk -v s="$2" -v n="$3" 'BEGIN { while (n--) printf "%s", s }'
    printf '</text></page></mediawiki>\n'; } >n.xml
    ok "$1 without end take little time" timeout 20 tokenize -q -t "$tok" -o s5 n.xml
}
nested templates '{{a|' 200000
nested links '[[a|' 200000
nested references '&lt;ref&gt;a' 200000
nested comments 'a&lt;!--' 200000
nested 'closed links' '[[a|b]]]]' 200000
nested tables '&#10;{|' 100000
done_testing
