#!/bin/sh
# clean --resume and tokenize --resume in one pipe: a directory that was killed
# while it grew ends as if it had not been
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/pipe.sh"
. "$top/tests/lib/clean.sh"
gold=$top/tests/golden/tok
tok=$gold/digits.json

# Inputs of each kind: plain, JSONL, compressed, archives, a dump
mkdir in m
for i in 1 2 3 4 5 6; do
    for k in 1 2 3 4 5 6 7 8 9 10; do
        cat "$gold/train.txt" "$top"/corpus/bg.jsonl "$top"/corpus/el.jsonl
        echo "$i$k"
        echo
    done
done >in/a.txt
for i in 1 2 3 4 5 6 7 8 9; do
    cat "$top"/corpus/[a-e]*.jsonl
done >in/b.jsonl
{   # a document that is too long to be held
    printf '{"text": "'
    awk 'BEGIN { for (i = 0; i < 16000; i++)
        printf "sentence %d of a long text, that tells of %d things and goes " \
            "on and on\\n", i, i % 700 }'
    printf '"}\n'
} >in/bb.jsonl
gzip -c in/b.jsonl >in/c.jsonl.gz
cp in/b.jsonl m/x.jsonl
cp in/a.txt m/y.txt
tar cf in/d.tar m
gzip -c in/d.tar >in/e.tar.gz
{
    echo '<mediawiki xml:lang="en">'
    i=0
    while [ $i -lt 800 ]; do
        i=$((i + 1))
        echo "<page><title>P $i</title><ns>$((i % 3 / 2))</ns><revision>"
        echo "<text>Page $i of [[book|the ''book'']] {{hidden|$i}}</text>"
        echo '</revision></page>'
    done
    echo '</mediawiki>'
} >in/pages-articles.xml

awk 'BEGIN { for (i = 0; i < 900; i++) {
    printf "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: http://a/%d\r\n", \
        i ? "conversion" : "warcinfo", i
    printf "Content-Length: 20\r\n\r\nThe page %6d is.\n\r\n\r\n", i } }' \
    >in/pages.warc.wet
gzip -c in/pages.warc.wet >in/q.warc.wet.gz
{ printf '\357\273\277'; cat in/a.txt; } >in/z.txt

small='--frame 2K --shard-size 1K'

# go MS OPTIONS VICTIM: one run of the pipeline; the victim is killed after so
# many milliseconds, unless that is 0
go() {
    start "stage clean clean -q --resume d $2 |
        stage tokenize tokenize -q -t $tok --resume d |
        stage shard shard write -q $small -o d" clean tokenize shard
    if [ "$1" != 0 ]; then
        sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
        kill -9 "$(cat "pid.$3")" 2>/dev/null
    fi
    finish
}

# killed KILLS NAME OPTIONS: directories that are killed again and again end as
# an undisturbed one, want, and so does what --dropped writes
seed=12345
killed() {
    killed_name=$2
    rm -rf d want
    ok "$killed_name: the pipe runs undisturbed" sh -c "clean -q $3 --dropped dropped |
        tokenize -q -t '$tok' | shard write -q $small -o want"
    rm -f out err
    # Kills fall into the time that a whole run takes.
    from=$(date +%s%N)
    go 0 "-j 2 $3 --dropped dropped2"
    span=$((($(date +%s%N) - from) / 1000000))
    ok "$killed_name: --resume begins the same directory" diff -r want d
    same "$killed_name: --resume drops the same documents" dropped dropped2
    wrong='' hit=0 k=0
    while [ $k -lt "$1" ]; do
        k=$((k + 1))
        rm -rf d dropped2
        for victim in clean tokenize shard; do
            seed=$(((seed * 1103515245 + 12345) % 2147483648))
            go $((seed / 65536 % span + 1)) "-j $((k % 3 + 1)) $3" $victim
            case $got in *137*) hit=$((hit + 1)) ;; esac
        done
        go 0 "-j 2 $3 --dropped dropped2"
        case $got in
        '0 0 0') cmp dropped dropped2 >diff.out 2>&1 ||
            wrong="$wrong run $k drops something else;" ;;
        '2 2 '*) ;;             # it had been complete
        *) wrong="$wrong run $k: $got;" ;;
        esac
        diff -r want d >diff.out 2>&1 || wrong="$wrong run $k differs;"
    done
    equal "$killed_name: $1 directories end as the undisturbed one" "$wrong" ''
    echo "# $hit of $((3 * $1)) kills came in time"
}

many=60
is_long || many=2
killed $many 'rules alone' '--split blank --min-words 2 in'
n=$(find want -name '*.zst' | wc -l)
[ "$n" -ge 10 ] && pass 'the directory has 10 shards or more' ||
    fail "the directory has 10 shards or more, not $n"
cp -r want plain
# What is dropped depends on what was there before.
killed $many 'duplicates and boilerplate' \
    '--split line --boilerplate 40 --dedup exact --dedup minhash in'
like 'duplicates are dropped' dup- dropped
like 'lines are cut' boilerplate-lines dropped
rm -rf want
mv plain want

# A directory that ends in the middle, and what does not go on with it
rm -rf d
clean -q --split blank --min-words 2 in >docs
tokenize -q -t "$tok" -o whole - <docs
# shellcheck disable=SC2086 # words
head -c $(($(wc -c <whole) / 2)) whole | shard write -q $small -o d 2>err
cp -r d d2
refused() {
    # shellcheck disable=SC2086 # words
    status 2 "clean --resume refuses $1" clean -q --resume d2 $3
    like "the message names $1" "$2" err
}
refused 'other options' 'd2: was begun with other options of clean' \
    '--split line --min-words 2 in'
refused 'other rules' 'd2: was begun with other options of clean' \
    '--split blank in'
refused 'other input' 'd2: was begun with other input' \
    '--split blank --min-words 2 in/a.txt'
status 2 'tokenize --resume refuses a clean that begins at the beginning' \
    sh -c "tokenize -q -t '$tok' --resume d2 - <docs >s"
like 'the message says to resume clean' 'clean.*--resume d2' err
clean -q --split blank --min-words 2 --resume d2 in >rest
status 2 'tokenize refuses a clean that goes on, without --resume' \
    sh -c "tokenize -q -t '$tok' - <rest >s"
like 'the message says to resume tokenize' '--resume' err
status 2 'tokenize --resume refuses text without clean' \
    tokenize -q -t "$tok" --split blank --resume d2 -o s in
ok 'the rest is appended' sh -c \
    "tokenize -q -t '$tok' --resume d2 - <rest | shard write -q -o d2"
ok 'the directory is whole' diff -r want d2
status 2 'clean --resume refuses a complete directory' clean -q --split blank \
    --min-words 2 --resume d2 in
like 'the message says that it is complete' 'd2: is complete' err
ok 'clean --resume takes a directory that is not there' clean --split blank \
    --min-words 2 --resume none in
like 'the message says that it begins' 'none: nothing to resume' err

# Nothing comes of a clean that ends before its first line.
for empty in none d; do
    rm -rf e
    cp -r d e
    [ $empty = d ] || rm -rf e
    tokenize -q -t "$tok" --resume e -o s - </dev/null 2>err
    got=$?
    [ $got = 2 ] || [ $got = 3 ] &&
        pass "tokenize --resume refuses empty input behind $empty" ||
        fail "tokenize --resume refuses empty input behind $empty, not $got"
done

# A clean that is lost is an error further on.
head -n 20 docs >part
status 3 'documents that break off are refused' tokenize -q -t "$tok" -o s part
like 'the message says that they break off' 'part: offset [0-9]+:.*break off' err
done_testing
