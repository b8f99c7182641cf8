#!/bin/sh
# tokenize: what is no text, and text that was cut off or has more behind it
. "${0%/*}/../lib/lib.sh"
tok=$top/tests/golden/tok/digits.json

# refused WHAT MESSAGE ARG...: with status 3, a stream that was not finished
refused() {
    re_what=$1 re_like=$2
    shift 2
    rm -f s
    status 3 "$re_what is refused" tokenize -q -t "$tok" -o s "$@"
    like "the message on $re_what names the file" "^tokenize: $re_like" err
    [ ! -e s ] || fail "$re_what leaves a stream behind"
}
# taken WHAT DOCUMENTS ARG...
taken() {
    ta_what=$1 ta_docs=$2
    shift 2
    ok "$ta_what is read" tokenize -q -t "$tok" --ids "$@"
    equal "$ta_what gives all its documents" "$(grep -c . out)" "$ta_docs"
}

# Known beginnings
known() {   # known FORMAT MESSAGE: the content's beginning as printf has it
    # shellcheck disable=SC2059 # a format
    { printf "$1"; printf ' and so on for some more bytes\n'; } >x.txt
    refused "content with $1 ($2)" "x.txt: offset 0: is $2" x.txt
}
known 'PAR1\025\004' 'Parquet, .*: convert it to JSONL by duckdb .pip install duckdb-cli., .*tokenize[(]1[)]'
known 'ARROW1\000\000' 'Arrow'
known '\377\377\377\377\200\001\000\000\020\000\000\000' 'Arrow'
known 'Obj\001\004' 'Avro'
known '\177ELF\002\001\001' 'a program .*ELF'
known 'GGUF\003\000\000\000' 'a model .GGUF'
known '\100\000\000\000\000\000\000\000{"a":{"dtype":"F32"' 'a model .safetensors'
known '%%PDF-1.7\n' 'PDF: take its text out'
known '\211PNG\r\n\032\n' 'an image'
known '\377\330\377\340' 'an image'
known 'GIF89a' 'an image'
known 'RIFF\001\002\003\004WEBP' 'an image'
known 'SQLite format 3\000' 'a database'
known '\377\376h\000i\000' 'UTF-16, .*iconv -f UTF-16 -t UTF-8'
known '\376\377\000h\000i' 'UTF-16, .*iconv'
known '7z\274\257\047\034' 'an archive or compressed'
printf 'hello\n' >good.txt
tokenize -q -t "$tok" -o stream good.txt
refused 'a stream' 'stream: offset 0: is a stream of retort: .* already' stream
refused 'a stream on standard input' \
    '<stdin>: offset 0 of its content: is a stream of retort' <stream
if command -v zstd >/dev/null; then
    zstd -q stream
    refused 'a shard' 'stream.zst: offset 0 of its content: is a stream' \
        stream.zst
else
    skip 'a shard' 'no zstd'
fi
refused 'the program itself' '.*/tokenize: offset 0: is a program' \
    "$BUILD/bin/tokenize"
printf 'PAR1 is a gene, ORC a whale, MM and II and BZ and Obj are words\n' \
    >words.txt
taken 'words that begin so' 1 words.txt

# NUL bytes
{ head -c 300000 /dev/zero | tr '\0' a; printf 'b\000c\n'; } >nul.txt
refused 'a NUL byte' 'nul.txt: offset 300001: a NUL byte: is no text' nul.txt
refused 'a NUL byte in lines' 'nul.txt: offset 300001: ' --split line nul.txt
gzip -c nul.txt >nul.txt.gz
refused 'a compressed NUL byte' 'nul.txt.gz: offset 300001 of its content: ' nul.txt.gz
taken 'a NUL byte with --lossy' 1 --lossy nul.txt
printf 'h\000i\000 \000' >wide.txt
refused 'UTF-16 without a mark' 'wide.txt: offset 1: .*UTF-16LE' wide.txt
printf '\000h\000i\000 ' >wide.txt
refused 'UTF-16 of the other order' 'wide.txt: offset 0: .*UTF-16BE' wide.txt
printf '{"text":"a\\u0000b"}\n' >escape.jsonl
taken 'an escaped NUL' 1 escape.jsonl
for f in holes.txt holes.jsonl; do
    { head -c 512 /dev/zero; printf '{"text":"not lost"}\n'; } >$f
    refused "a text of $f behind 512 NUL bytes" "$f: offset 0: a NUL" $f
    { head -c 10240 /dev/zero; printf '{"text":"not lost"}\n'; } >$f
    refused "a text of $f behind 10240 NUL bytes" "$f: offset 0: a NUL" $f
    head -c 10240 /dev/zero >$f
    refused "$f of NUL bytes alone" "$f: offset 0: a NUL" $f
    [ $f = holes.jsonl ] || taken "$f of NUL bytes with --lossy" 1 --lossy $f
done
{ head -c 1024 /dev/zero; echo lost; } >empty.tar
refused 'text behind an empty tar' 'empty.tar: offset 0: .* more follows' \
    empty.tar
refused 'such a tar from a pipe' '<stdin>: offset 0: .* more follows' <empty.tar

# What is not UTF-8: a share of one in a hundred is refused
# bad N GOOD: this many lines of 20 bytes, each followed by as many good ones
bad() {
    awk -v n="$1" -v good="$2" 'BEGIN {
        while (n--) {
            print "a line of Latin\351..."
            for (i = 0; i < good; i++)
                print "a line of plain ...."
        }
    }' </dev/null
}
bad 10 4 >one.txt               # 10 of 1,045
bad 10 5 >fewer.txt
iconv=': is not UTF-8, nor are .* % of it: convert it, as by iconv'
[ "$(LC_ALL=C tr -dc '\351' <one.txt | wc -c)" = 10 ] || fail 'awk wrote UTF-8'
bad 10 3 >more.txt
refused 'Latin-1' "more.txt: offset 15$iconv" more.txt
refused 'Latin-1 by lines' "more.txt: offset 15$iconv" --split line more.txt
refused 'Latin-1 before a good file' "more.txt: offset 15$iconv" \
    --split line more.txt good.txt
refused 'Latin-1 behind a good file' "more.txt: offset 15$iconv" good.txt more.txt
tar -cf more.tar good.txt more.txt one.txt
refused 'Latin-1 in an archive' "more.tar/more.txt: offset 15$iconv" more.tar
refused 'Latin-1 from a pipe' "<stdin>: offset 15$iconv" <more.txt
status 3 '--ids refuses Latin-1' tokenize -q -t "$tok" --ids more.txt
status 3 '--stats refuses Latin-1' tokenize -q -t "$tok" --stats more.txt
status 3 'training on text that is not UTF-8 is refused' bpe -q -o t.json more.txt
taken 'Latin-1 with --lossy' 1 --lossy more.txt
taken 'a text of fewer such bytes' 2 fewer.txt good.txt
like 'the warning names the file and the number' 'fewer.txt: offset 15: is not UTF-8: 10 such places' err
unlike 'the warning names no good file' 'good.txt' err
status 2 '--lossy refuses --strict' tokenize -q -t "$tok" --ids --lossy --strict good.txt
bad 40000 1 | LC_ALL=C sed 's/.*/{"text":"&"}/' >more.jsonl
for i in 0 1 2 3 4 5 6 7 8 9; do
    cat good.txt fewer.txt >"n$i.txt"
done
status 3 'Latin-1 of 4 MB is refused' tokenize -q -t "$tok" --ids more.jsonl
n=$(grep -c . out)
if [ "$n" -gt 30000 ] && [ "$n" -lt 40000 ]; then
    pass 'the first MiB tells that it is Latin-1'
else
    fail "the first MiB tells that it is Latin-1, not $n documents"
fi
ok 'many files of a few such bytes are read' tokenize -t "$tok" --ids --lang x n?.txt good.txt fewer.txt
equal 'ten of many files are named' "$(grep -c 'such places' err)" 10
like 'all of many files are counted' '110 places in 11 files were not UTF-8' err

# In archives
printf 'PAR1\025\004 and so on' >p.txt
tar -cf p.tar good.txt p.txt
refused 'a member that is Parquet' 'p.tar/p.txt: offset 0 of its content: is Parquet' p.tar

# .json
printf '{"text":"one"}\n{"text":"two"}\n' >l.json
taken 'lines of objects in a .json' 2 l.json
gzip -c l.json >l2.json.gz
taken 'a compressed .json' 2 l2.json.gz
printf '{"text":"one"}' >i.json
ok 'a line without an end is read' tokenize -q -t "$tok" -o s i.json
ok 'a line without an end is decoded' tokenize -q -t "$tok" --decode s
equal 'a line without an end has its text' "$(cat out)" one

# An end that is missing, and more behind it
i=0
while [ $i -lt 40 ]; do
    printf 'text %d of many' $i >m$i.txt
    i=$((i + 1))
done
tar -b 1 -cf whole.tar m?.txt
tokenize -q -t "$tok" --ids whole.tar >want
size=$(wc -c <whole.tar)
i=512
while [ $i -lt "$size" ]; do
    head -c $i whole.tar >cut.tar
    tokenize -q -t "$tok" --ids cut.tar >out 2>err
    tap_got=$?
    if [ $tap_got != 3 ] || ! grep -q '^tokenize: cut.tar.*offset' err; then
        fail "a tar of $i of $size bytes: status $tap_got"
    fi
    i=$((i + 512))
done
pass 'a tar cut at the end of any block is refused'
head -c 5120 whole.tar >cut.tar
refused 'a tar cut where a member ends' 'cut.tar: offset 5120: .*its end is missing' \
    cut.tar
refused 'a tar cut off from a pipe' '<stdin>: offset 5120: .*its end is missing' <cut.tar
cat whole.tar whole.tar >two.tar
refused 'two tars in one' "two.tar: offset $((size - 1024)): .*more follows" \
    two.tar
{ cat whole.tar; head -c 9000 /dev/zero; } >long.tar
taken 'a tar with zeros behind it' 10 long.tar
{ zstd -q -c whole.tar || gzip -c whole.tar; } >packed.tar 2>/dev/null
taken 'a compressed tar with a name of none' 10 packed.tar
printf 'text of a file\n' >t.txt
for p in gzip:gz xz:xz zstd:zst bzip2:bz2 lz4:lz4; do
    prog=${p%:*} f=t.txt.${p#*:}
    if ! command -v "$prog" >/dev/null; then
        skip "$prog" 'not installed'
        continue
    fi
    "$prog" -c t.txt >"$f"
    size=$(wc -c <"$f")
    cat "$f" "$f" >"2$f"
    taken "$f twice" 2 --split line "2$f"
    for more in x four 'some more text that is not compressed'; do
        { cat "$f"; printf '%s' "$more"; } >"b$f"
        refused "$f with '$more' behind it" "b$f: offset " "b$f"
        refused "$f with '$more' behind it from a pipe" '<stdin>: offset ' \
            <"b$f"
        case $f in *.zst | *.xz) continue ;; esac
        refused "$f with '$more' where it begins" "b$f: offset $size: " "b$f"
    done
    head -c $((size - 1)) "$f" >"b$f"
    refused "$f without its last byte" "b$f: offset " "b$f"
    head -c $((size / 2)) "$f" >"b$f"
    refused "half of $f" "b$f: offset " "b$f"
    "$prog" -c whole.tar >w.tar.x
    taken "a tar by $prog" 10 w.tar.x
    { cat w.tar.x; printf 'more and more'; } >bw.tar.x
    refused "a tar by $prog and more" "bw.tar.x: offset " bw.tar.x
    head -c 5120 whole.tar | "$prog" -c >w.tar.x
    refused "a tar cut off before $prog" 'w.tar.x: offset 5120: ' w.tar.x
done
# cut_from N FILE: its first N bytes are refused, so are N + 1, all but all
cut_from() {
    size=$(wc -c <"$2")
    i=$1
    while [ "$i" -lt "$size" ]; do
        head -c "$i" "$2" >c.txt.lz4
        tokenize -q -t "$tok" --ids c.txt.lz4 >out 2>err
        tap_got=$?
        [ $tap_got = 3 ] || fail "$2: $i of $size bytes: status $tap_got"
        i=$((i + 1))
    done
    pass "$2 cut off behind byte $1 or later is refused"
}
if command -v lz4 >/dev/null; then
    # What follows must not complete a frame that was cut off.
    lz4 -q --no-frame-crc -c m1.txt >n.txt.lz4
    taken 'lz4 without a checksum' 1 n.txt.lz4
    cut_from 1 n.txt.lz4
    # The legacy format has no end mark: cut off within the block is seen.
    lz4 -q -l -c m1.txt >l.txt.lz4
    taken 'a file of lz4 -l' 1 l.txt.lz4
    for more in abcd x; do
        { cat l.txt.lz4; printf %s "$more"; } >bl.txt.lz4
        refused "$more behind a file of lz4 -l" 'bl.txt.lz4: offset .*more follows' bl.txt.lz4
    done
    cut_from 9 l.txt.lz4
fi
# Members and frames that hold nothing
: >none
printf '{"text":"one"}\n' >one
printf '{"text":"two"}\n' >two
for p in gzip:gz xz:xz zstd:zst bzip2:bz2 lz4:lz4; do
    prog=${p%:*} s=${p#*:}
    if ! command -v "$prog" >/dev/null; then
        skip "empty members of $prog" 'not installed'
        continue
    fi
    for i in none one two; do "$prog" -c <$i >"$i.$s"; done
    for list in 'none one two' 'one none two' 'one two none' \
        'none none one none none two none'; do
        for i in $list; do cat "$i.$s"; done >"m.jsonl.$s"
        taken "$prog: $list" 2 "m.jsonl.$s"
        ok "$prog: $list is read from a pipe" sh -c 'cat "$2" | tokenize -q -t "$1" --jsonl --ids' \
            sh "$tok" "m.jsonl.$s"
        equal "$prog: $list has two documents from a pipe" "$(grep -c . out)" 2
    done
    { cat "one.$s" "none.$s"; printf "some more text"; } >"b.jsonl.$s"
    refused "$prog: more behind an empty member" "b.jsonl.$s: offset " \
        "b.jsonl.$s"
    head -c $(($(wc -c <"m.jsonl.$s") - 1)) "m.jsonl.$s" >"b.jsonl.$s"
    refused "$prog: an empty member without its last byte" \
        "b.jsonl.$s: offset " "b.jsonl.$s"
done
if command -v lz4 >/dev/null; then
    # An empty frame where a block that is read ends, 256 KiB into the file.
    awk 'BEGIN { for (x = 1; n++ < 262129;) {
        x = x * 16807 % 2147483647
        printf "%c", 97 + int(x / 8192) % 26 } }' </dev/null >letters
    for more in 0 1 4 8 11 14 15 16; do
        head -c $((262113 + more)) letters >big
        lz4 -q --no-frame-crc -B7 -c <big >big.lz4
        size=$(wc -c <big.lz4)
        { cat big.lz4 none.lz4; printf x | lz4 -q -c; } >m.txt.lz4
        lz4 -dc m.txt.lz4 >want.txt
        tokenize -q -t "$tok" -o s --no-eos m.txt.lz4 &&
            tokenize -q -t "$tok" --decode s >got.txt
        same "lz4: an empty frame behind $size bytes" got.txt want.txt
    done
fi

# A byte order mark
printf '\357\273\277{"text":"one"}\n' >mark.jsonl
taken 'JSONL behind a byte order mark' 1 mark.jsonl
taken 'a mark on standard input' 1 - <mark.jsonl
cp mark.jsonl mark.json
taken 'a mark in a file .json' 1 mark.json
cat mark.jsonl mark.jsonl >mark2.jsonl
taken 'two files with marks in one' 2 mark2.jsonl
ok 'a text with a mark is tokenized' tokenize -q -t "$tok" -o s mark.jsonl
ok 'a text with a mark is decoded' tokenize -q -t "$tok" --decode s
equal 'a text is without its mark' "$(cat out)" one
for text in 'one' 'one\n\ntwo\n'; do
    for split in file line blank; do
        # shellcheck disable=SC2059 # a format
        { printf '\357\273\277'; printf "$text"; } >mark.txt
        # shellcheck disable=SC2059 # a format
        printf "$text" >plain.txt
        gzip -c mark.txt >mark.txt.gz
        tokenize -q -t "$tok" --split "$split" --ids plain.txt >want
        for f in mark.txt mark.txt.gz; do
            ok "$f is read (--split $split)" tokenize -q -t "$tok" \
                --split "$split" --ids "$f"
            same "plain text of $f is without its mark ($split, $text)" out want
        done
    done
done
printf '\357\273\277' >mark.txt
refused 'a mark alone' 'mark.txt: .*no document' mark.txt
gzip -c t.txt | gzip -c >tt.txt.gz
refused 'what is compressed twice' 'tt.txt.gz: offset 0: .*twice' tt.txt.gz
done_testing
